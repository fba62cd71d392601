"""Pagination by keyset, newest first: new rows do not shift the pages.

A cursor is a signed text that holds a position and fits only the list it was made for.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from svc_analytics.errors import DataError
from svc_analytics.instants import BEGINNING, parse_instant
from svc_analytics.sandbox.core.behaviour import Behaviour
from svc_analytics.sandbox.core.errors import invalid
from svc_analytics.sandbox.state.signed_text import read_signed, write_signed
from svc_analytics.sandbox.state.store import FILTERS, Position, Slice, Store, StoredRecord
from svc_analytics.schema import PAYOUT_RECORDS, Stream
from svc_analytics.signing.secrets import Secret

DEFAULT_LIMIT = 25
MAX_ROWS = 100  # Limits: list limit 1 to 100
KINDS = ("payout", "refund")
_LIMIT = re.compile(r"[0-9]{1,3}\Z", re.ASCII)

Page = tuple[list[StoredRecord], str | None]


class Filters(NamedTuple):
    """Hold the filters that all pages of a list share."""

    stream: str
    only: str | None  # a currency of payments, a kind of payout records
    start: int | None
    end: int | None


class Cursor(NamedTuple):
    """Hold where the next page starts, its number and the request that made it."""

    position: Position
    page: int
    made_by_request: int


class Paginator:
    """Return pages of lists; requests are counted so that cursors can expire."""

    def __init__(self, store: Store, secret: Secret) -> None:
        self._store = store
        self._secret = secret
        self._requests = 0

    def page(
        self, stream: Stream, query: Mapping[str, str], now: int, behaviour: Behaviour
    ) -> Page:
        """Return the records of a page and the cursor of the next page."""
        self._requests += 1
        filters, limit = _read_filters(stream, query), _read_limit(query)
        first, last = behaviour.inclusive(filters.start, filters.end)
        end = (now if last is None else min(now, last)) + 1, ""  # just after the last instant
        # An empty one is none: clients send it for the first page.
        cursor = self._read(query["cursor"], filters) if query.get("cursor") else None
        cursor = cursor or Cursor(end, page=1, made_by_request=self._requests)
        if 0 < behaviour.cursor_lifetime < self._requests - cursor.made_by_request:
            raise invalid()
        size = 0 if behaviour.is_empty(cursor.page) else behaviour.rows(limit, cursor.position)
        start = BEGINNING if first is None else first
        part = Slice(stream, start, min(end, cursor.position), filters.only)
        records = self._store.page(part, now, size + 1)
        if len(records) <= size:
            return records, None
        shown = records[:size]
        position = (shown[-1][stream.instant], shown[-1]["id"]) if shown else cursor.position
        return shown, self._write(Cursor(position, cursor.page + 1, self._requests), filters)

    def _write(self, cursor: Cursor, filters: Filters) -> str:
        return write_signed(msgspec.json.encode(cursor), f"cursor of {filters!r}", self._secret)

    def _read(self, text: str, filters: Filters) -> Cursor:
        """Read a cursor; refuse one that was altered or made for other filters."""
        payload = read_signed(text, f"cursor of {filters!r}", self._secret)
        if payload is None:
            raise invalid()
        return msgspec.json.decode(payload, type=Cursor)


def _read_filters(stream: Stream, query: Mapping[str, str]) -> Filters:
    only = query.get(FILTERS[stream.name])
    if stream is PAYOUT_RECORDS and only not in (None, *KINDS):
        raise invalid()
    return Filters(stream.name, only, _instant(query.get("from")), _instant(query.get("to")))


def _read_limit(query: Mapping[str, str]) -> int:
    text = query.get("limit", str(DEFAULT_LIMIT))
    if not _LIMIT.match(text) or not 1 <= int(text) <= MAX_ROWS:
        raise invalid()
    return int(text)


def _instant(text: str | None) -> int | None:
    try:
        return None if text is None else parse_instant(text)[0]
    except DataError:
        raise invalid() from None
