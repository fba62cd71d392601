"""Quotes: the price of a session in each coin, fixed when it is created."""

from typing import Any

from svc_analytics.sandbox.core.coins import (
    ENABLED,
    MAX_USD,
    MICRODOLLARS,
    USD_DECIMALS,
    Coin,
    decimal_text,
    half_up,
    units_of,
    usd_text,
)
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.core.validation import Body
from svc_analytics.sandbox.state.platform import Platform

USD_PLACES = 6

Quote = dict[str, Any]


def quotes_of(platform: Platform, body: Body, now: int) -> list[Quote]:
    """Return the entries of a session's `amounts`.

    With `price_usd`: each accepted coin at its current rate; coins without a rate are
    omitted. With `amounts`: the given amounts; a coin without a rate has no `usd_value`.
    """
    if "amounts" in body:
        return [_of_amount(platform, entry, now) for entry in body["amounts"]]
    cents = units_of(body["price_usd"], USD_DECIMALS, MAX_USD) or 0
    accepted = [ENABLED[slug] for slug in platform.settings["accepted_currencies"]]
    quotes = [_quoted(platform, coin, cents, now) for coin in accepted]
    if not any(quotes):
        raise Refusal(503, "PAY_RATE_UNAVAILABLE")
    return [quote for quote in quotes if quote]


def value_in_usd(platform: Platform, coin: Coin, units: int, now: int) -> str | None:
    """Return the value of units in US dollars, or None if the coin has no rate."""
    price = platform.rates.price(coin, now)
    return None if price is None else usd_text(units, coin, price, USD_PLACES)


def _of_amount(platform: Platform, entry: Body, now: int) -> Quote:
    coin = ENABLED[entry["currency"]]
    units = units_of(entry["amount"], coin.decimals) or 0
    quote = {"currency": coin.slug, "amount": decimal_text(units, coin.decimals)}
    usd_value = value_in_usd(platform, coin, units, now)
    return quote if usd_value is None else {**quote, "usd_value": usd_value}


def _quoted(platform: Platform, coin: Coin, price_usd: int, now: int) -> Quote | None:
    """Quote a price, given with 8 decimals, at the coin's current rate."""
    rate = platform.rates.price(coin, now)
    if rate is None:
        return None
    scale = 10 ** (coin.decimals + MICRODOLLARS)
    units = max(1, half_up(price_usd * scale, rate * 10**USD_DECIMALS))
    return {
        "currency": coin.slug,
        "amount": decimal_text(units, coin.decimals),
        "usd_value": usd_text(units, coin, rate, USD_PLACES),
    }
