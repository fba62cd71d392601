"""Merging new rows into a month file: one row per id, the last observed wins.

A month is merged row group by row group, so that memory does not grow with it.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.lake.derived import with_derived
from svc_analytics.lake.month_file import read_groups
from svc_analytics.schema import Column, Stream


@dataclass(frozen=True)
class Upsert:
    """Rows to insert into one month, or to replace rows of it that have the same id."""

    rows: pa.Table  # one per id, sorted
    replaced: pa.Table  # the versions of them that the month holds
    superseded: pa.Table  # those that differ: a restatement, or a change of other columns
    is_news: bool  # whether the month's content changes at all


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
        return Upsert(rows, held, superseded, bool(len(rows)))
    is_known = pc.is_in(rows["id"], value_set=held["id"].combine_chunks())
    fresh, again = rows.filter(pc.invert(is_known)), rows.filter(is_known)
    again, held = again.sort_by("id"), held.sort_by("id")
    differs, is_restated = compare(stream, held, again)
    # An identical row keeps the instant at which its content was first seen.
    seen_at = pc.if_else(differs, again["extracted_at"], held["extracted_at"])
    place = again.schema.get_field_index("extracted_at")
    again = again.set_column(place, again.schema.field(place), seen_at)
    superseded = held.append_column("is_restatement", is_restated).filter(differs)
    is_news = bool(
        len(fresh) or len(superseded) or not again.select(["extra"]).equals(held.select(["extra"]))
    )
    return Upsert(in_order(stream, pa.concat_tables([fresh, again])), held, superseded, is_news)


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
