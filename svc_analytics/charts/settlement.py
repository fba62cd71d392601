"""Charts of net settlement and of the position, by day."""

from svc_analytics.charts.axes import (
    NOWHERE,
    Axes,
    Table,
    add_legend,
    all_days,
    amounts,
    finish,
    label_days,
    mark_unknown,
    rows_of,
    signed_bars,
)


def net_settlement_daily(axes: Axes, table: Table, currency: str) -> None:
    """Draw the net settlement of each day: filled bars up, hatched bars down.

    `table` has `day`, `currency`, `net_settlement`. A day whose figure is unknown is a cross.
    """
    _daily_bars(axes, table, currency, "net_settlement", "Net settlement by day")


def position(axes: Axes, table: Table, currency: str) -> None:
    """Draw the position at each day's end as steps, and its movements as bars.

    `table` has `day`, `currency`, `movement` and `closing`. Where the position is unknown
    the line is broken, and a day of unknown movement is a cross. It is no balance: deposits
    and withdrawals are not in it.
    """
    rows = rows_of(table, currency)
    days = [row["day"].toordinal() for row in rows]
    closing = [NOWHERE if row["closing"] is None else float(row["closing"]) for row in rows]
    is_known = any(row["closing"] is not None for row in rows)
    label = "position" if is_known else "position unknown"
    axes.step(days, closing, where="mid", color="black", linewidth=1.4, label=label)
    _daily_bars(axes, table, currency, "movement", "Rail position and movements")
    if rows:
        add_legend(axes)


def _daily_bars(axes: Axes, table: Table, currency: str, name: str, title: str) -> None:
    """Draw a bar for each day's figure, and a cross where it is unknown."""
    figures = [(row["day"].toordinal(), row[name]) for row in rows_of(table, currency)]
    signed_bars(axes.bar, [(day, value) for day, value in figures if value is not None])
    mark_unknown(axes, [day for day, value in figures if value is None])
    axes.axhline(0, color="black", linewidth=0.8)
    label_days(axes, all_days(table))
    amounts(axes.yaxis)
    axes.set_ylabel(currency)
    finish(axes, f"{title}, {currency}", figures, "no movement")
