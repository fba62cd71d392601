"""The parts that a change of a figure is split into: exact, and without a residual.

Each part is the difference of two sums in a row of sums: what the old period came to, what the
new one would have come to at the old rates, and what it came to. So the parts add up to the
change whatever the rates are, and however these sums are rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from svc_analytics.money import EXACT, SCALE

_LARGEST = 10**38  # a sum at old rates that is larger tells nothing of a new period
_NOTHING = Decimal(0)
SALES, REFUNDS, UNPRICED = "sales", "refunds", "unpriced"
LABELS = {
    SALES: "Sales after fees",
    REFUNDS: "Refunds",
    "payouts": "Payouts",
    "one_off": "One-off records",
    "new_customers": "New customers",
    "lost_customers": "Lost customers",
    "refunds_of_earlier_sales": "Refund timing: of earlier sales",
    "refunds_of_unknown_sales": "Refunds of unknown sales",
    "volume": "Volume",
    "fee_tier": "Fee tier",
    "refunds_of_own_sales": "Refunds of the period's sales",
    "price": "Price: USD per coin",
    UNPRICED: "No USD value",
}
OF = {"": "", "kept": "customers of both periods", "none": "no customer named"}


@dataclass(frozen=True)
class Sums:
    """The sums of some records of a period."""

    records: int = 0
    base: Decimal = _NOTHING  # what fees are charged on, and what is sold
    amount: Decimal = _NOTHING  # what they add to the figure, in coin
    usd: Decimal = _NOTHING  # the same in USD, each record at its own rate
    value: Decimal = _NOTHING  # the USD value of the base

    def plus(self, other: Sums) -> Sums:
        """Add other records to these."""
        return Sums(
            self.records + other.records,
            EXACT.add(self.base, other.base),
            EXACT.add(self.amount, other.amount),
            EXACT.add(self.usd, other.usd),
            EXACT.add(self.value, other.value),
        )


@dataclass(frozen=True)
class Group:
    """Records of both periods that move a figure for one reason; `of` says whose they are."""

    reason: str
    of: str = ""

    @property
    def is_split(self) -> bool:
        """Whether what they moved is split further, by their rates."""
        return self.of != ""


@dataclass(frozen=True)
class Part:
    """A part of a change; None where it has no value, as of records without a USD value."""

    name: str
    of: str
    amount: Decimal | None
    old_records: int
    new_records: int


Sides = tuple[Sums, Sums]  # of the old period, and of the new one


def coin_parts(groups: Mapping[Group, Sides]) -> Iterator[Part]:
    """Yield the parts of a change in coin: of sales at old fees the volume, then the fee tier."""
    for group, (old, new) in groups.items():
        if not group.is_split:
            yield _part(group.reason, group, (old, new), (old.amount, new.amount))
        elif group.reason == REFUNDS:
            yield _part("refunds_of_own_sales", group, (old, new), (old.amount, new.amount))
        else:
            at_old_fees = _at_rate(new.base, old.amount, old.base, new.amount)
            yield _part("volume", group, (old, new), (old.amount, at_old_fees))
            yield _part("fee_tier", group, (old, new), (at_old_fees, new.amount))


def usd_parts(priced: Mapping[Group, Sides], unpriced: Sides) -> Iterator[Part]:
    """Yield the parts of a change in USD: volume and fee tier at old prices, then the price.

    They are of records with a USD value. Those without one are a part without a value.
    """
    for group, (old, new) in priced.items():
        if not group.is_split:
            yield _part(group.reason, group, (old, new), (old.usd, new.usd))
            continue
        at_old_rates = _at_rate(new.base, old.usd, old.base, new.usd)
        at_old_prices = at_old_rates if group.reason == REFUNDS else _at_old_prices(old, new)
        name = "refunds_of_own_sales" if group.reason == REFUNDS else "volume"
        yield _part(name, group, (old, new), (old.usd, at_old_rates))
        if group.reason != REFUNDS:
            yield _part("fee_tier", group, (old, new), (at_old_rates, at_old_prices))
        yield _part("price", group, (old, new), (at_old_prices, new.usd))
    if unpriced[0].records or unpriced[1].records:
        yield Part(UNPRICED, "", None, unpriced[0].records, unpriced[1].records)


def _at_old_prices(old: Sums, new: Sums) -> Decimal:
    """Return the new amount at old prices: without an old amount, at those of what was sold."""
    if not old.base:
        return new.usd
    if not old.amount:
        return _at_rate(new.amount, old.value, old.base, new.usd)
    return _at_rate(new.amount, old.usd, old.amount, new.usd)


@dataclass(frozen=True)
class Position:
    """A closing position, its worth in USD, and the record that gives its rate."""

    coins: Decimal
    usd: Decimal
    rate_value: Decimal | None = None  # the record's USD value
    rate_amount: Decimal | None = None


def position_parts(old: Position, new: Position, moved: Mapping[Group, Sums]) -> Iterator[Part]:
    """Yield the parts of a change of worth: each movement at the old rate, then the price."""
    rate = old if old.rate_amount else new
    coins, worth = old.coins, old.usd
    for group, sums in moved.items():
        coins = EXACT.add(coins, sums.amount)
        next_worth = _worth(coins, rate)
        amount = EXACT.subtract(next_worth, worth)
        yield Part(group.reason, "", amount, 0, sums.records)
        worth = next_worth
    yield Part("price", "", EXACT.subtract(new.usd, worth), 0, 0)


def _worth(coins: Decimal, rate: Position) -> Decimal:
    """Return coins in USD at a rate, half up at 8 places, as the figure is."""
    if not rate.rate_amount or rate.rate_value is None:
        return _NOTHING
    return _rounded(Fraction(coins) * Fraction(rate.rate_value) / Fraction(rate.rate_amount), 8)


def _part(name: str, group: Group, sides: Sides, sums: tuple[Decimal, Decimal]) -> Part:
    old, new = sides
    amount = EXACT.subtract(sums[1], sums[0])
    return Part(name, group.of, amount, old.records, new.records)


def _at_rate(new: Decimal, part: Decimal, whole: Decimal, otherwise: Decimal) -> Decimal:
    """Return a new amount at the old rate of part to whole; `otherwise` where there is none."""
    if not whole:
        return otherwise
    exact = Fraction(new) * Fraction(part) / Fraction(whole)
    return otherwise if abs(exact) >= _LARGEST else _rounded(exact, SCALE)


def _rounded(exact: Fraction, places: int) -> Decimal:
    """Round half up, away from zero, as figures are."""
    steps = int(abs(exact) * 10**places + Fraction(1, 2))
    return Decimal(-steps if exact < 0 else steps).scaleb(-places, EXACT)
