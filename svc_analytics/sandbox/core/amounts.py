"""Amounts of requests: contract text to whole units of a coin, or the code that refuses it."""

import re

from svc_analytics.sandbox.core.coins import Coin

MOST_WHOLE_COINS = 10**9  # our platform bound; the contract shows no values
MOST_USD = 10**9
USD_DECIMALS = 8  # Limits: price_usd has at most 8 decimal places
PLAIN_PATTERN = r"^-?[0-9]{1,40}(\.[0-9]{1,40})?$"
_PLAIN = re.compile(PLAIN_PATTERN.replace("$", r"\Z"))


def is_plain(text: object) -> bool:
    """Tell whether a value is decimal text at all; if not, the request breaks its schema."""
    return isinstance(text, str) and bool(_PLAIN.match(text))


def units_of(text: str, decimals: int, most: int = MOST_WHOLE_COINS) -> int | None:
    """Return the units of a plain decimal text, or None where PAY_AMOUNT_INVALID applies.

    >>> units_of("1.50", 6), units_of("0.0000001", 6), units_of("0", 6), units_of("-1", 6)
    (1500000, None, None, None)
    """
    whole, _, fraction = text.partition(".")
    if len(fraction) > decimals:
        return None
    units = int(whole + fraction.ljust(decimals, "0"))
    return units if 0 < units <= most * 10**decimals else None


def stored_units(text: str, coin: Coin) -> int:
    """Return the units of an amount that the service wrote itself."""
    whole, _, fraction = text.partition(".")
    return int(whole + fraction.ljust(coin.decimals, "0"))
