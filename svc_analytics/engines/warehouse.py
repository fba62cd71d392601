"""A lake whose records an engine counts: what it cannot count exactly is made here, as always.

Each query is looked through first. What reads records and means the same everywhere is counted by
the engine, and its rows are kept here under the model's own name; everything above reads them by
the unchanged SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from svc_analytics.coverage import Span
from svc_analytics.engines import compiler, trees
from svc_analytics.engines.compiler import Compiler, SqlSupport
from svc_analytics.engines.spark import Engine, Places, places_of
from svc_analytics.engines.trees import OUR_DIALECT, Tree
from svc_analytics.errors import EngineError, QueryError
from svc_analytics.interrupts import interruptible
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.images import file_schemas
from svc_analytics.warehouse.models import Model, read_statement_checks
from svc_analytics.warehouse.view_builder import Files, fill, findings_within, variables
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
        # The engine has memory of its own, and is asked as seldom as can be.
        self.is_held = self.is_large = False
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
        self._support = SqlSupport(engine.dialect, self._uploader.is_materialized)
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
        if tree is not None and self._support.needs_engine(compiler.sources(tree)):
            is_written = is_ours or all(map(trees.is_plain, self._values.values()))
            if is_written and self._support.unsupported_part(tree, is_ours=is_ours) is None:
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
        tree = None if tables else trees.parse(query)
        if tree is not None and self._support.needs_engine(compiler.sources(tree)):
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
        if tree is None or not self._support.needs_engine(compiler.sources(tree)):
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
        return Compiler(self._engine.dialect, compiler.models(), self.engine_table).compile(tree)

    def rows_here(self, called: str) -> pa.Table:
        """Return the rows of a model from what is on this machine; the engine is not asked."""
        return super().query(f"from {called}", self._used(called))

    @interruptible()
    def _counted(self, tree: Tree, query: str, *, is_ours: bool = True) -> pa.Table:
        """Return the answer of the engine, in the types that it has here."""
        sql = self._compiled(trees.with_values(tree, self._values))
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
        named = {trees.call_of(table): table.this.sql(OUR_DIALECT) for table in trees.tables(tree)}
        if any(self._named.get(name, called) != called for name, called in named.items()):
            self._calls.clear()
            self._done.clear()
        self._named |= named

    def _count_sources(self, tree: Tree, known: Iterable[str] = ()) -> None:
        """Let the engine count what a query that stays here is made of."""
        own = {*trees.inner_steps(tree), *known}
        for table in trees.tables(tree):
            name = trees.call_of(table)
            if name not in own and name in compiler.models() and self._support.needs_engine([name]):
                self._count_model(compiler.models()[name], table)

    def _count_model(self, model: Model, table: exp.Table) -> None:
        can_count = self._support.can_count(model.name)
        if model.name in self._row_counts or (can_count and not compiler.is_counted(model.name)):
            return
        values = trees.arguments(table, trees.parameters(model.signature))
        called = table.this.sql(OUR_DIALECT)
        if self._calls.setdefault(model.name, called) != called:
            raise _TwoIntervals(model.name)
        if model.name in self._done:
            return
        self._done.add(model.name)
        if can_count:
            rows = self._counted(trees.parse(f"from {called}"), f"from {called}")
            self._keep_rows(model.name, rows, model.signature)
        elif model.name == _CHECKS:
            self._count_checks(model, values)
        else:
            self._count_split(model, values)

    def _count_split(self, model: Model, values: Mapping[str, Tree]) -> None:
        """Let the engine count what it can of a model; the rest of it stays here."""
        self._redefine(model, self._split(model, trees.write_in(trees.parse(model.sql), values)))

    def _split(self, model: Model, tree: Tree) -> str:
        """Let the engine count steps of a model; return its SQL, which reads their rows."""
        engine_steps, local = split_model(model, self._support, tree)
        for name in engine_steps:
            self._keep_part(part_name(model, name), _step(tree, name))
        known = {step.alias.lower() for step in trees.steps(tree)}
        for query in local:
            self._count_sources(query, known)
        return _of_parts(model, engine_steps)

    def _count_checks(self, model: Model, values: Mapping[str, Tree]) -> None:
        """Let the engine find what breaks a rule, by one query for all the rules that it can."""
        bodies = {check: findings_within(check) for check in read_statement_checks()}
        rules = {check: trees.write_in(trees.parse(body), values) for check, body in bodies.items()}
        countable = [
            check
            for check, tree in rules.items()
            if self._support.needs_engine(compiler.sources(tree))
            and self._support.unsupported_part(tree) is None
        ]
        local = [body for check, body in bodies.items() if check not in countable]
        if countable:
            part = part_name(model, "rules")
            union = "\nunion all\n".join(bodies[check] for check in countable)
            self._keep_part(part, trees.write_in(trees.parse(union), values))
            local.append(f"select * from {part}")
        self._redefine(model, "\nunion all\n".join(local))
        for check in rules.keys() - {*countable}:
            self._count_sources(rules[check])

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
        return trees.parse(query)
    except QueryError:
        return None


def _step(tree: Tree, name: str) -> Tree:
    """Return the query that yields the rows of one step of a model, of the steps that it reads."""
    bodies = {step.alias.lower(): step for step in trees.steps(tree)}
    needed, waiting = {name}, [name]
    while waiting:
        read = {
            trees.call_of(table) for table in trees.tables(bodies[waiting.pop()].this)
        } & bodies.keys()
        waiting += read - needed
        needed |= read
    query = exp.select("*").from_(name)
    listed = [step.copy() for each, step in bodies.items() if each in needed]
    query.set("with_", exp.With(expressions=listed))
    return query


# ---------- A model that is read here, while an engine counts some of its steps
# Its SQL, split in two.


_STEP = re.compile(r"^(?:with )?(?P<name>\w+) as \(\n(?P<body>.*?)^\)", re.DOTALL | re.MULTILINE)


def _of_parts(model: Model, engine_steps: Iterable[str]) -> str:
    """Write a model's SQL; a step that the engine counts reads its rows from a table."""
    parts = {name: f"    select * from {part_name(model, name)}\n" for name in engine_steps}

    def put(match: re.Match[str]) -> str:
        return match[0].replace(match["body"], parts.get(match["name"], match["body"]), 1)

    return _STEP.sub(put, model.sql)


def part_name(model: Model, step: str) -> str:
    """Name the table of a step's rows."""
    return f"part_{model.name}_{step}"


def split_model(model: Model, support: SqlSupport, tree: Tree) -> tuple[list[str], list[Tree]]:
    """Split a model, as it is called, into the steps that an engine counts and the rest.

    Of the steps, those are named whose rows are needed here; the rest are queries that stay here.
    """
    bodies = {step.alias.lower(): step.this for step in trees.steps(tree)}
    written = {match["name"] for match in _STEP.finditer(model.sql)}
    countable: list[str] = []
    for name, query in bodies.items():
        waits = _own(query, bodies) - {*countable}
        if name in written and not waits and support.unsupported_part(query, known=bodies) is None:
            countable.append(name)
    final = tree.copy()
    final.set("with_", None)
    local = [final, *(query for name, query in bodies.items() if name not in countable)]
    engine_steps: set[str] = set()
    for query in local:  # which grows by the steps that are cheap enough to be read here
        for name in sorted(_own(query, bodies) & {*countable} - engine_steps):
            if _is_worth(name, bodies, support):
                engine_steps.add(name)
            elif bodies[name] not in local:
                local.append(bodies[name])
    return sorted(engine_steps), local


def _own(query: Tree, bodies: Mapping[str, Tree]) -> set[str]:
    """Return the steps of its model that a step reads."""
    return {trees.call_of(table) for table in trees.tables(query)} & bodies.keys()


def _is_worth(name: str, bodies: Mapping[str, Tree], support: SqlSupport) -> bool:
    """Tell whether a step counts or joins records that are not here: others are cheap."""
    behind, waiting = {name}, [name]
    while waiting:
        fresh = _own(bodies[waiting.pop()], bodies) - behind
        behind |= fresh
        waiting += fresh
    named = {source for each in behind for source in compiler.sources(bodies[each])} - bodies.keys()
    far = [source for source in named if support.needs_engine([source])]
    is_counting = any(compiler.counts(bodies[each]) for each in behind) or any(
        map(compiler.is_counted, far)
    )
    return is_counting and bool(far)


# ---------- What an engine is shown
# The lake's files where they lie, and small tables handed over.


MOST_ROWS = 200_000  # of a table that is handed over


@dataclass
class TableUploader:
    """The tables of one lake on an engine, each shown when it is first needed."""

    engine: Engine
    files: Files
    places: Places
    rows_of: Callable[[str], pa.Table]  # the rows of a call, as counted here
    row_counts: Mapping[str, int]  # how many rows there are of the models that are kept here
    mark: str  # what the names of its tables begin with
    _shown: dict[str, str] = field(default_factory=dict)  # tables of the engine, by what they are

    def is_materialized(self, name: str) -> bool:
        """Tell whether a model is kept here with few rows."""
        return self.row_counts.get(name, MOST_ROWS + 1) <= MOST_ROWS

    def table_of(self, table: exp.Table) -> str | None:
        """Return the engine's table of a file or of a small model; None for any other model."""
        name = trees.call_of(table)
        if name.startswith("{"):
            return self._files(name[1:-1])
        if self.is_materialized(name):
            return self._rows(name, table)
        if name in compiler.models() and not compiler.reads_records(name):
            return self._rows(table.this.sql(OUR_DIALECT), table)
        return None

    def forget(self) -> None:
        """Let the engine forget these tables."""
        self.engine.forget([*self._shown.values()])

    def _rows(self, called: str, table: exp.Table) -> str:
        if called not in self._shown:
            name = self._new(trees.call_of(table))
            self.engine.put(name, self.rows_of(table.this.sql(OUR_DIALECT)))
            self._shown[called] = name
        return self._shown[called]

    def _files(self, name: str) -> str:
        if name not in self._shown:
            shown, schema = self._new(name), file_schemas()[name]
            placed = {path: self.places.place(path) for path in self.files[name]}
            places = [place for place in placed.values() if place is not None]
            self.places.require_seen(places, self.engine.sizes)
            rows = _rows_of([path for path, place in placed.items() if place is None], schema)
            self.engine.read(shown, places, schema, rows)
            self._shown[name] = shown
        return self._shown[name]

    def _new(self, name: str) -> str:
        number = f"_{len(self._shown)}" if f"{self.mark}_{name}" in self._shown.values() else ""
        return f"{self.mark}_{name}{number}"


def _rows_of(paths: list[Path], schema: pa.Schema) -> pa.Table | None:
    """Return the rows of files that were made here; nothing where there is none."""
    tables = [pq.read_table(path, columns=schema.names).cast(schema) for path in paths]
    return pa.concat_tables(tables).replace_schema_metadata() if tables else None


# ---------- An engine's answer in the types that DuckDB gives it
# Exactly, or not at all.


def cast_exactly(answer: pa.Table, schema: pa.Schema, engine: str) -> pa.Table:
    """Return an answer with the columns and types of a schema; refuse what does not fit.

    A column that the query does not name is called by each engine as it likes: it is known by
    its place.
    """
    if not _are_in_place(answer.column_names, schema.names):
        message = f"{engine} answered with the columns {', '.join(answer.column_names)}, not with "
        raise EngineError(f"{message}{', '.join(schema.names)}")
    columns = []
    for wanted, column in zip(schema, answer.columns, strict=True):
        try:
            columns.append(column.cast(wanted.type, safe=True))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            message = f"{engine} answered {wanted.name} as {column.type}, not as {wanted.type}"
            raise EngineError(f"{message}: {error}") from error
    return pa.table(columns, schema=schema)


def _are_in_place(names: list[str], wanted: list[str]) -> bool:
    """Tell whether each column that both know by a name stands where it should."""
    return len(names) == len(wanted) and all(
        one == other or (one not in wanted and other not in names)
        for one, other in zip(names, wanted, strict=True)
    )
