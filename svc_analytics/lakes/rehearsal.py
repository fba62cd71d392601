"""What an engine would be asked for a query over one lake or several, without an engine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from svc_analytics.engines.rehearsal import RecordingEngine, open_rehearsal, rehearse, write_down
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.lake.lake import Lake
from svc_analytics.lakes.counted import EngineLakes
from svc_analytics.lakes.views import open_views, public_views
from svc_analytics.warehouse.models import models_used_by


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
