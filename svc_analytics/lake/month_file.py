"""The Parquet file of a month: how it is read, checked, written, and merged with new rows.

Rows, coverage and control totals are in the same file, so that one atomic replacement changes
them together and they never disagree. There is one row per id: the last observed wins. A month
is merged row group by row group, so that memory does not grow with it.
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.coverage import Span
from svc_analytics.errors import LakeError
from svc_analytics.instants import format_instant
from svc_analytics.lake.checksums import DAMAGE, check_signature, damaged, read_signed_footer, sign
from svc_analytics.lake.columns import RecordFile
from svc_analytics.lake.control_totals import (
    ControlTotals,
    Group,
    GroupEnds,
    control_totals,
    totalled_columns,
    totals_and_ends,
)
from svc_analytics.lake.coverage_footer import MonthFileFooter
from svc_analytics.lake.derived import with_derived
from svc_analytics.lake.layout import FOOTER_KEY, tool_version, with_statistics
from svc_analytics.schema import STREAMS, Column, Instants, Stream
from svc_analytics.storage import Storage

ROW_GROUP = 12_000  # rows in memory at a time while a month is rewritten
GROUP_BYTES = 16 * 1024 * 1024  # fewer rows, if they are large
_WRITE_BUFFER = 1 << 20  # bytes
_RECEIPT = "receipt"
_DICTIONARY_COLUMNS = ["status", "currency", "kind", "fee_bearer", "extracted_at"]


def read_groups(
    path: Path,
    columns: list[str] | None = None,
    where: Callable[[pa.ChunkedArray], pa.ChunkedArray] | None = None,
    groups: range | None = None,
) -> Iterator[pa.Table]:
    """Yield a file's row groups in order, once all its bytes are checked against their checksums.

    `where` takes the ids of a group and returns a mask of the rows wanted; of groups
    with none, only the ids are read. `groups` are the row groups to read, by default all. They
    are for files of a snapshot of which the caller has checked all bytes: here only the footer and
    the pages of these groups are checked again.
    """
    try:
        if groups is None:
            check_signature(path)
        else:
            read_signed_footer(path)
        with RecordFile(path, path) as file:
            for group in range(file.num_row_groups) if groups is None else groups:
                read = partial(file.read_row_group, group)
                if where is None:
                    yield read(columns=columns)
                    continue
                mask = where(read(columns=["id"])["id"])
                if pc.any(mask).as_py():
                    yield read(columns=columns).filter(mask)
    except DAMAGE as error:
        raise damaged(path, error) from error


def write_month_file(
    storage: Storage,
    path: Path,
    stream: Stream,
    tables: Iterable[pa.Table],
    footer: MonthFileFooter,
    expected: ControlTotals | Callable[[], ControlTotals] | None = None,
) -> MonthFileFooter:
    """Replace a month file by these rows, already in order; return its footer with totals.

    Amounts that follow from a record are derived where its row has none of them.
    The new file is read back before it takes the name: its rows must have the totals of
    its footer, and those `expected`, which may be known only once all rows were given. After
    any failure the old file is as it was.
    """
    with storage.write(path) as temporary:
        footer = _write(temporary, stream, tables, replace(footer, mark=storage.mark()))
        _check(temporary, stream, footer, expected() if callable(expected) else expected)
    return footer


def rewrite_month_file(storage: Storage, path: Path, footer: MonthFileFooter) -> MonthFileFooter:
    """Write a month file anew: the same rows, the same time, read and judged when it was."""
    said = replace(footer, tool_version=tool_version(), columns=frozenset())
    stream = STREAMS[footer.stream]
    return write_month_file(storage, path, stream, read_groups(path), said, footer.totals)


@dataclass
class _Stated:
    """The statistics of the rows that were written so far, as a footer states them."""

    stream: Stream
    totals: ControlTotals = field(default_factory=ControlTotals)
    ends: dict[Group, GroupEnds] = field(default_factory=dict)
    without_receipt: int = 0

    def add(self, table: pa.Table) -> None:
        totals, ends = totals_and_ends(self.stream, table)
        self.totals += totals
        for group, ends_of_group in ends.items():
            self.ends[group] = ends_of_group.join(self.ends.get(group, ends_of_group))
        if _RECEIPT in self.stream.names:
            self.without_receipt += table[_RECEIPT].null_count

    def of(self, footer: MonthFileFooter) -> MonthFileFooter:
        count = self.without_receipt if _RECEIPT in self.stream.names else None
        ends, totals = self.ends, self.totals
        return replace(footer, totals=totals, ends=ends, without_receipt=count)


def _write(
    path: Path, stream: Stream, tables: Iterable[pa.Table], footer: MonthFileFooter
) -> MonthFileFooter:
    stated = _Stated(stream)
    with (
        path.open("w+b") as file,
        # Every write to a Python file needs the interpreter lock, which workers compete for.
        pa.BufferedOutputStream(pa.PythonFile(file, "w"), _WRITE_BUFFER) as sink,
        _writer(sink, stream.commented_schema) as writer,
    ):
        for table in _regroup(with_derived(stream, table) for table in tables):
            stated.add(table)
            writer.write_table(table, row_group_size=ROW_GROUP)
        footer = stated.of(footer)
        writer.add_key_value_metadata({FOOTER_KEY: footer.to_json()})
        writer.close()
        sink.detach()
        sign(file)
    return footer


def _writer(sink: pa.NativeFile, schema: pa.Schema) -> pq.ParquetWriter:
    repeated = [name for name in _DICTIONARY_COLUMNS if name in schema.names]
    return pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=repeated,
        write_statistics=with_statistics(schema, repeated),
        write_page_checksum=True,
    )


def _regroup(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Cut tables into full row groups: rewriting must not make them smaller."""
    carried: pa.Table | None = None
    for table in tables:
        carried = table if carried is None else pa.concat_tables([carried, table])
        while len(carried) >= ROW_GROUP or carried.nbytes >= GROUP_BYTES:
            rows = _rows_of_a_group(carried)
            yield carried.slice(0, rows).combine_chunks()
            carried = carried.slice(rows)
    if carried is not None and len(carried):
        yield carried.combine_chunks()


def _rows_of_a_group(table: pa.Table) -> int:
    rows = min(len(table), ROW_GROUP)
    while rows > 1 and table.slice(0, rows).nbytes > GROUP_BYTES:
        rows //= 2
    return rows


def _check(
    path: Path, stream: Stream, footer: MonthFileFooter, expected: ControlTotals | None
) -> None:
    """Read a file back: rows must be sorted, of its month, and have its totals."""
    name = f"{stream.name} {path.name.removeprefix('.').partition('.')[0]}"
    columns = [*totalled_columns(stream), stream.instant]
    totals, order = ControlTotals(), SortedCheck(name, footer.owns)
    for table in read_groups(path, columns):
        totals += control_totals(stream, table)
        order.check(stream.instants(table))
    check_totals(name, "its footer", totals, footer.totals)
    if expected is not None:
        check_totals(name, "what it held and what came", totals, expected)


def check_totals(name: str, of: str, written: ControlTotals, expected: ControlTotals) -> None:
    """Raise `LakeError` if a month's rows do not have the totals expected."""
    if written.is_same(expected):
        return
    amounts = [
        f"{column} of {group[0]} off by {value:f}"
        for group, sums in (written - expected).sums.items()
        for column, value in sums.items()
        if value
    ]
    facts = "; ".join([f"{written}, by {of} {expected}", *amounts])
    raise LakeError(f"{name}: the rows written are not those to be kept ({facts}); not published")


class SortedCheck:
    """Checks, group by group, that rows are of their month and sorted by instant."""

    def __init__(self, name: str, owns: Span) -> None:
        self._name = name
        self._owns = owns
        self._last: int | None = None

    def check(self, instants: Instants) -> None:
        """Raise `LakeError` for an instant of another month, or out of order."""
        if not len(instants):
            return
        last = instants[0] if self._last is None else self._last
        falls = np.flatnonzero(np.diff(instants, prepend=last) < 0)
        foreign = np.flatnonzero((instants < self._owns[0]) | (instants >= self._owns[1]))
        for places, what in ((foreign, "of another month"), (falls, "out of order")):
            if len(places):
                at = format_instant(int(instants[places[0]]))
                raise LakeError(f"{self._name}: a row of {at} is {what}; not published")
        self._last = int(instants[-1])


class News(IntEnum):
    """What is new in a month: nothing, only properties beyond the contract, or records."""

    NOTHING, EXTRA, RECORDS = range(3)


@dataclass(frozen=True)
class Upsert:
    """Rows to insert into one month, or to replace rows of it that have the same id."""

    rows: pa.Table  # one per id, sorted
    replaced: pa.Table  # the versions of them that the month holds
    superseded: pa.Table  # those that differ: a restatement, or a change of other columns
    news: News


def deduplicate(stream: Stream, tables: list[pa.Table]) -> tuple[pa.Table, pa.Table]:
    """Return the last row of each id, and all earlier rows of them; both sorted.

    The tables are in the order of observation. The list is emptied, to free its memory.
    """
    table = pa.concat_tables([stream.no_rows, *tables]).combine_chunks()
    tables.clear()
    order = pc.sort_indices(table, sort_keys=_sort_keys(stream))
    earlier = table.slice(0, 0)
    if pc.count_distinct(table["id"]).as_py() < len(table):
        last = {id_: place for place, id_ in enumerate(table["id"].to_pylist())}
        is_last = pc.is_in(order, value_set=pa.array(last.values(), order.type))
        earlier = table.take(order.filter(pc.invert(is_last)))
        order = order.filter(is_last)
    return table.take(order), earlier


def conflicting_versions(stream: Stream, rows: pa.Table, earlier: pa.Table) -> pa.Table:
    """Return the rows observed earlier that differ from the last row of the same id."""
    places = pc.index_in(earlier["id"], value_set=rows["id"].combine_chunks())
    differs, is_restated = compare(stream, earlier, rows.take(places))
    return earlier.append_column("is_restatement", is_restated).filter(differs)


def in_order(stream: Stream, rows: pa.Table) -> pa.Table:
    """Sort rows by instant and id, the order of every month file."""
    return rows.sort_by(_sort_keys(stream))


def _sort_keys(stream: Stream) -> list[tuple[str, str]]:
    return [(stream.instant, "ascending"), ("id", "ascending")]


def plan_upsert(stream: Stream, rows: pa.Table, held: pa.Table) -> Upsert:
    """Compare new rows, one per id, with the versions of them that a month file holds."""
    if not len(held):
        superseded = held.append_column("is_restatement", pa.array([], pa.bool_()))
        return Upsert(rows, held, superseded, News.RECORDS if len(rows) else News.NOTHING)
    is_known = pc.is_in(rows["id"], value_set=held["id"].combine_chunks())
    fresh, again = rows.filter(pc.invert(is_known)), rows.filter(is_known)
    again, held = again.sort_by("id"), held.sort_by("id")
    differs, is_restated = compare(stream, held, again)
    # An identical row keeps the instant at which its content was first seen.
    seen_at = pc.if_else(differs, again["extracted_at"], held["extracted_at"])
    place = again.schema.get_field_index("extracted_at")
    again = again.set_column(place, again.schema.field(place), seen_at)
    superseded = held.append_column("is_restatement", is_restated).filter(differs)
    if len(fresh) or len(superseded):
        news = News.RECORDS
    else:
        news = News(not again.select(["extra"]).equals(held.select(["extra"])))
    return Upsert(in_order(stream, pa.concat_tables([fresh, again])), held, superseded, news)


def read_rows(stream: Stream, path: Path, ids: pa.ChunkedArray) -> pa.Table:
    """Return the records of a month file that have one of these ids."""
    if not path.exists():
        return stream.no_rows
    wanted = ids.combine_chunks()
    columns = stream.record_schema.names
    groups = read_groups(path, columns, where=lambda ids: pc.is_in(ids, value_set=wanted))
    return pa.concat_tables([stream.no_rows, *groups])


def compare(
    stream: Stream, held: pa.Table, again: pa.Table
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Tell for each pair of rows if it differs, and if money or identity does."""
    no = pa.chunked_array([pa.repeat(pa.scalar(False), len(held))])
    differs = is_restated = no
    for column in stream.columns:
        changed = _is_changed(column, held[column.name], again[column.name])
        differs = pc.or_(differs, changed)
        is_restated = pc.or_(is_restated, changed) if column.is_fact else is_restated
    return differs, is_restated


def _is_changed(column: Column, old: pa.ChunkedArray, new: pa.ChunkedArray) -> pa.ChunkedArray:
    same = pc.fill_null(pc.equal(old, new), False)
    same = pc.or_(same, pc.and_(pc.is_null(old), pc.is_null(new)))
    if column.kind == "json" and not pc.all(same, min_count=0).as_py():
        pairs = zip(old.to_pylist(), new.to_pylist(), strict=True)
        same = pa.chunked_array([pa.array([_is_same_json(a, b) for a, b in pairs], pa.bool_())])
    return pc.invert(same)


def _is_same_json(old: str | None, new: str | None) -> bool:
    """Compare JSON by meaning: the service may write an object's keys in any order."""
    if old is None or new is None:
        return old == new
    try:
        return bool(old == new or _decode_exactly(old) == _decode_exactly(new))
    except RecursionError:
        return False


def _decode_exactly(text: str) -> Any:
    """Decode JSON for comparison: numbers stay as written, and equal no text."""
    return json.loads(text, parse_float=_NumberText, parse_int=_NumberText)


@dataclass(frozen=True)
class _NumberText:
    text: str


def merge_rows(stream: Stream, path: Path, incoming: pa.Table) -> Iterator[pa.Table]:
    """Yield a month's rows, sorted, with the records `incoming` inserted or replacing some."""
    incoming = with_derived(stream, incoming)
    if not path.exists():
        yield incoming
        return
    keys = list(zip(stream.instants(incoming), incoming["id"].to_pylist(), strict=True))
    ids, done = incoming["id"].combine_chunks(), 0
    for group in read_groups(path):
        last = (stream.instants(group)[-1], group["id"][-1].as_py())
        until = bisect_right(keys, last, lo=done)
        rows_before = group.filter(pc.invert(pc.is_in(group["id"], value_set=ids)))
        yield in_order(stream, pa.concat_tables([rows_before, incoming.slice(done, until - done)]))
        done = until
    yield incoming.slice(done)


def drop_rows(path: Path, ids: pa.Array) -> Iterator[pa.Table]:
    """Yield a month's rows, sorted, without those of these ids."""
    for group in read_groups(path):
        yield group.filter(pc.invert(pc.is_in(group["id"], value_set=ids)))
