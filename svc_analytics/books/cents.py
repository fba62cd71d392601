"""Exact amounts into whole cents, so that what summed to zero still does."""

from collections.abc import Sequence
from fractions import Fraction


def round_half_up(exact: Fraction) -> int:
    """Round to a whole number, a half away from zero.

    >>> round_half_up(Fraction(5, 2)), round_half_up(Fraction(-5, 2))
    (3, -3)
    """
    whole = int(abs(exact) + Fraction(1, 2))
    return -whole if exact < 0 else whole


def share_out(exact: Sequence[Fraction]) -> list[int]:
    """Round amounts that sum to zero to whole numbers that sum to zero: by largest remainder.

    Each is rounded down; those with the largest rests get one more, the first of equals first.

    >>> share_out([Fraction(-10, 3), Fraction(5, 3), Fraction(5, 3)])
    [-3, 2, 1]
    """
    floors = [amount.numerator // amount.denominator for amount in exact]
    rests = [amount - floor for amount, floor in zip(exact, floors, strict=True)]
    order = sorted(range(len(exact)), key=lambda place: (-rests[place], place))
    for place in order[: -sum(floors)]:
        floors[place] += 1
    return floors


def cents_text(cents: int, places: int, shown: int | None = None) -> str:
    """Write an amount of so many smallest units, with more zeros behind them where asked.

    >>> cents_text(-1205, 2), cents_text(7, 2), cents_text(7, 0), cents_text(7, 0, 2)
    ('-12.05', '0.07', '7', '7.00')
    """
    whole, rest = divmod(abs(cents), 10**places)
    digits = (str(rest).rjust(places, "0") if places else "").ljust(shown or 0, "0")
    return f"{'-' if cents < 0 else ''}{whole}{'.' if digits else ''}{digits}"
