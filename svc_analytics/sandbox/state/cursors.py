"""Cursors: signed texts that hold a position and fit only their own list."""

from dataclasses import astuple, dataclass

import msgspec

from svc_analytics.sandbox.core.errors import invalid
from svc_analytics.sandbox.state.signed_text import read_signed, write_signed
from svc_analytics.sandbox.state.store import Position
from svc_analytics.signing.secrets import Secret


@dataclass(frozen=True)
class Cursor:
    """Hold where the next page starts, its number and the request that made it."""

    position: Position
    page: int
    made_by_request: int


def write_cursor(cursor: Cursor, filters: object, secret: Secret) -> str:
    """Write a cursor as text, signed together with the filters of its list."""
    return write_signed(msgspec.json.encode(astuple(cursor)), _purpose(filters), secret)


def read_cursor(text: str, filters: object, secret: Secret) -> Cursor:
    """Read a cursor; refuse one that was altered or made for other filters."""
    payload = read_signed(text, _purpose(filters), secret)
    if payload is None:
        raise invalid()
    position, page, made_by_request = msgspec.json.decode(payload)
    return Cursor(tuple(position), page, made_by_request)


def _purpose(filters: object) -> str:
    return f"cursor of {filters!r}"
