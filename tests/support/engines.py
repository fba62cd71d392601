"""Engines for tests: DuckDB as one more engine, and a real Spark Connect server."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pyarrow as pa
import pytest
import sqlglot

from svc_analytics.engines import connect, trees
from svc_analytics.engines.spark import SETTINGS, SparkConnect
from svc_analytics.errors import EngineError
from svc_analytics.warehouse.models import read_macros


class DuckEngine:
    """DuckDB behind the verbs of an engine, with the macros of ours."""

    name = "DuckDB"
    dialect = "duckdb"
    is_gone = False

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.read_from: list[str] = []
        self.connection = duckdb.connect()
        self.connection.execute(f"SET TimeZone='UTC'; {read_macros()}")
        # Its own `error` may not stand where rows are put in order.
        self.connection.execute("create macro raise_error(words) as words::decimal(38,18)")

    def query(self, sql: str) -> pa.Table:
        self.asked.append(sql)
        try:
            return self.connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise EngineError(str(error)) from error

    def put(self, name: str, table: pa.Table) -> None:
        self.connection.register(name, table)

    def read(
        self, name: str, paths: Sequence[str], schema: pa.Schema, rows: pa.Table | None = None
    ) -> None:
        assert rows is None, "a folder's files are all read where they lie"
        self.read_from += paths
        columns = ", ".join(f'"{field.name}"' for field in schema)
        files = ", ".join(f"'{path}'" for path in paths)
        query = f"select {columns} from read_parquet([{files}])"
        self.connection.execute(f"create or replace view {name} as {query}")

    def sizes(self, paths: Sequence[str]) -> Mapping[str, int]:
        return {path: Path(path).stat().st_size for path in paths}

    def forget(self, names: Sequence[str]) -> None:
        for name in names:
            self.connection.execute(f"drop view if exists {name}")


def speak_as_spark(patch: pytest.MonkeyPatch) -> None:
    """Give DuckDB the words that Spark has: macros of the same names."""
    said = trees.own_words
    calls = {
        name: (names, sqlglot.parse_one(f"{name}({', '.join(names)})", read="duckdb"))
        for name, (names, _) in said("spark").items()
    }
    patch.setattr(trees, "own_words", lambda name: calls if name == "duckdb" else said(name))
    patch.setitem(trees.RAISES, "duckdb", "raise_error")


def let_duckdb_count(patch: pytest.MonkeyPatch) -> DuckEngine:
    """Connect every address to another DuckDB, which counts what Spark would count."""
    speak_as_spark(patch)
    engine = DuckEngine()
    patch.setattr(connect, "_connected", lambda address: engine)
    return engine


def spark_address() -> str:
    """The address of the tests' Spark Connect server; skip, or fail where one is required."""
    address = os.environ.get("SVC_SPARK") or ""
    if not address:
        reason = "no Spark Connect server: start one and set SVC_SPARK=sc://host:port"
        if os.environ.get("SVC_REQUIRE_SPARK") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return address


def spark_place() -> tuple[str, int]:
    """The host and port of that server."""
    parts = urlsplit(spark_address())
    return parts.hostname or "", parts.port or 15002


def spark_with(**settings: str) -> SparkConnect:
    """A session of its own, with other settings than ours."""
    changed = {f"spark.sql.{name.replace('__', '.')}": value for name, value in settings.items()}
    return SparkConnect(spark_address(), SETTINGS | changed)
