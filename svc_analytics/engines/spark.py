"""An engine: what is asked of it, where it finds the lake's files, and Spark Connect as one.

Spark is asked in a session of ours, on a server that the company runs. Files are named by their
paths, or as a bucket's objects by their keys.
"""

import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Protocol
from urllib.parse import urlsplit

import pyarrow as pa

from svc_analytics.bucket.address import check_place
from svc_analytics.bucket.mirror import Pins
from svc_analytics.errors import EngineError, EngineUnavailable, LakeError, needs_extra
from svc_analytics.lake.lake import Lake


class Engine(Protocol):
    """A place where queries are answered, by one verb: `query`.

    `name` says which engine it is and where, without a credential; `dialect` is that of its SQL.
    One that `is_gone` was lost, with all that it was shown: only a new connection can help.
    """

    name: str
    dialect: str
    is_gone: bool

    def query(self, sql: str) -> pa.Table:
        """Answer a query; raise `EngineError` when the engine cannot."""
        ...

    def put(self, name: str, table: pa.Table) -> None:
        """Hand over a small table, to be queried by name."""
        ...

    def read(
        self, name: str, paths: Sequence[str], schema: pa.Schema, rows: pa.Table | None = None
    ) -> None:
        """Let Parquet files, and no others, be queried by name, `rows` handed over beside them."""
        ...

    def sizes(self, paths: Sequence[str]) -> Mapping[str, int]:
        """Return how many bytes it sees in files of one folder, by their names."""
        ...

    def forget(self, names: Sequence[str]) -> None:
        """Forget these tables."""
        ...


Sizes = Callable[[Sequence[str]], Mapping[str, int]]  # the bytes of files as an engine sees them


@dataclass(frozen=True)
class Paths:
    """How the path of a file of a snapshot is said to an engine.

    A snapshot lies in the lake's folder, and its files never change. So whoever sees that folder
    reads exactly the files that were chosen here. `seen_as` is where the engine's machines see it.
    """

    lake: Path
    seen_as: str = ""

    def place(self, path: Path) -> str:
        """Return the path of a file as the engine reads it; raise `LakeError` if it cannot."""
        if not path.is_relative_to(self.lake):
            message = f"{self.lake} cannot be written, so its files were copied to this machine: "
            raise LakeError(f"{message}an engine reads only a lake in which it finds a snapshot")
        inside = path.relative_to(self.lake).as_posix()
        return f"{self.seen_as.rstrip('/') or self.lake.as_posix()}/{inside}"

    def require_seen(self, places: Sequence[str], sizes: Sizes) -> None:
        """Require nothing: files of a snapshot are there or are missed."""

    def require_unchanged(self) -> None:
        """Require nothing: files of a snapshot stand still."""


@dataclass(frozen=True)
class Objects:
    """How an engine reads the objects of a bucket where they lie.

    Nothing makes an object stand still. So what was counted is used only if every object that the
    engine was shown is listed behind the counting as it was listed before it.
    """

    pins: Pins
    snapshot: Path
    seen_as: str
    _keys: dict[str, str] = field(default_factory=dict)  # by the place that was shown

    def place(self, path: Path) -> str | None:
        """Return where the engine reads an object; None for a file that was made here."""
        key = path.relative_to(self.snapshot).with_suffix(".parquet").as_posix()
        if key not in self.pins.objects:
            return None
        place = f"{self.seen_as.rstrip('/')}/{key}"
        self._keys[place] = key
        return place

    def require_seen(self, places: Sequence[str], sizes: Sizes) -> None:
        """Raise `LakeError` unless the engine sees these objects in the size that was listed.

        An older copy of the bucket, or another lake, would give other figures and no error.
        """
        self.pins.require_listed([self._keys[place] for place in places])
        seen = sizes(places)
        for place in places:
            listed = self.pins.objects[self._keys[place]].stamp[1]
            if seen.get(PurePosixPath(place).name) != listed:
                message = f"{place} is not {self.pins.url}/{self._keys[place]} as it is listed"
                next_step = "tell the engine of the lake's own bucket, by --engine-data or"
                raise LakeError(f"{message}: {next_step} SVC_ENGINE_DATA")

    def require_unchanged(self) -> None:
        """Raise `LakeChanged` if an object that the engine was shown was replaced since."""
        self.pins.require_unchanged({*self._keys.values()})


Places = Paths | Objects  # how the file of a snapshot is said to an engine


def places_of(lake: Lake, snapshot: Path) -> Places:
    """Return how an engine finds the files of a snapshot.

    A bucket's objects are read where they lie if it is told where that is.
    """
    pins, seen_as = lake.storage.pins(snapshot), check_place("engine_data", lake.engine_data)
    if pins is None or not seen_as:
        return Paths(lake.path, seen_as)
    return Objects(pins, snapshot, seen_as)


# What our figures rest on. That each took effect is proven by the probe.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.session.timeZone": "UTC",
}
# A server that is gone is tried again for eight seconds: by itself the client does it for ten
# minutes. How long a server asks to be left alone is heeded all the same.
RETRIES: dict[str, Any] = {"max_retries": 5, "max_backoff": 4_000}  # the second in milliseconds
_LOST = ("INVALID_HANDLE", "stopped SparkContext")  # said of a session that a server has no more
_SIZES = "svc_sizes"
_TYPES = {"bool": "boolean", "int64": "bigint", "int32": "int", "date32[day]": "date"}


class SparkConnect:
    """A session on a Spark Connect server; an `Engine`."""

    dialect = "spark"

    def __init__(self, url: str, settings: dict[str, str] | None = None) -> None:
        self.is_gone = False
        self.name = f"Spark at {urlsplit(url).netloc.rpartition('@')[2]}"
        self._session = _new_session(url)
        with self._naming_errors():
            for key, value in (SETTINGS if settings is None else settings).items():
                self._session.conf.set(key, value)

    def query(self, sql: str) -> pa.Table:
        """Answer a query; raise `EngineError` when the engine cannot.

        Raises `EngineUnavailable` when the server, or this session of it, is there no more.
        """
        try:
            with self._naming_errors():
                return self._session.sql(sql).toArrow()
        except KeyboardInterrupt:
            self._session.interruptAll()
            raise

    def put(self, name: str, table: pa.Table) -> None:
        """Hand over a small table, to be queried by name."""
        with self._naming_errors():
            self._frame(table).createOrReplaceTempView(name)

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
        with self._naming_errors():
            handed = self._frame(schema.empty_table() if rows is None else rows)
            frame = self._session.read.schema(columns).parquet(*paths) if paths else handed
            is_both = bool(paths) and rows is not None
            (frame.union(handed) if is_both else frame).createOrReplaceTempView(name)

    def sizes(self, paths: Sequence[str]) -> Mapping[str, int]:
        """Return how many bytes it sees in files of one folder, by their names."""
        with self._naming_errors():
            files = self._session.read.format("binaryFile").load([*paths])
            # In SQL: a column made by the client asks the newest session, of whatever server.
            files.createOrReplaceTempView(_SIZES)
            rows = self._session.sql(f"select path, length from {_SIZES}").toArrow().to_pylist()
        return {PurePosixPath(row["path"]).name: row["length"] for row in rows}

    def forget(self, names: Sequence[str]) -> None:
        """Forget these tables; those of a server that is gone are forgotten."""
        for name in () if self.is_gone else names:
            with suppress(Exception):  # the answers are there all the same
                self._session.catalog.dropTempView(name)

    def stop(self) -> None:
        self._session.stop()

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        """Raise an error of ours where Spark raises one of its own."""
        try:
            yield
        except Exception as error:
            raise self._engine_error(error) from error

    def _engine_error(self, error: Exception) -> EngineError:
        if _is_gone(error):
            self.is_gone = True
            self._session.client.set_retry_policies([])  # nor does the client wait when it ends
            return EngineUnavailable(f"{self.name} does not answer: try again once it is there")
        line = " ".join(str(error).split("\n\n")[0].split())
        return EngineError(f"{self.name}: {line[:500]}")


def _new_session(url: str) -> Any:
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # the error tells it
    with needs_extra("spark"), _named_main(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql.connect.client.retries import DefaultPolicy
        from pyspark.sql.connect.session import SparkSession
    session = SparkSession.builder.remote(url).create()
    session.client.set_retry_policies([DefaultPolicy(**RETRIES)])
    return session


def _is_gone(error: Exception) -> bool:
    status = getattr(error, "getGrpcStatusCode", lambda: None)()
    is_away = getattr(status, "name", "") == "UNAVAILABLE"
    return is_away or any(words in str(error) for words in _LOST)


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
