"""The lake as people use it: SQL, views and explanations on it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from svc_analytics.coverage import Coverage, describe_span
from svc_analytics.formatting.display import (
    Cell,
    Display,
    DisplayTable,
    display_table,
    names_of,
)
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import BEGINNING, ago, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.schema import STREAMS
from svc_analytics.statements.explain import Explanation, explain
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.views import list_views
from svc_analytics.warehouse.warehouse import open_warehouse

if TYPE_CHECKING:
    import pandas as pd


_OFFER = (
    "The lake is empty. lake = svc.demo_lake({path!r}) fills it with a made-up merchant, "
    "without account or key. With your keys in the settings, svc.extract(lake) fills it."
)
_HELD = """
    select stream, rows, first_at, last_at, quarantined
    from (
        select
            stream,
            sum(rows)::bigint as rows,
            sum(quarantined)::bigint as quarantined
        from coverage
        group by stream
    )
    left join (
        select 'payments' as stream, min(paid_at) as first_at, max(paid_at) as last_at from payments
        union all
        select 'payout_records' as stream, min(created_at) as first_at, max(created_at) as last_at
        from payout_records
    ) using (stream)
    order by stream
"""


class Lakehouse(Displayable, Lake):
    """A lake that answers SQL: what `svc_analytics.open_lake` returns."""

    def _display(self) -> Display:
        if not self.exists:
            return Display(f"Lake {self.path}", [_OFFER.format(path=str(self.path))])
        merchant = self.merchant
        with open_warehouse(self) as warehouse:
            found, held = warehouse.coverage(), warehouse.query(_HELD)
        rows = [
            [Cell(name), Cell(state), Cell(describe_span(span))]
            for name in STREAMS
            for span, state in found[name].intervals()
        ]
        coverage = DisplayTable(
            "time that was read", ["stream", "state", "interval"], rows, len(rows)
        )
        lines = [f"of {names_of(merchant)}"]
        lines += [f"{name}: {_completeness(found[name])}" for name in STREAMS]
        tables = [display_table(held, "records in the lake", why="no record"), coverage]
        return Display(f"Lake {self.path}", lines, tables)

    def sql(self, query: str, parameters: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Run one read-only query on the views; return an exact, Arrow-backed frame.

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
        """Explain a figure of a month's statement: its value, its SQL and its records."""
        return explain(self, month, currency, figure, zone=zone, calendar=calendar)

    def views(self) -> pd.DataFrame:
        """List the views and statement macros: name, grain, columns and meaning."""
        import pandas as pd

        return pd.DataFrame(list_views())


def _completeness(coverage: Coverage) -> str:
    """Say in a line how complete and how fresh a stream is."""
    if not coverage.read:
        return "never extracted, so figures that need it are unknown"
    start = "the beginning" if coverage.read[0][0] == BEGINNING else "later than the beginning"
    gaps = len(coverage.read) - 1
    end = coverage.read[-1][1]
    count = "without a gap" if not gaps else f"with {gaps} gap{'s' * (gaps > 1)}"
    return f"read from {start} up to {format_instant(end)} ({ago(end)}), {count}"


def open_lake(data_dir: str | os.PathLike[str] = "data") -> Lakehouse:
    """Open the lake in a folder, whether anything was extracted into it yet or not."""
    return Lakehouse(data_dir)
