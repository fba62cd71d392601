"""Engines for tests: DuckDB as one more engine, and a real Spark Connect server."""

import os
from collections.abc import Mapping, Sequence
from typing import NoReturn

import duckdb
import pyarrow as pa
import pytest

from svc_analytics.engines.spark import SETTINGS, SparkConnect
from svc_analytics.errors import EngineError
from svc_analytics.warehouse.models import read_macros


class DuckEngine:
    """DuckDB behind the verbs of an engine, with the macros of ours."""

    name = "DuckDB"
    dialect = "duckdb"

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute(f"SET TimeZone='UTC'; {read_macros()}")

    def query(self, sql: str) -> pa.Table:
        try:
            return self.connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise EngineError(str(error)) from error

    def put(self, name: str, table: pa.Table) -> None:
        self.connection.register(name, table)

    def read(
        self, name: str, paths: Sequence[str], schema: pa.Schema, rows: pa.Table | None = None
    ) -> None:
        raise NotImplementedError

    def sizes(self, paths: Sequence[str]) -> Mapping[str, int]:
        raise NotImplementedError

    def forget(self, names: Sequence[str]) -> None:
        for name in names:
            self.connection.unregister(name)


def spark_address() -> str:
    """The address of the tests' Spark Connect server; skip, or fail where one is required."""
    address = os.environ.get("SVC_SPARK") or ""
    if not address:
        reason = "no Spark Connect server: start one and set SVC_SPARK=sc://host:port"
        _fail(reason) if os.environ.get("SVC_REQUIRE_SPARK") == "1" else pytest.skip(reason)
    return address


def spark_with(**settings: str) -> SparkConnect:
    """A session of its own, with other settings than ours."""
    changed = {f"spark.sql.{name.replace('__', '.')}": value for name, value in settings.items()}
    return SparkConnect(spark_address(), SETTINGS | changed)


def _fail(reason: str) -> NoReturn:
    pytest.fail(reason)
