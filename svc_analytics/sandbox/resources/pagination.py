"""Cutting a list into pages, newest first, by keyset: rows that appear shift nothing."""

from collections.abc import Mapping

from svc_analytics.masked import Masked
from svc_analytics.periods import BEGINNING
from svc_analytics.sandbox.core.behaviour import Quirks
from svc_analytics.sandbox.core.errors import invalid
from svc_analytics.sandbox.resources.list_query import Listing, read_limit, read_listing
from svc_analytics.sandbox.state.cursors import Cursor, read_cursor, write_cursor
from svc_analytics.sandbox.state.store import Position, Slice, Store, StoredRecord
from svc_analytics.schema import Stream

Page = tuple[list[StoredRecord], str | None]


class Pager:
    """Answers list requests, and counts them so that a cursor can grow old."""

    def __init__(self, store: Store, secret: Masked) -> None:
        self._store = store
        self._secret = secret
        self._requests = 0

    def page(self, stream: Stream, query: Mapping[str, str], now: int, quirks: Quirks) -> Page:
        """Return the records of the page a query asks for, and the cursor of the next."""
        self._requests += 1
        listing, limit = read_listing(stream, query), read_limit(query)
        start, end = _start(listing, quirks), _end(listing, now, quirks)
        cursor = Cursor(end, page=1, made_by_request=self._requests)
        if "cursor" in query:
            cursor = read_cursor(query["cursor"], listing, self._secret)
        if 0 < quirks.cursor_lifetime < self._requests - cursor.made_by_request:
            raise invalid()
        size = 0 if quirks.is_empty(cursor.page) else quirks.rows(limit, cursor.position)
        part = Slice(stream, start, min(end, cursor.position), listing.only)
        found = self._store.page(part, now, size + 1)
        if len(found) <= size:
            return found, None
        shown = found[:size]
        position = (shown[-1][stream.instant], shown[-1]["id"]) if shown else cursor.position
        following = Cursor(position, cursor.page + 1, self._requests)
        return shown, write_cursor(following, listing, self._secret)


def _start(listing: Listing, quirks: Quirks) -> int:
    """Return the first instant that belongs to a list."""
    start, _ = quirks.inclusive(listing.start, listing.end)
    return BEGINNING if start is None else start


def _end(listing: Listing, now: int, quirks: Quirks) -> Position:
    """Return the position before which every record of a list stands."""
    _, end = quirks.inclusive(listing.start, listing.end)
    return (now if end is None else min(now, end)) + 1, ""
