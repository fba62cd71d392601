"""Several lakes whose records an engine counts: one query over all of them is one of the engine.

Each lake is shown to the engine apart. A view of all is the union of theirs, merchant first. A
view that is no sum alone is made here, lake by lake, but of sums that one query counts for all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from svc_analytics.engines.compiler import Compiler, FindTable
from svc_analytics.engines.engine import Engine
from svc_analytics.engines.paths import Paths
from svc_analytics.engines.rehearsal import RecordingEngine, open_rehearsal, rehearse, write_down
from svc_analytics.engines.support import models
from svc_analytics.engines.trees import Tree, call_of
from svc_analytics.engines.warehouse import EngineWarehouse
from svc_analytics.formatting.texts import single_line
from svc_analytics.lake.lake import Lake
from svc_analytics.lakes.views import MERCHANT, open_views, public_views
from svc_analytics.warehouse.models import Model, models_used_by
from svc_analytics.warehouse.warehouse import Warehouse

Lakes = Mapping[str, EngineWarehouse]  # by the merchant


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


# ---------- What an engine would be asked for a query over one lake or several, without an engine


def rehearse_lakes(lakes: Sequence[Lake], query: str, dialect: str) -> str:
    """Return the SQL that an engine would run for a query over these lakes.

    Raises `ConfigError` for a dialect that our SQL is not compiled to.
    """
    if len(lakes) == 1:
        return rehearse(lakes[0], query, dialect)
    engine, models = RecordingEngine(dialect), models_used_by(query)
    marks = {f"lake_{number}": lake for number, lake in enumerate(lakes, 1)}
    for mark, lake in marks.items():
        engine.shown.append(f"-- {mark}: merchant {single_line(lake.merchant_id)}")
    with ExitStack() as stack:
        opened = {
            lake.merchant_id: stack.enter_context(open_rehearsal(lake, engine, models, mark))
            for mark, lake in marks.items()
        }
        here = open_views(stack, [each.sources for each in opened.values()], models)
        together = EngineLakes(here, engine, opened, public_views(models))
        return write_down(engine, together, query)
