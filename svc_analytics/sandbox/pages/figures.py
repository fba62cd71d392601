"""Amounts and times as people read them; no digit of an amount is lost."""

from decimal import ROUND_HALF_UP, Decimal

from svc_analytics.instants import MINUTE, from_micros, parse_instant

_MONTHS = "January February March April May June July August September October November December"
_CENT = Decimal("0.01")


def coin_text(amount: str, slug: str) -> str:
    """Write an amount of a coin exactly, without the zeros at its end.

    >>> coin_text("20.000000", "usdt"), coin_text("1234.011281753340202391", "eth")
    ('20 USDT', '1,234.011281753340202391 ETH')
    """
    return f"{_grouped(amount)} {slug.upper()}"


def price_text(price_usd: str) -> str:
    """Write a price in US dollars exactly, with two decimals at least.

    >>> price_text("20"), price_text("1000.5"), price_text("0.00000001")
    ('20.00 USD', '1,000.50 USD', '0.00000001 USD')
    """
    whole, _, fraction = _grouped(price_usd).partition(".")
    return f"{whole}.{fraction.ljust(2, '0')} USD"


def value_text(usd_value: str | None) -> str:
    """Write a value in US dollars to the cent, as the coin's price is only about right.

    >>> value_text("28.069999"), value_text("0.004999"), value_text(None)
    ('≈ 28.07 USD', 'less than 0.01 USD', 'no USD value')
    """
    if usd_value is None:
        return "no USD value"
    cents = Decimal(usd_value).quantize(_CENT, ROUND_HALF_UP)
    return f"≈ {cents:,} USD" if cents else "less than 0.01 USD"


def time_text(micros: int) -> str:
    """Write an instant to the minute, with its zone.

    >>> time_text(0)
    '1 January 1970, 00:00 UTC'
    """
    at = from_micros(micros)
    return f"{at.day} {_MONTHS.split()[at.month - 1]} {at.year}, {at:%H:%M} UTC"


def moment_text(instant: str) -> str:
    """Write an instant of a record to the second.

    >>> moment_text("2026-11-20T12:00:05.123Z")
    '2026-11-20 12:00:05 UTC'
    """
    return f"{from_micros(parse_instant(instant)[0]):%Y-%m-%d %H:%M:%S} UTC"


def left_text(micros: int) -> str:
    """Write a span of time in hours and minutes, rounded down.

    >>> left_text(90 * MINUTE), left_text(MINUTE), left_text(1)
    ('1 hour 30 minutes', '1 minute', 'less than a minute')
    """
    hours, minutes = divmod(micros // MINUTE, 60)
    parts = ((hours, "hour"), (minutes, "minute"))
    words = [f"{count} {unit}{'s' * (count > 1)}" for count, unit in parts if count]
    return " ".join(words) or "less than a minute"


def _grouped(amount: str) -> str:
    """Group the digits before the point and take away the zeros at the end behind it."""
    whole, _, fraction = amount.partition(".")
    digits = fraction.rstrip("0")
    return f"{int(whole):,}" + (f".{digits}" if digits else "")
