"""Sweeping one segment: pages from its newest end down, until all of it is read.

Cursor rules (contract, Lists): follow `next_cursor` until it is null, whatever the
pages hold; a cursor that comes back, or none at all, fails the segment.
"""

import threading
import time
from collections.abc import Callable

import numpy as np

from svc_analytics.api.client import Client
from svc_analytics.api.routes import MAX_LIMIT
from svc_analytics.coverage import describe_span
from svc_analytics.errors import ApiError, NotFound, ProtocolError, TooLarge
from svc_analytics.extraction.batches import Parcel, Sighting, Taken
from svc_analytics.extraction.scheduler import SegmentQueue
from svc_analytics.extraction.segments import PADDING, Segment
from svc_analytics.instants import BEGINNING, SECOND, format_instant
from svc_analytics.records.page import Page

# Decoding holds the interpreter: side by side, workers would only take it from each other.
_TURN = threading.Lock()
HANDED_OVER = 32  # pages
HAND_OVER_AFTER = 0.2  # seconds
REOPENINGS = 3  # in a row without progress, before a segment is given up
# In a row, without a record that the sweep had not seen: empty ones may be many, but a
# list that goes in circles under ever new cursors has no end.
BARREN_PAGES = 10_000
_REFUSED_CURSOR = {400, 404, 409, 410, 422}


class Sweep:
    """One worker's way through one segment.

    `deliver` takes what pages yield, and `is_crowded` tells whether it would have to wait.
    """

    def __init__(
        self,
        client: Client,
        board: SegmentQueue,
        segment: Segment,
        deliver: Callable[[Parcel], None],
        is_crowded: Callable[[], bool] = lambda: False,
    ) -> None:
        self._client = client
        self._board = board
        self._segment = segment
        self._deliver = deliver
        self._is_crowded = is_crowded
        self._taken: list[Taken] = []
        self._delivered_at = time.monotonic()
        self._cursors: set[str] = set()
        self._limit = MAX_LIMIT
        self._seen: set[int] = set()  # a mark of each page that held anything
        self._barren = 0
        self._ids_before: frozenset[str] = frozenset()

    def run(self) -> None:
        """Read the segment to its end; raise what makes that impossible."""
        try:
            self._read_all()
        except ProtocolError as error:
            self._take_back()
            window = describe_span((self._segment.start, self._segment.top))
            message = f"{self._segment.stream.name} of {window}: {error}; it is not marked as read"
            raise ProtocolError(message, path=self._segment.stream.route) from error
        finally:
            self._hand_over()  # whatever ended it, what was read is kept

    def _read_all(self) -> None:
        cursor: str | None = None
        query, idle = self._open(), 0
        while not self._segment.is_done:
            began_at = time.monotonic()
            try:
                page = self._ask(query, cursor)
            except TooLarge:
                # Metadata knows no bounds (contract, Payment): fewer records at a time, then.
                if self._limit == 1:
                    raise
                self._limit = max(self._limit // 8, 1)
                query, cursor = self._open(), None
                continue
            except ApiError as error:
                idle += 1
                if cursor is None or not _is_refused_cursor(error) or idle > REOPENINGS:
                    raise
                query, cursor = self._open(), None
                continue
            came_at = time.monotonic()
            before = self._segment.end
            cursor = self._next_cursor(page)
            self._take(page)
            if self._is_time(came_at):
                self._hand_over()
            self._board.note_times(came_at - began_at, time.monotonic() - came_at)
            idle = idle if self._segment.end == before else 0
            if cursor is None:
                return

    def _is_time(self, now: float) -> bool:
        """Tell whether to hand over: not while the writer publishes, for then it would wait."""
        if len(self._taken) == HANDED_OVER:
            return True
        return now - self._delivered_at > HAND_OVER_AFTER and not self._is_crowded()

    def _open(self) -> dict[str, str]:
        """Ask for what is left, a second wider on both sides, newest first."""
        self._segment.reopen()
        self._cursors.clear()
        self._seen.clear()
        end = _whole_second(self._segment.end + PADDING, up=True)
        query = {"limit": str(self._limit), "to": end}
        if self._segment.start != BEGINNING:
            query["from"] = _whole_second(self._segment.start - PADDING, up=False)
        return query

    def _ask(self, query: dict[str, str], cursor: str | None) -> Page:
        params = query if cursor is None else query | {"cursor": cursor}
        return self._client.page(self._segment.stream.route, params)

    def _next_cursor(self, page: Page) -> str | None:
        cursor = page.next_cursor
        if cursor in self._cursors:
            raise ProtocolError("the service gave the same cursor twice")
        if cursor is not None:
            self._cursors.add(cursor)
        return cursor

    def _take(self, page: Page) -> None:
        with _TURN:
            sight = Sighting.of(self._segment.stream, page, time.time_ns() // 1000)
        ids = sight.ids
        is_repeat = np.zeros(len(ids), np.bool_)
        if not self._ids_before.isdisjoint(ids):
            is_repeat[:] = [record_id in self._ids_before for record_id in ids]
        self._ids_before = frozenset(ids)
        self._check_end(hash(self._ids_before) if ids else None)
        is_last = page.next_cursor is None
        progress = self._board.advance(self._segment, sight.instants, is_repeat, is_last)
        self._taken.append((sight, progress))

    def _check_end(self, mark: int | None) -> None:
        """Refuse a list without an end. `mark` tells a page by its records; None an empty one."""
        is_new = mark is not None and mark not in self._seen
        self._barren = 0 if is_new else self._barren + 1
        if mark is not None:
            self._seen.add(mark)
        if self._barren > BARREN_PAGES:
            message = f"{self._barren:,} pages in a row held no new record, and none was the last"
            raise ProtocolError(message)

    def _take_back(self) -> None:
        """Put in doubt what this sweep had covered: a broken list proves nothing."""
        self._hand_over()
        segment = self._segment
        if segment.end < segment.top:
            self._deliver(Parcel(segment.stream, retracted=(segment.end, segment.top)))

    def _hand_over(self) -> None:
        """Give the writer what was read: many pages at a time, for each time costs a switch."""
        taken, self._taken = self._taken, []
        self._delivered_at = time.monotonic()
        if taken:
            self._deliver(Parcel(self._segment.stream, taken))


def _is_refused_cursor(error: ApiError) -> bool:
    return type(error) in (ApiError, NotFound) and error.status in _REFUSED_CURSOR


def _whole_second(micros: int, *, up: bool) -> str:
    """Write a bound without a fraction: whether the service reads one is not known."""
    seconds = -(-micros // SECOND) if up else micros // SECOND
    return format_instant(seconds * SECOND)
