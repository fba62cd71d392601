"""Products of amounts divided by amounts, exactly, of many rows at a time, in words of 64 bits.

A word holds an amount below 300 million that has nine places or fewer, in units of 1e-9. Other
amounts take whole numbers of any size, which need four times as long.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from svc_analytics.money import PRECISION

Words = npt.NDArray[np.uint64]

PLACES = 9
_UNIT = np.uint64(10**PLACES)
_LARGEST = 2**24  # of the upper words: the amount then has 59 bits at most, in units of 1e-9
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


class Wide(NamedTuple):
    """Whole numbers of 128 bits."""

    high: Words
    low: Words

    def times(self, factor: int) -> "Wide":
        """Multiply them by less than 2^32."""
        by = np.uint64(factor)
        upper, lower = (self.low >> _HALF) * by, (self.low & _LOW) * by
        middle = (upper & _LOW) + (lower >> _HALF)
        high = self.high * by + (upper >> _HALF) + (middle >> _HALF)
        return Wide(high, self.low * by)

    def plus(self, words: Words) -> "Wide":
        """Add a word to each."""
        low = self.low + words
        return Wide(self.high + (low < words), low)


def in_words(amounts: Wide) -> Words | None:
    """Return amounts in units of 1e-18 in those of 1e-9; None where one does not fit a word."""
    if amounts.high.max(initial=0) >= _LARGEST:
        return None
    upper = amounts.high << _HALF | amounts.low >> _HALF
    lower = upper % _UNIT << _HALF | amounts.low & _LOW
    return None if (lower % _UNIT).any() else upper // _UNIT << _HALF | lower // _UNIT


def divide(factor: Words, other: Words | None, divisor: Words, digits: int) -> Wide | None:
    """Return products divided by divisors, with so many more digits, rounded half up.

    Without an `other` the factor itself is divided. None where 38 digits may not hold a quotient.
    """
    if not len(factor):
        return Wide(factor, factor)
    most = int(factor.max()) * (1 if other is None else int(other.max())) * 10**digits
    if most // int(divisor.min()) >= 10**PRECISION - 1:
        return None
    room = min(64 - int(divisor.max()).bit_length(), 31)  # bits that a rest may be moved by
    high, *lows = (factor,) if other is None else _product(factor, other)
    quotient, rest = Wide(np.zeros_like(high), high // divisor), high % divisor
    for low, end in product(lows, range(64, 0, -room)):
        bits = min(room, end)
        rest = rest << np.uint64(bits) | low >> np.uint64(end - bits) & np.uint64(2**bits - 1)
        quotient, rest = quotient.times(2**bits).plus(rest // divisor), rest % divisor
    while digits:
        step = min(digits, len(str(2**room)) - 1)
        rest = rest * np.uint64(10**step)
        quotient, rest = quotient.times(10**step).plus(rest // divisor), rest % divisor
        digits -= step
    return quotient.plus((rest >= divisor - rest).astype(np.uint64))


def _product(one: Words, other: Words) -> Wide:
    """Multiply words of which each has less than 64 bits."""
    a, b, c, d = one >> _HALF, one & _LOW, other >> _HALF, other & _LOW
    middle = a * d + (b * d >> _HALF)
    inner = (middle & _LOW) + b * c
    return Wide(a * c + (middle >> _HALF) + (inner >> _HALF), one * other)
