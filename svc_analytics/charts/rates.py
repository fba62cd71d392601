"""Chart of the USD rates that records imply, by day."""

from decimal import Decimal
from typing import Any

from svc_analytics.charts.axes import (
    NOWHERE,
    ROUNDED,
    Axes,
    Row,
    Table,
    cents,
    finish,
    finish_days,
    mark_unknown,
    rows_of,
)
from svc_analytics.charts.palette import BLUE, INK
from svc_analytics.charts.sentences import share
from svc_analytics.messages import Message


def usd_rates(axes: Axes, table: Table, currency: str) -> None:
    """Draw each day's median rate as a line, and its lowest to highest rate as a band.

    `table` has `day`, `currency`, `low`, `median` and `high`, as the view `usd_rates`. On a
    day without a rate the line is broken; where there were records, the rate is unknown and
    the day hatched grey. The axis need not hold zero: a rate is no amount.
    """
    everything = sorted(rows_of(table, currency), key=lambda row: row["day"])
    rows = {row["day"].toordinal(): row for row in everything}
    days = range(min(rows, default=0), max(rows, default=-1) + 1)
    low, median, high = (_places(rows, days, name) for name in ("low", "median", "high"))
    known = [value for value in median if value == value]
    if known:
        edges = [day - 0.5 for day in [*days, days[-1] + 1]]
        look: dict[str, Any] = {
            "color": BLUE,
            "alpha": 0.35,
            "linewidth": 0.0,
            "label": "lowest to highest",
        }
        axes.stairs(high, edges, baseline=low, fill=True, **look)
        axes.stairs(median, edges, baseline=None, color=INK, label="median of the day")
    mark_unknown(axes, [day for day, row in rows.items() if row["median"] is None])
    finish_days(axes, table, Message("USD per {coin}", coin=currency))
    why = "unknown: no record of this coin has a USD value" if rows else "no movement"
    title = Message("USD rates by day, {coin} (axis not from zero)", coin=currency)
    finish(axes, title, known, why, _subtitle([row["median"] for row in rows.values()], currency))


def _subtitle(medians: list[Decimal | None], currency: str) -> str:
    """Say from where to where the rate went."""
    known = [rate for rate in medians if rate]
    if len(known) < 2:
        return ""
    first, last = known[0], known[-1]
    code = "chart.rate_higher" if last >= first else "chart.rate_lower"
    change = share(ROUNDED.subtract(last, first), first)
    texts = {"first": _rate(first), "last": _rate(last)}
    return Message(code, coin=currency, percent=change, **texts)


def _rate(rate: Decimal) -> str:
    """Write a rate with 2 places, one below 100 with 4: a stable coin's moves behind the second."""
    if rate >= 100:
        return cents(rate)
    return f"{rate.quantize(Decimal('0.0001'), context=ROUNDED):f}"


def _places(rows: dict[int, Row], days: range, name: str) -> list[float]:
    """Return the place of each day's rate on the axis."""
    rates: list[Decimal | None] = [rows[day][name] if day in rows else None for day in days]
    return [NOWHERE if rate is None else float(rate) for rate in rates]
