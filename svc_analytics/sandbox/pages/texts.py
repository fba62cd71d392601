"""Texts of the pages: amounts, times and errors as people read them."""

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

from svc_analytics.instants import MINUTE, from_micros, parse_instant
from svc_analytics.sandbox.core.html import Html, alert

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


# ---------- Sentences for the error codes that a person on these pages can meet


# What a customer reads in the widget.
WIDGET = {
    "PAY_SESSION_NOT_FOUND": "There is no such checkout.",
    "PAY_SESSION_EXPIRED": "This checkout has expired. Nothing was charged.",
    "PAY_SESSION_STATE": "This checkout is closed. Nothing was charged.",
    "PAY_CURRENCY_NOT_ACCEPTED": "This order cannot be paid in that coin: choose another.",
    "PAY_BINDING_REQUIRED": "Link your account to this shop first.",
    "PAY_BINDING_REVIEW": (
        "The shop is reviewing your account, because your name differs from the one it knows."
        " Please come back later: you can pay as soon as it agrees."
    ),
    "PAY_BINDING_MISMATCH": (
        "This order belongs to a customer of the shop who is linked to another account."
        " Sign in with that account, or ask the shop."
    ),
    "PAY_BINDING_CONFLICT": (
        "This customer of the shop, or your account, is linked already. Ask the shop to end"
        " the wrong link."
    ),
    "PAY_SELF_PAYMENT": "This account is the shop itself: a business cannot pay itself.",
    "INSUFFICIENT_BALANCE": "Your balance does not cover this amount. Nothing was charged.",
    "TOTP_REQUIRED": "Enter the code of your second factor.",
    "TOTP_INVALID": "That code is not right. Nothing was charged.",
    "TOTP_NOT_ENROLLED": "Set up a second factor first: this payment needs one.",
    "RATE_LIMITED": "Too many wrong codes. Please wait a quarter of an hour, then try again.",
    "MERCHANT_DISABLED": "This shop cannot take payments now. Nothing was charged.",
    "MAINTENANCE_MODE": "Payments are under maintenance. Please try again later.",
}

# What the business reads in its console.
CONSOLE = {
    "MERCHANT_WEBHOOK_SECRET_UNSEEN": (
        "Open the webhook secret first: without it nobody can verify the test event."
    ),
    "MERCHANT_WEBHOOK_URL_INVALID": (
        "This webhook URL was not set: it must be https and publicly reachable, or http on this"
        " machine."
    ),
    "MERCHANT_KEY_LIMIT": "Five keys of this class are enabled already: revoke one first.",
    "MERCHANT_PAYOUTS_DISABLED": (
        "Nothing was paid: payouts are not armed, a limit is not set, or the business is"
        " suspended. See the payout terms."
    ),
    "PAY_AMOUNT_INVALID": (
        "Nothing was paid: the amount must be above zero and have no more decimals than the coin."
    ),
    "PAY_CURRENCY_NOT_ACCEPTED": "Nothing was paid: the platform does not move this coin.",
    "PAY_RECIPIENT_INVALID": (
        "Nothing was paid: the recipient must be the payer_id of a customer who has paid this"
        " business and whose account is in order."
    ),
    "PAY_PAYOUT_LIMIT": "Nothing was paid: this goes beyond the limits of the payout terms.",
    "PAY_RATE_UNAVAILABLE": "Nothing was paid: the coin has no USD rate now. Try again later.",
    "INSUFFICIENT_BALANCE": "Nothing was paid: the wallet does not cover the amount and its fee.",
    "CONFLICT": "This key was revoked before.",
    "NOT_FOUND": "There is no such key.",
}


def alerts(codes: Iterable[str], sentences: dict[str, str]) -> list[Html]:
    """Return an alert for each code: its sentence, and the code in small print."""
    return [alert(sentences.get(code, "This did not work."), code) for code in codes]
