"""Two statements as old as each other, as far as refunds to date go.

A sale of last month had a month less to be refunded than one of the month before. So the older
statement's figures to date are counted up to when it was as old as the younger one is now.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pyarrow as pa

from svc_analytics.engines.connect import count
from svc_analytics.instants import DAY, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period
from svc_analytics.render.compared.figures import Side, comparable_figures, is_to_date
from svc_analytics.statements.months import count_months, keep_known
from svc_analytics.warehouse.figure_sql import select_figures
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import Warehouse

Ended = tuple[Side, Period]  # a side, and its period


def at_same_age(lake: Lake, old: Ended, new: Ended) -> tuple[Side, Side]:
    """Return both sides with their refunds to date counted over the same time.

    The same sides where one of them is not over: its sales have no age.
    """
    ages = [side.age for side, _ in (old, new) if side.age is not None]
    age = min(ages, default=-1)
    if len(ages) < 2 or age < 0 or max(ages) - age < DAY:
        return old[0], new[0]
    return _counted_at(lake, *old, age), _counted_at(lake, *new, age)


def _counted_at(lake: Lake, side: Side, period: Period, age: int) -> Side:
    """Return a side with its figures to date as they were at an age."""
    if side.age == age:
        return side
    until = period.end + age
    then = _figures_before(lake, period, until)
    figures = {coin: {**row, **then.get(coin, {})} for coin, row in side.figures.items()}
    return replace(side, figures=figures, age=age, counted_to=format_instant(until))


def _figures_before(lake: Lake, period: Period, until: int) -> dict[str, dict[str, Decimal | None]]:
    """Return the figures to date of each coin, of refunds before an instant alone."""
    chosen = [figure for figure in comparable_figures().values() if is_to_date(figure)]
    used = models_used_by(select_figures(chosen)) or frozenset()

    def work(warehouse: Warehouse) -> pa.Table:
        keep_known(warehouse, [period], until, until)
        return count_months(warehouse, [period], chosen, until, until)

    rows = count(lake, used, work, period=(period.start, period.end)).to_pylist()
    names = [figure.name for figure in chosen]
    return {row["currency"]: {name: _number(row[name]) for name in names} for row in rows}


def _number(value: object) -> Decimal | None:
    return None if value is None else Decimal(str(value))
