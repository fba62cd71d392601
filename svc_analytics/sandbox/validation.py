"""Validation of requests by their schema, and refusals; unknown members are allowed."""

import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import UUID

import msgspec

from svc_analytics.errors import DataError
from svc_analytics.instants import parse_instant


class Refusal(Exception):
    """Refuse a request with an HTTP status and the contract's error codes."""

    def __init__(self, status: int, *codes: str) -> None:
        super().__init__(f"{status} {', '.join(codes)}")
        self.status = status
        self.codes = codes

    @property
    def envelope(self) -> dict[str, Any]:
        """The response body in the contract's error envelope."""
        return {"statusCode": self.status, "errors": {"error": list(self.codes)}}


invalid = partial(Refusal, 422, "VALIDATION_FAILED")  # the request breaks its schema
not_found = partial(Refusal, 404, "PAY_SESSION_NOT_FOUND")  # of any object of the account
no_such_route = partial(Refusal, 404, "NOT_FOUND")
invalid_amount = partial(Refusal, 422, "PAY_AMOUNT_INVALID")
invalid_receipt = partial(Refusal, 422, "PAY_RECEIPT_INVALID")
invalid_recipient = partial(Refusal, 422, "PAY_RECIPIENT_INVALID")
duplicate_reference = partial(Refusal, 409, "PAY_DUPLICATE_REFERENCE")


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
Record = dict[str, Any]  # as the API returns it
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


def instant(value: object) -> int:
    """Return the UTC microseconds of an instant, or refuse what is none."""
    try:
        return parse_instant(value if isinstance(value, str) else "")[0]
    except DataError:
        raise invalid() from None


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


# URLs of webhooks: public https or this machine, judged in every spelling of the host.
MAX_URI = 2048  # characters
# No backslash, which browsers read as a slash; no percent sign in the host.
_URL = re.compile(
    r"(https?)://(?:[^@/?#\\\[\]]*@)?(\[[0-9A-Fa-f:.]+\]|[^@:/?#\\\[\]%]+)"
    r"(?::([0-9]{0,5}))?(?:[/?#][^\\]*)?\Z",
    re.IGNORECASE,
)
_HOST_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\Z")
# A name that ends so is an address to whoever follows the URL standard of browsers.
_NUMBER = re.compile(r"([0-9]+|0x[0-9a-f]*)\Z")
_MAX_NAME = 253  # characters of a DNS name
# Names that no public DNS server answers for.
_PRIVATE_NAME = re.compile(
    r"(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|home\.arpa|svc"
    r"|onion|invalid)\Z"
)
_PUBLIC_V6 = ipaddress.ip_network("2000::/3")
# Not private to every version of Python, or ways to write an IPv4 address: Teredo and
# others (2001::/23), 6to4.
_NOT_PUBLIC_V4 = ("192.0.0.0/24", "192.88.99.0/24", "224.0.0.0/3")
_NOT_PUBLIC_V6 = ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
_NOT_PUBLIC = [ipaddress.ip_network(text) for text in (*_NOT_PUBLIC_V4, *_NOT_PUBLIC_V6)]


def is_public_https(url: object) -> bool:
    """Tell whether a webhook URL is valid https and its host is public.

    >>> [is_public_https(f"https://{host}/") for host in ("shop.example", "10.0.0.1", "0x7f.1")]
    [True, False, False]
    """
    host = _host(url, "https")
    if host is None:
        return False
    try:
        return _is_public_address(ipaddress.ip_address(host))
    except ValueError:
        return _is_public_name(host)


def loopback_url(value: object) -> bool:
    """Tell whether a value is an http URL on this machine."""
    host = _host(value, "http")
    return host is not None and is_loopback(host)


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine's loopback.

    The client has such a check too: the sandbox shares none of its code on purpose.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "10.0.0.1", "a.example")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def request_target(url: str) -> str:
    """Return the path and query of a URL in ASCII, as they are sent.

    >>> request_target("http://127.0.0.1:9/é?a=%20ß#top")
    '/%C3%A9?a=%20%C3%9F'
    """
    parts = urlsplit(url)
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return re.sub(r"[^!-~]+", lambda other: quote(other[0]), path)


def _host(url: object, scheme: str) -> str | None:
    """Return the host of a URL of a scheme in lower case; None if it is no good URL."""
    # Control and format characters and blanks are not printable; a plain blank is.
    if not isinstance(url, str) or len(url) > MAX_URI or not url.isprintable() or " " in url:
        return None
    match = _URL.match(url)
    if not match or match[1].lower() != scheme or not 0 < int(match[3] or 1) < 2**16:
        return None
    return match[2].strip("[]").lower()


def _is_public_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if address.version == 6 and address not in _PUBLIC_V6:
        return False
    return address.is_global and not any(address in network for network in _NOT_PUBLIC)


def _is_public_name(host: str) -> bool:
    try:
        name = host.encode("idna").decode().lower().removesuffix(".")
    except UnicodeError:
        return False
    labels = name.split(".")
    if len(labels) == 1 or len(name) > _MAX_NAME or not all(map(_HOST_LABEL.match, labels)):
        return False
    return not _PRIVATE_NAME.search(name) and not _NUMBER.match(labels[-1])


# JSON with every number as it came, digit by digit: the service passes metadata through.
def decode_exactly(raw: bytes | str) -> Any:
    """Decode JSON, or raise ValueError or RecursionError.

    A number that Python would write otherwise is a `msgspec.Raw` of its text, which is
    encoded as it came.

    >>> msgspec.json.encode(decode_exactly('[1, 2.50, 1e400]'))
    b'[1,2.50,1e400]'
    """
    return _DECODER.decode(raw if isinstance(raw, str) else raw.decode())


def as_integer(value: object) -> int | None:
    """Return a JSON number of up to six digits that is whole, however it is written.

    >>> as_integer(30), as_integer(msgspec.Raw(b"3e1")), as_integer(30.5), as_integer(True)
    (30, 30, None, None)
    """
    if not isinstance(value, int | float | msgspec.Raw) or isinstance(value, bool):
        return None
    try:
        number = Decimal(bytes(value).decode() if isinstance(value, msgspec.Raw) else str(value))
        return int(number) if abs(number) < 10**6 and number == int(number) else None
    except (InvalidOperation, ValueError):
        return None


def _lossless(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            value = convert(text)
        except ValueError:  # an integer of more digits than Python reads
            return msgspec.Raw(text.encode())
        is_same = msgspec.json.encode(value) == text.encode()
        return value if is_same else msgspec.Raw(text.encode())

    return read


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    parse_int=_lossless(int), parse_float=_lossless(float), parse_constant=_refuse
)
