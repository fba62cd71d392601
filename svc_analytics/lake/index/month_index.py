"""The index of a stream's month files: finds rows by a value, reading only where they may be."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.coverage import Span, Spans, intersection
from svc_analytics.lake import checksums
from svc_analytics.lake.columns import RecordFile
from svc_analytics.lake.coverage_footer import Shared
from svc_analytics.lake.index.hashes import (
    Hashes,
    HashFile,
    HashPile,
    Matches,
    entries_of,
    find_entries,
    group_of,
    hash_texts,
    join,
    write_hash_file,
)
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import IDS_FOLDER
from svc_analytics.schema import PAYMENTS, Stream, is_within

Values = tuple[str, ...] | None  # of a column; None where there are too many

INDEXED = MappingProxyType({PAYMENTS.name: ("id", "receipt_no", "reference_id")})


@dataclass(frozen=True)
class SoughtTexts:
    """Texts to look for, with their hashes in order."""

    texts: pa.ChunkedArray
    hashes: Hashes
    places: npt.NDArray[np.intp]  # in `texts`, of each hash

    @classmethod
    def of(cls, texts: pa.ChunkedArray) -> Self:
        """Return these texts, ready to be looked for; none may be NULL."""
        hashes = hash_texts(texts)
        order = np.argsort(hashes)  # searching for sorted hashes is several times as fast
        return cls(texts, hashes[order], order)

    def only(self, is_wanted: npt.NDArray[np.bool_]) -> Self:
        """Return those of the texts that are wanted, by their places."""
        wanted = is_wanted[self.places]
        return replace(self, hashes=self.hashes[wanted], places=self.places[wanted])

    def among(self, texts: pa.ChunkedArray) -> Self:
        """Return those that are among these."""
        return self.only(np.asarray(pc.is_in(self.texts, value_set=texts.combine_chunks())))

    def without(self, texts: pa.ChunkedArray) -> Self:
        """Return those that are not among these."""
        return self.only(~np.asarray(pc.is_in(self.texts, value_set=texts.combine_chunks())))

    def at(self, places: npt.NDArray[np.intp] | slice) -> pa.Array:
        """Return the texts whose hashes are at these places."""
        return self.texts.take(pa.array(self.places[places])).combine_chunks()


class MonthIndex:
    """The index files of a stream, of which each is valid for one version of a month file.

    Only a writer `keeps` those that it makes: a reader may not be allowed to, and is one of many.
    """

    def __init__(
        self, lake: Lake, stream: Stream, snapshot: Path | None = None, *, keeps: bool = False
    ) -> None:
        self._lake = lake
        self._stream = stream
        self._snapshot = snapshot
        self._folder = lake.path / IDS_FOLDER / stream.name
        self._columns = INDEXED.get(stream.name, ("id",))
        self._keeps = keeps
        self._recent = RecentHashes(self._columns)  # a reader writes no month, and has none

    def version(self, label: str) -> str:
        """Identify the version of a month's file."""
        path = self._path(label)
        try:
            return checksums.read_signature(path)
        except checksums.DAMAGE as error:
            raise checksums.damaged(self._lake.month_path(self._stream, label), error) from error

    def column(self, label: str, column: str) -> pa.ChunkedArray:
        """Return a column of a month's file."""
        with self._open(label) as (file, _):
            return file.read([column], use_threads=False)[column]

    def tables(self, label: str, columns: list[str]) -> Iterator[pa.Table]:
        """Yield columns of a month's file, a row group at a time."""
        with self._open(label) as (file, _):
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=columns, use_threads=False)

    def rows_within(self, label: str, spans: Spans) -> Iterator[pa.Table]:
        """Yield ids and instants of a month's rows in these spans, reading only where they are."""
        columns = ["id", self._stream.instant]
        with self._open(label) as (file, _):
            for group in range(file.num_row_groups):
                first, last = instants_of_group(file.metadata, group, self._stream)
                if intersection(spans, first, last + 1):
                    rows = file.read_row_group(group, columns=columns, use_threads=False)
                    yield rows.filter(pa.array(is_within(self._stream.instants(rows), spans)))

    def save(self, label: str) -> None:
        """Index the file of a month as it is now."""
        self._recent.remove(label)
        with (
            self._open(label) as (file, signature),
            suppress(OSError),  # the next run makes it again
        ):
            self._folder.mkdir(parents=True, exist_ok=True)
            sections = (self._entries(file, column) for column in self._columns)
            if self._recent.has_room(file.metadata.num_rows):
                held = [join(portions) for portions in sections]
                self._recent.add(label, held)
                sections = ([entries] for entries in held)
            writing = self._lake.storage.write(self._index_path(label), is_durable=False)
            write_hash_file(writing, signature, sections)

    def _entries(self, file: pq.ParquetFile, column: str) -> Iterable[Hashes]:
        """Return the entries of a column in order, in portions, NULL left out."""
        pile = HashPile(self._folder)
        for group in range(file.num_row_groups):
            texts = file.read_row_group(group, columns=[column], use_threads=False)[column]
            pile.add(entries_of(hash_texts(texts.drop_null()), group))
        return pile.portions()

    def may_hold(self, labels: Iterable[str], column: str, hashes: Hashes) -> list[str]:
        """Return the months that may hold one of these sorted hashes, by what is in memory."""
        return self._recent.may_hold(labels, column, hashes)

    def rows(
        self, label: str, column: str, texts: SoughtTexts, columns: Iterable[str] | None = None
    ) -> pa.Table:
        """Return the rows of a month with one of these texts in an indexed column.

        Of its file only the row groups are read in which they may be; the checksums of
        their pages and of its footer are checked.
        """
        names = [*(columns or self._stream.schema.names)]
        no_rows = pa.schema([self._stream.schema.field(name) for name in names]).empty_table()
        with self._groups_with(label, column, texts) as (file, groups, wanted):
            return pa.concat_tables([no_rows, *_rows_with(file, groups, column, wanted, names)])

    def held(self, label: str, column: str, texts: SoughtTexts) -> pa.Array:
        """Return which of these texts a month has in an indexed column, reading until all are."""
        with self._groups_with(label, column, texts) as (file, groups, wanted):
            missing = wanted
            for group in groups:
                if len(missing):
                    values = file.read_row_group(group, columns=[column], use_threads=False)[column]
                    missing = missing.filter(pc.invert(pc.is_in(missing, value_set=values)))
            return wanted.filter(pc.invert(pc.is_in(wanted, value_set=missing)))

    @contextmanager
    def _groups_with(
        self, label: str, column: str, texts: SoughtTexts
    ) -> Iterator[tuple[Any, Sequence[int], pa.Array]]:
        """Give a month's file, the row groups that may hold texts, and which texts."""
        indexed, hits = self._find(label, column, texts)
        if indexed and not hits.groups:
            yield None, (), pa.array([], pa.string())
            return
        with self._open(label) as (file, signature):
            # Without an index, or one of the very file that is open now, they may be anywhere.
            if signature == indexed:
                yield file, hits.groups, texts.at(hits.places)
            else:
                yield file, range(file.num_row_groups), texts.at(slice(None))

    def shared_hashes(self, label: str, hashes: Hashes) -> Hashes:
        """Return which of these hashes, sorted, the ids of a month's file may have."""
        texts = SoughtTexts(pa.chunked_array([], pa.string()), hashes, np.arange(len(hashes)))
        signature, hits = self._find(label, "id", texts)
        return hashes[hits.places] if signature else hashes

    def rows_by_month(
        self, labels: Iterable[str], column: str, texts: SoughtTexts, columns: Iterable[str]
    ) -> Iterator[tuple[str, pa.Table]]:
        """Yield months and their rows with one of these texts; an id is in one month only."""
        for label in labels:
            if not len(texts.hashes):
                break
            rows = self.rows(label, column, texts, columns)
            if len(rows):
                yield label, rows
                texts = texts.without(rows["id"]) if column == "id" else texts

    def shared(self, others: Collection[str], known: Shared, new: Iterable[pa.Table]) -> Shared:
        """Return the values that a month's footer is to list: known ones, and new ones of others.

        A column of which nothing is known stays so: its values were not all looked for.
        """
        columns = shared_columns(self._stream)
        values: dict[str, Values] = {name: known.get(name, ()) for name in columns}
        wanted = [column for column in columns if values[column] is not None]
        narrow = (table.select(wanted) for table in new)
        for rows in joined(narrow, _BATCH) if wanted and others else ():
            for column in wanted:
                values[column] = self._with_new([*others], column, values[column], rows[column])
        return values

    def _with_new(
        self, others: list[str], column: str, known: Values, values: pa.ChunkedArray
    ) -> Values:
        """Add the values that other months hold to those known; nothing if too many."""
        if known is None:
            return None
        sought = pa.chunked_array([values.drop_null().unique()], pa.string())
        texts = SoughtTexts.of(sought).without(pa.chunked_array([known], pa.string()))
        shared = {*known}
        for label in self.may_hold(others, column, texts.hashes):
            held = self.held(label, column, texts)
            shared.update(held.to_pylist())
            texts = texts.without(pa.chunked_array([held])) if len(held) else texts
        return tuple(sorted(shared)) if len(shared) <= MOST_SHARED else None

    def _find(self, label: str, column: str, texts: SoughtTexts) -> tuple[str, Matches]:
        """Return where the texts may be in a version of a month; of none without an index."""
        with suppress(OSError, ValueError):
            return self._look_up(label, column, texts)
        if self._keeps:
            self.save(label)
            with suppress(OSError, ValueError):
                return self._look_up(label, column, texts)
        return "", Matches()

    def _look_up(self, label: str, column: str, texts: SoughtTexts) -> tuple[str, Matches]:
        signature = checksums.read_signature(self._path(label))
        with HashFile.open(self._index_path(label), signature) as hashes:
            return signature, hashes.find(self._columns.index(column), texts.hashes)

    def _open(self, label: str) -> AbstractContextManager[tuple[pq.ParquetFile, str]]:
        return open_groups(self._path(label), self._lake.month_path(self._stream, label))

    def _path(self, label: str) -> Path:
        """Return where a month's file is: in the snapshot, else in the lake."""
        linked = self._snapshot and self._snapshot / self._stream.name / f"{label}.pq"
        if linked and linked.exists():
            return linked
        return self._lake.month_path(self._stream, label)

    def _index_path(self, label: str) -> Path:
        return self._folder / f"{label}.hashes"


def read_rows_with(
    lake: Lake,
    stream: Stream,
    column: str,
    values: Iterable[str],
    columns: Iterable[str] | None = None,
    snapshot: Path | None = None,
) -> pa.Table:
    """Return the rows of month files that hold one of these values in an indexed column.

    The newest months come first. Where a `snapshot` has a month, it is read there.
    """
    texts = SoughtTexts.of(pa.chunked_array([sorted({*values})], pa.string()))
    index = MonthIndex(lake, stream, snapshot)
    months = sorted(lake.months(stream), reverse=True)
    names = [*dict.fromkeys([*(columns or stream.schema.names), column])]
    tables = [rows for _, rows in index.rows_by_month(months, column, texts, names)]
    schema = pa.schema([stream.schema.field(name) for name in names])
    return pa.concat_tables([schema.empty_table(), *tables])


@contextmanager
def open_groups(path: Path, name: Path) -> Iterator[tuple[pq.ParquetFile, str]]:
    """Open a month file of this name, its footer found unaltered; give it and its version.

    Its pages are verified as they are read. It stays open: a writer may replace it meanwhile.
    """
    try:
        with pa.OSFile(str(path)) as source:
            # Else the system would fetch the columns beside what is read, too.
            with suppress(AttributeError, OSError):  # only where there is a call for it
                os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            footer = checksums.signed_footer(source)
            metadata = pq.read_metadata(pa.BufferReader(footer))
            with RecordFile(source, path, metadata=metadata) as file:
                yield file, checksums.signature_of(footer)
    except checksums.DAMAGE as error:
        raise checksums.damaged(name, error) from error


def instants_of_group(metadata: pq.FileMetaData, group: int, stream: Stream) -> Span:
    """Return the instants of the oldest and the newest row of a row group."""
    place = metadata.schema.to_arrow_schema().get_field_index(stream.instant)
    statistics = metadata.row_group(group).column(place).statistics
    return statistics.min_raw, statistics.max_raw


def _rows_with(
    file: pq.ParquetFile, groups: Iterable[int], column: str, texts: pa.Array, names: list[str]
) -> Iterator[pa.Table]:
    """Yield the rows of these row groups that hold one of the texts themselves."""
    for group in groups:
        held = file.read_row_group(group, columns=[column], use_threads=False)[column]
        mask = pc.is_in(held, value_set=texts)  # two texts may have the same hash
        if pc.any(mask).as_py():
            yield file.read_row_group(group, columns=names, use_threads=False).filter(mask)


# ---------- The hashes of the months that a writer wrote, in memory
# Which of them may hold a text.
#
# A first extraction writes month after month, and for each looks for its values in all others.
# Nearly always they are nowhere: one search tells that of all months, and opens no file.


MOST = 4_000_000  # entries of a stream: 32 MB
MOST_OF_MONTH = 500_000  # a month of more is looked for in its file


class RecentHashes:
    """The entries of the months that a writer wrote, as far as there is room for them."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        # In order, of all months; where a file names a row group, these name the month.
        self._entries = {column: np.empty(0, np.uint64) for column in columns}
        self._added: dict[str, list[Hashes]] = {column: [] for column in columns}
        self._labels: list[str] = []  # by number; a month that is written again gets a new one
        self._numbers: dict[str, int] = {}
        self._count = 0

    def has_room(self, rows: int) -> bool:
        """Tell whether a month of so many rows can be added."""
        count = rows * len(self._columns)
        return count <= MOST_OF_MONTH and self._count + count <= MOST

    def add(self, label: str, sections: Iterable[Hashes]) -> None:
        """Add a month that is not held, with the entries of each column."""
        number = self._numbers[label] = len(self._labels)
        self._labels.append(label)
        for column, entries in zip(self._columns, sections, strict=True):
            self._added[column].append(entries_of(entries, number))
            self._count += len(entries)

    def remove(self, label: str) -> None:
        """Remove a month, if it is held: its file is another one now."""
        number = self._numbers.pop(label, None)
        if number is not None:
            for column in self._columns:
                entries = self._in_order(column)
                self._entries[column] = entries[group_of(entries) != number]
                self._count -= len(entries) - len(self._entries[column])

    def may_hold(self, labels: Iterable[str], column: str, hashes: Hashes) -> list[str]:
        """Return the months that may hold one of these sorted hashes; one that is not held may."""
        homes = find_entries(self._in_order(column), hashes).groups
        fresh = {self._labels[number] for number in homes}
        return [label for label in labels if label in fresh or label not in self._numbers]

    def _in_order(self, column: str) -> Hashes:
        if added := self._added[column]:
            entries = np.concatenate([self._entries[column], *added])
            entries.sort(kind="stable")  # twice as fast: nearly all are in order already
            self._entries[column] = entries
            added.clear()
        return self._entries[column]


# ---------- Values that stand in more than one month
# Receipt numbers and references of payments.
#
# Of two rows with the same value in different month files, the file that was written later with
# its row says so in its footer. What it says may be out of date, but nothing is missing: a
# reader that counts such values need not read every month.


MOST_SHARED = 1_000  # values of a column; where there are more, every month is to be read
_BATCH = 1_000_000  # rows looked up at once: each look reads something of every month


def shared_columns(stream: Stream) -> list[str]:
    """Return the columns whose values no two rows of a stream should share."""
    return ["receipt_no", "reference_id"] if stream is PAYMENTS else []


def joined(tables: Iterable[pa.Table], least: int) -> Iterator[pa.Table]:
    """Join tables of few rows until they have so many: what is done with each has its own cost."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= least:
            yield pa.concat_tables(waiting)
            waiting.clear()
    if waiting:
        yield pa.concat_tables(waiting)
