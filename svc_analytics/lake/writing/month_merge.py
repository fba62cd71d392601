"""Merging all runs of a month into its file, once, a slice of time after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.instants import BEGINNING
from svc_analytics.lake import month_file
from svc_analytics.lake.checksums import DAMAGE, check_signature, damaged
from svc_analytics.lake.columns import RecordFile
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.derived import with_derived
from svc_analytics.lake.index.hashes import Hashes, hash_texts, is_among, join, repeated
from svc_analytics.lake.writing.spill import RowGroup, Run
from svc_analytics.schema import Stream

MOST_VERSIONS = 10_000  # superseded versions in memory, at most, before they are kept

Keep = Callable[[pa.Table], object]


@dataclass
class MonthMerge:
    """The rows of a month's file and of its runs, merged as if each run had been published."""

    stream: Stream
    totals: ControlTotals  # that the month must have, once all its rows were given
    _sources: Sequence[SortedFile]
    _moved: Dropped  # within the month

    @classmethod
    @contextmanager
    def open(
        cls,
        stream: Stream,
        held: tuple[Path, ControlTotals] | None,
        runs: Sequence[Run],
        dropped: Dropped,
        suspects: Hashes,
    ) -> Iterator[Self]:
        """Open what is to be merged.

        `held` is the month's file, if it has rows; `suspects` are the hashes of ids that it
        shares with the runs. Of the runs, `dropped` rows are left out.
        """
        totals = sum((run.totals for run in runs), held[1] if held else ControlTotals())
        with HeldRows.open(held[0], stream) if held else nullcontext() as file:
            sources: list[SortedFile] = [file] if file else []
            for run in runs:
                sources.append(Remaining(run, dropped))
                totals -= control_totals(stream, dropped.of(run.order))
            moved = find_dropped(stream, [sources], suspects)
            sources = [Remaining(source, moved) for source in sources]
            yield cls(stream, totals - control_totals(stream, moved.versions), sources, moved)

    @property
    def news(self) -> month_file.News:
        """What is new in the month: one reading, until a record is found."""
        if all(source.order != HELD for source in self._sources):
            has_rows = any(source.groups for source in self._sources)
            return month_file.News.RECORDS if has_rows else month_file.News.NOTHING
        most = month_file.News.RECORDS if len(self._moved.versions) else month_file.News.NOTHING
        for parts in self._slices():
            if most == month_file.News.RECORDS:
                break
            most = max(most, self._merge(parts).news)
        return most

    def tables(self, keep: Keep) -> Iterator[pa.Table]:
        """Yield the month's rows in order; what they supersede is handed to `keep`."""
        moved = self._moved
        versions = [month_file.conflicting_versions(self.stream, moved.last, moved.versions)]
        for parts in self._slices():
            merged = self._merge(parts)
            for gone in (merged.earlier, merged.upsert.replaced):
                self.totals -= control_totals(self.stream, gone)
            versions.append(merged.superseded)
            if sum(map(len, versions)) >= MOST_VERSIONS:
                keep(pa.concat_tables(versions))
                versions.clear()
            yield merged.rows
        if versions:
            keep(pa.concat_tables(versions))

    def _slices(self) -> Iterator[Slice]:
        return slices(self.stream, self._sources)

    def _merge(self, parts: Slice) -> _Merged:
        """Merge the rows of one slice: of each id the last observed."""
        fresh = [rows for order, rows in parts if order != HELD]
        held = [rows for order, rows in parts if order == HELD]
        rows, earlier = month_file.deduplicate(self.stream, fresh)
        before = pa.concat_tables(held) if held else self.stream.no_rows
        is_again = pc.is_in(before["id"], value_set=rows["id"].combine_chunks())
        records = before.filter(is_again).select(self.stream.record_schema.names)
        upsert = month_file.plan_upsert(self.stream, rows, records)
        superseded = upsert.superseded
        if len(earlier):
            conflicts = month_file.conflicting_versions(self.stream, rows, earlier)
            superseded = pa.concat_tables([conflicts, superseded])
        rows, unchanged = upsert.rows, before.filter(pc.invert(is_again))
        if len(unchanged):
            both = (with_derived(self.stream, each) for each in (unchanged, rows))
            rows = month_file.in_order(self.stream, pa.concat_tables(both))
        return _Merged(rows, upsert, earlier, superseded)


@dataclass(frozen=True)
class _Merged:
    """One slice of a month, merged."""

    rows: pa.Table
    upsert: month_file.Upsert
    earlier: pa.Table  # versions that were observed again in a later run
    superseded: pa.Table  # those that differ from the version that stays

    @property
    def news(self) -> month_file.News:
        return month_file.News.RECORDS if len(self.superseded) else self.upsert.news


# ---------- Records that wait in two versions of different instants
# Which of them are to be dropped.
#
# Two versions of one instant meet in one slice of a merge. Of others only the hashes of all ids
# tell, so they are looked for beforehand: nearly always there are none.


@dataclass
class Dropped:
    """Versions of records that give way to later ones of another instant."""

    versions: pa.Table  # sorted
    last: pa.Table  # the versions that stay, sorted
    _orders: Mapping[str, int] = field(default_factory=dict)  # of the last, by id
    _rows: Mapping[int, pa.Table] = field(default_factory=dict)  # that are dropped, by source

    def of(self, order: int) -> pa.Table:
        """Return the rows of a source that are dropped."""
        return self._rows.get(order, self.versions.slice(0, 0))

    def keep(self, order: int, rows: pa.Table) -> pa.Table:
        """Return the rows of a source that stay."""
        stays = self._stays(order, rows["id"])
        return rows if stays is None else rows.filter(stays)

    def _stays(self, order: int, ids: pa.ChunkedArray) -> pa.Array | None:
        known = pa.array(self._orders, pa.string())
        if not len(known) or not pc.any(pc.is_in(ids, value_set=known)).as_py():
            return None
        return pa.array([self._orders.get(each, order) == order for each in ids.to_pylist()])


@dataclass(frozen=True)
class Remaining:
    """A source without the rows that are dropped."""

    source: SortedFile
    dropped: Dropped

    @property
    def order(self) -> int:
        """Its place among the observations."""
        return self.source.order

    @property
    def groups(self) -> Sequence[RowGroup]:
        """Its row groups as they are in the file."""
        return self.source.groups

    def read(self, group: int, columns: list[str] | None = None) -> pa.Table:
        """Read what remains of a row group; the columns hold the ids."""
        return self.dropped.keep(self.order, self.source.read(group, columns))


def find_dropped(
    stream: Stream, months: Sequence[Sequence[SortedFile]], suspects: Hashes
) -> Dropped:
    """Return which rows of these months, given by their sources, give way to later ones.

    `suspects`, sorted, are the hashes of all ids that may stand in them twice.
    """
    moved = _moved(stream, months, suspects) if len(suspects) else suspects
    if not len(moved):
        return Dropped(stream.no_rows, stream.no_rows)
    sources = sorted((each for month in months for each in month), key=lambda each: each.order)
    tables: list[pa.Table] = []
    orders: dict[str, int] = {}
    for source in sources:
        rows = read_among(stream, source, moved)
        tables.append(rows)
        orders.update(dict.fromkeys(rows["id"].to_pylist(), source.order))
    gone = {
        source.order: rows.filter(_is_not_last(orders, source.order, rows["id"]))
        for source, rows in zip(sources, tables, strict=True)
        if source.order != HELD
    }
    last, versions = month_file.deduplicate(stream, tables)
    return Dropped(versions, last, orders, gone)


def read_among(stream: Stream, source: SortedFile, sorted_hashes: Hashes) -> pa.Table:
    """Return the records of a source whose ids may have one of these hashes."""
    columns = stream.record_schema.names
    groups = (source.read(group, columns) for group in range(len(source.groups)))
    among = (rows.filter(_are_among(sorted_hashes, rows["id"])) for rows in groups)
    return pa.concat_tables([stream.no_rows, *among])


def _moved(stream: Stream, months: Sequence[Sequence[SortedFile]], suspects: Hashes) -> Hashes:
    """Return the hashes of ids that have versions of more than one instant."""
    hashes: list[Hashes] = []
    for month in months:
        for parts in slices(stream, month, ["id", stream.instant]):
            rows = pa.concat_tables([part for _, part in parts])
            rows = rows.filter(_are_among(suspects, rows["id"]))
            # Twice at one instant is once: the slice itself tells which is the last.
            pairs = np.rec.fromarrays([hash_texts(rows["id"]), stream.instants(rows)])
            hashes.append(np.unique(pairs)["f0"] if len(rows) else np.empty(0, np.uint64))
    return repeated(join(hashes))


def _is_not_last(orders: Mapping[str, int], order: int, ids: pa.ChunkedArray) -> pa.Array:
    return pa.array([orders[each] != order for each in ids.to_pylist()], pa.bool_())


def _are_among(sorted_hashes: Hashes, ids: pa.ChunkedArray) -> pa.Array:
    return pa.array(is_among(sorted_hashes, hash_texts(ids)))


# ---------- Reading many sorted files side by side, one slice of time after the other


SLICE_ROWS = 24_000  # in memory at a time, about
SLICE_BYTES = 32 * 1024 * 1024  # fewer rows, if they are large
HELD = 0  # the order of what the month held before: runs are counted from 1
_END = 2**63 - 1

Slice = list[tuple[int, pa.Table]]  # rows by the order of their source, oldest observation first
SortedFile: TypeAlias = "Run | HeldRows | Remaining"


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
    def open(cls, path: Path, stream: Stream) -> Iterator[HeldRows]:
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
        groups = self._source.groups
        while self._left is not None or (
            self._next < len(groups) and groups[self._next].first < edge
        ):
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
    first, last = (statistics.min_raw, statistics.max_raw) if statistics else (BEGINNING, _END)
    return RowGroup(first, last, group.num_rows, group.total_byte_size)
