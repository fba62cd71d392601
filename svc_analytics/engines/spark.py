"""Spark by its Connect protocol: a session of ours on a server that the company runs."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from svc_analytics.errors import EngineError, EngineUnavailable, needs_extra

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
        try:
            for key, value in (SETTINGS if settings is None else settings).items():
                self._session.conf.set(key, value)
        except Exception as error:
            raise self._engine_error(error) from error

    def query(self, sql: str) -> pa.Table:
        """Answer a query; raise `EngineError` when the engine cannot.

        Raises `EngineUnavailable` when the server, or this session of it, is there no more.
        """
        try:
            return self._session.sql(sql).toArrow()
        except KeyboardInterrupt:
            self._session.interruptAll()
            raise
        except Exception as error:
            raise self._engine_error(error) from error

    def put(self, name: str, table: pa.Table) -> None:
        """Hand over a small table, to be queried by name."""
        try:
            self._frame(table).createOrReplaceTempView(name)
        except Exception as error:
            raise self._engine_error(error) from error

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
            raise self._engine_error(error) from error

    def sizes(self, paths: Sequence[str]) -> Mapping[str, int]:
        """Return how many bytes it sees in files of one folder, by their names."""
        try:
            files = self._session.read.format("binaryFile").load([*paths])
            # In SQL: a column made by the client asks the newest session, of whatever server.
            files.createOrReplaceTempView(_SIZES)
            rows = self._session.sql(f"select path, length from {_SIZES}").toArrow().to_pylist()
        except Exception as error:
            raise self._engine_error(error) from error
        return {PurePosixPath(row["path"]).name: row["length"] for row in rows}

    def forget(self, names: Sequence[str]) -> None:
        """Forget these tables; those of a server that is gone are forgotten."""
        for name in () if self.is_gone else names:
            with suppress(Exception):  # the answers are there all the same
                self._session.catalog.dropTempView(name)

    def stop(self) -> None:
        self._session.stop()

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
