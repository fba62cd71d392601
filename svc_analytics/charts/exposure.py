"""Chart of each coin's worth in USD."""

from collections.abc import Sequence
from decimal import Decimal
from functools import reduce

from svc_analytics.charts.axes import (
    ROUNDED,
    UNKNOWN,
    Axes,
    Table,
    amounts,
    annotate,
    cents,
    finish,
    label_ticks,
    legend_below,
    percent,
    rows_of,
    signed_bars,
)
from svc_analytics.charts.words import apart
from svc_analytics.messages import Message

# By how many shares are known: none, that of the coin, and that with the larger ones.
_WORTH = (
    "{amount} USD",
    "{amount} USD, {share}",
    "{amount} USD, {share} ({together} with the larger coins)",
)


def usd_exposure(axes: Axes, table: Table) -> None:
    """Draw what each coin's position is worth in USD, its share, and the total.

    `table` has `currency` and `usd_exposure`. Shares are of the sum of all values without
    sign. If a coin's value is unknown, it is named below, without any total or share.
    """
    pairs = [(row["currency"], row["usd_exposure"]) for row in rows_of(table)]
    unknown = [currency for currency, value in pairs if value is None]
    known = [(currency, value) for currency, value in pairs if value is not None]
    known.sort(key=lambda pair: (abs(pair[1]), pair[0]))
    values = [value for _, value in known]
    _hatch_unknown(axes, range(len(known), len(pairs)))
    signed_bars(axes.barh, list(enumerate(values)))
    shares = [{} for _ in known] if unknown else _shares(values)
    for place, (value, share) in enumerate(zip(values, shares, strict=True)):
        text = Message(_WORTH[len(share)], amount=cents(value), **share)
        annotate(axes, (max(float(value), 0.0), place), text, xytext=(4, 0), va="center")
    axes.axvline(0, color="black", linewidth=0.8)
    label_ticks(axes.yaxis, range(len(pairs)), [*(currency for currency, _ in known), *unknown])
    amounts(axes.xaxis)
    least, most = (float(choose([Decimal(0), *values])) for choose in (min, max))
    # There is room for the texts to the right of the bars.
    axes.set_xlim(1.08 * least, most + 0.95 * ((most - least) or 1.0))
    axes.set_xlabel(apart(axes, _axis_text(values, unknown)))
    legend_below(axes)
    finish(axes, "Position in USD by coin", known, "no position in USD is known")


def _hatch_unknown(axes: Axes, places: Sequence[int]) -> None:
    """Hatch the whole row of a coin whose worth is unknown."""
    if places:
        look = UNKNOWN | {"transform": axes.get_yaxis_transform(), "label": "unknown"}
        axes.broken_barh([(0, 1)], (places[0] - 0.4, len(places) - 0.2), **look)


def _axis_text(values: list[Decimal], unknown: list[str]) -> str:
    """Label the axis: the total, or which coins' worth is unknown."""
    if unknown:
        sentence = "worth in USD; unknown: {coins}, so there is no total"
        return Message(sentence, coins=", ".join(unknown))
    if not values:
        return "worth in USD"
    total = cents(reduce(ROUNDED.add, values, Decimal(0)))
    if any(value < 0 for value in values):
        return Message("total {total} USD; shares are of the worth without sign", total=total)
    return Message("total {total} USD", total=total)


def _shares(values: list[Decimal]) -> list[dict[str, str]]:
    """Return each value's share, and that with all larger ones; the smallest value first."""
    worth = [abs(value) for value in values]
    total = sum(worth, Decimal(0))
    if not total:
        return [{} for _ in values]
    shares = []
    for place, own in enumerate(worth):
        share = {"share": percent(ROUNDED.divide(own, total))}
        if place < len(worth) - 1:
            together = ROUNDED.divide(sum(worth[place:], Decimal(0)), total)
            share["together"] = percent(together)
        shares.append(share)
    return shares
