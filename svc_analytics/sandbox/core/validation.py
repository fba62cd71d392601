"""Validation of request bodies by their schema; unknown members are allowed."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import msgspec

from svc_analytics.sandbox.core.errors import invalid
from svc_analytics.sandbox.core.exact_json import as_integer, decode_exactly
from svc_analytics.sandbox.core.urls import MAX_URI

# Our choice: a host is an ASCII name or an IPv4 address, its labels neither empty nor begun or
# ended by a hyphen, and a port is one; no control character or blank follows.
_LABEL = "[A-Za-z0-9_~]([A-Za-z0-9_~-]*[A-Za-z0-9_~])?"
_PORT = "([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
HTTPS_PATTERN = (
    r"^[Hh][Tt][Tt][Pp][Ss]://([A-Za-z0-9._~!$&'()*+,;=%:-]*@)?"
    rf"{_LABEL}(\.{_LABEL})*\.?(:{_PORT})?([/?#][^\x00-\x20\x7f]*)?$"
)
_HTTPS = re.compile(HTTPS_PATTERN.replace("?$", r"?\Z"))
MAX_LEVELS = 64  # of nesting; Python can read deeper JSON than it can write

Json = dict[str, Any]
Body = Mapping[str, Any]
Rule = Callable[[Any], bool]


def text(maximum: int, minimum: int = 1) -> Rule:
    """Return the rule for a text of so many characters."""
    return lambda value: isinstance(value, str) and minimum <= len(value) <= maximum


def https_uri(value: Any) -> bool:
    """Tell whether a value is an https URI with a host."""
    return isinstance(value, str) and len(value) <= MAX_URI and bool(_HTTPS.match(value))


def is_uuid(value: Any) -> bool:
    """Tell whether a value is a UUID in its usual form."""
    try:
        return isinstance(value, str) and str(UUID(value)) == value.lower()
    except ValueError:
        return False


def uuid_form(text: str) -> str:
    """Return a UUID in lower case, as ids are stored; any other text unchanged.

    >>> uuid_form("7C3A2828-E243-4264-94C9-68CE0BD58683"), uuid_form("Order-7")
    ('7c3a2828-e243-4264-94c9-68ce0bd58683', 'Order-7')
    """
    return text.lower() if is_uuid(text) else text


def whole_number(minimum: int, maximum: int) -> Rule:
    """Return the rule for an integer in a range; true and false are not integers."""
    return lambda value: (
        isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= maximum
    )


def json_integer(minimum: int, maximum: int) -> Rule:
    """Return the rule for a JSON integer, which may be written 30.0."""
    is_whole = whole_number(minimum, maximum)
    return lambda value: is_whole(as_integer(value))


def is_object(value: Any) -> bool:
    """Tell whether a value is a JSON object."""
    return isinstance(value, dict)


def decode_json(raw: bytes) -> object:
    """Decode a JSON body; what is not JSON becomes None, which no schema allows."""
    try:
        body = decode_exactly(raw)
        msgspec.json.encode(body)  # half a surrogate pair could be read but never written
    except (ValueError, RecursionError):
        return None
    return body


def as_object(body: object) -> dict[str, Any]:
    """Return a JSON object without its null members, or refuse the body."""
    if not isinstance(body, dict) or not is_shallow(body):
        raise invalid()
    return {name: value for name, value in body.items() if value is not None}


def is_valid(body: Body, required: Mapping[str, Rule], optional: Mapping[str, Rule]) -> bool:
    """Tell whether every member obeys its rule and no required member is missing."""
    rules = {**optional, **required}  # "required" wins where both name a member
    return required.keys() <= body.keys() and all(
        rule(body[name]) for name, rule in rules.items() if name in body
    )


def read_body(
    body: object, required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None
) -> dict[str, Any]:
    """Return a body that obeys its schema, without null members, or refuse it."""
    request = as_object(body)
    if not is_valid(request, required, optional or {}):
        raise invalid()
    return request


def is_shallow(value: Any, levels: int = MAX_LEVELS) -> bool:
    """Tell whether JSON is nested no deeper than so many levels."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return levels > 0 and all(is_shallow(item, levels - 1) for item in value)
