"""Batches on their way from a sweep to the writer: scanned pages, then rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from svc_analytics.coverage import Span, describe_span, union
from svc_analytics.errors import LakeError
from svc_analytics.extraction.segments import Progress
from svc_analytics.instants import BEGINNING, format_instant
from svc_analytics.lake.quarantine import QuarantinedRecord
from svc_analytics.records.bulk_parser import ScannedPage, parse_alone, parse_bulk
from svc_analytics.records.record_parser import RejectedRecord
from svc_analytics.schema import Instants, Stream


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
        is_wanted = np.zeros(len(instants), np.bool_)
        for span in union(progress.wanted for progress in self.progress):
            is_wanted |= _is_within(instants, span)
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
        is_wanted = [_is_within(page.instants, progress.wanted) for page, progress in pairs]
        rows = _filter(rows, np.concatenate(is_wanted))
        received = tuple(len(page.instants) for page in self.pages)
        return RowBatch(self.stream, rows, self.size, received, progress=self.progress)


def _rows_of_page(
    stream: Stream, page: ScannedPage, progress: Progress, following: Instants
) -> RowBatch:
    records = parse_alone(stream, page)
    instants = stream.instants(records.rows)
    rows = _filter(records.rows, _is_within(instants, progress.wanted))
    start, end = progress.wanted
    rejected = tuple(
        QuarantinedRecord(item, item.instant, progress.wanted, page.at)
        if item.instant is not None
        else _place(item, instants, following, progress, page.at)
        for item in records.rejected
        if item.instant is None or start <= item.instant < end
    )
    return RowBatch(stream, rows, len(page.body), (records.received,), rejected, (progress,))


def _is_within(instants: Instants, span: Span) -> npt.NDArray[np.bool_]:
    """Tell which rows a segment wants: the service's bounds may be inclusive, or not heeded."""
    return (instants >= span[0]) & (instants < span[1])


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
