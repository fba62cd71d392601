"""Amounts in requests: contract text to whole units of a coin."""

import re

from svc_analytics.sandbox.core.coins import Coin

MAX_WHOLE_COINS = 10**9  # our choice; the contract shows no upper limit
MAX_USD = 10**9
USD_DECIMALS = 8  # Limits: price_usd has at most 8 decimal places
PLAIN_PATTERN = r"^-?[0-9]{1,40}(\.[0-9]{1,40})?$"
_PLAIN = re.compile(PLAIN_PATTERN.replace("$", r"\Z"))


def is_plain(text: object) -> bool:
    """Tell whether a value is decimal text; if not, the request breaks its schema."""
    return isinstance(text, str) and bool(_PLAIN.match(text))


def units_of(text: str, decimals: int, most: int = MAX_WHOLE_COINS) -> int | None:
    """Convert decimal text to units of a coin, or None for PAY_AMOUNT_INVALID.

    >>> units_of("1.50", 6), units_of("0.0000001", 6), units_of("0", 6), units_of("-1", 6)
    (1500000, None, None, None)
    """
    whole, _, fraction = text.partition(".")
    if len(fraction) > decimals:
        return None
    units = int(whole + fraction.ljust(decimals, "0"))
    return units if 0 < units <= most * 10**decimals else None


def stored_units(text: str, coin: Coin) -> int:
    """Convert an amount that the service itself wrote to units of its coin."""
    whole, _, fraction = text.partition(".")
    return int(whole + fraction.ljust(coin.decimals, "0"))
