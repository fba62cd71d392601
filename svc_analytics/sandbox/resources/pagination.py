"""Pagination by keyset, newest first: new rows do not shift the pages."""

from collections.abc import Mapping

from svc_analytics.instants import BEGINNING
from svc_analytics.sandbox.core.behaviour import Behaviour
from svc_analytics.sandbox.core.errors import invalid
from svc_analytics.sandbox.resources.list_query import ListQuery, read_limit, read_list_query
from svc_analytics.sandbox.state.cursors import Cursor, read_cursor, write_cursor
from svc_analytics.sandbox.state.store import Position, Slice, Store, StoredRecord
from svc_analytics.schema import Stream
from svc_analytics.signing.secrets import Secret

Page = tuple[list[StoredRecord], str | None]


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
        list_query, limit = read_list_query(stream, query), read_limit(query)
        start, end = _start(list_query, behaviour), _end(list_query, now, behaviour)
        cursor = Cursor(end, page=1, made_by_request=self._requests)
        if "cursor" in query:
            cursor = read_cursor(query["cursor"], list_query, self._secret)
        if 0 < behaviour.cursor_lifetime < self._requests - cursor.made_by_request:
            raise invalid()
        size = 0 if behaviour.is_empty(cursor.page) else behaviour.rows(limit, cursor.position)
        part = Slice(stream, start, min(end, cursor.position), list_query.only)
        found = self._store.page(part, now, size + 1)
        if len(found) <= size:
            return found, None
        shown = found[:size]
        position = (shown[-1][stream.instant], shown[-1]["id"]) if shown else cursor.position
        following = Cursor(position, cursor.page + 1, self._requests)
        return shown, write_cursor(following, list_query, self._secret)


def _start(list_query: ListQuery, behaviour: Behaviour) -> int:
    """Return the first instant of a list."""
    start, _ = behaviour.inclusive(list_query.start, list_query.end)
    return BEGINNING if start is None else start


def _end(list_query: ListQuery, now: int, behaviour: Behaviour) -> Position:
    """Return the position just after the last instant of a list."""
    _, end = behaviour.inclusive(list_query.start, list_query.end)
    return (now if end is None else min(now, end)) + 1, ""
