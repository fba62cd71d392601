"""Chart of each coin's worth in USD."""

from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce

from svc_analytics.charts.axes import (
    Axes,
    Table,
    amounts,
    annotate,
    finish,
    rows_of,
    signed_bars,
)
from svc_analytics.money import group_digits

_WIDE = Context(prec=80, rounding=ROUND_HALF_UP)


def usd_exposure(axes: Axes, table: Table) -> None:
    """Draw what each coin's position is worth in USD, its share, and the total.

    `table` has `currency` and `usd_exposure`. Shares are of the sum of all values without
    sign. If a coin's value is unknown, it is named below, without any total or share.
    """
    pairs = [(row["currency"], row["usd_exposure"]) for row in rows_of(table)]
    unknown = [currency for currency, value in pairs if value is None]
    known = [(currency, value) for currency, value in pairs if value is not None]
    known.sort(key=lambda pair: (abs(pair[1]), pair[0]))
    signed_bars(axes.barh, [(place, value) for place, (_, value) in enumerate(known)])
    shares = [""] * len(known) if unknown else _shares([value for _, value in known])
    for place, ((_, value), share) in enumerate(zip(known, shares, strict=True)):
        text = f"{_cents(value)} USD{share}"
        annotate(axes, (max(float(value), 0.0), place), text, xytext=(4, 0), va="center")
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(known)), [currency for currency, _ in known])
    amounts(axes.xaxis)
    values = [0.0, *(float(value) for _, value in known)]
    least, most = min(values), max(values)
    # There is room for the texts to the right of the bars.
    axes.set_xlim(1.08 * least, most + 0.8 * ((most - least) or 1.0))
    in_all = _cents(reduce(_WIDE.add, (value for _, value in known), Decimal(0)))
    whole = f", total {in_all}; %: share, \u03a3: cumulative share" if known else ""
    axes.set_xlabel(f"USD; unknown: {', '.join(unknown)}" if unknown else f"USD{whole}")
    finish(axes, "Exposure by coin", known, "no exposure is known")


def _shares(values: list[Decimal]) -> list[str]:
    """Return each value's share and cumulative share, the smallest value first."""
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
