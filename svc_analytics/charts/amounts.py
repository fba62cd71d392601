"""Charts of amounts and ratios, each on the Axes it is given."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

from svc_analytics.charts.axes import (
    BLUE,
    MOST_TICKS,
    all_days,
    all_months,
    amounts,
    hatched,
    label_days,
    label_places,
    labels,
    mark_unknown,
    percent,
    percent_axis,
    quotient,
    rows_of,
    say_if_empty,
    signed_bars,
)
from svc_analytics.money import group_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from svc_analytics.charts.axes import Table

NOWHERE = float("nan")
_WIDE = Context(prec=80, rounding=ROUND_HALF_UP)


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


def fee_rate(axes: Axes, table: Table, currency: str) -> None:
    """Draw fees over gross sales along time, from zero up.

    `table` has `currency`, `payment_fees`, `gross_sales` and one of `day`, `month`, `period`.
    Where nothing was sold the line is broken.
    """
    rows = rows_of(table, currency)
    shares = [quotient(row["payment_fees"], row["gross_sales"]) for row in rows]
    if rows and "day" in rows[0]:
        places = [row["day"].toordinal() for row in rows]
        label_days(axes, all_days(table))
    else:
        months = all_months(labels(rows))
        found = dict(zip(labels(rows), shares, strict=True))
        places, shares = list(range(len(months))), [found.get(name, NOWHERE) for name in months]
        label_places(axes, months)
    axes.plot(places, shares, marker="o", markersize=3.5, color=BLUE, linewidth=1.2)
    percent_axis(axes.yaxis, shares)
    axes.set_title(f"Fees over gross sales, {currency}")
    is_unknown = any(row["payment_fees"] is None for row in rows)
    why = "unknown" if is_unknown else "nothing sold"
    say_if_empty(axes, [share for share in shares if share == share], why)


def refund_ratio(axes: Axes, table: Table, currency: str) -> None:
    """Draw refunds over what was charged, by the refund's month and by the payment's.

    `table` has `currency`, `refund_ratio_period`, `refund_ratio_cohort` and `month` or `period`.
    """
    rows = rows_of(table, currency)
    months = all_months(labels(rows))
    series = (
        ("refund_ratio_period", "settled in the month", -0.2, {"color": BLUE}),
        ("refund_ratio_cohort", "of the month's payments, to date", 0.2, hatched()),
    )
    drawn: list[float] = []
    for name, label, shift, look in series:
        values = zip(map(months.index, labels(rows)), (row[name] for row in rows), strict=True)
        known = [(place, value) for place, value in values if value is not None]
        heights = [float(value) for _, value in known]
        bars = axes.bar([p + shift for p, _ in known], heights, 0.36, label=label, **look)
        if len(months) <= MOST_TICKS:
            axes.bar_label(
                bars, [percent(value) for _, value in known], padding=2, fontsize="small"
            )
        drawn += heights
    label_places(axes, months)
    percent_axis(axes.yaxis, drawn)
    axes.set_xlim(-0.6, max(len(months), 1) - 0.4)
    axes.set_title(f"Refunds over charged total, {currency}")
    if drawn:
        look = {"frameon": False, "fontsize": "small", "ncols": 2}
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), **look)
    say_if_empty(axes, drawn, "unknown, or nothing charged")


def usd_exposure(axes: Axes, table: Table) -> None:
    """Draw what each coin's position is worth in USD, and all; shares and the concentration.

    `table` has `currency` and `usd_exposure`. Shares are of the worth of all coins, without
    sign; with a coin of unknown worth there is no total and no share, and it is named below.
    """
    pairs = [(row["currency"], row["usd_exposure"]) for row in rows_of(table)]
    unknown = [currency for currency, value in pairs if value is None]
    known = [(currency, value) for currency, value in pairs if value is not None]
    known.sort(key=lambda pair: (abs(pair[1]), pair[0]))
    signed_bars(axes.barh, [(place, value) for place, (_, value) in enumerate(known)])
    shares = [""] * len(known) if unknown else _shares([value for _, value in known])
    for place, ((_, value), share) in enumerate(zip(known, shares, strict=True)):
        _beside(axes, (max(float(value), 0.0), place), f"{_cents(value)} USD{share}")
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(known)), [currency for currency, _ in known])
    amounts(axes.xaxis)
    _leave_room(axes, [float(value) for _, value in known])
    in_all = _cents(reduce(_WIDE.add, (value for _, value in known), Decimal(0)))
    whole = f": {in_all} in all; share; \u03a3 with all larger ones" if known else ""
    axes.set_xlabel(f"USD; unknown: {', '.join(unknown)}" if unknown else f"USD{whole}")
    axes.set_title("Exposure by coin")
    say_if_empty(axes, known, "no exposure is known")


def _shares(values: list[Decimal]) -> list[str]:
    """Write each value's share of all, and that of it with all larger ones, smallest first."""
    worth = [abs(value) for value in values]
    total = sum(worth, Decimal(0))
    if not total:
        return [""] * len(values)
    larger = [sum(worth[place:], Decimal(0)) for place in range(len(worth))]
    return [
        f"   {_percent(own, total)}   \u03a3 {_percent(so_far, total)}"
        for own, so_far in zip(worth, larger, strict=True)
    ]


def _percent(part: Decimal, whole: Decimal) -> str:
    return f"{_cents(_WIDE.divide(part * 100, whole))}%"


def _cents(value: Decimal) -> str:
    return group_digits(format(value.quantize(Decimal("0.01"), context=_WIDE), "f"))


def _leave_room(axes: Axes, values: list[float]) -> None:
    """Leave room for the texts to the right of the bars."""
    least, most = min([*values, 0.0]), max([*values, 0.0])
    axes.set_xlim(1.08 * least, most + 0.8 * ((most - least) or 1.0))


def _beside(axes: Axes, place: tuple[float, float], text: str) -> None:
    look: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
    axes.annotate(text, place, fontsize="small", **look)
