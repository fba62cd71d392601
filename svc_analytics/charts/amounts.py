"""Charts of amounts and ratios, each on the Axes it is given."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING

from svc_analytics.charts.axes import (
    BLUE,
    GREY,
    MOST_TICKS,
    Row,
    all_days,
    amounts,
    hatched,
    label_days,
    label_places,
    labels,
    percent,
    percent_axis,
    rows_of,
    say_if_empty,
    signed_bars,
)
from svc_analytics.money import format_amount, group_digits

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
    shares = [_share(row["payment_fees"], row["gross_sales"]) for row in rows]
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
    """Draw what each coin's position is worth in USD, with its share where all are above zero.

    `table` has `currency` and `usd_exposure`. Coins without a known worth are named below.
    """
    rows = rows_of(table)
    known = [(row["currency"], row["usd_exposure"]) for row in rows if _is_known(row)]
    known.sort(key=lambda pair: (pair[1], pair[0]))
    signed_bars(axes.barh, [(place, value) for place, (_, value) in enumerate(known)])
    shares = _shares([value for _, value in known])
    for place, ((_, value), share) in enumerate(zip(known, shares, strict=True)):
        axes.annotate(
            f"{group_digits(format_amount(_cents(value)))} USD{share}",
            (max(float(value), 0.0), place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(known)), [currency for currency, _ in known])
    amounts(axes.xaxis)
    axes.margins(x=0.35)
    unknown = [row["currency"] for row in rows if not _is_known(row)]
    axes.set_xlabel(f"USD; unknown: {', '.join(unknown)}" if unknown else "USD")
    axes.set_title("Exposure by coin")
    say_if_empty(axes, known, "no exposure is known")


def _is_known(row: Row) -> bool:
    return row["usd_exposure"] is not None


def _share(part: Decimal | None, whole: Decimal | None) -> float:
    return float("nan") if part is None or not whole else float(part) / float(whole)


def _shares(values: list[Decimal]) -> list[str]:
    """Write each value's share; of a sum with negatives in it there are no shares."""
    total = sum(values, Decimal(0))
    if not total or min(values) < 0:
        return [""] * len(values)
    return [f", {_cents(_WIDE.divide(value * 100, total))}%" for value in values]


def _cents(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"), context=_WIDE)
