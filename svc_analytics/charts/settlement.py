"""Charts of net settlement and position."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from svc_analytics.charts.axes import (
    all_days,
    amounts,
    label_days,
    mark_unknown,
    rows_of,
    say_if_empty,
    signed_bars,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from svc_analytics.charts.axes import Table


def net_settlement_daily(axes: Axes, table: Table, currency: str) -> None:
    """Draw what each day's sales left in the wallet: bars up, and hatched bars down.

    `table` has `day`, `currency`, `net_settlement`. A day whose figure is unknown is a cross.
    """
    rows = rows_of(table, currency)
    days = [row["day"].toordinal() for row in rows]
    known = [
        (day, row["net_settlement"])
        for day, row in zip(days, rows, strict=True)
        if row["net_settlement"] is not None
    ]
    signed_bars(axes.bar, known)
    mark_unknown(axes, sorted(set(days) - {day for day, _ in known}))
    axes.axhline(0, color="black", linewidth=0.8)
    label_days(axes, all_days(table))
    amounts(axes.yaxis)
    axes.set_ylabel(currency)
    axes.set_title(f"Net settlement by day, {currency}")
    say_if_empty(axes, rows, "no movement")


def position(axes: Axes, table: Table, currency: str) -> None:
    """Draw the rail position at each day's end as steps, and each day's movement as bars.

    `table` has `day`, `currency`, `movement` and `closing`. Where the position is unknown
    the line is broken, and a day of unknown movement is a cross. It is no balance: deposits
    and withdrawals are not in it.
    """
    rows = rows_of(table, currency)
    days = [row["day"].toordinal() for row in rows]
    moved = [
        (day, row["movement"])
        for day, row in zip(days, rows, strict=True)
        if row["movement"] is not None
    ]
    closing = [_place(row["closing"]) for row in rows]
    is_known = any(place == place for place in closing)
    label = "position" if is_known else "position unknown"
    signed_bars(axes.bar, moved)
    axes.step(days, closing, where="mid", color="black", linewidth=1.4, label=label)
    mark_unknown(axes, sorted(set(days) - {day for day, _ in moved}))
    axes.axhline(0, color="black", linewidth=0.8)
    label_days(axes, all_days(table))
    amounts(axes.yaxis)
    axes.set_ylabel(currency)
    axes.set_title(f"Rail position and movements, {currency}")
    if rows:
        axes.legend(frameon=False, fontsize="small")
    say_if_empty(axes, rows, "no movement")


def _place(value: Decimal | None) -> float:
    return float("nan") if value is None else float(value)
