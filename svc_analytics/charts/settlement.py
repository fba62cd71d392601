"""Charts of what sales left in the wallet, and of the position, by day."""

from datetime import date
from decimal import Decimal
from typing import Any

from svc_analytics.charts.axes import (
    NOWHERE,
    Axes,
    Row,
    Table,
    finish,
    finish_days,
    mark_unknown,
    rows_of,
    signed_bars,
)
from svc_analytics.charts.palette import INK, PAPER
from svc_analytics.charts.sentences import sentences
from svc_analytics.messages import Message, translated
from svc_analytics.money import format_amount, group_digits
from svc_analytics.warehouse.figures import label_of


def net_settlement_daily(axes: Axes, table: Table, currency: str) -> None:
    """Draw each day's sales less fees and refunds: filled bars up, hatched bars down.

    `table` has `day`, `currency`, `net_settlement`. A day of unknown figure is hatched grey.
    """
    title = Message(
        "{FIGURE} by day, {coin}", figure=translated(label_of("net_settlement")), coin=currency
    )
    _daily_bars(axes, table, currency, "net_settlement", title)


def position(axes: Axes, table: Table, currency: str) -> None:
    """Draw the position at each day's end as steps, and its movements as bars.

    `table` has `day`, `currency`, `movement` and `closing`; with `opening`, a diamond is the
    position before the first day. Where the position is unknown the line is broken, and a
    day of unknown movement is hatched grey. It is no balance: deposits and withdrawals are not
    in it.
    """
    rows = rows_of(table, currency)
    days = [row["day"].toordinal() for row in rows]
    closing = [NOWHERE if row["closing"] is None else float(row["closing"]) for row in rows]
    is_known = any(row["closing"] is not None for row in rows)
    label = "position at the day's end" if is_known else "position unknown"
    axes.step(days, closing, where="mid", color=INK, linewidth=1.4, label=label)
    _mark_opening(axes, rows)
    title = Message("Position and movements, {coin}", coin=currency)
    _daily_bars(axes, table, currency, "movement", title, _moved(rows, currency))


def _moved(rows: list[Row], currency: str) -> str:
    """Say from where to where the position went."""
    opening = rows[0].get("opening") if rows else None
    closing = rows[-1]["closing"] if rows else None
    if opening is None or closing is None:
        return ""
    texts = [group_digits(format_amount(value)) for value in (opening, closing)]
    return Message("chart.position_moved", opening=texts[0], closing=texts[1], coin=currency)


def _mark_opening(axes: Axes, rows: list[Row]) -> None:
    """Mark the position before the first day, where it is known."""
    opening = rows[0].get("opening") if rows else None
    if opening is not None:
        before = rows[0]["day"].toordinal() - 0.6
        look: dict[str, Any] = {
            "color": INK,
            "markerfacecolor": PAPER,
            "clip_on": False,
            "markersize": 4.0,
        }
        axes.plot([before], [float(opening)], "D", label="opening position", **look)


def _daily_bars(
    axes: Axes, table: Table, currency: str, name: str, title: str, sentence: str = ""
) -> None:
    """Draw a bar for each day's figure, hatched grey where it is unknown."""
    figures = [(row["day"], row[name]) for row in rows_of(table, currency)]
    known = [(day.toordinal(), value) for day, value in figures if value is not None]
    signed_bars(axes.bar, known)
    mark_unknown(axes, [day.toordinal() for day, value in figures if value is None])
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.grid(axis="y")
    finish_days(axes, table, currency)
    finish(axes, title, figures, "no movement", sentence or _best(known, currency))


def _best(known: list[tuple[int, Decimal]], currency: str) -> str:
    """Say which day is the highest, and how many are below zero."""
    if len(known) < 2:
        return ""
    day, value = max(known, key=lambda pair: pair[1])
    amount = group_digits(format_amount(value))
    names = {"day": f"{date.fromordinal(day):%Y-%m-%d}", "amount": amount, "coin": currency}
    below = sum(value < 0 for _, value in known)
    return sentences(
        Message("chart.best_day", count=len(known), **names),
        Message("chart.days_below", count=below) if below else "",
    )
