"""Chart of a year in USD: what sales left, month by month, all coins in one."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from svc_analytics.charts.axes import (
    MOST_SERIES,
    ROUNDED,
    Axes,
    Row,
    Table,
    all_months,
    amounts,
    finish,
    legend_below,
    mark_running,
    mark_unknown,
    rows_of,
    running_place,
)
from svc_analytics.charts.palette import INK, PAPER, SERIES
from svc_analytics.charts.sentences import month_short, period_name, sentences, share
from svc_analytics.charts.usd import total, unpriced, usd_of
from svc_analytics.charts.words import in_line, language_of
from svc_analytics.messages import Message
from svc_analytics.money import EXACT, group_digits
from svc_analytics.warehouse.definitions import label_of

MONTHS = 12
# What the chart is drawn of: the last four count records, with and without a value.
USED = (
    *("usd_net_sales", "usd_refunds", "payments_count", "usd_gross_priced_count"),
    *("refunds_count", "usd_refunds_priced_count"),
)
# Without, and with the coin that is the largest part.
_HIGHEST = ("chart.highest", "chart.highest_of")
_LOWEST = ("chart.lowest", "chart.lowest_of")
_ABOVE = ("chart.above", "chart.above_of")
_BELOW = ("chart.below", "chart.below_of")
_OTHERS = "other coins"
_PALER = 0.8  # of the months before the newest one
Left = dict[str, dict[str, Decimal | None]]  # by month and coin; None is unknown


def usd_year(axes: Axes, table: Table, months: int = MONTHS) -> None:
    """Draw what sales left after fees and refunds in USD: a stack of coins for each month.

    `table` has `month`, `currency`, `usd_net_sales` and `usd_refunds`; the newest `months` are
    drawn, and those of the year before as lines across them, where the table has them. A month
    with a coin of unknown value is hatched grey, and has no total. With the counts of records and
    of those with a USD value, the sentence says how many have none.
    """
    left = _left(rows_of(table))
    shown = all_months(left)[-months:]
    coins = _largest_first(left, shown)
    drawn = [month for month in shown if left.get(month)]
    if drawn:
        _draw_stacks(axes, left, shown, coins)
        _draw_year_before(axes, left, shown)
    unknown = [place for place, month in enumerate(shown) if _is_unknown(left.get(month, {}))]
    mark_unknown(axes, unknown)
    running = running_place(table, shown, range(len(shown)))
    mark_running(axes, running, "month")
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.grid(axis="y")
    axes.margins(y=0.12)  # the total of the newest month stands above it
    axes.spines["left"].set_visible(False)
    amounts(axes.yaxis)
    _label_months(axes, shown)
    legend_below(axes)
    title = Message("{FIGURE} by month, USD", FIGURE=label_of("net_settlement"))
    whole = shown[:running] if running is not None else shown
    finish(axes, title, drawn, "no record", _subtitle(left, whole, rows_of(table)))


def _left(rows: Sequence[Row]) -> Left:
    """Return the sales less fees and refunds of each month and coin."""
    amounts: Left = {}
    for row in rows:
        sales, refunds = usd_of(row, "usd_net_sales"), usd_of(row, "usd_refunds")
        known = None if sales is None or refunds is None else EXACT.subtract(sales, refunds)
        amounts.setdefault(row["month"], {})[row["currency"]] = known
    return amounts


def _is_unknown(coins: dict[str, Decimal | None]) -> bool:
    return None in coins.values()


def _total(left: Left, month: str) -> Decimal | None:
    """Return the total of a month; None where there is no record, or a coin is unknown."""
    values = list(left.get(month, {}).values())
    if not values or None in values:
        return None
    return total([value for value in values if value is not None])


def _largest_first(left: Left, months: Sequence[str]) -> list[str]:
    """Return the coins, the one with most in these months first."""
    worth: dict[str, Decimal] = {}
    for month in months:
        for coin, value in left.get(month, {}).items():
            worth[coin] = EXACT.add(worth.get(coin, Decimal(0)), abs(value or Decimal(0)))
    return sorted(worth, key=lambda coin: (-worth[coin], coin))


def _draw_year_before(axes: Axes, left: Left, shown: Sequence[str]) -> None:
    """Draw the totals of the same months of the year before as lines across the stacks."""
    totals = [(place, _total(left, year_before(month))) for place, month in enumerate(shown)]
    known = [(place, float(worth)) for place, worth in totals if worth is not None]
    if known:
        places, heights = zip(*known, strict=True)
        starts, ends = ([place + side for place in places] for side in (-0.42, 0.42))
        axes.hlines(
            heights, starts, ends, color=INK, linewidth=1.2, label="the year before", zorder=3
        )


def year_before(month: str) -> str:
    """Return the same month of the year before.

    >>> year_before("2026-10")
    '2025-10'
    """
    return f"{int(month[:4]) - 1:04}{month[4:]}"


def _draw_stacks(axes: Axes, left: Left, shown: Sequence[str], coins: Sequence[str]) -> None:
    """Draw the coins above one another, those below zero downwards; the newest month is named."""
    tops = [[Decimal(0), Decimal(0)] for _ in shown]  # of each month, below and above zero
    for number, (coin, members) in enumerate(_series(coins)):
        for place, month in enumerate(shown):
            values = [left.get(month, {}).get(member) for member in members]
            value = total([each for each in values if each is not None])
            start = tops[place][value > 0]
            look: dict[str, Any] = {"facecolor": SERIES[number], "edgecolor": PAPER}
            look |= {"alpha": 1.0 if place == len(shown) - 1 else _PALER, "linewidth": 0.5}
            look |= {"label": coin} if place == len(shown) - 1 else {}
            axes.bar([place], [float(value)], 0.6, float(start), zorder=2, **look)
            tops[place][value > 0] = EXACT.add(start, value)
    newest = _total(left, shown[-1])
    if newest is not None:
        top = (len(shown) - 0.7, float(tops[-1][1]))
        text = in_line(axes, group_digits(f"{newest.quantize(Decimal(1), context=ROUNDED):f}"))
        look = {"ha": "right", "fontsize": "small", "fontweight": "bold"}
        axes.annotate(text, top, (0, 3), textcoords="offset points", **look)


def _series(coins: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Return each coin, or the largest and all the others together."""
    if len(coins) <= MOST_SERIES:
        return [(coin, [coin]) for coin in coins]
    named = coins[: MOST_SERIES - 1]
    return [*((coin, [coin]) for coin in named), (_OTHERS, coins[MOST_SERIES - 1 :])]


def _label_months(axes: Axes, months: Sequence[str]) -> None:
    """Label every month; its year stands below each first of a year, and below the first month.

    There is no room for two years side by side: below the month before a January there is none.
    """
    language = language_of(axes)
    texts = []
    for place, month in enumerate(months):
        name = month_short(month) if language.is_english else language.number(month[5:7])
        is_first = place == 0 and not "".join(months[1:2]).endswith("-01")
        year = language.number(month[:4]) if is_first or month.endswith("-01") else ""
        texts.append(f"{name}\n{year}" if year else name)
    axes.set_xticks(range(len(months)), labels=texts)
    axes.set_xlim(-0.6, max(len(months), 1) - 0.4)


def _subtitle(left: Left, months: Sequence[str], rows: Sequence[Row]) -> str:
    """Say how the newest month that is over stands among the others."""
    drawn = [row for row in rows if row["month"] in months]
    totals = {month: worth for month in months if (worth := _total(left, month)) is not None}
    newest = months[-1] if months else ""
    if newest not in totals:
        return unpriced(drawn)
    coin, value = max(left[newest].items(), key=lambda pair: pair[1] or Decimal(0))
    largest = {}
    if totals[newest] > 0 and len(left[newest]) > 1:
        largest = {"coin": coin, "share": share(value or Decimal(0), totals[newest])}
    return sentences(
        _ranked(newest, totals, largest), _compared(left, newest, totals), unpriced(drawn)
    )


def _ranked(newest: str, totals: dict[str, Decimal], largest: dict[str, str]) -> str:
    """Say that it is the highest or the lowest, or how it differs from the month before."""
    values, has_largest = list(totals.values()), bool(largest)
    name: dict[str, Any] = {"PERIOD": period_name(newest), **largest}
    if len(values) > 1 and totals[newest] in (max(values), min(values)):
        codes = _HIGHEST if totals[newest] == max(values) else _LOWEST
        return Message(codes[has_largest], count=len(values), **name)
    if len(values) > 1 and values[-2] > 0:
        more = EXACT.subtract(totals[newest], values[-2])
        before = period_name(list(totals)[-2])
        code = (_ABOVE if more >= 0 else _BELOW)[has_largest]
        return Message(code, percent=share(more, values[-2]), BEFORE=before, **name)
    return Message("chart.largest", **name) if largest else ""


def _compared(left: Left, newest: str, totals: dict[str, Decimal]) -> str:
    """Say how it differs from the same month of the year before."""
    before = _total(left, year_before(newest))
    if before is None or before <= 0:
        return ""
    more = EXACT.subtract(totals[newest], before)
    code = "chart.year_above" if more >= 0 else "chart.year_below"
    return Message(code, percent=share(more, before), BEFORE=period_name(year_before(newest)))
