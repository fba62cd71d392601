"""Charts of what was sold: what it left by day, the position, its fee tiers and refunds."""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise
from typing import Any

from svc_analytics.charts import drawing
from svc_analytics.charts.drawing import INK, PAPER, SERIES, Axes, Row, Table, shade
from svc_analytics.charts.words import apart, in_line, percent, period_name, sentences, six_digits
from svc_analytics.formatting.status_line import RUNNING, status_line_of
from svc_analytics.instants import to_micros
from svc_analytics.messages import Message, translated
from svc_analytics.periods import clock_of
from svc_analytics.warehouse.figures import label_of

ALL_COINS = "All coins"
_STYLES = ("-", "--", "-.", ":")
_LETTERS = 7.0  # points, in a field
_LIGHT = 3  # the last shade that dark letters stand on


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
    rows = drawing.rows_of(table, currency)
    days = [row["day"].toordinal() for row in rows]
    closing = [drawing.NOWHERE if row["closing"] is None else float(row["closing"]) for row in rows]
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
    texts = [six_digits(value) for value in (opening, closing)]
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
    figures = [(row["day"], row[name]) for row in drawing.rows_of(table, currency)]
    known = [(day.toordinal(), value) for day, value in figures if value is not None]
    drawing.signed_bars(axes.bar, known)
    drawing.mark_unknown(axes, [day.toordinal() for day, value in figures if value is None])
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.grid(axis="y")
    drawing.finish_days(axes, table, currency)
    drawing.finish(axes, title, figures, "no movement", sentence or _best(known, currency))


def _best(known: list[tuple[int, Decimal]], currency: str) -> str:
    """Say which day is the highest, and how many are below zero."""
    if len(known) < 2:
        return ""
    day, value = max(known, key=lambda pair: pair[1])
    names = {"day": f"{date.fromordinal(day):%Y-%m-%d}", "coin": currency}
    below = sum(value < 0 for _, value in known)
    return sentences(
        Message("chart.best_day", count=len(known), amount=six_digits(value), **names),
        Message("chart.days_below", count=below) if below else "",
    )


def fee_tiers(axes: Axes, table: Table, zone: str = "UTC") -> None:
    """Draw the fee tiers as steps over time: once for all coins that have the same rates.

    `table` has `currency`, `rate`, `first_at` and `last_at`, as the view `fee_tiers`. A tier is
    inferred from the fees: no record states it.
    """
    rows = sorted(drawing.rows_of(table), key=lambda row: row["first_at"])
    groups = _alike(rows)
    ends = [_place(row["last_at"], zone) for row in rows]
    for number, (coins, steps) in enumerate(groups.items()):
        starts = [_place(row["first_at"], zone) for row in steps]
        last = max(_place(row["last_at"], zone) for row in steps)
        rates = [float(row["rate"]) for row in steps]
        look: dict[str, Any] = {"color": SERIES[number % len(SERIES)], "linewidth": 1.6}
        look["linestyle"] = _STYLES[number % len(_STYLES)]
        axes.step([*starts, last], [*rates, rates[-1]], where="post", label=coins, **look)
        for start, row in zip(starts, steps, strict=True):
            drawing.annotate(axes, (start, float(row["rate"])), percent(row["rate"]), xytext=(3, 4))
    if rows:
        drawing.mark_running_month(axes, table, max(ends))
    first = [_place(row["first_at"], zone) for row in rows[:1]]
    drawing.label_days(
        axes, [int(place) for place in [*first, max(ends, default=0.0)]] if rows else []
    )
    drawing.percent_axis(axes.yaxis, [float(row["rate"]) for row in rows])
    drawing.legend_below(axes)
    drawing.finish(
        axes, "Fee rate by tier", rows, "nothing sold", _subtitle(list(groups.values()), zone)
    )


def _alike(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the first row of each step, by the coins that have these steps."""
    steps: dict[str, list[Row]] = {}
    for row in rows:
        own = steps.setdefault(row["currency"], [])
        if not own or own[-1]["rate"] != row["rate"]:
            own.append(row)
        else:
            own[-1] = own[-1] | {"last_at": row["last_at"]}
    coins: dict[tuple[Decimal, ...], list[str]] = {}
    for coin, own in steps.items():
        coins.setdefault(tuple(row["rate"] for row in own), []).append(coin)
    if len(coins) == 1 and len(steps) > 1:
        return {ALL_COINS: _widest(list(steps.values()))}
    return {", ".join(same): _widest([steps[coin] for coin in same]) for same in coins.values()}


def _widest(steps: Sequence[Sequence[Row]]) -> list[Row]:
    """Return the steps of several coins as one: each from the first sale to the last one."""
    return [
        same[0]
        | {
            "first_at": min(row["first_at"] for row in same),
            "last_at": max(row["last_at"] for row in same),
        }
        for same in zip(*steps, strict=True)
    ]


def _place(instant: datetime, zone: str) -> float:
    """Return an instant's place on an axis of days."""
    local = clock_of(zone).local(to_micros(instant))
    return local.toordinal() + (local.hour * 60 + local.minute) / 1440


def _subtitle(groups: Sequence[Sequence[Row]], zone: str) -> str:
    """Say the rate and since when; of coins with different tiers the lines say it."""
    if len(groups) != 1:
        return ""
    [steps] = groups
    newest = percent(steps[-1]["rate"])
    for before, after in list(pairwise(steps))[-1:]:
        day = f"{clock_of(zone).local(to_micros(after['first_at'])):%Y-%m-%d}"
        return Message("chart.newest_tier", rate=newest, day=day, before=percent(before["rate"]))
    return Message("chart.one_tier", rate=newest)


def refund_ratio(axes: Axes, table: Table, months: int = 12) -> None:
    """Draw the refunds of each month over its total charged: a line for each coin, on one axis.

    `table` has `currency`, `refund_ratio_period` and `month` or `period`; the newest `months`
    are drawn. A month that is not over is shaded. Where a ratio is unknown or nothing was
    charged, the line is broken.
    """
    rows = drawing.rows_of(table)
    shown = drawing.all_months(drawing.labels(rows))[-months:]
    named = zip(rows, drawing.labels(rows), strict=True)
    ratios = {(row["currency"], name): row["refund_ratio_period"] for row, name in named}
    drawn: list[float] = []
    for number, coin in enumerate(sorted({row["currency"] for row in rows})):
        own = [ratios.get((coin, month)) for month in shown]
        heights = [drawing.NOWHERE if ratio is None else float(ratio) for ratio in own]
        look = {"linewidth": 1.4, "markersize": 3.5} | drawing.LINES[number % len(drawing.LINES)]
        axes.plot(range(len(shown)), heights, label=coin, **look)
        drawn += [height for height in heights if height == height]
    running = drawing.mark_running(axes, table, shown, range(len(shown)), "month")
    drawing.label_places(axes, shown)
    drawing.percent_axis(axes.yaxis, drawn)
    axes.grid(axis="y")
    axes.set_xlim(-0.6, max(len(shown), 1) - 0.4)
    if drawn:
        drawing.legend_below(axes)
    title, why = "Refunds over total charged, by month of the refund", "no record"
    sentence = _highest(shown[:running], ratios)
    drawing.finish(axes, title, drawn, "nothing charged" if rows else why, sentence)


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


def refund_cohorts(axes: Axes, table: Table, currency: str, months: int = 12) -> None:
    """Draw the refunded share of each month's payments, by month of the refund.

    `table` has `payment_month`, `refund_month`, `currency` and `ratio`. Darker is more, a field
    shows its percentage, and an unknown one is hatched with `?`. The axes hold the newest `months`
    of all coins, and every month between.
    """
    everything = drawing.rows_of(table)
    newest = drawing.all_months(row["refund_month"] for row in everything)[-months:]
    ratios = {
        (row["payment_month"], row["refund_month"]): row["ratio"]
        for row in drawing.rows_of(table, currency)
        if row["payment_month"] in newest and row["refund_month"] in newest
    }
    known = [ratio for ratio in ratios.values() if ratio is not None]
    top = max(known, default=Decimal(0)) or Decimal(1)
    for (payment_month, refund_month), ratio in ratios.items():
        place = (newest.index(refund_month), newest.index(payment_month))
        _field(axes, place, ratio, _depth(ratio, top))
    axes.set_xlim(-0.5, max(len(newest), 1) - 0.5)
    axes.set_ylim(max(len(newest), 1) - 0.5, -0.5)
    drawing.label_places(axes, _marked(table, newest, "\n"))
    drawing.label_ticks(axes.yaxis, range(len(newest)), _marked(table, newest, " "))
    lines = [apart(axes, text) for text in ("month of the refund", _key(known))]
    axes.set_xlabel("\n".join(lines))
    axes.set_ylabel(apart(axes, "month of the payment"))
    title = Message("Refunded share of each month's total charged, {coin}", coin=currency)
    drawing.finish(axes, title, list(ratios), "no refund", _largest(ratios))


def _depth(ratio: Decimal | None, top: Decimal) -> int:
    """Return the shade of a share: of more than nothing at least the lightest."""
    if not ratio:
        return 0
    return max(int((ratio * 5 / top).to_integral_value(ROUND_HALF_UP)), 1)


def _marked(table: Table, months: list[str], before: str) -> list[str]:
    """Return months with a mark at those that are not over."""
    is_running = status_line_of(table).is_running
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
        "shades: white {least}, darkest {share}", least="0%", share=_short(max(known, default=None))
    )


def _field(axes: Axes, place: tuple[int, int], ratio: Decimal | None, depth: int) -> None:
    """Draw one field of a heat map, with dark text on light or light text on dark."""
    x, y = place
    look = drawing.UNKNOWN if ratio is None else {"edgecolor": PAPER, "facecolor": shade(depth)}
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
