"""Quotients, medians and texts as the statement rounds and writes them; unknown is None."""

from collections.abc import Iterable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from math import prod
from typing import Any

EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
ZERO = Decimal().quantize(Decimal("1e-18"))
LIMIT = 10**20  # from here on 38 digits with 18 places hold no amount


def stated(amount: Decimal | None) -> Decimal | None:
    """Return an amount as a statement holds it: unknown where 38 digits do not."""
    return None if amount is None or amount.copy_abs() >= LIMIT else amount


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Add amounts exactly; none are zero."""
    found = ZERO
    for amount in amounts:
        found = EXACT.add(found, amount)
    return found


def total_known(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """Add the amounts that are known; without one the sum is unknown."""
    known = [amount for amount in amounts if amount is not None]
    return total(known) if known else None


def ratio(part: Any, whole: Any) -> Decimal | None:
    """Divide, half up at 8 places."""
    return _rounded([part], whole, 8)


def share(a: Any, b: Any, c: Any) -> Decimal | None:
    """Return a * b / c, rounded once, half up at 18 places."""
    return _rounded([a, b], c, 18)


def worth(a: Any, b: Any, c: Any) -> Decimal | None:
    """Return a * b / c, half up at 8 places."""
    return stated(_rounded([a, b], c, 8))


def _rounded(factors: list[Any], divisor: Any, places: int) -> Decimal | None:
    given = (*factors, divisor)
    if not divisor or any(each is None or abs(Fraction(each)) >= LIMIT for each in given):
        return None
    exact = prod(map(Fraction, factors)) / Fraction(divisor)
    units = abs(exact) * 10**places
    whole = (2 * units.numerator + units.denominator) // (2 * units.denominator)
    if whole >= 10**38:
        return None
    return Decimal(-whole if exact < 0 else whole).scaleb(-places, EXACT)


def middle(values: Iterable[Decimal], places: int) -> Decimal | None:
    """Return the median; of two in the middle their mean, the half of the last place up."""
    found = sorted(values)
    if not found:
        return None
    low, high = found[(len(found) - 1) // 2], found[len(found) // 2]
    if places == 8:
        return round_half_up(EXACT.divide(EXACT.add(low, high), 2), 8)
    return EXACT.add(low, round_half_up(EXACT.divide(EXACT.subtract(high, low), 2), 18))


def round_half_up(value: Decimal, places: int) -> Decimal:
    """Round, a half away from zero."""
    return value.quantize(Decimal(1).scaleb(-places), context=EXACT)


def is_at_rate(fee: Decimal, base: Decimal, rate: Decimal, unit: Decimal) -> bool:
    """Tell whether a fee is at a rate, to one unit; a rate from 1e10 on is none."""
    product = EXACT.multiply(base, rate)
    return abs(EXACT.subtract(fee, product)) <= unit and abs(rate) < 10**10


def places_used(value: Decimal) -> int:
    """Return how many decimal places are in use."""
    return len(text(value).partition(".")[2].rstrip("0"))


def text(value: Decimal, places: int = 18) -> str:
    """Write an amount with all its places."""
    return format(value.quantize(Decimal(1).scaleb(-places), ROUND_DOWN, EXACT), "f")
