"""Rows that wait to be published: in memory, and in run files of one month each.

A run is a file of rows of one month that wait to be merged, with the proof of their time. No
reader looks at runs, and nothing in the lake counts on them: one that is lost or damaged only
means that its time is read again.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.coverage import Span, Spans, difference, union
from svc_analytics.errors import LakeError
from svc_analytics.files import damaged_file, is_refused, make_folder, sync_folder
from svc_analytics.lake.checksums import DAMAGE, check_signature, read_signed_footer
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.index.hashes import Hashes, HashPile, hash_texts
from svc_analytics.lake.layout import FOOTER_KEY, RUNS_FOLDER
from svc_analytics.lake.side_files import QuarantinedRecord, replace_file
from svc_analytics.messages import Message, translated
from svc_analytics.periods import month
from svc_analytics.schema import Stream, schema_digest
from svc_analytics.storage import Storage

GROUP_ROWS = 6_000  # read at a time while a month is merged
GROUP_BYTES = 4 * 1024 * 1024  # fewer rows, if they are large
_REPEATED = {"status", "currency", "kind", "fee_bearer", "extracted_at"}


class RowGroup(NamedTuple):
    """A row group: the instants of its first and last row, how many it has, and their bytes."""

    first: int
    last: int
    rows: int
    size: int


class Hold(IntEnum):
    """Where the months that are still being read wait, to be written once."""

    NOTHING = 0  # none waits
    IN_MEMORY = 1
    SPILLED_IF_MUCH = 2
    SPILLED = 3  # to survive a kill; only large months wait


@dataclass(frozen=True)
class Terms:
    """The time that an extraction knew, by which its coverage is to be published."""

    watermark: int
    fills_months: bool = False
    judged_at: int | None = None
    unread: Spans = ()  # of the lookback window


@dataclass(frozen=True)
class RunHead:
    """The head of a run file. Instants are UTC microseconds."""

    stream: str
    merchant_id: str
    schema: str  # a hash of it
    month: str
    order: int  # of all runs of the stream, by when their rows were observed
    follows: str  # the digest of the run before, of the same month; none for the first
    covered: Spans  # of the month: its rows are in this run, or in those that it follows
    retracted: Spans  # of what the runs before cover
    doubtful: Spans  # of what is covered: only provisionally
    quarantined: int  # rejected records of the month on file by then
    terms: Terms
    groups: tuple[RowGroup, ...] = ()


@dataclass(frozen=True)
class Run:
    """A run on disk."""

    path: Path
    head: RunHead
    totals: ControlTotals
    digest: str  # by which the next run of the month names it

    @property
    def groups(self) -> tuple[RowGroup, ...]:
        """Its row groups, oldest first."""
        return self.head.groups

    @property
    def order(self) -> int:
        """Its place among the observations of the stream."""
        return self.head.order

    def read(self, group: int, columns: list[str] | None = None) -> pa.Table:
        """Read a row group. The file is not kept open: a month may have thousands of runs."""
        try:
            with pq.ParquetFile(
                self.path, page_checksum_verification=True, pre_buffer=False
            ) as file:
                return file.read_row_group(group, columns=columns, use_threads=False)
        except DAMAGE as error:
            raise damaged_file(self.path, error, "file.run_again") from error

    def tables(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Yield its row groups in order."""
        return (self.read(group, columns) for group in range(len(self.groups)))


def write_run(storage: Storage, folder: Path, stream: Stream, head: RunHead, rows: pa.Table) -> Run:
    """Write sorted rows as a run, durably, before the memory they take is given up."""
    instants = stream.instants(rows)
    parts = [rows.slice(start, end - start) for start, end in _cuts(rows, instants, head.covered)]
    groups, at = [], 0
    for part in parts:
        first, last = int(instants[at]), int(instants[at + len(part) - 1])
        groups.append(RowGroup(first, last, len(part), part.nbytes))
        at += len(part)
    head = dataclasses.replace(head, groups=tuple(groups))
    path = folder / f"{head.order:09}-{head.month}.run"
    about = dataclasses.asdict(head) | {"groups": groups}
    repeated = [name for name in rows.column_names if name in _REPEATED]
    schema = stream.record_schema
    writing = storage.write(path)
    replace_file(writing, schema, parts, about=about, repeated=repeated, compression="lz4")
    return Run(path, head, control_totals(stream, rows), _digest(path))


def read_run(path: Path, stream: Stream) -> Run:
    """Return a run, checked against its checksums; raise what damage ends in if it is not whole."""
    if not check_signature(path):
        raise ValueError("it has no checksums of ours")
    metadata = pq.read_metadata(pa.BufferReader(read_signed_footer(path))).metadata or {}
    head = msgspec.json.decode(metadata[FOOTER_KEY.encode()], type=RunHead)
    run = Run(path, head, ControlTotals(), _digest(path))
    totals = sum((control_totals(stream, table) for table in run.tables()), ControlTotals())
    return dataclasses.replace(run, totals=totals)


def _cuts(rows: pa.Table, instants: Any, covered: Spans) -> Iterator[tuple[int, int]]:
    """Cut rows where the covered time has a gap: a merge then holds few groups at a time."""
    ends = np.searchsorted(instants, [end for _, end in covered]).tolist()
    bounds = sorted({0, *ends, len(rows)})
    for start, end in pairwise(bounds):
        size = max(rows.slice(start, end - start).nbytes // (end - start), 1)
        step = max(1, min(GROUP_ROWS, GROUP_BYTES // size))
        yield from ((at, min(at + step, end)) for at in range(start, end, step))


def _digest(path: Path) -> str:
    return sha256(read_signed_footer(path)).hexdigest()


# ---------- The folder of a stream's runs
# Spilling into it, finding what a dead writer left, sweeping.


_FOUND = (
    "{STREAM}: rows that an interrupted run had read and not published are published now: {count}"
)
_TORN = (
    "{STREAM}: files of an interrupted run that are not whole were removed, and their time is "
    "read again: {count}"
)
_VOID = (*DAMAGE, KeyError, msgspec.MsgspecError, LakeError)  # what makes a run void


@dataclass
class WaitingMonth:
    """The runs of one month, in order of observation, and what of it they cover by now."""

    label: str
    hashes: HashPile  # of the ids of all its rows
    runs: list[Run] = field(default_factory=list)
    covered: Spans = ()
    doubtful: Spans = ()

    def add(self, run: Run, hashes: Hashes) -> None:
        """Add the next run, with the hashes of its ids."""
        self.runs.append(run)
        self.covered = union(difference(self.covered, run.head.retracted), run.head.covered)
        self.doubtful = union(self.doubtful, run.head.doubtful)
        self.hashes.add(hashes)

    def retract(self, spans: Iterable[tuple[int, int]]) -> None:
        """Mark intervals as not covered after all."""
        self.covered = difference(self.covered, spans)

    @property
    def rows(self) -> int:
        """How many rows wait, each version of a record counted."""
        return sum(group.rows for run in self.runs for group in run.groups)


@dataclass(frozen=True)
class Claims:
    """The claims of a buffer about one month, besides its rows."""

    covered: Spans = ()
    retracted: Spans = ()
    doubtful: Spans = ()
    quarantined: int = 0


@dataclass
class AbandonedRuns:
    """The runs of a dead writer: the months that wait, and how many were void."""

    months: dict[str, WaitingMonth] = field(default_factory=dict)
    void: int = 0
    terms: Terms | None = None  # of the newest run

    def describe(self, stream: Stream) -> list[Message]:
        """Describe the runs of a dead writer, in a line each."""
        lines: list[Message] = []
        if rows := sum(month.rows for month in self.months.values()):
            lines.append(Message(_FOUND, count=f"{rows:,}", stream=translated(stream.words)))
        if self.void:
            lines.append(Message(_TORN, count=f"{self.void:,}", stream=translated(stream.words)))
        return lines


class RunFolder:
    """The runs of one stream.

    Each names the run before it of the same month by its digest. So if one is lost, those
    behind it are void too: they may cover time whose rows were in it.
    """

    def __init__(self, storage: Storage, stream: Stream, merchant_id: str) -> None:
        self.path = storage.folder / RUNS_FOLDER / stream.name
        self._storage = storage
        self._stream = stream
        self._merchant_id = merchant_id
        self._order = 0  # of the last run

    def begin(self, label: str) -> WaitingMonth:
        """Return a month of which nothing waits yet."""
        return WaitingMonth(label, HashPile(self.path))

    def spill(
        self, month: WaitingMonth, rows: pa.Table, claims: Claims, terms: Terms
    ) -> WaitingMonth:
        """Write sorted rows of a month as its next run, and return the month with it."""
        make_folder(self.path)
        self._order += 1
        head = RunHead(
            stream=self._stream.name,
            merchant_id=self._merchant_id,
            schema=schema_digest(self._stream.record_schema),
            month=month.label,
            order=self._order,
            follows=month.runs[-1].digest if month.runs else "",
            terms=terms,
            **vars(claims),
        )
        run = write_run(self._storage, self.path, self._stream, head, rows)
        month.add(run, hash_texts(rows["id"]))
        return month

    def find(self, quarantined: Mapping[str, int]) -> AbandonedRuns:
        """Return the runs that a dead writer left, and remove those that are void.

        Void is what is not whole, of another merchant or another version of the schema, what
        follows a run that is not there, and what counted on rejected records that are not on
        file any more: `quarantined` of each month are.
        """
        abandoned, left = AbandonedRuns(), sorted(self.path.glob("*.run"))
        void: list[Path] = []
        for path in left:
            run = self._read(path)
            month = abandoned.months.get(run.head.month) if run else None
            last = month.runs[-1].digest if month else ""
            if (
                run is None
                or run.head.follows != last
                or run.head.quarantined > quarantined.get(run.head.month, 0)
            ):
                void.append(path)
                continue
            month = abandoned.months.setdefault(run.head.month, self.begin(run.head.month))
            month.add(run, hash_texts(_ids(run)))
            self._order, abandoned.terms = run.order, run.head.terms
        abandoned.void = len(void)
        self._unlink(void)
        return abandoned

    def remove(self, months: Iterable[WaitingMonth]) -> None:
        """Remove the runs of months that are published.

        The first of each goes first, durably: what a kill leaves of the others is void then,
        and no older version of a row can come back without the newer ones behind it.
        """
        runs = [[run.path for run in month.runs] for month in months if month.runs]
        self._unlink([paths[0] for paths in runs])
        self._unlink([path for paths in runs for path in paths[1:]])

    def _unlink(self, paths: list[Path]) -> None:
        for path in paths:
            path.unlink(missing_ok=True)
        if paths:
            sync_folder(self.path)
            for folder in (self.path, self.path.parent):
                with suppress(OSError):  # it is not empty yet
                    folder.rmdir()

    def _read(self, path: Path) -> Run | None:
        """Return a run of this stream and merchant; None if it is void."""
        try:
            run = read_run(path, self._stream)
        except _VOID as error:
            if is_refused(error) or is_refused(error.__cause__):
                raise damaged_file(path, error) from error
            return None
        head = run.head
        schema = schema_digest(self._stream.record_schema)
        ours = (self._stream.name, self._merchant_id, schema)
        return run if (head.stream, head.merchant_id, head.schema) == ours else None


def _ids(run: Run) -> pa.ChunkedArray:
    tables = run.tables(["id"])
    return pa.chunked_array([c for table in tables for c in table["id"].chunks], pa.string())


PACKED_ROWS = 6_400  # rows copied into one block at a time


@dataclass
class WriteBuffer:
    """The rows of a stream that wait to be published, in order of observation."""

    stream: Stream
    tables: list[pa.Table] = field(default_factory=list)
    rejected: list[QuarantinedRecord] = field(default_factory=list)
    covered: Spans = ()
    retracted: Spans = ()
    doubtful: Spans = ()  # of what is covered: only provisionally
    size: int = 0  # about what the rows take in memory, in bytes
    is_ordered: bool = True  # whether the list was newest-first wherever it was read
    months: dict[str, WaitingMonth] = field(default_factory=dict)  # spilled, by label
    _loose: list[pa.Table] = field(default_factory=list)
    _months: set[int] = field(default_factory=set)  # of the rows: when each begins

    def add(
        self, rows: pa.Table, rejected: Iterable[QuarantinedRecord] = (), size: int = 0
    ) -> None:
        """Add rows, of about this size in bytes, and rejected records."""
        self.rejected.extend(rejected)
        if len(rows):
            self.size += size
            self._loose.append(rows)
            self._months |= self._months_of(rows)
        if sum(map(len, self._loose)) >= PACKED_ROWS:
            self.pack()

    def pack(self) -> None:
        """Copy the rows added last into one block: small tables take twice the memory."""
        if self._loose:
            self.tables.append(pa.concat_tables(self._loose).combine_chunks())
            self._loose.clear()

    def cover(self, span: Span) -> None:
        """Mark [start, end) as covered: all its rows were added, now or before."""
        self.covered = union(self.covered, [span])

    def retract(self, spans: Iterable[Span]) -> None:
        """Mark intervals as not covered after all: they must be read again."""
        spans = union(spans)
        self.covered = difference(self.covered, spans)
        self.retracted = union(self.retracted, spans)
        for each in self.months.values():
            each.retract(spans)

    def doubt(self, spans: Iterable[Span]) -> None:
        """Mark covered intervals as read only provisionally."""
        self.doubtful = union(self.doubtful, spans)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added since what waits was spilled."""
        return not (self.tables or self._loose or self.rejected or self.covered or self.retracted)

    def has_rows_within(self, start: int, end: int) -> bool:
        """Whether a row in memory is of these whole months."""
        return any(start <= first < end for first in self._months)

    def hold_back(self, labels: set[str]) -> "WriteBuffer":
        """Move what is covered and spilled of these months into another buffer."""
        waiting = WriteBuffer(self.stream, covered=self._uncover(labels), doubtful=self.doubtful)
        waiting.months = {each: self.months.pop(each) for each in labels & self.months.keys()}
        return waiting

    def keep(self, rows: Iterable[pa.Table], size: int) -> None:
        """Keep rows in memory, of about this size."""
        # Copied: a slice would keep in memory all that is published now.
        for table in rows:
            self.tables.append(table.take(pa.array(np.arange(len(table)))))
            self._months |= self._months_of(table)
        self.size = size

    def take_claims(self) -> None:
        """Count what its spilled months cover as covered by itself."""
        months = self.months.values()
        self.covered = union(self.covered, *(each.covered for each in months))
        self.doubtful = union(self.doubtful, *(each.doubtful for each in months))

    def _months_of(self, rows: pa.Table) -> set[int]:
        """Return when the UTC months of rows begin, in microseconds."""
        instants = self.stream.instants(rows).astype("datetime64[us]")
        months = np.unique(instants.astype("datetime64[M]"))
        return set(months.astype("datetime64[us]").astype(np.int64).tolist())

    def _uncover(self, labels: Iterable[str]) -> Spans:
        """Take the coverage of these months out of the buffer, and return it."""
        months = [(period.start, period.end) for period in map(month, labels)]
        remaining = difference(self.covered, months)
        taken, self.covered = difference(self.covered, remaining), remaining
        return taken
