"""Chart of one figure by month."""

from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

from svc_analytics.charts.axes import (
    BLUE,
    GREY,
    MOST_TICKS,
    Axes,
    Row,
    Table,
    all_months,
    amounts,
    finish,
    label_ticks,
    legend_below,
    mark_unknown,
    percent_axis,
    rows_of,
    signed_bars,
)
from svc_analytics.charts.words import apart
from svc_analytics.formatting.standing import RUNNING, standing_of
from svc_analytics.messages import Message
from svc_analytics.warehouse.definitions import label_of
from svc_analytics.warehouse.figures import read_figures

_RUNNING: dict[str, Any] = {
    "facecolor": "white",
    "edgecolor": BLUE,
    "hatch": "....",
    "linewidth": 0.8,
}


def monthly_trend(
    axes: Axes, table: Table, currency: str, figure: str = "net_settlement", most: int = 12
) -> None:
    """Draw a figure of each month, of the newest `most` months: a bar for each.

    `table` has `month`, `currency` and the figure, as a comparison's trend has, or a view such
    as `net_settlement_monthly`. A bar below zero is hatched. A month that is not over, by the
    column `is_running` or the table's standing, is a dotted bar and is named. A month whose
    figure is unknown is hatched grey; one without a row of the coin is named as such. Neither is
    drawn as zero.
    """
    everything, standing = rows_of(table), standing_of(table)
    months = all_months(row["month"] for row in everything)[-most:]
    running = {row["month"] for row in everything if row.get("is_running")}
    running |= set(filter(standing.is_running, months))
    rows = {row["month"]: row for row in rows_of(table, currency) if row["month"] in months}
    known = [(months.index(month), row) for month, row in rows.items() if row[figure] is not None]
    _bars(axes, figure, known, running)
    mark_unknown(axes, [months.index(month) for month, row in rows.items() if row[figure] is None])
    _mark_missing(axes, [place for place, month in enumerate(months) if month not in rows])
    axes.axhline(0, color="black", linewidth=0.8)
    _label_months(axes, months, running)
    unit = label_amounts(axes, figure, currency, [row[figure] for _, row in known])
    axes.set_ylabel(apart(axes, unit))
    legend_below(axes)
    why = "unknown" if rows else "no record"
    title = Message("{FIGURE} by month, {coin}", FIGURE=label_of(figure), coin=currency)
    finish(axes, title, known, why)


def _bars(
    axes: Axes, figure: str, known: Sequence[tuple[int, Row]], running: Collection[str]
) -> None:
    """Draw the bars; a running month's look differs also in a grey print."""
    whole = [(place, row[figure]) for place, row in known if row["month"] not in running]
    signed_bars(axes.bar, [(place, Decimal(value)) for place, value in whole])
    partial = [(place, float(row[figure])) for place, row in known if row["month"] in running]
    if partial:
        places, heights = zip(*partial, strict=True)
        axes.bar(places, heights, 0.8, label="running month", **_RUNNING)


def _mark_missing(axes: Axes, places: Sequence[int]) -> None:
    if places:
        axes.plot(places, [0] * len(places), "_", color=GREY, label="no record", clip_on=False)


def _label_months(axes: Axes, months: list[str], running: Collection[str]) -> None:
    """Label every month, or every other one, the newest always."""
    step = -(-len(months) // MOST_TICKS) or 1
    places = list(range(len(months) - 1, -1, -step))
    texts = [
        f"{months[place]}\n{RUNNING}" if months[place] in running else months[place]
        for place in places
    ]
    label_ticks(axes.xaxis, places, texts)
    axes.set_xlim(-0.6, max(len(months), 1) - 0.4)


def label_amounts(axes: Axes, figure: str, currency: str, values: Sequence[Decimal]) -> str:
    """Write the ticks of the amounts, and return their unit; a ratio's are percentages."""
    known = read_figures().get(figure)
    unit = known.unit if known else "coin"
    if unit == "ratio":
        percent_axis(axes.yaxis, list(map(float, values)))
        return ""
    amounts(axes.yaxis)
    if unit == "USD per coin":
        return Message("USD per {coin}", coin=currency)
    return currency if unit == "coin" else unit
