"""One query over several lakes: by DuckDB here, or by the engine that the lakes name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import pyarrow as pa

from svc_analytics.engines.connect import connect, of_one_snapshot
from svc_analytics.engines.engine import Engine
from svc_analytics.lake.lake import Lake
from svc_analytics.lakes.views import open_views, public_views
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.sources import open_sources
from svc_analytics.warehouse.warehouse import Warehouse


def query_lakes(
    lakes: Sequence[Lake], query: str, parameters: Mapping[str, Any] | None = None
) -> pa.Table:
    """Answer one read-only query over the views of all lakes, exactly.

    Raises `QueryError` for anything but one SELECT on views, and for errors in it.
    """
    models = models_used_by(query)
    engine = connect(lakes[0].engine)
    opened = _open_here if engine is None else partial(_open_on_engine, engine)

    def answer() -> pa.Table:
        with ExitStack() as stack:
            return opened(stack, lakes, models).query_readonly(query, parameters)

    return of_one_snapshot(answer)


def _open_here(stack: ExitStack, lakes: Sequence[Lake], models: frozenset[str] | None) -> Warehouse:
    sources = [stack.enter_context(open_sources(lake, models)) for lake in lakes]
    return open_views(stack, sources, models)


def _open_on_engine(
    engine: Engine, stack: ExitStack, lakes: Sequence[Lake], models: frozenset[str] | None
) -> Warehouse:
    """Open the same, over the snapshots that the engine is shown."""
    from svc_analytics.engines.warehouse import open_on_engine
    from svc_analytics.lakes.counted import EngineLakes

    opened = {
        lake.merchant_id: stack.enter_context(open_on_engine(lake, engine, models))
        for lake in lakes
    }
    here = open_views(stack, [each.sources for each in opened.values()], models)
    return EngineLakes(here, engine, opened, public_views(models))
