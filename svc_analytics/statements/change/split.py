"""The changes of figures from one period to another, each with the parts that add up to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from typing import Any

from svc_analytics.errors import LakeChanged
from svc_analytics.formatting.display import select_known
from svc_analytics.money import EXACT, percent_change
from svc_analytics.render.compared.figures import Side, comparable_figures
from svc_analytics.statements.change.moved import Moved
from svc_analytics.statements.change.parts import (
    LABELS,
    OF,
    UNPRICED,
    Part,
    Position,
    coin_parts,
    position_parts,
    usd_parts,
)
from svc_analytics.statements.change.sentences import Sentence
from svc_analytics.warehouse.figures import label_of

ALL_COINS = "all coins"
THRESHOLD = 10  # per cent: a figure that changed by more needs a sentence
COIN, USD = "coin", "USD"
# The stated figures behind each change, and those that are taken off.
_STATED = {
    ("net_settlement", COIN): ("net_settlement",),
    ("net_settlement", USD): ("usd_net_sales", "usd_refunds"),
    ("payment_fees", COIN): ("payment_fees",),
    ("payment_fees", USD): ("usd_fees",),
    ("refunds_paid", COIN): ("refunds_paid",),
    ("refunds_paid", USD): ("usd_refunds",),
    ("usd_exposure", COIN): ("closing_position",),
    ("usd_exposure", USD): ("usd_exposure",),
}
EXPLAINED = tuple(dict.fromkeys(figure for figure, _ in _STATED))
Row = dict[str, Any]


@dataclass(frozen=True)
class FigureChange:
    """A figure of a coin, in coin or in USD, on both sides, and the parts of its change."""

    figure: str
    currency: str
    unit: str
    old: Decimal | None
    new: Decimal | None
    parts: Sequence[Part]

    @property
    def difference(self) -> Decimal | None:
        """The change; None where a side is unknown."""
        if self.old is None or self.new is None:
            return None
        return EXACT.subtract(self.new, self.old)

    def row(self, sentence: Sentence | None, threshold: Decimal | int) -> Row:
        """Return its row of the table of changes."""
        percent = None
        if self.old is not None and self.new is not None:
            percent = percent_change(self.old, self.new)
        is_large = bool(self.difference) if percent is None else abs(percent) > threshold
        said = sentence or Sentence("", "")
        return {
            "figure": self.figure,
            "label": self._label,
            "currency": self.currency,
            "unit": self.unit,
            "old": self.old,
            "new": self.new,
            "difference": self.difference,
            "percent": percent,
            "needs_sentence": is_large and not said.text,
            "sentence": said.text or None,
            "prepared_by": said.prepared_by or None,
            "reviewed_by": said.reviewed_by or None,
        }

    @property
    def _label(self) -> str:
        """The label of the stated figure; of two in USD, that of their difference in coin."""
        stated = _STATED[self.figure, self.unit]
        return label_of(stated[0] if len(stated) == 1 else self.figure)

    def part_rows(self) -> Iterator[Row]:
        """Yield the rows of its parts."""
        for part in self.parts:
            yield {
                "figure": self.figure,
                "currency": self.currency,
                "unit": self.unit,
                "part": part.name,
                "label": LABELS[part.name],
                "of": OF[part.of],
                "amount": part.amount,
                "old_records": part.old_records,
                "new_records": part.new_records,
            }


def figure_changes(
    old: Side, new: Side, moved: Moved, coins: Sequence[str] | None
) -> Iterator[FigureChange]:
    """Yield the change of each figure of each coin, in coin and in USD."""
    known = sorted({*old.figures, *new.figures})
    for coin in known if coins is None else select_known(coins, known):
        for figure, unit in _STATED:
            before, after = (_stated(side, figure, unit, coin) for side in (old, new))
            parts = _added(list(_parts((old, new), figure, unit, coin, moved)))
            change = FigureChange(figure, coin, unit, before, after, parts)
            if change.difference is None:
                parts = [part for part in parts if part.name == UNPRICED]
                yield replace(change, parts=parts)
                continue
            if _total(parts) != change.difference:
                message = f"{figure} of {coin} changed while it was read: compare again"
                raise LakeChanged(message)
            yield change


def _stated(side: Side, figure: str, unit: str, coin: str) -> Decimal | None:
    """Return a stated figure, less the one that is taken off it; None where one is unknown."""
    values = [side.value(coin, comparable_figures()[name]) for name in _STATED[figure, unit]]
    known = [value for value in values if value is not None]
    return reduce(EXACT.subtract, known) if len(known) == len(values) else None


def _parts(
    sides: tuple[Side, Side], figure: str, unit: str, coin: str, moved: Moved
) -> Iterator[Part]:
    """Yield the parts of a change."""
    groups = moved.groups(figure, coin, is_priced=unit == USD and figure != "usd_exposure")
    if figure == "usd_exposure" and unit == USD:
        old, new = (
            _position(side, coin, rates) for side, rates in zip(sides, moved.rates, strict=True)
        )
        if old and new:
            yield from position_parts(old, new, {group: each[1] for group, each in groups.items()})
        else:
            yield Part(UNPRICED, "", None, 0, 0)
    elif unit == USD:
        yield from usd_parts(groups, moved.unpriced(figure, coin))
    else:
        yield from coin_parts(groups)


def _position(side: Side, coin: str, rates: dict[str, Row]) -> Position | None:
    coins, worth = (_stated(side, "usd_exposure", unit, coin) for unit in (COIN, USD))
    if coins is None or worth is None:
        return None
    rate = rates.get(coin, {})
    return Position(coins, worth, rate.get("usd_value"), rate.get("amount"))


def _total(parts: Sequence[Part]) -> Decimal:
    return reduce(EXACT.add, (part.amount for part in parts if part.amount is not None), Decimal())


def of_all_coins(changes: Sequence[FigureChange]) -> list[FigureChange]:
    """Return the changes in USD of all coins together, where each of them is known."""
    totals = []
    for figure in EXPLAINED:
        own = [each for each in changes if (each.figure, each.unit) == (figure, USD)]
        if len(own) > 1 and all(each.difference is not None for each in own):
            olds, news = ([getattr(each, name) for each in own] for name in ("old", "new"))
            old, new = (reduce(EXACT.add, values) for values in (olds, news))
            parts = _added([part for each in own for part in each.parts])
            totals.append(FigureChange(figure, ALL_COINS, USD, old, new, parts))
    return totals


def _added(parts: Sequence[Part]) -> list[Part]:
    """Return parts in their order, those of one name as one."""
    sums: dict[tuple[str, str], Part] = {}
    for part in parts:
        key = (part.name, part.of)
        sums[key] = _sum(sums[key], part) if key in sums else part
    order = list(LABELS)
    return sorted(sums.values(), key=lambda part: (order.index(part.name), part.of))


def _sum(a: Part, b: Part) -> Part:
    amount = None if a.amount is None or b.amount is None else EXACT.add(a.amount, b.amount)
    olds, news = a.old_records + b.old_records, a.new_records + b.new_records
    return replace(a, amount=amount, old_records=olds, new_records=news)
