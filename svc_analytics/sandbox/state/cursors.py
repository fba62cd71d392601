"""Cursors: opaque texts that carry a place in a list and fit only the list they came from."""

import base64
import binascii
import hashlib
import hmac
from dataclasses import astuple, dataclass

import msgspec

from svc_analytics.masked import Masked
from svc_analytics.sandbox.core.errors import invalid
from svc_analytics.sandbox.state.store import Position

_SEAL = 12  # bytes


@dataclass(frozen=True)
class Cursor:
    """Where the next page begins (behind a position), its number, and who made the cursor."""

    position: Position
    page: int
    made_by_request: int


def write_cursor(cursor: Cursor, filters: object, secret: Masked) -> str:
    """Return the text of a cursor, sealed together with the filters of its list."""
    payload = msgspec.json.encode(astuple(cursor))
    return base64.urlsafe_b64encode(_seal(payload, filters, secret) + payload).decode()


def read_cursor(text: str, filters: object, secret: Masked) -> Cursor:
    """Read a cursor back; refuse one that was altered, or made for other filters."""
    raw = read_sealed(text)
    seal, payload = raw[:_SEAL], raw[_SEAL:]
    if not hmac.compare_digest(seal, _seal(payload, filters, secret)):
        raise invalid()
    position, page, made_by_request = msgspec.json.decode(payload)
    return Cursor(tuple(position), page, made_by_request)


def read_sealed(text: str) -> bytes:
    """Return the bytes behind a text that the service wrote, none behind any other spelling.

    >>> read_sealed("QQ=="), read_sealed("QR=="), read_sealed("Q!Q==")
    (b'A', b'', b'')
    """
    try:
        raw = base64.urlsafe_b64decode(text.encode())
    except (binascii.Error, UnicodeEncodeError):
        return b""
    # The decoder skips what is no letter of its alphabet, and the last letter's spare bits.
    return raw if base64.urlsafe_b64encode(raw).decode() == text else b""


def _seal(payload: bytes, filters: object, secret: Masked) -> bytes:
    message = payload + repr(filters).encode()
    return hmac.new(secret.reveal().encode(), message, hashlib.sha256).digest()[:_SEAL]
