"""Batches on their way from a sweep to the writer: scanned pages, then rows; and their queue.

A reading is what came in them, to be compared with another reading of the same time, and with
the lake.
"""

import threading
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from svc_analytics.api.rate_limiter import Cancelled
from svc_analytics.coverage import Span, Spans, describe_span, difference, union
from svc_analytics.errors import LakeError
from svc_analytics.extraction.plan import Seen
from svc_analytics.extraction.segments import Progress
from svc_analytics.instants import BEGINNING, format_instant
from svc_analytics.lake.index.hashes import Hashes, hash_texts, is_among, join
from svc_analytics.lake.side_files import QuarantinedRecord
from svc_analytics.records.bulk_parser import ScannedPage, parse_alone, parse_bulk
from svc_analytics.records.record_parser import RejectedRecord
from svc_analytics.schema import Instants, Stream, is_within

MOST_BYTES = 16 * 1024 * 1024  # of pages that wait; a batch that is larger waits alone


@dataclass(frozen=True)
class RowBatch:
    """The rows of some pages of one stream, for the writer."""

    stream: Stream
    rows: pa.Table
    size: int  # bytes of the pages: about what their rows take in memory
    received: tuple[int, ...] = ()  # records of each page, wanted or not
    rejected: tuple[QuarantinedRecord, ...] = ()
    progress: Sequence[Progress] = ()

    def check(self) -> None:
        """Refuse rows, and coverage, of time that none of its pages was requested for."""
        for progress in self.progress:
            for start, end in progress.covered:
                if not progress.wanted[0] <= start < end <= progress.wanted[1]:
                    self._refuse(f"coverage of {describe_span((start, end))}", progress.wanted)
        instants = self.stream.instants(self.rows)
        is_wanted = is_within(instants, union(progress.wanted for progress in self.progress))
        if not is_wanted.all():
            at = format_instant(int(instants[~is_wanted][0]))
            self._refuse(f"a row of {at}", *(progress.wanted for progress in self.progress))

    def _refuse(self, what: str, *wanted: Span) -> NoReturn:
        spans = ", ".join(map(describe_span, union(wanted))) or "nothing"
        message = f"{self.stream.name}: {what} came from pages asked for {spans}"
        raise LakeError(f"{message}; not published")


@dataclass(frozen=True)
class PageBatch:
    """Scanned pages of one stream, and what each did for its segment."""

    stream: Stream
    pages: Sequence[ScannedPage]  # none in a batch that only retracts coverage
    progress: Sequence[Progress]

    @property
    def retracts(self) -> bool:
        """Whether it retracts time that was covered before."""
        return any(progress.retracted for progress in self.progress)

    @property
    def size(self) -> int:
        """The bytes of its pages."""
        return sum(len(page.body) for page in self.pages)

    def to_row_batches(self) -> list[RowBatch]:
        """Make rows: of all pages at once if they are regular, else of each by itself."""
        if not self.pages:
            return [RowBatch(self.stream, self.stream.no_rows, 0, progress=self.progress)]
        rows = parse_bulk(self.stream, self.pages)
        if rows is None:
            return self._rows_of_each()
        return [self._rows_of_all(rows)]

    def _rows_of_each(self) -> list[RowBatch]:
        batches = []
        following: Instants = np.empty(0, np.int64)  # of the rows behind a page
        for page, progress in zip(reversed(self.pages), reversed(self.progress), strict=True):
            batches.append(_rows_of_page(self.stream, page, progress, following))
            following = page.instants if len(page.instants) else following
        return batches[::-1]

    def _rows_of_all(self, rows: pa.Table) -> RowBatch:
        instants = np.concatenate([page.instants for page in self.pages])
        if not np.array_equal(self.stream.instants(rows), instants):
            message = f"{self.stream.name}: {len(instants)} records were read, and {len(rows)} rows"
            raise LakeError(f"{message} made of them, or others; not published")
        pairs = zip(self.pages, self.progress, strict=True)
        is_wanted = [is_within(page.instants, [progress.wanted]) for page, progress in pairs]
        rows = _filter(rows, np.concatenate(is_wanted))
        received = tuple(len(page.instants) for page in self.pages)
        return RowBatch(self.stream, rows, self.size, received, progress=self.progress)


class BatchQueue:
    """Batches in the order in which workers put them.

    It is bounded by what they take in memory and not by their number: while a month is written,
    a worker that has read its part to the end goes on with another one.
    """

    def __init__(self) -> None:
        self._batches: deque[PageBatch] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._is_woken = self._is_closed = False

    def __bool__(self) -> bool:
        return bool(self._batches)

    @property
    def is_crowded(self) -> bool:
        """Whether so much waits that whoever puts more is likely to wait too."""
        return self._bytes > MOST_BYTES // 2

    def put(self, batch: PageBatch) -> None:
        """Put a batch, once there is room; raise `Cancelled` if no more are taken."""
        size = batch.size
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._has_room(size))
            if self._is_closed:
                raise Cancelled
            self._batches.append(batch)
            self._bytes += size
            self._changed.notify_all()

    def take(self, seconds: float) -> PageBatch | None:
        """Take the next batch; None if none comes in so many seconds, or `wake` is called."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._is_woken, seconds)
            self._is_woken = False
            if not self._batches:
                return None
            batch = self._batches.popleft()
            self._bytes -= batch.size
            self._changed.notify_all()
            return batch

    def wake(self) -> None:
        """Let whoever takes see that a worker has ended."""
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def close(self) -> None:
        """Let nobody put anything more, nor wait to do so."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _has_room(self, size: int) -> bool:
        return not self._batches or self._bytes + size <= MOST_BYTES


def _rows_of_page(
    stream: Stream, page: ScannedPage, progress: Progress, following: Instants
) -> RowBatch:
    records = parse_alone(stream, page)
    instants = stream.instants(records.rows)
    # The service's bounds may be inclusive, or not heeded.
    rows = _filter(records.rows, is_within(instants, [progress.wanted]))
    start, end = progress.wanted
    rejected = tuple(
        QuarantinedRecord(item, item.instant, progress.wanted, page.at)
        if item.instant is not None
        else _place(item, instants, following, progress, page.at)
        for item in records.rejected
        if item.instant is None or start <= item.instant < end
    )
    return RowBatch(stream, rows, len(page.body), (records.received,), rejected, (progress,))


def _filter(rows: pa.Table, is_wanted: npt.NDArray[np.bool_]) -> pa.Table:
    return rows if is_wanted.all() else rows.filter(pa.array(is_wanted))


def _place(
    item: RejectedRecord, instants: Instants, following: Instants, progress: Progress, read_at: int
) -> QuarantinedRecord:
    """Place a rejected record without an instant of its own: its window is where it can lie.

    While the list is newest-first, that is between its neighbours: the row before it is
    newer, the row behind it older. The bounds asked for prove nothing of such a record.
    """
    first, last = BEGINNING, max(read_at, progress.wanted[1] - 1)
    if progress.is_ordered:
        newer = [] if progress.newer is None else [progress.newer]
        newer += instants[: item.place].tolist()
        older = [*instants[item.place :].tolist(), *following[:1].tolist()]
        first, last = max([first, *older[:1]]), min([last, *newer[-1:]])
    return QuarantinedRecord(item, last, (min(first, last), last), read_at)


class Reading:
    """Collects which records a reading saw, each once however often it came.

    Two readings that saw the same ids, and rejected the same bytes, are equal. With `within`,
    spans by stream, only the records of that time are noted.
    """

    def __init__(self, within: Mapping[str, Spans] | None = None) -> None:
        self._within = within
        self._waiting: defaultdict[str, list[Hashes]] = defaultdict(list)
        self._hashes: dict[str, Hashes] = {}  # in order, each once
        self._counts: Counter[str] = Counter()
        self._covered: dict[str, Spans] = {}
        self._doubtful: dict[str, Spans] = {}

    def add(self, batch: RowBatch) -> None:
        """Add the records of a batch that its segments wanted, and the time that it covers."""
        name, rows = batch.stream.name, batch.rows
        for progress in batch.progress:
            self._cover(name, progress)
        self._counts[name] += len(rows) + len(batch.rejected)
        if self._within is not None:
            instants = batch.stream.instants(rows)
            rows = rows.filter(pa.array(is_within(instants, self._within.get(name, ()))))
        records = [each.record for each in batch.rejected]
        texts = [each.record_id for each in records if each.record_id]
        texts += [sha256(each.body).hexdigest() for each in records]
        ids = pa.chunked_array([*rows["id"].chunks, pa.array(texts, pa.string())])
        if len(ids):
            self._waiting[name].append(hash_texts(ids))

    def seen(self) -> Seen:
        """Return the readings so far, of each stream that was read."""
        hashes = {name: self._in_order(name) for name in self._covered}
        return {name: (len(each), sha256(each.data).hexdigest()) for name, each in hashes.items()}

    def is_empty(self, name: str) -> bool:
        """Whether no record of a stream came, of any time."""
        return not self._counts[name]

    def covered(self, name: str) -> Spans:
        """Return the time of a stream that was read."""
        return self._covered.get(name, ())

    def whole(self, name: str) -> Spans:
        """Return the time of a stream that was read while its list stood still."""
        return difference(self.covered(name), self._doubtful.get(name, ()))

    def lists(self, name: str, ids: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
        """Tell of each id whether it was seen."""
        return is_among(self._in_order(name), hash_texts(ids))

    def _cover(self, name: str, progress: Progress) -> None:
        covered = self.covered(name)
        if progress.retracted:
            covered = difference(covered, progress.retracted)
        self._covered[name] = union(covered, progress.covered)
        if progress.doubtful:
            self._doubtful[name] = union(self._doubtful.get(name, ()), progress.doubtful)

    def _in_order(self, name: str) -> Hashes:
        """Return the hashes of what was seen of a stream, in order, each once."""
        if name in self._waiting or name not in self._hashes:
            before = self._hashes.pop(name, np.empty(0, np.uint64))
            spans = join([*self._waiting.pop(name, ()), before])
            is_first = np.concatenate([spans[:1] == spans[:1], spans[1:] != spans[:-1]])
            self._hashes[name] = spans[is_first]
        return self._hashes[name]
