"""Charts of the fee rate over time, and of its tiers."""

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from svc_analytics.charts.axes import (
    BLUE,
    NOWHERE,
    Axes,
    Row,
    Table,
    add_legend,
    all_days,
    all_months,
    annotate,
    finish,
    label_days,
    label_places,
    labels,
    legend_below,
    mark_running,
    mark_running_day,
    mark_running_month,
    mark_unknown,
    percent,
    percent_axis,
    quotient,
    rows_of,
    running_place,
)
from svc_analytics.messages import Message


def fee_tiers(axes: Axes, table: Table, currency: str, zone: str = "UTC") -> None:
    """Draw fee tiers as steps, and the fees over gross sales as points.

    `table` has `currency`, `rate`, `first_at`, `last_at`, `payment_fees` and `gross_sales`,
    as the view `fee_tiers`. A tier is inferred from the fees: no record states it.
    """
    rows = sorted(rows_of(table, currency), key=lambda row: row["first_at"])
    starts = [_place(row["first_at"], zone) for row in rows]
    ends = [_place(row["last_at"], zone) for row in rows]
    paid = [quotient(row["payment_fees"], row["gross_sales"]) for row in rows]
    rates = [float(row["rate"]) for row in rows]
    if rows:
        axes.step([*starts, ends[-1]], [*rates, rates[-1]], "k", where="post", label="tier")
        mark_running_month(axes, table, ends[-1])
    middles = [(start + end) / 2 for start, end in zip(starts, ends, strict=True)]
    axes.plot(middles, paid, "o", color=BLUE, markersize=3.5, label="fees over gross sales")
    for place in _steps(rows):
        text = percent(rows[place]["rate"])
        annotate(axes, (starts[place], rates[place]), text, xytext=(3, 4))
    label_days(axes, [int(place) for place in [*starts, *ends]][:: max(2 * len(rows) - 1, 1)])
    percent_axis(axes.yaxis, [*rates, *paid])
    if rows:
        add_legend(axes, loc="lower left", ncols=3)
    finish(axes, Message("Fee rate and tiers, {coin}", coin=currency), rows, "nothing sold")


def _steps(rows: list[Row]) -> list[int]:
    """Return the indexes of rows that begin a new tier."""
    changed = [n for n, (a, b) in enumerate(pairwise(rows), 1) if a["rate"] != b["rate"]]
    return [0, *changed] if rows else []


def _place(instant: datetime, zone: str) -> float:
    """Return an instant's place on an axis of days."""
    local = instant.astimezone(ZoneInfo(zone))
    return local.toordinal() + (local.hour * 60 + local.minute) / 1440


def fee_rate(axes: Axes, table: Table, currency: str) -> None:
    """Draw the fee rate, fees over gross sales, over time.

    `table` has `currency`, `payment_fees`, `gross_sales` and one of `day`, `month`, `period`.
    Where nothing was sold the line is broken; where the rate is unknown, it is hatched too.
    """
    rows = rows_of(table, currency)
    unknown = [row for row in rows if None in (row["payment_fees"], row["gross_sales"])]
    shares = [quotient(row["payment_fees"], row["gross_sales"]) for row in rows]
    if rows and "day" in rows[0]:
        places = [row["day"].toordinal() for row in rows]
        mark_unknown(axes, [row["day"].toordinal() for row in unknown])
        mark_running_day(axes, table)
        label_days(axes, all_days(table))
    else:
        months = all_months(labels(rows))
        by_month = dict(zip(labels(rows), shares, strict=True))
        places, shares = list(range(len(months))), [by_month.get(name, NOWHERE) for name in months]
        mark_unknown(axes, [months.index(name) for name in labels(unknown)])
        mark_running(axes, running_place(table, months, places), "month")
        label_places(axes, months)
    axes.plot(
        places, shares, marker="o", markersize=3.5, color=BLUE, linewidth=1.2, label="fee rate"
    )
    percent_axis(axes.yaxis, shares)
    legend_below(axes)
    why = "unknown" if unknown else "nothing sold"
    known = [share for share in shares if share == share]
    finish(axes, Message("Fees over gross sales, {coin}", coin=currency), known, why)
