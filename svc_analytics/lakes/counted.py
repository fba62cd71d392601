"""Several lakes whose records an engine counts: one query over all of them is one of the engine.

Each lake is shown to the engine apart. A view of all is the union of theirs, merchant first, and
what cannot be counted there is made lake by lake, as for one lake.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa
from sqlglot import exp

from svc_analytics.engines.compiler import Compiler, Hand
from svc_analytics.engines.engine import Engine
from svc_analytics.engines.paths import Paths
from svc_analytics.engines.reach import models
from svc_analytics.engines.trees import Tree, call_of
from svc_analytics.engines.warehouse import EngineWarehouse
from svc_analytics.lakes.views import MERCHANT
from svc_analytics.warehouse.models import Model
from svc_analytics.warehouse.warehouse import Warehouse


class UnionCompiler(Compiler):
    """One query over the views of several lakes, on its way to an engine."""

    def __init__(self, dialect: str, hands: Mapping[str, Hand]) -> None:
        super().__init__(dialect, models(), self._union)
        self._lakes = {merchant: self.beside(hand) for merchant, hand in hands.items()}
        self._unions: dict[str, str] = {}  # the steps, by what was called

    def _union(self, table: exp.Table) -> str:
        """Return the step with the rows of all lakes, the merchant before all columns."""
        called = call_of(table)
        if called not in self._unions:
            parts = [
                exp.select(exp.alias_(exp.Literal.string(merchant), MERCHANT), "*").from_(
                    exp.to_identifier(lake.name_of(table.copy()))
                )
                for merchant, lake in self._lakes.items()
            ]
            whole = exp.union(*parts, distinct=False) if len(parts) > 1 else parts[0]
            self._unions[called] = self.add(f"{called}_of_all", whole)
        return self._unions[called]


class EngineLakes(EngineWarehouse):
    """The views of several lakes together, whose records an engine counts."""

    def __init__(
        self,
        here: Warehouse,
        engine: Engine,
        lakes: Mapping[str, EngineWarehouse],
        views: Collection[str],
    ) -> None:
        super().__init__(here, engine, Paths(here.sources.folder))  # of its own it shows nothing
        self._lakes, self._views = lakes, views

    def _compiler(self) -> Compiler:
        hands = {merchant: lake.hand for merchant, lake in self._lakes.items()}
        return UnionCompiler(self._engine.dialect, hands)

    def _bring_model(self, model: Model, table: exp.Table) -> None:
        if model.name in self._views:  # no other can be queried here
            super()._bring_model(model, table)

    def _bring_cut(self, model: Model, given: Mapping[str, Tree]) -> None:
        """Let each lake make the rows of a model that an engine cannot count alone."""
        query = f"from {model.name}"
        parts = []
        for merchant, lake in self._lakes.items():
            rows = lake.query(query)
            parts.append(rows.add_column(0, MERCHANT, pa.repeat(merchant, len(rows))))
        self._keep_rows(model.name, pa.concat_tables(parts))
