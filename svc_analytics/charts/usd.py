"""Charts in USD: what records are worth, what a year left, and the rates that records imply.

A record without a value adds nothing and is counted. Where it is not known how many there are, a
missing sum is unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from svc_analytics.charts import drawing, words
from svc_analytics.charts.drawing import BLUE, INK, PAPER, SERIES, Axes, Row, Table
from svc_analytics.charts.words import ROUNDED
from svc_analytics.messages import Message, listed, translated
from svc_analytics.money import EXACT, group_digits
from svc_analytics.warehouse.figures import PRICED, label_of

_RECORDS = {"usd_net_sales": "payments_count", "usd_refunds": "refunds_count"}
_PAYOUTS = {"usd_payouts_debited": "payouts_count"}
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


def usd_of(row: Mapping[str, Any], name: str) -> Decimal | None:
    """Return a coin's sum in USD; None where it is unknown.

    >>> counted = {"refunds_count": 2, "usd_refunds_priced_count": 0, "usd_refunds": None}
    >>> usd_of(counted, "usd_refunds"), usd_of({"usd_refunds": None}, "usd_refunds")
    (Decimal('0'), None)
    """
    value: Decimal | None = row[name]
    count = (_RECORDS | _PAYOUTS)[name]
    is_unpriced = row.get(count) is not None and row.get(PRICED[count]) == 0
    return Decimal(0) if value is None and is_unpriced else value


def total(values: Iterable[Decimal]) -> Decimal:
    """Return the exact sum."""
    return reduce(EXACT.add, values, Decimal(0))


def unpriced(rows: Iterable[Mapping[str, Any]], *, has_payouts: bool = False) -> str:
    """Say how many records have no value in USD, where the rows count both."""
    counts = [*_RECORDS.values(), *(_PAYOUTS.values() if has_payouts else ())]
    pairs = [(row.get(count), row.get(PRICED[count])) for row in rows for count in counts]
    known = [(count, priced) for count, priced in pairs if None not in (count, priced)]
    missing = sum(int(count or 0) - int(priced or 0) for count, priced in known)
    if not missing:
        return ""
    every = sum(int(count or 0) for count, _ in known)
    return Message("chart.unpriced", count=f"{missing:,}", total=f"{every:,}")


def usd_year(axes: Axes, table: Table, months: int = MONTHS) -> None:
    """Draw what sales left after fees and refunds in USD: a stack of coins for each month.

    `table` has `month`, `currency`, `usd_net_sales` and `usd_refunds`; the newest `months` are
    drawn, and those of the year before as lines across them, where the table has them. A month
    with a coin of unknown value is hatched grey, and has no total. With the counts of records and
    of those with a USD value, the sentence says how many have none.
    """
    left = _left(drawing.rows_of(table))
    shown = drawing.all_months(left)[-months:]
    coins = _largest_first(left, shown)
    drawn = [month for month in shown if left.get(month)]
    if drawn:
        _draw_stacks(axes, left, shown, coins)
        _draw_year_before(axes, left, shown)
    unknown = [place for place, month in enumerate(shown) if None in left.get(month, {}).values()]
    drawing.mark_unknown(axes, unknown)
    running = drawing.mark_running(axes, table, shown, range(len(shown)), "month")
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.grid(axis="y")
    axes.margins(y=0.12)  # the total of the newest month stands above it
    axes.spines["left"].set_visible(False)
    drawing.amount_axis(axes.yaxis)
    _label_months(axes, shown)
    drawing.legend_below(axes)
    title = Message("{FIGURE} by month, USD", figure=translated(label_of("net_settlement")))
    whole = shown[:running] if running is not None else shown
    drawing.finish(axes, title, drawn, "no record", _subtitle(left, whole, drawing.rows_of(table)))


def _left(rows: Sequence[Row]) -> Left:
    """Return the sales less fees and refunds of each month and coin."""
    amounts: Left = {}
    for row in rows:
        sales, refunds = usd_of(row, "usd_net_sales"), usd_of(row, "usd_refunds")
        known = None if sales is None or refunds is None else EXACT.subtract(sales, refunds)
        amounts.setdefault(row["month"], {})[row["currency"]] = known
    return amounts


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
        text = words.in_line(
            axes, group_digits(f"{newest.quantize(Decimal(1), context=ROUNDED):f}")
        )
        look = {"ha": "right", "fontsize": "small", "fontweight": "bold"}
        axes.annotate(text, top, (0, 3), textcoords="offset points", **look)


def _series(coins: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Return each coin, or the largest and all the others together."""
    if len(coins) <= drawing.MOST_SERIES:
        return [(coin, [coin]) for coin in coins]
    named = coins[: drawing.MOST_SERIES - 1]
    return [*((coin, [coin]) for coin in named), (_OTHERS, coins[drawing.MOST_SERIES - 1 :])]


def _label_months(axes: Axes, months: Sequence[str]) -> None:
    """Label every month; its year stands below each first of a year, and below the first month.

    There is no room for two years side by side: below the month before a January there is none.
    """
    language = words.language_of(axes)
    texts = []
    for place, month in enumerate(months):
        name = words.month_short(month) if language.is_english else language.number(month[5:7])
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
        largest = {"coin": coin, "share": words.share(value or Decimal(0), totals[newest])}
    return words.sentences(
        _ranked(newest, totals, largest), _compared(left, newest, totals), unpriced(drawn)
    )


def _ranked(newest: str, totals: dict[str, Decimal], largest: dict[str, str]) -> str:
    """Say that it is the highest or the lowest, or how it differs from the month before."""
    values, has_largest = list(totals.values()), bool(largest)
    name: dict[str, Any] = {"period": translated(words.period_name(newest)), **largest}
    if len(values) > 1 and totals[newest] in (max(values), min(values)):
        codes = _HIGHEST if totals[newest] == max(values) else _LOWEST
        return Message(codes[has_largest], count=len(values), **name)
    if len(values) > 1 and values[-2] > 0:
        more = EXACT.subtract(totals[newest], values[-2])
        before = words.period_name(list(totals)[-2])
        code = (_ABOVE if more >= 0 else _BELOW)[has_largest]
        return Message(
            code, percent=words.share(more, values[-2]), before=translated(before), **name
        )
    return Message("chart.largest", **name) if largest else ""


def _compared(left: Left, newest: str, totals: dict[str, Decimal]) -> str:
    """Say how it differs from the same month of the year before."""
    before = _total(left, year_before(newest))
    if before is None or before <= 0:
        return ""
    more = EXACT.subtract(totals[newest], before)
    code = "chart.year_above" if more >= 0 else "chart.year_below"
    return Message(
        code,
        percent=words.share(more, before),
        before=translated(words.period_name(year_before(newest))),
    )


def usd_exposure(axes: Axes, table: Table) -> None:
    """Draw what each coin's position is worth in USD, its share, and the total.

    `table` has `currency` and `usd_exposure`. Shares are of the sum of all values without
    sign. If a coin's value is unknown, it is named below, without any total or share.
    """
    pairs = [(row["currency"], row["usd_exposure"]) for row in drawing.rows_of(table)]
    unknown = [currency for currency, value in pairs if value is None]
    known = [(currency, value) for currency, value in pairs if value is not None]
    known.sort(key=lambda pair: (abs(pair[1]), pair[0]))
    values = [value for _, value in known]
    _hatch_unknown(axes, range(len(known), len(pairs)))
    drawing.signed_bars(axes.barh, list(enumerate(values)))
    shares = ["" for _ in known] if unknown else _shares(values)
    for place, (value, own) in enumerate(zip(values, shares, strict=True)):
        amount = {"amount": words.cents(value)}
        text = Message("{amount} USD, {share}", share=own, **amount) if own else None
        text = text or Message("{amount} USD", **amount)
        drawing.annotate(axes, (max(float(value), 0.0), place), text, xytext=(4, 0), va="center")
    axes.axvline(0, color=INK, linewidth=0.8)
    drawing.label_ticks(
        axes.yaxis, range(len(pairs)), [*(currency for currency, _ in known), *unknown]
    )
    axes.set_xticks([])
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)
    least, most = (float(choose([Decimal(0), *values])) for choose in (min, max))
    # There is room for the texts to the right of the bars.
    axes.set_xlim(1.08 * least, most + 0.6 * ((most - least) or 1.0))
    if not unknown and any(value < 0 for value in values):
        axes.set_xlabel(words.apart(axes, "shares are of the worth without sign"))
    drawing.legend_below(axes)
    why, sentence = "no position in USD is known", _largest(known, unknown)
    drawing.finish(axes, _title(values, unknown), known, why, sentence)


def _hatch_unknown(axes: Axes, places: Sequence[int]) -> None:
    """Hatch the whole row of a coin whose worth is unknown."""
    if places:
        look = drawing.UNKNOWN | {"transform": axes.get_yaxis_transform(), "label": "unknown"}
        axes.broken_barh([(0, 1)], (places[0] - 0.4, len(places) - 0.2), **look)


def _title(values: list[Decimal], unknown: list[str]) -> str:
    """Name the total, or the coins of which none is known."""
    if unknown:
        sentence = "Position by coin: no total, as the worth of {COINS} is unknown"
        return Message(sentence, coins=listed(unknown))
    if not values:
        return "Position by coin, USD"
    return Message("Position by coin: {total} USD", total=words.cents(total(values)))


def _largest(known: list[tuple[str, Decimal]], unknown: list[str]) -> str:
    """Say which coin is worth most, and its share."""
    worth = total(abs(value) for _, value in known)
    if unknown or len(known) < 2 or not worth:
        return ""
    coin, value = known[-1]
    return Message("chart.largest_worth", coin=coin, share=words.share(value, worth))


def _shares(values: list[Decimal]) -> list[str]:
    """Return each value's share of the sum of all without their signs; none of nothing."""
    worth = total(map(abs, values))
    return [words.percent(ROUNDED.divide(abs(value), worth)) if worth else "" for value in values]


def usd_rates(axes: Axes, table: Table, currency: str) -> None:
    """Draw each day's median rate as a line, and its lowest to highest rate as a band.

    `table` has `day`, `currency`, `low`, `median` and `high`, as the view `usd_rates`. On a
    day without a rate the line is broken; where there were records, the rate is unknown and
    the day hatched grey. The axis need not hold zero: a rate is no amount.
    """
    everything = sorted(drawing.rows_of(table, currency), key=lambda row: row["day"])
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
    drawing.mark_unknown(axes, [day for day, row in rows.items() if row["median"] is None])
    drawing.finish_days(axes, table, Message("USD per {coin}", coin=currency))
    why = "unknown: no record of this coin has a USD value" if rows else "no movement"
    title = Message("USD rates by day, {coin} (axis not from zero)", coin=currency)
    drawing.finish(
        axes, title, known, why, _rates([row["median"] for row in rows.values()], currency)
    )


def _rates(medians: list[Decimal | None], currency: str) -> str:
    """Say from where to where the rate went."""
    known = [rate for rate in medians if rate]
    if len(known) < 2:
        return ""
    first, last = known[0], known[-1]
    code = "chart.rate_higher" if last >= first else "chart.rate_lower"
    change = words.share(ROUNDED.subtract(last, first), first)
    texts = {"first": _rate(first), "last": _rate(last)}
    return Message(code, coin=currency, percent=change, **texts)


def _rate(rate: Decimal) -> str:
    """Write a rate with 2 places, one below 100 with 4: a stable coin's moves behind the second."""
    if rate >= 100:
        return words.cents(rate)
    return f"{rate.quantize(Decimal('0.0001'), context=ROUNDED):f}"


def _places(rows: dict[int, Row], days: range, name: str) -> list[float]:
    """Return the place of each day's rate on the axis."""
    rates: list[Decimal | None] = [rows[day][name] if day in rows else None for day in days]
    return [drawing.NOWHERE if rate is None else float(rate) for rate in rates]
