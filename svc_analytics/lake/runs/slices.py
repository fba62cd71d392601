"""Reading many sorted files side by side, one slice of time after the other."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.instants import BEGINNING
from svc_analytics.lake.checksums import DAMAGE, check_signature, damaged
from svc_analytics.lake.columns import RecordFile
from svc_analytics.lake.runs.run_file import RowGroup
from svc_analytics.schema import Stream

SLICE_ROWS = 24_000  # in memory at a time, about
SLICE_BYTES = 32 * 1024 * 1024  # fewer rows, if they are large
HELD = 0  # the order of what the month held before: runs are counted from 1
_END = 2**63 - 1

Slice = list[tuple[int, pa.Table]]  # rows by the order of their source, oldest observation first


class SortedFile(Protocol):
    """A sorted file of rows."""

    @property
    def order(self) -> int: ...

    @property
    def groups(self) -> Sequence[RowGroup]: ...

    def read(self, group: int, columns: list[str] | None = None) -> pa.Table: ...


class HeldRows:
    """A month file as a source, kept open while it is read."""

    order = HELD

    def __init__(self, path: Path, file: pq.ParquetFile, instant: str) -> None:
        self._path = path
        self._file = file
        place = file.schema_arrow.get_field_index(instant)
        groups = map(file.metadata.row_group, range(file.num_row_groups))
        self.groups = [_group(group, place) for group in groups]

    @classmethod
    @contextmanager
    def open(cls, path: Path, stream: Stream) -> Iterator["HeldRows"]:
        """Open a month file, checked against its checksums."""
        with ExitStack() as stack:
            try:
                check_signature(path)
                file = stack.enter_context(RecordFile(path, path))
            except DAMAGE as error:
                raise damaged(path, error) from error
            yield cls(path, file, stream.instant)

    def read(self, group: int, columns: list[str] | None = None) -> pa.Table:
        """Read a row group."""
        try:
            return self._file.read_row_group(group, columns)
        except DAMAGE as error:
            raise damaged(self._path, error) from error


def slices(
    stream: Stream, sources: Sequence[SortedFile], columns: list[str] | None = None
) -> Iterator[Slice]:
    """Yield the rows of all sources, slice by slice; rows of one instant are in one slice."""
    readers = [_Reader(stream, source, columns) for source in sources]
    for edge in _edges(sources):
        parts = [(each.order, part) for each in readers for part in each.until(edge)]
        if parts:
            yield parts


class _Reader:
    """Reads a source up to one moment after the other."""

    def __init__(self, stream: Stream, source: SortedFile, columns: list[str] | None) -> None:
        self.order = source.order
        self._stream = stream
        self._source = source
        self._columns = columns
        self._next = 0
        self._left: pa.Table | None = None

    def until(self, edge: int) -> Iterator[pa.Table]:
        """Yield all rows before this moment that were not yielded yet."""
        while self._left is not None or self._is_due(edge):
            if self._left is None:
                self._left = self._source.read(self._next, self._columns)
                self._next += 1
            count = int(np.searchsorted(self._stream.instants(self._left), edge))
            if count:
                yield self._left.slice(0, count)
            if count < len(self._left):
                self._left = self._left.slice(count)
                return
            self._left = None

    def _is_due(self, edge: int) -> bool:
        groups = self._source.groups
        return self._next < len(groups) and groups[self._next].first < edge


def _edges(sources: Sequence[SortedFile]) -> Iterator[int]:
    """Yield the moments at which to cut: after about as many rows as a slice is to have."""
    groups = sorted((group for each in sources for group in each.groups), key=lambda g: g.last)
    rows = size = 0
    for group in groups:
        rows, size = rows + group.rows, size + group.size
        if rows >= SLICE_ROWS or size >= SLICE_BYTES:
            yield group.last + 1
            rows = size = 0
    yield _END


def _group(group: pq.RowGroupMetaData, instant: int) -> RowGroup:
    statistics = group.column(instant).statistics
    first, last = (
        (_micros(statistics.min), _micros(statistics.max)) if statistics else (BEGINNING, _END)
    )
    return RowGroup(first, last, group.num_rows, group.total_byte_size)


def _micros(value: object) -> int:
    return int(pa.scalar(value, pa.timestamp("us", "UTC")).value)
