"""Spark by its Connect protocol: a session of ours on a server that the company runs."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from svc_analytics.errors import EngineError, needs_extra

# What our figures rest on. That each took effect is proven by the probe.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.session.timeZone": "UTC",
}
_TYPES = {"bool": "boolean", "int64": "bigint", "int32": "int", "date32[day]": "date"}


class SparkConnect:
    """A session on a Spark Connect server; an `Engine`."""

    dialect = "spark"

    def __init__(self, url: str, settings: dict[str, str] | None = None) -> None:
        self.name = f"Spark at {urlsplit(url).netloc.rpartition('@')[2]}"
        self._session = _new_session(url)
        for key, value in (SETTINGS if settings is None else settings).items():
            self._session.conf.set(key, value)

    def query(self, sql: str) -> pa.Table:
        """Answer a query; raise `EngineError` when the engine cannot."""
        try:
            return self._session.sql(sql).toArrow()
        except KeyboardInterrupt:
            self._session.interruptAll()
            raise
        except Exception as error:
            raise self._told(error) from error

    def put(self, name: str, table: pa.Table) -> None:
        """Hand over a small table, to be queried by name."""
        try:
            self._frame(table).createOrReplaceTempView(name)
        except Exception as error:
            raise self._told(error) from error

    def _frame(self, table: pa.Table) -> Any:
        if len(table):
            return self._session.createDataFrame(table)
        columns = (f"cast(null as {_type(field.type)}) as `{field.name}`" for field in table.schema)
        return self._session.sql(f"select {', '.join(columns)} where false")

    def read(
        self, name: str, paths: Sequence[str], schema: pa.Schema, rows: pa.Table | None = None
    ) -> None:
        """Let Parquet files, and no others, be queried by name, `rows` handed over beside them."""
        columns = ", ".join(f"`{field.name}` {_type(field.type)}" for field in schema)
        try:
            handed = self._frame(schema.empty_table() if rows is None else rows)
            frame = self._session.read.schema(columns).parquet(*paths) if paths else handed
            is_both = bool(paths) and rows is not None
            (frame.union(handed) if is_both else frame).createOrReplaceTempView(name)
        except Exception as error:
            raise self._told(error) from error

    def sizes(self, paths: Sequence[str]) -> Mapping[str, int]:
        """Return how many bytes it sees in files of one folder, by their names."""
        try:
            files = self._session.read.format("binaryFile").load([*paths])
            rows = files.select("path", "length").toArrow().to_pylist()
        except Exception as error:
            raise self._told(error) from error
        return {PurePosixPath(row["path"]).name: row["length"] for row in rows}

    def forget(self, names: Sequence[str]) -> None:
        """Forget these tables."""
        for name in names:
            self._session.catalog.dropTempView(name)

    def stop(self) -> None:
        self._session.stop()

    def _told(self, error: Exception) -> EngineError:
        line = " ".join(str(error).split("\n\n")[0].split())
        return EngineError(f"{self.name}: {line[:500]}")


def _new_session(url: str) -> Any:
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    with needs_extra("spark"), _named_main(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql.connect.session import SparkSession
    return SparkSession.builder.remote(url).create()


@contextmanager
def _named_main() -> Iterator[None]:
    """Give a program that is no file a name: without it, the client ends the process."""
    main = sys.modules["__main__"]
    if hasattr(main, "__file__"):
        yield
        return
    main.__file__ = "python"
    try:
        yield
    finally:
        del main.__file__


def _type(kind: pa.DataType) -> str:
    """Return the words for a type of a month file."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return _TYPES.get(str(kind), str(kind))
