"""Chart of each coin's worth in USD."""

from collections.abc import Sequence
from decimal import Decimal

from svc_analytics.charts.axes import (
    ROUNDED,
    UNKNOWN,
    Axes,
    Table,
    annotate,
    cents,
    finish,
    label_ticks,
    legend_below,
    percent,
    rows_of,
    signed_bars,
)
from svc_analytics.charts.palette import INK
from svc_analytics.charts.sentences import share
from svc_analytics.charts.usd import total
from svc_analytics.charts.words import apart
from svc_analytics.messages import Message, listed


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
    shares = ["" for _ in known] if unknown else _shares(values)
    for place, (value, own) in enumerate(zip(values, shares, strict=True)):
        amount = {"amount": cents(value)}
        text = Message("{amount} USD, {share}", share=own, **amount) if own else None
        text = text or Message("{amount} USD", **amount)
        annotate(axes, (max(float(value), 0.0), place), text, xytext=(4, 0), va="center")
    axes.axvline(0, color=INK, linewidth=0.8)
    label_ticks(axes.yaxis, range(len(pairs)), [*(currency for currency, _ in known), *unknown])
    axes.set_xticks([])
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)
    least, most = (float(choose([Decimal(0), *values])) for choose in (min, max))
    # There is room for the texts to the right of the bars.
    axes.set_xlim(1.08 * least, most + 0.6 * ((most - least) or 1.0))
    if not unknown and any(value < 0 for value in values):
        axes.set_xlabel(apart(axes, "shares are of the worth without sign"))
    legend_below(axes)
    why, sentence = "no position in USD is known", _largest(known, unknown)
    finish(axes, _title(values, unknown), known, why, sentence)


def _hatch_unknown(axes: Axes, places: Sequence[int]) -> None:
    """Hatch the whole row of a coin whose worth is unknown."""
    if places:
        look = UNKNOWN | {"transform": axes.get_yaxis_transform(), "label": "unknown"}
        axes.broken_barh([(0, 1)], (places[0] - 0.4, len(places) - 0.2), **look)


def _title(values: list[Decimal], unknown: list[str]) -> str:
    """Name the total, or the coins of which none is known."""
    if unknown:
        sentence = "Position by coin: no total, as the worth of {COINS} is unknown"
        return Message(sentence, COINS=listed(unknown))
    if not values:
        return "Position by coin, USD"
    return Message("Position by coin: {total} USD", total=cents(total(values)))


def _largest(known: list[tuple[str, Decimal]], unknown: list[str]) -> str:
    """Say which coin is worth most, and its share."""
    worth = total(abs(value) for _, value in known)
    if unknown or len(known) < 2 or not worth:
        return ""
    coin, value = known[-1]
    return Message("chart.largest_worth", coin=coin, share=share(value, worth))


def _shares(values: list[Decimal]) -> list[str]:
    """Return each value's share of the sum of all without their signs; none of nothing."""
    worth = total(map(abs, values))
    return [percent(ROUNDED.divide(abs(value), worth)) if worth else "" for value in values]
