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
from svc_analytics.instants import format_instant
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
            pairs = zip(self.pages, self.progress, strict=True)
            return [_rows_of_page(self.stream, page, progress) for page, progress in pairs]
        return [self._rows_of_all(rows)]

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


def _rows_of_page(stream: Stream, page: ScannedPage, progress: Progress) -> RowBatch:
    records = parse_alone(stream, page)
    instants = stream.instants(records.rows)
    rows = _filter(records.rows, _is_within(instants, progress.wanted))
    rejected = _place(records.rejected, instants, progress.wanted, page.at)
    return RowBatch(stream, rows, len(page.body), (records.received,), rejected, (progress,))


def _is_within(instants: Instants, span: Span) -> npt.NDArray[np.bool_]:
    """Tell which rows a segment wants: the service's bounds may be inclusive, or not heeded."""
    return (instants >= span[0]) & (instants < span[1])


def _filter(rows: pa.Table, is_wanted: npt.NDArray[np.bool_]) -> pa.Table:
    return rows if is_wanted.all() else rows.filter(pa.array(is_wanted))


def _place(
    rejected: Sequence[RejectedRecord], instants: Instants, wanted: Span, read_at: int
) -> tuple[QuarantinedRecord, ...]:
    """Give each rejected record a place in time; without an instant, that of its page."""
    nearby = int(instants.min()) if len(instants) else wanted[1] - 1
    nearby = min(max(nearby, wanted[0], 0), wanted[1] - 1)
    placed = [(item, nearby if item.instant is None else item.instant) for item in rejected]
    return tuple(
        QuarantinedRecord(item, position, wanted, read_at)
        for item, position in placed
        if wanted[0] <= position < wanted[1]
    )
