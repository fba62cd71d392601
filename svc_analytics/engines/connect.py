"""The entrance to engines: connect to the one at an address, or rehearse what it would be asked.

An engine is probed before anything is asked of it. One query over several lakes is one of the
engine: each lake is shown to it apart, and a view of all is the union of theirs, merchant first. A
view that is no sum alone is made here, lake by lake, but of sums that one query counts for all.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from svc_analytics.coverage import Span
from svc_analytics.engines.compiler import Compiler, FindTable, models
from svc_analytics.engines.probe import require_exact
from svc_analytics.engines.spark import Engine, Paths, SparkConnect
from svc_analytics.engines.trees import DIALECTS, Tree, call_of
from svc_analytics.engines.warehouse import EngineWarehouse, open_on_engine
from svc_analytics.errors import ConfigError, EngineUnavailable
from svc_analytics.formatting.texts import single_line
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.models import Model, models_used_by
from svc_analytics.warehouse.several_lakes import MERCHANT, open_views, public_views
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse

_PORT = 15002  # of a Spark Connect server
_PATIENCE = 10  # seconds until something must answer
_STAYS = """\
-- DuckDB answers this query here: not every engine counts {why} alike.
-- What it is made of, and reads many records, is counted there:
"""
_ALL_STAYS = "-- DuckDB answers all of this query here: {why} stays on this machine.\n"


Lakes = Mapping[str, EngineWarehouse]  # by the merchant


def connect(address: str) -> ConnectedEngine:
    """Return the engine at an address, found exact.

    One that is gone, as when its server was started again, is connected to and probed anew.
    Raises `EngineUnavailable` when nothing answers there, and `EngineRefused` when it fails a line
    of the probe.
    """
    if _connected(address).is_gone:
        _connected.cache_clear()
    return ConnectedEngine(_connected(address))


@dataclass(frozen=True)
class ConnectedEngine:
    """An engine that was found exact: it counts the records of lakes in DuckDB's place."""

    engine: Engine

    @contextmanager
    def open_views(
        self, lakes: Sequence[Lake], names: frozenset[str] | None, *, period: Span | None = None
    ) -> Iterator[Warehouse]:
        """Open the views of a lake, or of several together, over snapshots that it is shown."""
        with ExitStack() as stack:
            shown = (open_on_engine(lake, self.engine, names, period=period) for lake in lakes)
            opened = [stack.enter_context(each) for each in shown]
            yield _together(stack, self.engine, lakes, opened, names)


@cache
def _connected(address: str) -> Engine:
    _require_listener(address)
    engine = SparkConnect(address)
    require_exact(engine)
    return engine


def _require_listener(address: str) -> None:
    """Find out at once that nobody listens: the client would try again for minutes."""
    parts = urlsplit(address)
    place = (parts.hostname or "", parts.port or _PORT)
    try:
        socket.create_connection(place, timeout=_PATIENCE).close()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        message = f"no Spark Connect server answers at {place[0]}:{place[1]} ({reason})"
        raise EngineUnavailable(f"{message}: start it, or choose --engine duckdb") from error


def rehearse(lakes: Sequence[Lake], query: str, dialect: str) -> str:
    """Return the SQL that an engine would run for a query over these lakes; none is needed.

    Raises `ConfigError` for a dialect that our SQL is not compiled to.
    """
    engine, names = RecordingEngine(dialect), models_used_by(query)
    marks = ["lake"] if len(lakes) == 1 else [f"lake_{n}" for n, _ in enumerate(lakes, 1)]
    with ExitStack() as stack:
        opened = [
            stack.enter_context(_open_rehearsal(lake, engine, names, mark))
            for lake, mark in zip(lakes, marks, strict=True)
        ]
        if len(lakes) > 1:
            merchants = zip(marks, (single_line(lake.merchant_id) for lake in lakes), strict=True)
            engine.shown += [f"-- {mark}: merchant {name}" for mark, name in merchants]
        return _write_down(engine, _together(stack, engine, lakes, opened, names), query)


def _write_down(engine: RecordingEngine, rehearsal: EngineWarehouse, query: str) -> str:
    """Return the SQL that the engine is asked for a query."""
    rehearsal.query_readonly(query)
    why = rehearsal.why_here(query)
    asked = [f"{sql};\n" for sql in engine.asked]
    notes = [(_STAYS if asked else _ALL_STAYS).format(why=why)] if why else []
    shown = ["\n".join(engine.shown) + "\n"] if asked and engine.shown else []
    return "\n".join([*notes, *shown, *asked])


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
def _open_rehearsal(
    lake: Lake, engine: RecordingEngine, names: frozenset[str] | None, mark: str
) -> Iterator[Rehearsal]:
    """Open the views of a lake; the names of its tables on the engine begin with a mark."""
    with open_warehouse(lake, names, as_written=True) as here:
        yield Rehearsal(here, engine, Paths(lake.path), mark=mark)


def _together(
    stack: ExitStack,
    engine: Engine,
    lakes: Sequence[Lake],
    opened: Sequence[EngineWarehouse],
    names: frozenset[str] | None,
) -> EngineWarehouse:
    """Return the views of a lake, or open those of several together, over what is open."""
    if len(opened) == 1:
        return opened[0]
    here = open_views(stack, [each.sources for each in opened], names)
    merchants = [lake.merchant_id for lake in lakes]
    by_merchant = dict(zip(merchants, opened, strict=True))
    return EngineLakes(here, engine, by_merchant, public_views(names))


class UnionCompiler(Compiler):
    """One query over the views of several lakes, on its way to an engine."""

    def __init__(self, dialect: str, finders: Mapping[str, FindTable]) -> None:
        super().__init__(dialect, models(), self._union)
        self._lakes = {merchant: self.beside(find) for merchant, find in finders.items()}
        self._unions: dict[str, str] = {}  # the steps, by what was called

    def compile_for_each(self, tree: Tree) -> str:
        """Return the SQL of a query that is asked of each lake alone, the merchant first."""
        whole = self._together("part", lambda lake: lake.add_query("part", tree.copy()))
        self._unions[whole] = whole
        return self.compile(exp.select("*").from_(whole))

    def _union(self, table: exp.Table) -> str:
        """Return the step with the rows of all lakes, the merchant before all columns."""
        called = call_of(table)
        if called not in self._unions:
            self._unions[called] = self._together(called, lambda lake: lake.name_of(table.copy()))
        return self._unions[called]

    def _together(self, name: str, step: Callable[[Compiler], str]) -> str:
        """Add the step of all lakes' rows; `step` tells the name of that of one."""
        parts = [
            exp.select(exp.alias_(exp.Literal.string(merchant), MERCHANT), "*").from_(
                exp.to_identifier(step(lake))
            )
            for merchant, lake in self._lakes.items()
        ]
        whole = exp.union(*parts, distinct=False) if len(parts) > 1 else parts[0]
        return self.add(f"{name}_of_all", whole)


class EngineLakes(EngineWarehouse):
    """The views of several lakes together, whose records an engine counts."""

    def __init__(
        self, here: Warehouse, engine: Engine, lakes: Lakes, views: Collection[str]
    ) -> None:
        super().__init__(here, engine, Paths(here.sources.folder))  # of its own it shows nothing
        self._lakes, self._views = lakes, views
        self._in_step = _InStep(engine, lakes)

    def ask(self, sql: str, schema: pa.Schema) -> pa.Table:
        """Return the engine's answer to a query over all lakes, in these types."""
        return next(iter(self._lakes.values())).ask(sql, schema)

    def _compiled(self, tree: Tree) -> str:
        return _compiler(self._engine, self._lakes).compile(tree)

    def _count_model(self, model: Model, table: exp.Table) -> None:
        if model.name in self._views:  # no other can be queried here
            super()._count_model(model, table)

    def _count_split(self, model: Model, values: Mapping[str, Tree]) -> None:
        """Let each lake make the rows of a model, of parts that are counted for all at once."""
        self._in_step._count_split(model, values)
        parts = []
        for merchant, lake in self._lakes.items():
            rows = lake.rows_here(model.name)
            parts.append(rows.add_column(0, MERCHANT, pa.repeat(merchant, len(rows))))
        self._keep_rows(model.name, pa.concat_tables(parts))


class _InStep(EngineWarehouse):
    """Several lakes in step: what one of them needs of the engine is asked for all at once."""

    def __init__(self, engine: Engine, lakes: Lakes) -> None:
        first = next(iter(lakes.values()))  # its views have the types of all
        super().__init__(first, engine, Paths(first.sources.folder))
        self._lakes = lakes

    def ask(self, sql: str, schema: pa.Schema) -> pa.Table:
        """Return the engine's answer for all lakes; the merchant stands before these columns."""
        whole = pa.schema([(MERCHANT, pa.string()), *schema])
        return next(iter(self._lakes.values())).ask(sql, whole)

    def _compiled(self, tree: Tree) -> str:
        return _compiler(self._engine, self._lakes).compile_for_each(tree)

    def _keep_rows(self, name: str, rows: pa.Table, signature: str = "") -> None:
        """Keep in each lake its own rows."""
        for merchant, lake in self._lakes.items():
            own = rows.filter(pc.equal(rows[MERCHANT], merchant)).drop_columns([MERCHANT])
            lake._keep_rows(name, own, signature)

    def _redefine(self, model: Model, sql: str) -> None:
        for lake in self._lakes.values():
            lake._redefine(model, sql)


def _compiler(engine: Engine, lakes: Lakes) -> UnionCompiler:
    finders = {merchant: lake.engine_table for merchant, lake in lakes.items()}
    return UnionCompiler(engine.dialect, finders)
