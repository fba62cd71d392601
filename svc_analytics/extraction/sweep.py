"""Sweep one segment: fetch its pages from the newest end down, until all of it is read.

Cursor rules (contract, Lists): follow `next_cursor` until it is null, whatever the
pages hold; a cursor that comes back, or none at all, fails the segment.
"""

import threading
import time
from collections.abc import Callable

from svc_analytics.api.client import Client
from svc_analytics.api.routes import MAX_LIMIT
from svc_analytics.coverage import describe_span
from svc_analytics.errors import ApiError, NotFound, ProtocolError, TooLarge
from svc_analytics.extraction.batches import PageBatch
from svc_analytics.extraction.scheduler import SegmentQueue
from svc_analytics.extraction.seams import Seam
from svc_analytics.extraction.segments import PADDING, Progress, Segment
from svc_analytics.instants import BEGINNING, SECOND, format_instant
from svc_analytics.records.bulk_parser import ScannedPage, scan_page
from svc_analytics.records.page import Page

_DECODING = threading.Lock()  # decoding is CPU-bound under the GIL: one page at a time
BATCH_PAGES = 32  # delivered together, at most
BATCH_SECONDS = 0.2  # after which fewer are delivered
REOPENINGS = 3  # in a row without progress, before a segment is given up
# In a row without a new record. Empty pages may be many, but a list that goes in circles
# under ever new cursors has no end.
BARREN_PAGES = 10_000
_REFUSED_CURSOR = {400, 404, 409, 410, 422}


class Sweep:
    """One worker's way through one segment.

    `deliver` takes batches of pages, and `is_crowded` tells whether it would have to wait.
    """

    def __init__(
        self,
        client: Client,
        segments: SegmentQueue,
        segment: Segment,
        deliver: Callable[[PageBatch], None],
        is_crowded: Callable[[], bool] = lambda: False,
    ) -> None:
        self._client = client
        self._segments = segments
        self._segment = segment
        self._deliver = deliver
        self._is_crowded = is_crowded
        self._query: dict[str, str] = {}  # for the next page, with its cursor
        self._cursors: set[str] = set()
        self._limit = MAX_LIMIT
        self._reopenings = 0  # in a row without progress
        self._fetch_seconds = 0.0  # of the last page
        self._pages: list[ScannedPage] = []
        self._progress: list[Progress] = []
        self._delivered_at = time.monotonic()
        self._seen: set[int] = set()  # a hash of each page's ids
        self._barren = 0
        self._seam = Seam(client, segments, segment)

    def run(self) -> None:
        """Read the segment to its end; raise what makes that impossible."""
        try:
            self._read_all()
        except ProtocolError as error:
            self._retract()
            window = describe_span((self._segment.start, self._segment.top))
            message = f"{self._segment.stream.name} of {window}: {error}; it is not marked as read"
            raise ProtocolError(message, path=self._segment.stream.route) from error
        finally:
            self._deliver_pages()  # whatever ended the sweep, what was read is kept

    def _read_all(self) -> None:
        self._open()
        while not self._segment.is_done:
            page = self._next_page()
            came_at, end_before = time.monotonic(), self._segment.end
            self._scan(page)
            if self._is_time_to_deliver(came_at):
                self._deliver_pages()
            self._segments.note_times(self._fetch_seconds, time.monotonic() - came_at)
            if self._segment.end != end_before:
                self._reopenings = 0
            if page.next_cursor is None:
                return

    def _next_page(self) -> Page:
        """Fetch the next page, beginning anew where it is too large or its cursor refused."""
        while True:
            began_at = time.monotonic()
            try:
                page = self._client.page(self._segment.stream.route, self._query)
            except TooLarge:
                # Metadata knows no bounds (contract, Payment): ask for fewer records at a time.
                if self._limit == 1:
                    raise
                self._limit = max(self._limit // 8, 1)
            except ApiError as error:
                self._reopenings += 1
                is_refused = "cursor" in self._query and _is_refused_cursor(error)
                if not is_refused or self._reopenings > REOPENINGS:
                    raise
            else:
                self._fetch_seconds = time.monotonic() - began_at
                self._seam.ask(self._query)
                self._follow(page.next_cursor)
                return page
            self._open()

    def _open(self) -> None:
        """Ask anew for what remains, without a cursor and a second wider on both sides."""
        self._segment.oldest = None
        self._seam.restart()
        self._cursors.clear()
        self._seen.clear()
        end = _whole_second(self._segment.end + PADDING, up=True)
        self._query = {"limit": str(self._limit), "to": end}
        if self._segment.start != BEGINNING:
            self._query["from"] = _whole_second(self._segment.start - PADDING, up=False)

    def _follow(self, cursor: str | None) -> None:
        if cursor in self._cursors:
            raise ProtocolError("the service gave the same cursor twice")
        if cursor is not None:
            self._cursors.add(cursor)
            self._query["cursor"] = cursor

    def _scan(self, page: Page) -> None:
        with _DECODING:
            scanned = scan_page(self._segment.stream, page, time.time_ns() // 1000)
        ids = scanned.ids.to_pylist()
        is_repeat = self._seam.cross(ids, scanned.instants)
        self._require_news(hash(frozenset(ids)) if ids else None)
        is_last = page.next_cursor is None
        progress = self._segments.advance(self._segment, scanned.instants, is_repeat, is_last)
        self._pages.append(scanned)
        self._progress.append(progress)

    def _require_news(self, ids_hash: int | None) -> None:
        """Refuse a list without an end; `ids_hash` identifies a page, None an empty one."""
        is_new = ids_hash is not None and ids_hash not in self._seen
        self._barren = 0 if is_new else self._barren + 1
        if ids_hash is not None:
            self._seen.add(ids_hash)
        if self._barren > BARREN_PAGES:
            message = f"{self._barren:,} pages in a row held no new record, and none was the last"
            raise ProtocolError(message)

    def _is_time_to_deliver(self, now: float) -> bool:
        """Tell whether to deliver; not while the writer publishes, for this worker would wait."""
        if self._ends_without_instant() and len(self._pages) < 2 * BATCH_PAGES:
            return False  # how old its last record can be, the next page tells
        if len(self._pages) >= BATCH_PAGES:
            return True
        return now - self._delivered_at > BATCH_SECONDS and not self._is_crowded()

    def _ends_without_instant(self) -> bool:
        records = self._pages[-1].records
        if records is None or not records.rejected:
            return False
        last = records.rejected[-1]
        return last.instant is None and last.place == len(records.rows)

    def _deliver_pages(self) -> None:
        """Give the writer many pages at a time: each delivery costs a switch of threads."""
        self._delivered_at = time.monotonic()
        if self._pages:
            batch = PageBatch(self._segment.stream, self._pages, self._progress)
            self._pages, self._progress = [], []
            self._deliver(batch)

    def _retract(self) -> None:
        """Retract what this sweep had covered: a broken list proves nothing."""
        self._deliver_pages()
        span = (self._segment.end, self._segment.top)
        if span[0] < span[1]:
            progress = Progress(span, retracted=(span,))
            self._deliver(PageBatch(self._segment.stream, (), (progress,)))


def _is_refused_cursor(error: ApiError) -> bool:
    return type(error) in (ApiError, NotFound) and error.status in _REFUSED_CURSOR


def _whole_second(micros: int, *, up: bool) -> str:
    """Write a bound without a fraction: the contract does not say whether one is read."""
    seconds = -(-micros // SECOND) if up else micros // SECOND
    return format_instant(seconds * SECOND)
