"""Coins, their daily prices, and exact arithmetic in whole units, without floats.

An amount is an integer of the coin's smallest unit; a price is an integer of
millionths of a US dollar for one whole coin.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

MICRODOLLARS = 6  # decimals of a price
CENT = 10_000  # microdollars
BASIS_POINTS = 10_000
MAX_WHOLE_COINS = 10**9  # our choice; the contract shows no upper limit
MAX_USD = 10**9
USD_DECIMALS = 8  # Limits: price_usd has at most 8 decimal places
PLAIN_PATTERN = r"^-?[0-9]{1,40}(\.[0-9]{1,40})?$"
_PLAIN = re.compile(PLAIN_PATTERN.replace("$", r"\Z"))


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
# Every coin enabled on the platform; the shop does not accept the last one. Toman is not
# among them because the platform moves crypto only.
ENABLED = {coin.slug: coin for coin in (*COINS, Coin("ton", 9, 3_150_000, 0, 0))}

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


def is_plain(text: object) -> bool:
    """Tell whether a value is decimal text; if not, the request breaks its schema."""
    return isinstance(text, str) and bool(_PLAIN.match(text))


def units_of(text: str, decimals: int, most: int = MAX_WHOLE_COINS) -> int | None:
    """Convert decimal text to units of a coin, or None for PAY_AMOUNT_INVALID.

    >>> units_of("1.50", 6), units_of("0.0000001", 6), units_of("0", 6), units_of("-1", 6)
    (1500000, None, None, None)
    """
    if len(text.partition(".")[2]) > decimals:
        return None
    units = stored_units(text, decimals)
    return units if 0 < units <= most * 10**decimals else None


def stored_units(text: str, decimals: int) -> int:
    """Convert an amount that the service itself wrote to units."""
    whole, _, fraction = text.partition(".")
    return int(whole + fraction.ljust(decimals, "0"))
