"""What an engine would be asked: the SQL of a query in its words, without an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from svc_analytics.engines.paths import Paths
from svc_analytics.engines.trees import DIALECTS
from svc_analytics.engines.warehouse import EngineWarehouse
from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import open_warehouse

_STAYS = """\
-- DuckDB answers this query here: not every engine counts {why} alike.
-- What it is made of, and reads many records, is counted there:
"""
_ALL_STAYS = "-- DuckDB answers all of this query here: {why} stays on this machine.\n"


@dataclass
class RecordingEngine:
    """An engine that writes down what it is shown and asked.

    Raises `ConfigError` for a dialect that our SQL is not compiled to.
    """

    dialect: str
    name: str = "the engine"
    is_gone: bool = False
    shown: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.dialect not in DIALECTS:
            message = f"no dialect {self.dialect!r:.40}: choose {', '.join(DIALECTS)}"
            raise ConfigError(message)

    def query(self, sql: str) -> pa.Table:
        """Write down a query; the rehearsal needs no answer."""
        self.asked.append(sql)
        return pa.table({})

    def put(self, name: str, table: pa.Table) -> None:
        """Write down a table that is handed over."""
        self.shown.append(f"-- {name}: {len(table)} rows, handed over")

    def read(
        self, name: str, paths: Sequence[str], schema: pa.Schema, rows: pa.Table | None = None
    ) -> None:
        """Write down the files that are read."""
        beside = "" if rows is None else f", and {len(rows)} rows, handed over"
        self.shown.append(f"-- {name}: {len(paths)} files, by their paths{beside}")

    def sizes(self, paths: Sequence[str]) -> Mapping[str, int]:
        """Return nothing: no file is asked for."""
        return {}

    def forget(self, names: Sequence[str]) -> None:
        """Forget nothing."""


class Rehearsal(EngineWarehouse):
    """A warehouse that asks, and goes on without any row."""

    def ask(self, sql: str, schema: pa.Schema) -> pa.Table:
        """Let the engine write the query down; return no rows."""
        self._engine.query(sql)
        return schema.empty_table()


@contextmanager
def open_rehearsal(
    lake: Lake, engine: RecordingEngine, names: frozenset[str] | None, mark: str
) -> Iterator[Rehearsal]:
    """Open the views of a lake; the names of its tables on the engine begin with a mark."""
    with open_warehouse(lake, names, as_written=True) as here:
        yield Rehearsal(here, engine, Paths(lake.path), mark=mark)


def rehearse(lake: Lake, query: str, dialect: str) -> str:
    """Return the SQL that an engine would run for a query over a lake.

    Raises `ConfigError` for a dialect that our SQL is not compiled to.
    """
    engine = RecordingEngine(dialect)
    with open_rehearsal(lake, engine, models_used_by(query), "lake") as rehearsal:
        return write_down(engine, rehearsal, query)


def write_down(engine: RecordingEngine, rehearsal: EngineWarehouse, query: str) -> str:
    """Return the SQL that the engine is asked for a query."""
    rehearsal.query_readonly(query)
    why = rehearsal.why_here(query)
    asked = [f"{sql};\n" for sql in engine.asked]
    notes = [(_STAYS if asked else _ALL_STAYS).format(why=why)] if why else []
    shown = ["\n".join(engine.shown) + "\n"] if asked and engine.shown else []
    return "\n".join([*notes, *shown, *asked])
