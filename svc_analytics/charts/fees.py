"""Chart of the fee tiers: one line where all coins have the same."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

from svc_analytics.charts.axes import (
    Axes,
    Row,
    Table,
    annotate,
    finish,
    label_days,
    legend_below,
    mark_running_month,
    percent,
    percent_axis,
    rows_of,
)
from svc_analytics.charts.palette import SERIES
from svc_analytics.instants import to_micros
from svc_analytics.messages import Message
from svc_analytics.periods import clock_of

ALL_COINS = "All coins"
_STYLES = ("-", "--", "-.", ":")


def fee_tiers(axes: Axes, table: Table, zone: str = "UTC") -> None:
    """Draw the fee tiers as steps over time: once for all coins that have the same rates.

    `table` has `currency`, `rate`, `first_at` and `last_at`, as the view `fee_tiers`. A tier is
    inferred from the fees: no record states it.
    """
    rows = sorted(rows_of(table), key=lambda row: row["first_at"])
    groups = _alike(rows)
    ends = [_place(row["last_at"], zone) for row in rows]
    for number, (coins, steps) in enumerate(groups.items()):
        starts = [_place(row["first_at"], zone) for row in steps]
        last = max(_place(row["last_at"], zone) for row in steps)
        rates = [float(row["rate"]) for row in steps]
        look: dict[str, Any] = {"color": SERIES[number % len(SERIES)], "linewidth": 1.6}
        look["linestyle"] = _STYLES[number % len(_STYLES)]
        axes.step([*starts, last], [*rates, rates[-1]], where="post", label=coins, **look)
        for start, row in zip(starts, steps, strict=True):
            annotate(axes, (start, float(row["rate"])), percent(row["rate"]), xytext=(3, 4))
    if rows:
        mark_running_month(axes, table, max(ends))
    first = [_place(row["first_at"], zone) for row in rows[:1]]
    label_days(axes, [int(place) for place in [*first, max(ends, default=0.0)]] if rows else [])
    percent_axis(axes.yaxis, [float(row["rate"]) for row in rows])
    legend_below(axes)
    finish(axes, "Fee rate by tier", rows, "nothing sold", _subtitle(list(groups.values()), zone))


def _alike(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the first row of each step, by the coins that have these steps."""
    steps: dict[str, list[Row]] = {}
    for row in rows:
        own = steps.setdefault(row["currency"], [])
        if not own or own[-1]["rate"] != row["rate"]:
            own.append(row)
        else:
            own[-1] = own[-1] | {"last_at": row["last_at"]}
    coins: dict[tuple[Decimal, ...], list[str]] = {}
    for coin, own in steps.items():
        coins.setdefault(tuple(row["rate"] for row in own), []).append(coin)
    if len(coins) == 1 and len(steps) > 1:
        return {ALL_COINS: _widest(list(steps.values()))}
    return {", ".join(same): _widest([steps[coin] for coin in same]) for same in coins.values()}


def _widest(steps: Sequence[Sequence[Row]]) -> list[Row]:
    """Return the steps of several coins as one: each from the first sale to the last one."""
    return [
        same[0]
        | {
            "first_at": min(row["first_at"] for row in same),
            "last_at": max(row["last_at"] for row in same),
        }
        for same in zip(*steps, strict=True)
    ]


def _place(instant: datetime, zone: str) -> float:
    """Return an instant's place on an axis of days."""
    local = clock_of(zone).local(to_micros(instant))
    return local.toordinal() + (local.hour * 60 + local.minute) / 1440


def _subtitle(groups: Sequence[Sequence[Row]], zone: str) -> str:
    """Say the rate and since when; of coins with different tiers the lines say it."""
    if len(groups) != 1:
        return ""
    [steps] = groups
    newest = percent(steps[-1]["rate"])
    for before, after in list(pairwise(steps))[-1:]:
        day = f"{clock_of(zone).local(to_micros(after['first_at'])):%Y-%m-%d}"
        return Message("chart.newest_tier", rate=newest, day=day, before=percent(before["rate"]))
    return Message("chart.one_tier", rate=newest)
