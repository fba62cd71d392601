"""Validation of `POST /sessions`: all error codes of a body at once."""

from collections.abc import Iterator
from typing import Any

from svc_analytics.sandbox.core import validation
from svc_analytics.sandbox.core.coins import ENABLED, MAX_USD, USD_DECIMALS, is_plain, units_of

_REQUIRED = {"reference_id": validation.text(128), "title": validation.text(128)}
_OPTIONAL = {
    "description": validation.text(512, minimum=0),
    "return_url": validation.https_uri,
    "cancel_url": validation.https_uri,
    "metadata": validation.is_object,
    "ttl_minutes": validation.json_integer(5, 1440),
    "customer": validation.is_object,
    "price_usd": is_plain,
    "amounts": lambda value: isinstance(value, list) and 1 <= len(value) <= 10,
}
# The contract shows no limits for the customer block; these are our choice.
_CUSTOMER = {
    "id": validation.text(128),
    "name": validation.text(256),
    "email": validation.text(320),
}
_AMOUNT = {"currency": validation.text(32), "amount": is_plain}


def schema_codes(body: validation.Body) -> set[str]:
    """Return the error codes of a body that depend on no setting."""
    codes = set()
    if not _has_good_schema(body):
        codes.add("VALIDATION_FAILED")
    if "customer" not in body:
        codes.add("PAY_CUSTOMER_REQUIRED")
    if ("amounts" in body) == ("price_usd" in body) or not _has_good_amounts(body):
        codes.add("PAY_AMOUNT_INVALID")
    return codes


def currency_codes(body: validation.Body, accepted: list[str]) -> set[str]:
    """Return the error code for a coin that the merchant does not accept."""
    unknown = [
        entry["currency"]
        for entry in _entries(body)
        if entry["currency"] not in ENABLED or entry["currency"] not in accepted
    ]
    return {"PAY_CURRENCY_NOT_ACCEPTED"} if unknown else set()


def _has_good_schema(body: validation.Body) -> bool:
    customer, amounts = body.get("customer"), body.get("amounts")
    if not validation.is_valid(body, _REQUIRED, _OPTIONAL):
        return False
    if customer is not None and not validation.is_valid(customer, _CUSTOMER, {}):
        return False
    return amounts is None or len(amounts) == len(list(_entries(body)))


def _has_good_amounts(body: validation.Body) -> bool:
    price = body.get("price_usd", "")
    if is_plain(price) and units_of(price, USD_DECIMALS, MAX_USD) is None:
        return False
    slugs = [entry["currency"] for entry in _entries(body)]
    return len(slugs) == len(set(slugs)) and all(
        units_of(entry["amount"], ENABLED[entry["currency"]].decimals) is not None
        for entry in _entries(body)
        if entry["currency"] in ENABLED
    )


def _entries(body: validation.Body) -> Iterator[dict[str, Any]]:
    """Yield the entries of `amounts` that obey the schema."""
    amounts = body.get("amounts")
    for entry in amounts if isinstance(amounts, list) else ():
        if isinstance(entry, dict) and validation.is_valid(entry, _AMOUNT, {}):
            yield entry
