"""Charts of refund ratios, and of refunds by month of payment."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from svc_analytics.charts.axes import (
    BLUE,
    MOST_TICKS,
    UNKNOWN,
    Axes,
    Row,
    Table,
    all_months,
    finish,
    hatched,
    label_places,
    label_ticks,
    labels,
    legend_below,
    mark_running,
    mark_unknown,
    percent,
    percent_axis,
    rows_of,
    running_place,
)
from svc_analytics.charts.words import apart, in_line
from svc_analytics.formatting.standing import RUNNING, standing_of
from svc_analytics.messages import Message


def refund_ratio(axes: Axes, table: Table, currency: str) -> None:
    """Draw the refund ratios of each month: of its refunds, and of its payments.

    `table` has `currency`, `refund_ratio_period`, `refund_ratio_cohort` and `month` or
    `period`. A month that is not over is shaded: its ratios still change. An unknown ratio is
    hatched grey; with `charged_total`, months in which nothing was charged are left empty.
    """
    rows = rows_of(table, currency)
    months = all_months(labels(rows))
    series = (
        ("refund_ratio_period", "settled in the month", -0.2, {"color": BLUE}),
        ("refund_ratio_cohort", "of the month's payments, to date", 0.2, hatched()),
    )
    drawn: list[float] = []
    lost: list[float] = []
    for name, label, shift, look in series:
        known = [row for row in rows if row[name] is not None]
        heights = [float(row[name]) for row in known]
        places = [months.index(month) + shift for month in labels(known)]
        bars = axes.bar(places, heights, 0.36, label=label, **look)
        if len(months) <= MOST_TICKS:
            texts = [in_line(axes, percent(row[name])) for row in known]
            axes.bar_label(bars, texts, padding=2, fontsize="small")
        drawn += heights
        lost += [months.index(month) + shift for month in labels(_unknown(rows, name))]
    mark_unknown(axes, lost, 0.36)
    mark_running(axes, running_place(table, months, range(len(months))), "month")
    label_places(axes, months)
    percent_axis(axes.yaxis, drawn)
    axes.set_xlim(-0.6, max(len(months), 1) - 0.4)
    if drawn or lost:
        legend_below(axes)
    title = Message("Refunds over total charged, {coin}", coin=currency)
    finish(axes, title, drawn, "unknown, or nothing charged")


def _unknown(rows: list[Row], name: str) -> list[Row]:
    """Return the rows whose ratio is unknown, not those of a month that charged nothing."""
    return [row for row in rows if row[name] is None and row.get("charged_total") != 0]


_LETTERS = ((13, 6.5), (18, 5.0), (25, 3.8))  # points, for up to so many months; then none


def refund_cohorts(axes: Axes, table: Table, currency: str) -> None:
    """Draw the refunded share of each month's payments, by month of the refund.

    `table` has `payment_month`, `refund_month`, `currency` and `ratio`. Darker is more, on
    one scale for all coins; a field shows its percentage where there is room, and an unknown
    one is hatched with `?`. The axes hold the months of all coins, and every month between.
    """
    everything = rows_of(table)
    ratios = {
        (row["payment_month"], row["refund_month"]): row["ratio"]
        for row in rows_of(table, currency)
    }
    paid, returned = (
        all_months(row[name] for row in everything) for name in ("payment_month", "refund_month")
    )
    known = [row["ratio"] for row in everything if row["ratio"] is not None]
    size = next((size for most, size in _LETTERS if len(returned) <= most), 0.0)
    top = max(known, default=Decimal(0)) or Decimal(1)
    for (payment_month, refund_month), ratio in ratios.items():
        place = (returned.index(refund_month), paid.index(payment_month))
        _field(axes, place, ratio, float(ratio / top) if ratio is not None else 0.0, size)
    axes.set_xlim(-0.5, max(len(returned), 1) - 0.5)
    axes.set_ylim(max(len(paid), 1) - 0.5, -0.5)
    label_places(axes, _marked(table, returned, "\n"))
    label_ticks(axes.yaxis, range(len(paid)), _marked(table, paid, " "))
    lines = [apart(axes, text) for text in ("month of the refund", _key(known))]
    axes.set_xlabel("\n".join(lines))
    axes.set_ylabel(apart(axes, "month of the payment"))
    title = Message("Refunded share of each month's total charged, {coin}", coin=currency)
    finish(axes, title, list(ratios), "no refund")


def _marked(table: Table, months: list[str], before: str) -> list[str]:
    """Return months with a mark at those that are not over."""
    is_running = standing_of(table).is_running
    return [month + f"{before}{RUNNING}" * is_running(month) for month in months]


def _key(known: list[Decimal]) -> str:
    """Say which percentages the lightest and the darkest shade stand for."""
    return Message(
        "shades, the same for all coins: white {least}, darkest {share}",
        least="0%",
        share=_short(max(known, default=None)),
    )


def _field(
    axes: Axes, place: tuple[int, int], ratio: Decimal | None, depth: float, size: float
) -> None:
    """Draw one field of a heat map, with dark text on light or light text on dark."""
    shade = str(round(1 - 0.8 * depth, 3))
    x, y = place
    look = UNKNOWN if ratio is None else {"edgecolor": "white", "facecolor": shade}
    axes.bar([x], [1], 1, bottom=y - 0.5, **look)
    ink = "white" if depth > 0.5 else "black"
    if size:
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        box = {"bbox": behind} if ratio is None else {}
        centred: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "fontsize": size}
        axes.text(x, y, in_line(axes, _short(ratio)), **centred, **box)


def _short(ratio: Decimal | None) -> str:
    """Write a ratio as a percentage, never as zero if it is more."""
    if ratio is None:
        return "?"
    rounded = ratio.quantize(Decimal("0.0001"), ROUND_HALF_UP)
    return percent(rounded) if rounded or not ratio else "<0.01%"
