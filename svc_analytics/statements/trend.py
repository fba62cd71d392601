"""Figures of each coin by month, for the months that end with a given one."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyarrow as pa

from svc_analytics.engines.connect import count
from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake, known_months
from svc_analytics.periods import Period
from svc_analytics.render.comparison import chosen_figures
from svc_analytics.statements.months import count_months, keep_known
from svc_analytics.statements.reasons import read_until
from svc_analytics.warehouse.figure_sql import select_figures
from svc_analytics.warehouse.figures import Figure
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import Warehouse

MONTHS = 12
_ASSERTED = ("asserted_balance", "outside_movement")  # of the days that a person asserted
# What every month asks for again, each behind what it is made of: read once.
_KEPT = (
    *("stg_files", "stg_spans", "stg_quarantine", "stg_accepted", "int_lake"),
    *("int_coverage_gaps", "int_omissions", "int_coins"),
)


def monthly_figures(
    lake: Lake, figures: Sequence[str], last: Period, months: int = MONTHS, now: int | None = None
) -> pa.Table:
    """Return figures of each coin in each of the last `months`, the oldest first.

    The months are those of the calendar and zone of `last`, from the first that has a record.
    Its columns are `month`, `currency`, the figures (NULL where unknown, zero where a month
    has none of it) and `is_running`: whether the month is not over. Raises
    `ConfigError` for a figure that no statement has.
    """
    chosen = list(map(_chosen, figures))
    local = time.time_ns() // 1000 if now is None else now
    known = set(known_months(lake, last.zone, last.calendar))
    periods = [period for period in map(last.shift, range(1 - months, 1)) if period.label in known]
    if not periods:
        raise ConfigError(f"{lake.place} holds no month up to {last.label}: choose a later one")
    used = models_used_by(select_figures(chosen)) or frozenset()
    bounds = (periods[0].start, periods[-1].end)  # what is needed of other months is there too

    def work(warehouse: Warehouse) -> pa.Table:
        for name in filter(used.__contains__, _KEPT):
            warehouse.keep(name, f"from {name}", {}, "")
        read_to = read_until(lake, warehouse.coverage(), None)
        clock = max(local, read_to)
        keep_known(warehouse, periods, read_to, clock)
        tables = count_months(warehouse, periods, chosen, read_to, clock, every_coin=True)
        return pa.concat_tables(map(_marked, tables, [each.end > clock for each in periods]))

    return count(lake, used, work, period=bounds)


def _chosen(name: str) -> Figure:
    """Return the figure of that name or label; asserted balances have no trend."""
    [figure] = chosen_figures([name])
    if figure.name in _ASSERTED:
        raise ConfigError(f"{figure.name} has no trend: a person asserts it for single days")
    return figure


def _marked(table: pa.Table, is_running: bool) -> pa.Table:
    return table.append_column("is_running", pa.repeat(is_running, len(table)))
