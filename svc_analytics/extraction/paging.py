"""Sweep one segment: fetch its pages from the newest end down, until all of it is read.

Cursor rules (contract, Lists): follow `next_cursor` until it is null, whatever the
pages hold; a cursor that comes back, or none at all, fails the segment.
"""

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import numpy.typing as npt

from svc_analytics import errors
from svc_analytics.api.client import Client
from svc_analytics.api.routes import MAX_LIMIT
from svc_analytics.api.transport import MAX_BODY
from svc_analytics.coverage import describe_span
from svc_analytics.extraction.batches import BatchQueue, PageBatch
from svc_analytics.extraction.segments import PADDING, Progress, Segment, SegmentQueue
from svc_analytics.instants import BEGINNING, SECOND, format_instant, now as machine_clock
from svc_analytics.records.bulk_parser import ScannedPage, load_parser, scan_page
from svc_analytics.records.page import Page
from svc_analytics.records.record_parser import RejectedRecord
from svc_analytics.schema import Instants

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
        self, client: Client, segments: SegmentQueue, segment: Segment, batches: BatchQueue
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
        except errors.ProtocolError as error:
            self._retract()
            window = describe_span((self._segment.start, self._segment.top))
            message = f"{self._segment.stream.name} of {window}: {error}; it is not marked as read"
            raise errors.ProtocolError(message, path=self._segment.stream.route) from error
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
            if page.next_cursor is not None and self._size.rise(len(page.body)):
                self._open()  # a cursor may hold only for the limit that it was given for
        return page.next_cursor is None

    def _next_page(self) -> Page:
        """Fetch the next page, beginning anew where it is too large or its cursor refused."""
        route = self._segment.stream.route
        while True:
            began_at = time.monotonic()
            try:
                page = self._client.page(route, self._query, self._size.most)
            except errors.TooLarge as refusal:
                self._size.lower(refusal)
            except errors.ApiError as error:
                self._require_refused_cursor(error)
            else:
                self._fetch_seconds = time.monotonic() - began_at
                self._seam.ask(self._query)
                self._follow(page.next_cursor)
                return page
            self._open()

    def _require_refused_cursor(self, error: errors.ApiError) -> None:
        """Raise an error unless beginning anew may help: one about a cursor, a few in a row."""
        is_plain = type(error) in (errors.ApiError, errors.NotFound, errors.ProtocolError)
        if "cursor" not in self._query or not is_plain or error.status not in _REFUSED_CURSOR:
            raise error
        self._reopenings += 1
        if self._reopenings > REOPENINGS:
            length = len(self._query["cursor"])
            message = f"the service does not take back its own cursor, of {length:,} characters"
            status, codes = error.status, error.codes
            raise errors.ProtocolError(
                f"{message} ({error})", status=status, codes=codes
            ) from error

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
            raise errors.ProtocolError("the service gave the same cursor twice")
        self._cursors.add(hash(cursor))
        self._query["cursor"] = cursor

    def _scan(self, page: Page) -> None:
        with _DECODING:
            scanned = scan_page(self._segment.stream, page, machine_clock())
        keys = record_keys(scanned)
        is_repeat = self._seam.cross(scanned, keys)
        is_last, end_before = page.next_cursor is None, self._segment.end
        progress = self._segments.advance(self._segment, scanned.instants, is_repeat, is_last)
        self._pages.append(scanned)
        self._progress.append(progress)
        if not is_last:
            has_moved = self._segment.end < end_before
            self._stall.note(() if has_moved else named_keys(scanned), has_moved=has_moved)

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


def _whole_second(micros: int, *, up: bool) -> str:
    """Write a bound without a fraction: the contract does not say whether one is read."""
    seconds = -(-micros // SECOND) if up else micros // SECOND
    return format_instant(seconds * SECOND)


# ---------- Seams between pages
# Whether a list moved while it was read.
#
# A cursor may be a count of rows. Then a record that appears in time already swept pushes the
# rows behind it on: a page that follows has rows that came before. Some services repeat rows
# anyway, so the page before is asked for again: if it is the same, the list stands still. What
# cannot be told is doubted. A record that vanishes pulls rows forward instead and leaves no
# trace; only a second reading finds what was passed over (`close`).


# Pages, at least: records that appear at once may fill some, before rows come again.
REMEMBERED = 32

Marks = npt.NDArray[np.bool_]


def record_keys(page: ScannedPage) -> list[int]:
    """Hash the id of each record of a page.

    Of a rejected one, which may have none, a hash of its bytes.
    """
    keys = [*map(hash, page.ids.to_pylist())]
    for item in reversed(_rejected(page)):
        keys.insert(item.place, hash(item.body))
    return keys


def named_keys(page: ScannedPage) -> list[int]:
    """Return a hash of each record that has a name of its own: its id, or at least its instant.

    Without either, new bytes are no new record: a list of such ones need never end.
    """
    names = [item.record_id or item.instant for item in _rejected(page)]
    return [*map(hash, page.ids.to_pylist()), *(hash(name) for name in names if name is not None)]


class Seam:
    """The pages before of a sweep, and how the last of them was asked for."""

    def __init__(self, client: Client, segments: SegmentQueue, segment: Segment) -> None:
        self._client = client
        self._segments = segments
        self._segment = segment
        self._query: dict[str, str] = {}
        self._asked: dict[str, str] = {}  # for the page that comes now
        self._keys: list[int] = []  # of the page before
        self._recent = _RecentKeys()

    def restart(self) -> None:
        """Forget the pages before: the sweep asks anew for what remains."""
        self._keys = []
        self._recent = _RecentKeys()

    def ask(self, query: Mapping[str, str]) -> None:
        """Note what the page that comes now is asked for with."""
        self._asked = dict(query)

    def cross(self, page: ScannedPage, keys: list[int]) -> Marks:
        """Return which rows came before too; note a list that has moved, or may have."""
        known = self._recent.find(keys)
        places = [item.place + number for number, item in enumerate(_rejected(page))]
        is_repeat = np.delete(known, places) if places else known
        if self._keys and keys and self._segment.is_bounded:
            self._judge(int(known.sum()), page.instants[~is_repeat])
        if keys:  # a page without records is no seam
            self._recent.add(keys)
            self._keys, self._query = keys, self._asked
        return is_repeat

    def _judge(self, repeats: int, fresh: Instants) -> None:
        """Doubt what was swept if more records come again than do so on every page."""
        usual = self._segments.usual_repeats(self._segment)
        is_suspicious = repeats > usual or self._steps_back(fresh)
        has_moved = self._has_moved() if is_suspicious else False
        if has_moved or (has_moved is None and repeats):
            self._segments.doubt(self._segment)
        if not has_moved and len(self._keys) > 1:  # one record alone is never its own successor
            is_certain = is_suspicious and has_moved is False
            self._segments.note_repeats(self._segment, repeats, is_certain=is_certain)

    def _steps_back(self, fresh: Instants) -> bool:
        """Tell whether new rows are newer than those that the pages before ended with."""
        oldest = self._segment.oldest
        if oldest is None or not len(fresh) or not self._segment.is_ordered:
            return False
        return int(fresh[0]) > oldest

    def _has_moved(self) -> bool | None:
        """Ask for the page before again: tell whether it is another now, None if that is unclear.

        A cursor may be good for one request only, and a page may come shorter than it was.
        """
        stream = self._segment.stream
        try:
            page = self._client.page(stream.route, self._query)
        except (errors.Unavailable, errors.KeyRefused):
            raise
        except errors.ApiError:
            return None
        keys = record_keys(scan_page(stream, page, 0))
        if any(now != before for now, before in zip(keys, self._keys, strict=False)):
            return True
        return None if len(keys) < len(self._keys) else False


class _RecentKeys:
    """The keys of the last pages: of `REMEMBERED` at least, of twice as many at most."""

    def __init__(self) -> None:
        self._newer: set[int] = set()
        self._older: set[int] = set()
        self._pages = 0

    def add(self, keys: list[int]) -> None:
        if self._pages % REMEMBERED == 0:
            self._older, self._newer = self._newer, set()
        self._pages += 1
        self._newer.update(keys)

    def find(self, keys: list[int]) -> Marks:
        """Tell of each key whether it is remembered."""
        if self._newer.isdisjoint(keys) and self._older.isdisjoint(keys):
            return np.zeros(len(keys), np.bool_)  # as nearly always
        return np.array([key in self._newer or key in self._older for key in keys], np.bool_)


def _rejected(page: ScannedPage) -> tuple[RejectedRecord, ...]:
    return page.records.rejected if page.records else ()


# ---------- How many records a sweep asks for at a time
# Fewer where they are large, to limit memory.
#
# Metadata knows no bounds (contract, Payment): a hundred records may be a hundred kilobytes,
# or a hundred megabytes.


LARGE = 8 * 1024 * 1024  # bytes of an answer for which fewer records are asked for
FEWER, MORE = 8, 4  # factors

_LARGE_PAGES = threading.Lock()  # memory, not time, is scarce then: one page at a time


class PageSize:
    """The number of records to ask for, and the bytes that an answer may have."""

    def __init__(self) -> None:
        self.limit = MAX_LIMIT

    @property
    def most(self) -> int:
        """The bytes that an answer may have: few, unless one record alone was asked for."""
        return LARGE if self.limit > 1 else MAX_BODY

    def turn(self) -> AbstractContextManager[object]:
        """Wait for a turn to read a page, if pages are large."""
        return nullcontext() if self.limit == MAX_LIMIT else _LARGE_PAGES

    def lower(self, refusal: errors.TooLarge) -> None:
        """Ask for fewer records; raise the refusal if only one was asked for."""
        if self.limit == 1:
            message = f"{refusal}, although only one record was asked for"
            raise errors.TooLarge(message, path=refusal.path) from refusal
        self.limit = max(self.limit // FEWER, 1)

    def rise(self, size: int) -> bool:
        """Ask for more records again where a page had few bytes; tell whether it is so."""
        may = self.limit < MAX_LIMIT and size * MORE * 2 <= LARGE
        self.limit = min(self.limit * MORE, MAX_LIMIT) if may else self.limit
        return may


# ---------- Notice a list that leads nowhere
# Pages under ever new cursors, and nothing new on them.


# Empty pages may be many (contract, Lists), and a slow service takes long for few.
STALLED_PAGES = 1_000
SLOTS = 1 << 24


class StallWatch:
    """Watches that a sweep comes forward: in time, or by records not seen before.

    `patience` is in seconds of `clock`.
    """

    def __init__(self, clock: Callable[[], float], patience: float) -> None:
        self._clock = clock
        self._patience = patience
        self._moved_at = clock()
        self._pages = 0  # since then
        self._seen: npt.NDArray[np.uint8] | None = None

    def restart(self) -> None:
        """Begin anew: the sweep asks again for what it has seen."""
        self._seen = None
        self._note_progress()

    def note(self, keys: Sequence[Hashable], *, has_moved: bool) -> None:
        """Note a page by what names its records; refuse a list too long without progress."""
        if has_moved or self._note_keys(keys):
            self._note_progress()
            return
        self._pages += 1
        idle = self._clock() - self._moved_at
        if self._pages >= STALLED_PAGES and idle >= self._patience:
            message = f"{self._pages:,} pages in a row, in {idle:,.0f} s, held no new record"
            advice = "the list seems to go in circles; if it does not, use a longer --patience"
            raise errors.ProtocolError(f"{message}, and none was the last: {advice}")

    def _note_progress(self) -> None:
        self._moved_at = self._clock()
        self._pages = 0

    def _note_keys(self, keys: Sequence[Hashable]) -> bool:
        """Remember keys; tell whether one of them was not seen before.

        One bit for each, by its hash, so that memory does not grow with the list. A new key
        may fall on a bit that is set; of many pages of new keys, not all do.
        """
        if self._seen is None:
            self._seen = np.zeros(SLOTS // 8, np.uint8)
        slots = np.fromiter((hash(key) % SLOTS for key in keys), np.int64, len(keys))
        places, bits = slots >> 3, np.left_shift(1, slots & 7).astype(np.uint8)
        is_new = bool((self._seen[places] & bits == 0).any())
        np.bitwise_or.at(self._seen, places, bits)
        return is_new
