"""Sweeping one segment: pages from its newest end down, until all of it is read.

Cursor rules (contract, Lists): follow `next_cursor` until it is null, whatever the
pages hold; a cursor that comes back, or none at all, fails the segment.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from svc_analytics.client import Client
from svc_analytics.coverage import Span, Spans
from svc_analytics.errors import ApiError, NotFound, ProtocolError
from svc_analytics.lake import describe_span
from svc_analytics.pages import Page
from svc_analytics.periods import BEGINNING, SECOND, format_instant
from svc_analytics.records import Records, Rejected, read_records
from svc_analytics.routes import MAX_LIMIT
from svc_analytics.schema import Stream
from svc_analytics.segments import PADDING, Board, Instants, Segment
from svc_analytics.sidefile import Quarantined

# Decoding holds the interpreter: side by side, workers would only take it from each other.
_TURN = threading.Lock()
HANDED_OVER = 16  # pages
HAND_OVER_AFTER = 0.2  # seconds
REOPENINGS = 3  # in a row without progress, before a segment is given up
_REFUSED_CURSOR = {400, 404, 409, 410, 422}


@dataclass(frozen=True)
class Delivery:
    """What travels to the writer: rows, and the intervals they prove or put in doubt."""

    stream: Stream
    records: Records
    rejected: tuple[Quarantined, ...] = ()
    proven: Spans = ()
    doubted: Spans = ()


class Sweep:
    """One worker's way through one segment. `deliver` takes each page's yield."""

    def __init__(
        self,
        client: Client,
        board: Board,
        segment: Segment,
        deliver: Callable[[list[Delivery]], None],
    ) -> None:
        self._client = client
        self._board = board
        self._segment = segment
        self._deliver = deliver
        self._yield: list[Delivery] = []
        self._delivered_at = time.monotonic()
        self._cursors: set[str] = set()
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
            except ApiError as error:
                idle += 1
                if cursor is None or not _is_refused_cursor(error) or idle > REOPENINGS:
                    raise
                query, cursor = self._open(), None
                continue
            came_at = time.monotonic()
            before = self._segment.end
            cursor = self._next_cursor(page)
            delivery = self._take(page)
            self._board.note_times(came_at - began_at, time.monotonic() - came_at)
            self._yield.append(delivery)
            if len(self._yield) == HANDED_OVER or came_at - self._delivered_at > HAND_OVER_AFTER:
                self._hand_over()
            idle = idle if self._segment.end == before else 0
            if cursor is None:
                return

    def _open(self) -> dict[str, str]:
        """Ask for what is left, a second wider on both sides, newest first."""
        self._segment.reopen()
        self._cursors.clear()
        query = {"limit": str(MAX_LIMIT), "to": _whole_second(self._segment.end + PADDING, up=True)}
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

    def _take(self, page: Page) -> Delivery:
        stream, now = self._segment.stream, time.time_ns() // 1000
        with _TURN:
            records = read_records(stream, page, now)
        instants = np.asarray(records.rows[stream.instant].cast(pa.int64()))
        ids = records.rows["id"].to_pylist()
        is_repeat = np.fromiter((i in self._ids_before for i in ids), np.bool_, len(ids))
        self._ids_before = frozenset(ids)
        is_last = page.next_cursor is None
        progress = self._board.advance(self._segment, instants, is_repeat, is_last)
        return Delivery(
            stream,
            _within(records, instants, progress.wanted),
            self._rejected(records.rejected, instants, progress.wanted, now),
            progress.proven,
            progress.doubted,
        )

    def _rejected(
        self, rejected: tuple[Rejected, ...], instants: Instants, wanted: Span, now: int
    ) -> tuple[Quarantined, ...]:
        """Place rejected records in time; one without an instant stands by its neighbours."""
        nearby = int(instants.min()) if len(instants) else wanted[1] - 1
        nearby = min(max(nearby, wanted[0], 0), wanted[1] - 1)
        placed = [(item, nearby if item.instant is None else item.instant) for item in rejected]
        return tuple(
            Quarantined(item, position, wanted, now)
            for item, position in placed
            if wanted[0] <= position < wanted[1]
        )

    def _take_back(self) -> None:
        """Put in doubt what this sweep had proven: a broken list proves nothing."""
        segment = self._segment
        if segment.end < segment.top:
            empty = Records(segment.stream.schema.empty_table())
            doubted = ((segment.end, segment.top),)
            self._yield.append(Delivery(segment.stream, empty, doubted=doubted))

    def _hand_over(self) -> None:
        """Give the writer what was read: a few pages at a time, for each time costs a switch."""
        delivered, self._yield = self._yield, []
        self._delivered_at = time.monotonic()
        if delivered:
            self._deliver(delivered)


def _within(records: Records, instants: Instants, wanted: Span) -> Records:
    """Keep the rows a segment owns: the service's bounds may be inclusive, or not heeded."""
    mask = (instants >= wanted[0]) & (instants < wanted[1])
    rows = records.rows if mask.all() else records.rows.filter(pa.array(mask))
    return Records(rows, size=records.size)


def _is_refused_cursor(error: ApiError) -> bool:
    return type(error) in (ApiError, NotFound) and error.status in _REFUSED_CURSOR


def _whole_second(micros: int, *, up: bool) -> str:
    """Write a bound without a fraction: whether the service reads one is not known."""
    seconds = -(-micros // SECOND) if up else micros // SECOND
    return format_instant(seconds * SECOND)
