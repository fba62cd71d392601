"""Coins, their daily prices, and exact arithmetic in whole units, without floats.

An amount is an integer of the coin's smallest unit; a price is an integer of
millionths of a US dollar for one whole coin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

MICRODOLLARS = 6  # decimals of a price
CENT = 10_000  # microdollars
BASIS_POINTS = 10_000


@dataclass(frozen=True)
class Coin:
    """Describe a currency; `swing` is its largest daily change, in basis points."""

    slug: str
    decimals: int
    opening_price: int
    swing: int
    share: int


COINS = (
    Coin("usdt", 6, 1_000_000, 3, 50),
    Coin("btc", 8, 61_850_000_000, 240, 22),
    Coin("sol", 9, 142_300_000, 380, 14),
    Coin("eth", 18, 2_488_000_000, 290, 14),
)

Prices = Mapping[str, list[int]]


def daily_prices(rng: Random, days: int) -> Prices:
    """Return a random price per day for each coin, starting at its opening price."""
    return {coin.slug: _path(rng, coin, days) for coin in COINS}


def _path(rng: Random, coin: Coin, days: int) -> list[int]:
    path, price = [], coin.opening_price
    for _ in range(days):
        path.append(price)
        moved = price * (BASIS_POINTS + rng.randint(-coin.swing, coin.swing))
        price = max(CENT, half_up(moved, BASIS_POINTS))
    return path


def units_for(cents: int, coin: Coin, price: int) -> int:
    """Convert a price in US cents to units of a coin, half up, at least one."""
    return max(1, half_up(cents * CENT * 10**coin.decimals, price))


def usd_text(units: int, coin: Coin, price: int, places: int) -> str:
    """Return the value of units in US dollars, rounded half up to so many places.

    >>> usd_text(1_500_000, COINS[0], 1_000_333, places=2)
    '1.50'
    """
    divisor = 10 ** (coin.decimals + MICRODOLLARS)
    return decimal_text(half_up(units * price * 10**places, divisor), places)


def half_up(numerator: int, divisor: int) -> int:
    """Divide non-negative integers, rounding half up."""
    return (2 * numerator + divisor) // (2 * divisor)


def decimal_text(units: int, decimals: int) -> str:
    """Write units as a plain decimal text with all decimals of the coin.

    >>> decimal_text(50_000, 6)
    '0.050000'
    """
    digits = str(units).rjust(decimals + 1, "0")
    return f"{digits[:-decimals]}.{digits[-decimals:]}"
