"""The lake as people use it: SQL, views and explanations on it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from svc_analytics.formatting.displayed import Displayable
from svc_analytics.formatting.tables import to_frame
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.views import list_views
from svc_analytics.warehouse.warehouse import open_warehouse

if TYPE_CHECKING:
    import pandas as pd

    from svc_analytics.statements.explain import Explanation


class Lakehouse(Displayable, Lake):
    """A lake that answers SQL: what `svc_analytics.open_lake` returns."""

    def sql(self, query: str, parameters: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Answer one read-only query on the views, exactly, as an Arrow-backed frame.

        Raises `QueryError` for anything but a single SELECT, and for errors in it.
        """
        with open_warehouse(self, models_used_by(query)) as warehouse:
            return to_frame(warehouse.query_readonly(query, parameters))

    def explain(
        self,
        month: str,
        currency: str,
        figure: str,
        *,
        zone: str = "UTC",
        calendar: str = "gregorian",
    ) -> Explanation:
        """Say where a figure of a month's statement comes from: its SQL and its records."""
        from svc_analytics.statements.explain import explain

        return explain(self, month, currency, figure, zone=zone, calendar=calendar)

    def views(self) -> pd.DataFrame:
        """List the views and statement macros: name, grain, columns and meaning."""
        import pandas as pd

        return pd.DataFrame(list_views())


def open_lake(data_dir: str | os.PathLike[str] = "data") -> Lakehouse:
    """Open the lake in a folder, whether anything was extracted into it yet or not."""
    return Lakehouse(data_dir)
