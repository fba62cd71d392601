"""Sweep one segment: fetch its pages from the newest end down, until all of it is read.

Cursor rules (contract, Lists): follow `next_cursor` until it is null, whatever the
pages hold; a cursor that comes back, or none at all, fails the segment.
"""

import threading
import time

from svc_analytics.api.client import Client
from svc_analytics.coverage import describe_span
from svc_analytics.errors import ApiError, NotFound, ProtocolError, TooLarge
from svc_analytics.extraction.batches import BatchQueue, PageBatch
from svc_analytics.extraction.page_size import PageSize
from svc_analytics.extraction.scheduler import SegmentQueue
from svc_analytics.extraction.seams import Seam, named_keys, record_keys
from svc_analytics.extraction.segments import PADDING, Progress, Segment
from svc_analytics.extraction.stall import StallWatch
from svc_analytics.instants import BEGINNING, SECOND, format_instant
from svc_analytics.records.bulk_parser import ScannedPage, load_parser, scan_page
from svc_analytics.records.page import Page

_DECODING = threading.Lock()  # decoding is CPU-bound under the GIL: one page at a time
BATCH_PAGES = 32  # delivered together, at most
BATCH_BYTES = 4 * 1024 * 1024  # the same: about what so many ordinary pages have
BATCH_SECONDS = 0.2  # after which fewer are delivered
REOPENINGS = 3  # in a row without progress, before a segment is given up
# 414 and 431 say that it is too long: the same list, asked for anew, has shorter ones.
_REFUSED_CURSOR = {400, 404, 409, 410, 414, 422, 431}


class Sweep:
    """One worker's way through one segment, whose pages it puts into a queue of batches."""

    def __init__(
        self,
        client: Client,
        segments: SegmentQueue,
        segment: Segment,
        batches: BatchQueue,
    ) -> None:
        self._client = client
        self._segments = segments
        self._segment = segment
        self._batches = batches
        self._query: dict[str, str] = {}  # for the next page, with its cursor
        self._cursors: set[int] = set()  # hashes: the cursors themselves may be long
        self._size = PageSize()
        self._reopenings = 0  # in a row without progress
        self._fetch_seconds = 0.0  # of the last page
        self._pages: list[ScannedPage] = []
        self._progress: list[Progress] = []
        self._delivered_at = time.monotonic()
        self._stall = StallWatch(client.limiter.now, client.limiter.patience)
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
            with self._size.turn():
                is_last = self._read_page()
            if is_last:
                return

    def _read_page(self) -> bool:
        """Read the next page; tell whether it is the last."""
        page = self._next_page()
        load_parser()  # not in the time that a page takes to be read
        came_at, end_before = time.monotonic(), self._segment.end
        self._scan(page)
        if self._is_time_to_deliver(came_at):
            self._deliver_pages()
        self._segments.note_times(self._fetch_seconds, time.monotonic() - came_at)
        if self._segment.end != end_before:
            self._reopenings = 0
            if page.next_cursor is not None and self._size.may_rise(len(page.body)):
                self._open()  # a cursor may hold only for the limit that it was given for
        return page.next_cursor is None

    def _next_page(self) -> Page:
        """Fetch the next page, beginning anew where it is too large or its cursor refused."""
        route = self._segment.stream.route
        while True:
            began_at = time.monotonic()
            try:
                page = self._client.page(route, self._query, self._size.most)
            except TooLarge as refusal:
                self._size.lower(refusal)
            except ApiError as error:
                self._require_refused_cursor(error)
            else:
                self._fetch_seconds = time.monotonic() - began_at
                self._seam.ask(self._query)
                self._follow(page.next_cursor)
                return page
            self._open()

    def _require_refused_cursor(self, error: ApiError) -> None:
        """Raise an error unless beginning anew may help: one about a cursor, a few in a row."""
        if "cursor" not in self._query or not _is_refused_cursor(error):
            raise error
        self._reopenings += 1
        if self._reopenings > REOPENINGS:
            length = len(self._query["cursor"])
            message = f"the service does not take back its own cursor, of {length:,} characters"
            status, codes = error.status, error.codes
            raise ProtocolError(f"{message} ({error})", status=status, codes=codes) from error

    def _open(self) -> None:
        """Ask anew for what remains, without a cursor and a second wider on both sides."""
        self._segment.oldest = None
        self._seam.restart()
        self._cursors.clear()
        self._stall.restart()
        end = _whole_second(self._segment.end + PADDING, up=True)
        self._query = {"limit": str(self._size.limit), "to": end}
        if self._segment.start != BEGINNING:
            self._query["from"] = _whole_second(self._segment.start - PADDING, up=False)

    def _follow(self, cursor: str | None) -> None:
        if cursor is None:
            return
        if hash(cursor) in self._cursors:
            raise ProtocolError("the service gave the same cursor twice")
        self._cursors.add(hash(cursor))
        self._query["cursor"] = cursor

    def _scan(self, page: Page) -> None:
        with _DECODING:
            scanned = scan_page(self._segment.stream, page, time.time_ns() // 1000)
        keys = record_keys(scanned)
        is_repeat = self._seam.cross(scanned, keys)
        is_last, end_before = page.next_cursor is None, self._segment.end
        progress = self._segments.advance(self._segment, scanned.instants, is_repeat, is_last)
        self._pages.append(scanned)
        self._progress.append(progress)
        if not is_last:
            self._stall.note(named_keys(scanned), has_moved=self._segment.end < end_before)

    def _is_time_to_deliver(self, now: float) -> bool:
        """Tell whether to deliver; not while the writer publishes, for this worker would wait."""
        if sum(len(page.body) for page in self._pages) >= BATCH_BYTES:
            return True
        if self._ends_without_instant() and len(self._pages) < 2 * BATCH_PAGES:
            return False  # how old its last record can be, the next page tells
        if len(self._pages) >= BATCH_PAGES:
            return True
        return now - self._delivered_at > BATCH_SECONDS and not self._batches.is_crowded

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
            self._batches.put(batch)

    def _retract(self) -> None:
        """Retract what this sweep had covered: a broken list proves nothing."""
        self._deliver_pages()
        span = (self._segment.end, self._segment.top)
        if span[0] < span[1]:
            progress = Progress(span, retracted=(span,))
            self._batches.put(PageBatch(self._segment.stream, (), (progress,)))


def _is_refused_cursor(error: ApiError) -> bool:
    kinds = (ApiError, NotFound, ProtocolError)
    return type(error) in kinds and error.status in _REFUSED_CURSOR


def _whole_second(micros: int, *, up: bool) -> str:
    """Write a bound without a fraction: the contract does not say whether one is read."""
    seconds = -(-micros // SECOND) if up else micros // SECOND
    return format_instant(seconds * SECOND)
