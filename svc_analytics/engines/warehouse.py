"""A lake whose records an engine counts: what it cannot count exactly is made here, as always.

Each query is looked through first. What reads records and means the same everywhere is counted by
the engine, and its rows are kept here under the model's own name; everything above reads them by
the unchanged SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pyarrow as pa
from sqlglot import exp

from svc_analytics.coverage import Span
from svc_analytics.engines.compiler import Compiler
from svc_analytics.engines.engine import Engine
from svc_analytics.engines.exactness import cast_exactly
from svc_analytics.engines.paths import Places, places_of
from svc_analytics.engines.splits import part_name, split_model
from svc_analytics.engines.support import SqlSupport, is_counted, models, sources
from svc_analytics.engines.trees import (
    OUR_DIALECT,
    Tree,
    arguments,
    call_of,
    inner_steps,
    parameters,
    parse,
    steps,
    tables,
    with_values,
    write_in,
)
from svc_analytics.engines.uploads import TableUploader
from svc_analytics.errors import QueryError
from svc_analytics.interrupts import interruptible
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.models import Model, read_statement_checks
from svc_analytics.warehouse.view_builder import fill, findings_within, variables
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse

_ROWS = "counted_rows"
_CHECKS = "statement_checks"
Values = Mapping[str, Any]


@contextmanager
def open_on_engine(
    lake: Lake,
    engine: Engine,
    names: frozenset[str] | None = None,
    *,
    period: Span | None = None,
) -> Iterator[EngineWarehouse]:
    """Open a lake as `open_warehouse` does, so that an engine counts its records."""
    with open_warehouse(lake, names, period=period, as_written=True) as here:
        places = places_of(lake, here.sources.folder)
        warehouse = EngineWarehouse(here, engine, places)
        try:
            yield warehouse
        except Exception:
            places.require_unchanged()  # else the error tells of what is no more
            raise
        finally:
            warehouse.forget()
        places.require_unchanged()


class _TwoIntervals(Exception):
    """A query asks for a model of two intervals; its argument is the name of the model."""


class EngineWarehouse(Warehouse):
    """A warehouse whose records an engine counts."""

    def __init__(self, here: Warehouse, engine: Engine, places: Places, mark: str = "") -> None:
        super().__init__(here._connection, here._lake, here.sources, is_small=False)
        self.is_large = False  # the engine has memory of its own, and is asked as seldom as can be
        self._engine = engine
        self._row_counts: dict[str, int] = {}  # of kept models, whatever they are of
        self._calls: dict[str, str] = {}  # how each counted model was called
        self._named: dict[str, str] = {}  # how earlier queries called what they named
        self._done: set[str] = set()
        self._uploader = TableUploader(
            engine,
            here.sources.files,
            places,
            self.rows_here,
            self._row_counts,
            mark or f"svc_{uuid4().hex[:12]}",
        )
        self._support = SqlSupport(engine.dialect, self._uploader.is_kept)
        self._values: Values = {}  # of the query that is being answered

    def query(
        self,
        query: str,
        parameters: Values | None = None,
        tables: Mapping[str, pa.Table] | None = None,
        *,
        is_ours: bool = True,
        is_short: bool = False,
        is_long: bool = False,
    ) -> pa.Table:
        """Answer a query: by the engine where it can, or here from what it counted.

        To send an answer with a row for each record costs more than to read the records here.
        """
        self._values = parameters or {}
        tree = None if tables or is_long else _read(query)
        if tree is not None and self._support.needs_engine(sources(tree)):
            if self._support.unsupported_part(tree, is_ours=is_ours) is None:
                return self._counted(tree, query, is_ours=is_ours)
            query = self._prepared(tree, query)
        how = {"is_ours": is_ours, "is_short": is_short, "is_long": is_long}
        return super().query(query, parameters, tables, **how)

    def keep(
        self,
        name: str,
        query: str,
        values: Values,
        signature: str,
        tables: Mapping[str, pa.Table | pa.RecordBatchReader] | None = None,
    ) -> None:
        """Answer a query once, as `Warehouse.keep`."""
        self._values = values
        tree = None if tables else parse(query)
        if tree is not None and self._support.needs_engine(sources(tree)):
            if self._support.unsupported_part(tree) is None:
                query, tables = f"from {_ROWS}", {_ROWS: self._counted(tree, query)}
                values = {}
            else:
                query = self._prepared(tree, query)
        super().keep(name, query, values, signature, tables)
        place = f"kept_{name}" if signature else name
        count = super().query(f"select count(*) from {place}")
        self._row_counts[name] = count[0][0].as_py()

    def why_here(self, query: str) -> str | None:
        """Name what keeps a query here; None when the engine answers all of it."""
        tree = _read(query)
        if tree is None or not self._support.needs_engine(sources(tree)):
            return "what reads no records"
        return self._support.unsupported_part(tree, is_ours=False)

    def forget(self) -> None:
        """Let the engine forget what it was shown."""
        self._uploader.forget()

    def engine_table(self, table: exp.Table) -> str | None:
        """Return the engine's table of a file or of a small model; None for any other model."""
        return self._uploader.table_of(table)

    def _compiled(self, tree: Tree) -> str:
        """Return a query in the engine's words."""
        return Compiler(self._engine.dialect, models(), self.engine_table).compile(tree)

    def rows_here(self, called: str) -> pa.Table:
        """Return the rows of a model from what is on this machine; the engine is not asked."""
        return super().query(f"from {called}", self._used(called))

    @interruptible()
    def _counted(self, tree: Tree, query: str, *, is_ours: bool = True) -> pa.Table:
        """Return the answer of the engine, in the types that it has here."""
        sql = self._compiled(with_values(tree, self._values))
        text = query.strip().rstrip(";")
        types = f"select * from (\n{text}\n) limit 0"
        schema = super().query(types, self._used(types), is_ours=is_ours).schema
        return self.ask(sql, schema)

    def ask(self, sql: str, schema: pa.Schema) -> pa.Table:
        """Return the engine's answer to a query of its own words, in these types."""
        return cast_exactly(self._engine.query(sql), schema, self._engine.name)

    def _prepared(self, tree: Tree, query: str) -> str:
        """Let the engine count what a query is made of; return the query to run here."""
        whole = Model("query", "", "", "", (), query)
        self._forget_other_intervals(tree)
        try:
            return self._split(whole, tree)
        except _TwoIntervals:  # what an earlier query asked for is of another interval
            self._calls.clear()
            self._done.clear()
        try:
            return self._split(whole, tree)
        except _TwoIntervals as error:
            message = f"{error} is asked for twice in one query, of two intervals: an engine counts"
            raise QueryError(f"{message} one; ask for each in a query of its own") from error

    def _forget_other_intervals(self, tree: Tree) -> None:
        """Forget what earlier queries were made of, if this one names another interval."""
        named = {call_of(table): table.this.sql(OUR_DIALECT) for table in tables(tree)}
        if any(self._named.get(name, called) != called for name, called in named.items()):
            self._calls.clear()
            self._done.clear()
        self._named |= named

    def _count_sources(self, tree: Tree, known: Iterable[str] = ()) -> None:
        """Let the engine count what a query that stays here is made of."""
        own = {*inner_steps(tree), *known}
        for table in tables(tree):
            name = call_of(table)
            if name not in own and name in models() and self._support.needs_engine([name]):
                self._count_model(models()[name], table)

    def _count_model(self, model: Model, table: exp.Table) -> None:
        can_count = self._support.can_count(model.name)
        if model.name in self._row_counts or (can_count and not is_counted(model.name)):
            return
        values = arguments(table, parameters(model.signature))
        called = table.this.sql(OUR_DIALECT)
        if self._calls.setdefault(model.name, called) != called:
            raise _TwoIntervals(model.name)
        if model.name in self._done:
            return
        self._done.add(model.name)
        if can_count:
            rows = self._counted(parse(f"from {called}"), f"from {called}")
            self._keep_rows(model.name, rows, model.signature)
        elif model.name == _CHECKS:
            self._count_checks(model, values)
        else:
            self._count_split(model, values)

    def _count_split(self, model: Model, values: Mapping[str, Tree]) -> None:
        """Let the engine count what it can of a model; the rest of it stays here."""
        self._redefine(model, self._split(model, write_in(parse(model.sql), values)))

    def _split(self, model: Model, tree: Tree) -> str:
        """Let the engine count steps of a model; return its SQL, which reads their rows."""
        split = split_model(model, self._support, tree)
        for name in split.engine_steps:
            self._keep_part(part_name(model, name), _step(tree, name))
        known = {step.alias.lower() for step in steps(tree)}
        for query in split.local_queries:
            self._count_sources(query, known)
        return split.sql()

    def _count_checks(self, model: Model, values: Mapping[str, Tree]) -> None:
        """Let the engine find what breaks a rule, by one query for all the rules that it can."""
        bodies = {check: findings_within(check) for check in read_statement_checks()}
        trees = {check: write_in(parse(body), values) for check, body in bodies.items()}
        countable = [
            check
            for check, tree in trees.items()
            if self._support.needs_engine(sources(tree))
            and self._support.unsupported_part(tree) is None
        ]
        local = [body for check, body in bodies.items() if check not in countable]
        if countable:
            part = part_name(model, "rules")
            union = "\nunion all\n".join(bodies[check] for check in countable)
            self._keep_part(part, write_in(parse(union), values))
            local.append(f"select * from {part}")
        self._redefine(model, "\nunion all\n".join(local))
        for check in trees.keys() - {*countable}:
            self._count_sources(trees[check])

    def _keep_part(self, name: str, tree: Tree) -> None:
        self._keep_rows(name, self._counted(tree, tree.sql(OUR_DIALECT)))

    def _keep_rows(self, name: str, rows: pa.Table, signature: str = "") -> None:
        super().keep(name, f"from {_ROWS}", {}, signature, {_ROWS: rows})

    def _redefine(self, model: Model, sql: str) -> None:
        body = fill(sql, variables())
        kind = "macro" if model.signature else "view"
        head = f"create or replace temp {kind} {model.name}{model.signature} as "
        with self._naming_errors():
            self._connection.execute(f"{head}{'table ' if model.signature else ''}{body}")

    def _used(self, query: str) -> dict[str, Any]:
        return {name: value for name, value in self._values.items() if f"${name}" in query}


def _read(query: str) -> Tree | None:
    """Return the tree of a query; None where the words of it are unknown: then it stays here."""
    try:
        return parse(query)
    except QueryError:
        return None


def _step(tree: Tree, name: str) -> Tree:
    """Return the query that yields the rows of one step of a model, of the steps that it reads."""
    bodies = {step.alias.lower(): step for step in steps(tree)}
    needed, waiting = {name}, [name]
    while waiting:
        read = {call_of(table) for table in tables(bodies[waiting.pop()].this)} & bodies.keys()
        waiting += read - needed
        needed |= read
    query = exp.select("*").from_(name)
    listed = [step.copy() for each, step in bodies.items() if each in needed]
    query.set("with_", exp.With(expressions=listed))
    return query
