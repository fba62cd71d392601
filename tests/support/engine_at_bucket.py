"""An engine that reads the objects of a bucket over HTTP, each when a query needs it."""

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import boto3
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.engines import DuckEngine

Hook = Callable[[], None]


def _nothing() -> None:
    """Befall nothing."""


class EngineAtBucket(DuckEngine):
    """DuckDB over objects that it gets anew for each query: nobody makes them stand still.

    What befalls the bucket is told by three hooks: before an object is got, between the first
    and the second, and behind the answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.before: Hook = _nothing
        self.between: Hook = _nothing
        self.behind: Hook = _nothing
        self.places: dict[str, list[str]] = {}
        self.handed: dict[str, pa.Table | None] = {}

    def read(
        self, name: str, paths: Sequence[str], schema: pa.Schema, rows: pa.Table | None = None
    ) -> None:
        self.places[name], self.handed[name] = [*paths], rows
        self.connection.register(name, schema.empty_table())

    def sizes(self, paths: Sequence[str]) -> Mapping[str, int]:
        return {PurePosixPath(path).name: len(_get(path)) for path in paths}

    def query(self, sql: str) -> pa.Table:
        self.before()
        for name in [name for name in self.places if name in sql]:
            self.connection.register(name, self._rows(name))
        found = super().query(sql)
        self.behind()
        return found

    def _rows(self, name: str) -> pa.Table:
        tables = []
        for path in self.places[name]:
            tables.append(pq.read_table(BytesIO(_get(path))).replace_schema_metadata())
            if len(tables) == 1:
                self.between()
        handed = self.handed[name]
        return pa.concat_tables([*tables, *([] if handed is None else [handed])])


def _get(path: str) -> bytes:
    parts = urlsplit(path)
    assert parts.scheme == "s3a", path
    found = boto3.client("s3").get_object(Bucket=parts.netloc, Key=parts.path[1:])
    return bytes(found["Body"].read())
