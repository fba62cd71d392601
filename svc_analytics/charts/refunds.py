"""Charts of refund ratios, and of refunds by month of payment."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from svc_analytics.charts.axes import (
    LINES,
    NOWHERE,
    UNKNOWN,
    Axes,
    Row,
    Table,
    all_months,
    finish,
    label_places,
    label_ticks,
    labels,
    legend_below,
    mark_running,
    percent,
    percent_axis,
    rows_of,
    running_place,
)
from svc_analytics.charts.palette import INK, PAPER, shade
from svc_analytics.charts.sentences import period_name
from svc_analytics.charts.words import apart, in_line
from svc_analytics.formatting.standing import RUNNING, standing_of
from svc_analytics.messages import Message, translated


def refund_ratio(axes: Axes, table: Table, months: int = 12) -> None:
    """Draw the refunds of each month over its total charged: a line for each coin, on one axis.

    `table` has `currency`, `refund_ratio_period` and `month` or `period`; the newest `months`
    are drawn. A month that is not over is shaded. Where a ratio is unknown or nothing was
    charged, the line is broken.
    """
    rows = rows_of(table)
    shown = all_months(labels(rows))[-months:]
    ratios = {(row["currency"], name): row["refund_ratio_period"] for row, name in _named(rows)}
    drawn: list[float] = []
    for number, coin in enumerate(sorted({row["currency"] for row in rows})):
        own = [ratios.get((coin, month)) for month in shown]
        heights = [NOWHERE if ratio is None else float(ratio) for ratio in own]
        look = {"linewidth": 1.4, "markersize": 3.5} | LINES[number % len(LINES)]
        axes.plot(range(len(shown)), heights, label=coin, **look)
        drawn += [height for height in heights if height == height]
    running = running_place(table, shown, range(len(shown)))
    mark_running(axes, running, "month")
    label_places(axes, shown)
    percent_axis(axes.yaxis, drawn)
    axes.grid(axis="y")
    axes.set_xlim(-0.6, max(len(shown), 1) - 0.4)
    if drawn:
        legend_below(axes)
    title, why = "Refunds over total charged, by month of the refund", "no record"
    sentence = _highest(shown[:running], ratios)
    finish(axes, title, drawn, "nothing charged" if rows else why, sentence)


def _named(rows: list[Row]) -> list[tuple[Row, str]]:
    return list(zip(rows, labels(rows), strict=True))


def _highest(months: list[str], ratios: dict[tuple[str, str], Decimal | None]) -> str:
    """Say which coin has the highest ratio of the newest month."""
    newest = {
        coin: ratio
        for (coin, month), ratio in ratios.items()
        if month in months[-1:] and ratio is not None
    }
    if len(newest) < 2:
        return ""
    coin = max(newest, key=lambda name: newest[name])
    values = {
        "period": translated(period_name(months[-1])),
        "coin": coin,
        "share": percent(newest[coin]),
    }
    return Message("chart.highest_ratio", **values)


_LETTERS = 7.0  # points, in a field
_LIGHT = 3  # the last shade that dark letters stand on


def refund_cohorts(axes: Axes, table: Table, currency: str, months: int = 12) -> None:
    """Draw the refunded share of each month's payments, by month of the refund.

    `table` has `payment_month`, `refund_month`, `currency` and `ratio`. Darker is more, a field
    shows its percentage, and an unknown one is hatched with `?`. The axes hold the newest `months`
    of all coins, and every month between.
    """
    everything = rows_of(table)
    newest = all_months(row["refund_month"] for row in everything)[-months:]
    ratios = {
        (row["payment_month"], row["refund_month"]): row["ratio"]
        for row in rows_of(table, currency)
        if row["payment_month"] in newest and row["refund_month"] in newest
    }
    known = [ratio for ratio in ratios.values() if ratio is not None]
    top = max(known, default=Decimal(0)) or Decimal(1)
    for (payment_month, refund_month), ratio in ratios.items():
        place = (newest.index(refund_month), newest.index(payment_month))
        _field(axes, place, ratio, _depth(ratio, top))
    axes.set_xlim(-0.5, max(len(newest), 1) - 0.5)
    axes.set_ylim(max(len(newest), 1) - 0.5, -0.5)
    label_places(axes, _marked(table, newest, "\n"))
    label_ticks(axes.yaxis, range(len(newest)), _marked(table, newest, " "))
    lines = [apart(axes, text) for text in ("month of the refund", _key(known))]
    axes.set_xlabel("\n".join(lines))
    axes.set_ylabel(apart(axes, "month of the payment"))
    title = Message("Refunded share of each month's total charged, {coin}", coin=currency)
    finish(axes, title, list(ratios), "no refund", _largest(ratios))


def _depth(ratio: Decimal | None, top: Decimal) -> int:
    """Return the shade of a share: of more than nothing at least the lightest."""
    if not ratio:
        return 0
    return max(int((ratio * 5 / top).to_integral_value(ROUND_HALF_UP)), 1)


def _marked(table: Table, months: list[str], before: str) -> list[str]:
    """Return months with a mark at those that are not over."""
    is_running = standing_of(table).is_running
    return [month + f"{before}{RUNNING}" * is_running(month) for month in months]


def _largest(ratios: dict[tuple[str, str], Decimal | None]) -> str:
    """Say which share is the largest."""
    known = {months: ratio for months, ratio in ratios.items() if ratio}
    if not known:
        return ""
    paid, returned = max(known, key=lambda months: known[months])
    values = {"paid": translated(period_name(paid)), "returned": translated(period_name(returned))}
    return Message("chart.largest_cohort", share=percent(known[paid, returned]), **values)


def _key(known: list[Decimal]) -> str:
    """Say which percentages the lightest and the darkest shade stand for."""
    return Message(
        "shades: white {least}, darkest {share}",
        least="0%",
        share=_short(max(known, default=None)),
    )


def _field(axes: Axes, place: tuple[int, int], ratio: Decimal | None, depth: int) -> None:
    """Draw one field of a heat map, with dark text on light or light text on dark."""
    x, y = place
    look = UNKNOWN if ratio is None else {"edgecolor": PAPER, "facecolor": shade(depth)}
    axes.bar([x], [1], 1, bottom=y - 0.5, **look)
    behind = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.6}
    box = {"bbox": behind} if ratio is None else {}
    ink = PAPER if depth > _LIGHT else INK
    centred: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "fontsize": _LETTERS}
    axes.text(x, y, in_line(axes, _short(ratio)), **centred, **box)


def _short(ratio: Decimal | None) -> str:
    """Write a ratio as a percentage, never as zero if it is more."""
    if ratio is None:
        return "?"
    rounded = ratio.quantize(Decimal("0.0001"), ROUND_HALF_UP)
    return percent(rounded) if rounded or not ratio else "<0.01%"
