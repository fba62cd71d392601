"""Request bodies: which parts break the schema. Unknown properties are let pass."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from svc_analytics.sandbox.core.errors import invalid

MOST_URI = 2048  # characters
# Hosts are ASCII names or IPv4 addresses (our choice); behind them no controls and no blanks.
HTTPS_PATTERN = (
    r"^[Hh][Tt][Tt][Pp][Ss]://([A-Za-z0-9._~!$&'()*+,;=%:-]*@)?"
    r"[A-Za-z0-9._~-]+(:[0-9]{1,5})?([/?#][^\x00-\x20\x7f]*)?$"
)
_HTTPS = re.compile(HTTPS_PATTERN.replace("?$", r"?\Z"))
MOST_LEVELS = 64  # of nesting; deeper than Python can write, a body could be read but not kept

Body = Mapping[str, Any]
Rule = Callable[[Any], bool]


def text(most: int, least: int = 1) -> Rule:
    """Return the rule of a text of so many characters."""
    return lambda value: isinstance(value, str) and least <= len(value) <= most


def https_uri(value: Any) -> bool:
    """Tell whether a value is an https URI with a host."""
    return isinstance(value, str) and len(value) <= MOST_URI and bool(_HTTPS.match(value))


def loopback_url(value: Any) -> bool:
    """Tell whether a value is an http URL on this machine, for a receiver of webhooks."""
    try:
        parts = urlsplit(value)
        _ = parts.port  # raises where it is no port
        host = parts.hostname or ""
        is_here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except (ValueError, AttributeError):
        return False
    return parts.scheme == "http" and is_here and not any(c.isspace() for c in value)


def uuid_text(value: Any) -> bool:
    """Tell whether a value is a UUID in its usual form."""
    try:
        return isinstance(value, str) and str(UUID(value)) == value.lower()
    except ValueError:
        return False


def uuid_form(text: str) -> str:
    """Return a UUID in small letters, as ids are kept; any other text as it is.

    >>> uuid_form("7C3A2828-E243-4264-94C9-68CE0BD58683"), uuid_form("Order-7")
    ('7c3a2828-e243-4264-94c9-68ce0bd58683', 'Order-7')
    """
    return text.lower() if uuid_text(text) else text


def whole_number(least: int, most: int) -> Rule:
    """Return the rule of an integer in a range; true and false are none."""
    return lambda value: (
        isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    )


def json_integer(least: int, most: int) -> Rule:
    """Return the rule of an integer as JSON has it: 30.0 is one too."""
    is_whole = whole_number(least, most)
    return lambda value: is_whole(
        int(value) if isinstance(value, float) and value.is_integer() else value
    )


def is_object(value: Any) -> bool:
    """Tell whether a value is a JSON object."""
    return isinstance(value, dict)


def as_object(body: object) -> dict[str, Any]:
    """Return a body that is an object, without members that are null."""
    if not isinstance(body, dict) or not _is_shallow(body, MOST_LEVELS):
        raise invalid()
    return {name: value for name, value in body.items() if value is not None}


def is_valid(body: Body, required: Mapping[str, Rule], optional: Mapping[str, Rule]) -> bool:
    """Tell whether each member keeps its rule, and none that is required is missing."""
    rules = {**optional, **required}  # a member that is required here may be optional elsewhere
    return required.keys() <= body.keys() and all(
        rule(body[name]) for name, rule in rules.items() if name in body
    )


def require(
    body: Body, required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None
) -> None:
    """Refuse a body that breaks its schema."""
    if not is_valid(body, required, optional or {}):
        raise invalid()


def _is_shallow(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return True
    return levels > 0 and all(_is_shallow(item, levels - 1) for item in value)
