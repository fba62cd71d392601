"""What travels from a sweep to the writer: rows, and the time they prove or put in doubt."""

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
from svc_analytics.records.bulk_parser import (
    Instants,
    Reading,
    parse_bulk,
    read_records,
    scan_page,
)
from svc_analytics.records.page import Page
from svc_analytics.records.record_parser import Records, RejectedRecord, parse_records
from svc_analytics.schema import Stream


@dataclass(frozen=True)
class Delivery:
    """Some pages of one stream. `received` counts the records of each, wanted or not."""

    stream: Stream
    rows: pa.Table
    size: int  # bytes of the pages: about what their rows take in memory
    received: tuple[int, ...] = ()
    rejected: tuple[QuarantinedRecord, ...] = ()
    progress: tuple[Progress, ...] = ()

    def check(self) -> None:
        """Refuse rows, and proofs of time, that none of its pages was asked for.

        It cannot happen while this package is right; so it is asked every time.
        """
        for progress in self.progress:
            for start, end in progress.covered:
                if not progress.wanted[0] <= start < end <= progress.wanted[1]:
                    self._refuse(f"proof of {describe_span((start, end))}", progress.wanted)
        instants = _instants(self.stream, self.rows)
        is_owned = np.zeros(len(instants), np.bool_)
        for span in union(progress.wanted for progress in self.progress):
            is_owned |= _is_within(instants, span)
        if not is_owned.all():
            at = format_instant(int(instants[~is_owned][0]))
            self._refuse(f"a row of {at}", *(progress.wanted for progress in self.progress))

    def _refuse(self, what: str, *wanted: Span) -> NoReturn:
        spans = ", ".join(map(describe_span, union(wanted))) or "nothing"
        message = f"{self.stream.name}: {what} came from pages asked for {spans}"
        raise LakeError(f"{message}; not published")


@dataclass(frozen=True)
class Sighting:
    """A page just read: regular as far as one can see, or already taken apart with care."""

    page: Page
    at: int
    found: Reading | Records
    instants: Instants

    @classmethod
    def of(cls, stream: Stream, page: Page, at: int) -> "Sighting":
        """Read no more of a page than a sweep must know; raise `ProtocolError` for a broken one."""
        reading = scan_page(stream, page, at)
        page = Page(page.body, page.next_cursor)  # many wait, and none needs its records twice
        if reading is not None:
            return cls(page, at, reading, reading.instants)
        records = parse_records(stream, page, at)
        return cls(page, at, records, _instants(stream, records.rows))

    @property
    def ids(self) -> list[str]:
        """The ids of the records that can be held, in the order received."""
        found = self.found
        ids = found.ids if isinstance(found, Reading) else found.rows["id"]
        return list(ids.to_pylist())


Taken = tuple[Sighting, Progress]


@dataclass(frozen=True)
class Parcel:
    """Pages as a sweep has seen them, not made into rows yet: the writer does so, beside it.

    `retracted` is time that the sweep had covered, with none of these pages, and now takes back.
    """

    stream: Stream
    taken: Sequence[Taken] = ()
    retracted: Span | None = None

    @property
    def takes_back(self) -> bool:
        """Whether it puts time in doubt that was covered before."""
        return bool(self.retracted or any(progress.retracted for _, progress in self.taken))

    def open(self) -> list[Delivery]:
        """Turn the pages into rows."""
        deliveries = gather(self.stream, self.taken) if self.taken else []
        if self.retracted:
            doubt = Progress(self.retracted, retracted=(self.retracted,))
            deliveries.append(Delivery(self.stream, self.stream.no_rows, 0, progress=(doubt,)))
        return deliveries


def gather(stream: Stream, taken: Sequence[Taken]) -> list[Delivery]:
    """Turn pages into rows: all at once if all are regular, else each by itself."""
    readings = [sight.found for sight, _ in taken if isinstance(sight.found, Reading)]
    rows = parse_bulk(stream, readings) if len(readings) == len(taken) else None
    if rows is None:
        return [_gather_one(stream, sight, progress) for sight, progress in taken]
    sighted = np.concatenate([sight.instants for sight, _ in taken])
    if not np.array_equal(_instants(stream, rows), sighted):
        message = f"{stream.name}: {len(sighted)} records were read, and {len(rows)} rows made"
        raise LakeError(f"{message} of them, or others; not published")
    is_wanted = np.concatenate(
        [_is_within(sight.instants, progress.wanted) for sight, progress in taken]
    )
    return [
        Delivery(
            stream,
            _keep(rows, is_wanted),
            sum(len(sight.page.body) for sight, _ in taken),
            received=tuple(len(sight.instants) for sight, _ in taken),
            progress=tuple(progress for _, progress in taken),
        )
    ]


def _gather_one(stream: Stream, sight: Sighting, progress: Progress) -> Delivery:
    records = sight.found
    if not isinstance(records, Records):
        records = read_records(stream, sight.page, sight.at)
    instants = _instants(stream, records.rows)
    return Delivery(
        stream,
        _keep(records.rows, _is_within(instants, progress.wanted)),
        len(sight.page.body),
        (records.received,),
        _place(records.rejected, instants, progress.wanted, sight.at),
        (progress,),
    )


def _instants(stream: Stream, rows: pa.Table) -> Instants:
    return np.asarray(rows[stream.instant].cast(pa.int64()))


def _is_within(instants: Instants, span: Span) -> npt.NDArray[np.bool_]:
    """Tell what a segment owns: the service's bounds may be inclusive, or not heeded."""
    return (instants >= span[0]) & (instants < span[1])


def _keep(rows: pa.Table, is_wanted: npt.NDArray[np.bool_]) -> pa.Table:
    return rows if is_wanted.all() else rows.filter(pa.array(is_wanted))


def _place(
    rejected: Sequence[RejectedRecord], instants: Instants, wanted: Span, seen_at: int
) -> tuple[QuarantinedRecord, ...]:
    """Place rejected records in time; one without an instant stands by its neighbours."""
    nearby = int(instants.min()) if len(instants) else wanted[1] - 1
    nearby = min(max(nearby, wanted[0], 0), wanted[1] - 1)
    placed = [(item, nearby if item.instant is None else item.instant) for item in rejected]
    return tuple(
        QuarantinedRecord(item, position, wanted, seen_at)
        for item, position in placed
        if wanted[0] <= position < wanted[1]
    )
