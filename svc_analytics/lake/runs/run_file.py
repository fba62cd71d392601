"""A run: a file of rows of one month that wait to be merged, with the proof of their time.

No reader looks at runs, and nothing in the lake counts on them: one that is lost or damaged
only means that its time is read again.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.coverage import Spans
from svc_analytics.errors import LakeError
from svc_analytics.files import damaged_file
from svc_analytics.lake.checksums import DAMAGE, check_signature, read_signed_footer
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.layout import FOOTER_KEY
from svc_analytics.lake.side_files import replace_file
from svc_analytics.schema import Stream
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
            raise damaged_run(self.path, error) from error

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


def damaged_run(path: Path, error: BaseException | None = None) -> LakeError:
    """Return the error for a damaged run: the next writer removes it."""
    return damaged_file(path, error, "file.run_again")


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
