"""Charts of amounts and ratios, each on the Axes it is given."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any

from svc_analytics.charts.axes import (
    BLUE,
    GREY,
    MOST_TICKS,
    all_days,
    amounts,
    hatched,
    label_days,
    label_places,
    labels,
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
    unknown = sorted(set(days) - {day for day, _ in known})
    if unknown:
        axes.plot(unknown, [0] * len(unknown), "x", color=GREY, label="unknown", clip_on=False)
        axes.legend(frameon=False)
    axes.axhline(0, color="black", linewidth=0.8)
    label_days(axes, all_days(table))
    amounts(axes.yaxis)
    axes.set_ylabel(currency)
    axes.set_title(f"Net settlement by day, {currency}")
    say_if_empty(axes, known, "no movement")


def fee_rate(axes: Axes, table: Table, currency: str) -> None:
    """Draw fees over gross sales along time, from zero up.

    `table` has `currency`, `payment_fees`, `gross_sales` and one of `day`, `month`, `period`.
    Where nothing was sold the line is broken.
    """
    rows = rows_of(table, currency)
    shares = [quotient(row["payment_fees"], row["gross_sales"]) for row in rows]
    by_day = bool(rows) and "day" in rows[0]
    places = [row["day"].toordinal() for row in rows] if by_day else list(range(len(rows)))
    axes.plot(places, shares, marker="o", markersize=3.5, color=BLUE, linewidth=1.2)
    if by_day:
        label_days(axes, all_days(table))
    else:
        label_places(axes, labels(rows))
    percent_axis(axes.yaxis, shares)
    axes.set_title(f"Fees over gross sales, {currency}")
    say_if_empty(axes, [share for share in shares if share == share], "nothing sold")


def refund_ratio(axes: Axes, table: Table, currency: str) -> None:
    """Draw refunds over what was charged, by the refund's month and by the payment's.

    `table` has `currency`, `refund_ratio_period`, `refund_ratio_cohort` and `month` or `period`.
    """
    rows = rows_of(table, currency)
    series = (
        ("refund_ratio_period", "settled in the month", -0.2, {"color": BLUE}),
        ("refund_ratio_cohort", "of the month's payments, to date", 0.2, hatched()),
    )
    drawn: list[float] = []
    for name, label, shift, look in series:
        known = [(place, row[name]) for place, row in enumerate(rows) if row[name] is not None]
        heights = [float(value) for _, value in known]
        bars = axes.bar([p + shift for p, _ in known], heights, 0.36, label=label, **look)
        if len(rows) <= MOST_TICKS:
            axes.bar_label(
                bars, [percent(value) for _, value in known], padding=2, fontsize="small"
            )
        drawn += heights
    label_places(axes, labels(rows))
    percent_axis(axes.yaxis, drawn)
    axes.set_xlim(-0.6, max(len(rows), 1) - 0.4)
    axes.set_title(f"Refunds over charged total, {currency}")
    if drawn:
        look = {"frameon": False, "fontsize": "small", "ncols": 2}
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), **look)
    say_if_empty(axes, drawn, "unknown, or nothing charged")


def usd_exposure(axes: Axes, table: Table) -> None:
    """Draw what each coin's position is worth in USD, with its share and the concentration.

    `table` has `currency` and `usd_exposure`. Shares are of the worth of all coins, without
    sign; with a coin of unknown worth there are none, and it is named below.
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
    told = f"; unknown: {', '.join(unknown)}" if unknown else "; share; \u03a3 with all larger ones"
    axes.set_xlabel(f"USD{told}")
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
