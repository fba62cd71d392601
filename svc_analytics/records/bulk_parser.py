"""Rows from pages of regular records: whole columns at once, validated as text, then cast.

Whatever is out of the ordinary goes the careful road instead, record by record
(`records`); both give the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from types import GenericAlias
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.money import AMOUNT_PATTERN
from svc_analytics.records.page import Page, check_cursor, parse_page
from svc_analytics.records.raw_json import count_marks
from svc_analytics.records.record_parser import CALENDAR, Records, parse_records, write_extra
from svc_analytics.schema import INSTANT, MONEY, Kind, Stream

_INSTANT_PATTERN = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$"

Instants = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Reading:
    """A page whose records look regular; no more of it was read than a sweep needs.

    `texts` are the stream's columns one behind the other, none of them cast, and `extra`
    what else the records hold, if anything, all in the order received. `at` is when the
    page was read, in UTC microseconds.
    """

    at: int
    ids: pa.Array
    texts: pa.Array
    extra: pa.Array | None
    instants: Instants


def parse_list(stream: Stream, body: bytes) -> Page:
    """Read a page, and its records if they are just as the stream's; raise as `parse_page` does."""
    try:
        found = _decoder(stream, True).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parse_page(body)
    return Page(body, check_cursor(found.next_cursor), found.data)


def scan_page(stream: Stream, page: Page, at: int) -> Reading | None:
    """Read where a page stands in time; None when it needs a closer look."""
    decoded = _decode(stream, page)
    if decoded is None:
        return None
    rows, is_strict = decoded
    try:
        values = _by_member(stream, rows)
        texts = pa.array(list(chain.from_iterable(values.values())), pa.string())
        is_regular = is_strict and _has_single_keys(stream, page, texts)
        extra = None if is_regular else _read_extra(stream, page)
        instants = _micros(pc.cast(_column(texts, stream.names, stream.instant), INSTANT))
        _refuse_odd_years(instants)
    except (_NeedsRecordParser, pa.ArrowException, UnicodeDecodeError):
        return None
    return Reading(at, _column(texts, stream.names, "id"), texts, extra, instants)


def parse_bulk(stream: Stream, readings: Sequence[Reading]) -> pa.Table | None:
    """Turn several pages into rows of the stream's schema; None when one is irregular.

    Several at a time, because every step costs more than its rows.
    """
    pages = [_cut(reading.texts, stream.names) for reading in readings]
    try:
        columns = {name: pa.concat_arrays([page[name] for page in pages]) for name in stream.names}
        columns |= _cast_all(stream, "money", columns)
        columns |= _cast_all(stream, "instant", columns)
        extra = _extras(readings)
    except (_NeedsRecordParser, pa.ArrowException, UnicodeDecodeError):
        return None
    seen_at = np.repeat([reading.at for reading in readings], [len(r.ids) for r in readings])
    arrays = [*columns.values(), extra, pa.array(seen_at, INSTANT)]
    return pa.Table.from_arrays(arrays, schema=stream.schema)


def _extras(readings: Sequence[Reading]) -> pa.Array:
    """Join what the contract does not name; nearly always it is nothing."""
    if all(reading.extra is None for reading in readings):
        return pa.nulls(sum(len(reading.ids) for reading in readings), pa.string())
    return pa.concat_arrays(
        pa.nulls(len(reading.ids), pa.string()) if reading.extra is None else reading.extra
        for reading in readings
    )


def read_records(stream: Stream, page: Page, at: int) -> Records:
    """Turn a page into rows of the stream's schema.

    `at` is the moment of reading, in UTC microseconds. Raises `ProtocolError` for a
    page whose list or cursor stands on it twice.
    """
    reading = scan_page(stream, page, at)
    rows = parse_bulk(stream, [reading]) if reading else None
    if rows is None:
        return parse_records(stream, page, at)
    return Records(rows)


class _NeedsRecordParser(Exception):
    """Something on the page needs a closer look."""


@cache
def _decoder(stream: Stream, is_strict: bool) -> msgspec.json.Decoder[Any]:
    """Decode a page into structs: strictly the stream's members, or whatever has those it needs."""
    required = Annotated[str, msgspec.Meta(min_length=1)]
    members: list[Any] = []
    for column in stream.columns:
        if column.is_required:
            members.append((column.name, required))
            continue
        # `metadata` is kept as received, whatever it holds.
        kind: Any = msgspec.Raw if column.kind == "json" else str | None
        absent = msgspec.Raw(b"null") if column.kind == "json" else None
        members.append((column.name, kind) if is_strict else (column.name, kind, absent))
    record = msgspec.defstruct(
        "Record", members, forbid_unknown_fields=is_strict, kw_only=True, gc=False
    )
    members = [("data", GenericAlias(list, (record,))), ("next_cursor", str | None)]
    return msgspec.json.Decoder(msgspec.defstruct("Page", members))


def _by_member(stream: Stream, rows: list[Any]) -> dict[str, Sequence[Any]]:
    """Turn records into the texts of each member."""
    names = stream.names
    values = zip(*map(msgspec.structs.astuple, rows), strict=True) if rows else [()] * len(names)
    columns: dict[str, Sequence[Any]] = dict(zip(names, values, strict=True))
    for name in stream.of_kind("json"):
        texts = [str(raw, "utf-8") for raw in columns[name]]
        columns[name] = [None if text == "null" else text for text in texts]
    return columns


def _cut(values: pa.Array, names: Sequence[str]) -> dict[str, pa.Array]:
    """Cut columns that stand one behind the other."""
    return {name: _column(values, names, name) for name in names}


def _column(values: pa.Array, names: Sequence[str], name: str) -> pa.Array:
    rows = len(values) // len(names)
    return values.slice(names.index(name) * rows, rows)


def _cast_all(stream: Stream, kind: Kind, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """Validate and cast all columns of a kind in one go: each call costs more than a row."""
    names = stream.of_kind(kind)
    return _cut(_cast_texts(kind, pa.concat_arrays([columns[name] for name in names])), names)


def _cast_texts(kind: Kind, texts: pa.Array) -> pa.Array:
    pattern, into = (AMOUNT_PATTERN, MONEY) if kind == "money" else (_INSTANT_PATTERN, INSTANT)
    if pc.all(pc.match_substring_regex(texts, pattern)).as_py() is False:
        raise _NeedsRecordParser
    values = pc.cast(texts, into)
    if kind == "instant":
        _refuse_odd_years(_micros(values.drop_null()))
    return values


def _micros(values: pa.Array) -> Instants:
    """Look at instants as numbers; Arrow's own way takes ten times as long for a page."""
    if not len(values):
        return np.empty(0, np.int64)
    return np.frombuffer(values.buffers()[1], np.int64)[values.offset :][: len(values)]


def _refuse_odd_years(instants: Instants) -> None:
    if len(instants) and not CALENDAR[0] <= instants.min() <= instants.max() < CALENDAR[1]:
        raise _NeedsRecordParser


def _decode(stream: Stream, page: Page) -> tuple[list[Any], bool] | None:
    """Return the records as structs, and whether each has all the stream's members and no other."""
    if page.regular is not None:
        return page.regular, True
    for is_strict in (True, False):
        try:
            return _decoder(stream, is_strict).decode(page.body).data, is_strict
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return None


def _read_extra(stream: Stream, page: Page) -> pa.Array:
    """Read what the contract does not name, once it is proven that no key stands twice."""
    if not page.has_single_keys:
        raise _NeedsRecordParser
    known = {*stream.names}
    extras = [write_extra(known, page.raw_members(raw)) for raw in page.raw_records()]
    return pa.array(extras, pa.string())


def _has_single_keys(stream: Stream, page: Page, texts: pa.Array) -> bool:
    """Prove that no key stands twice on a strict page, but for what is inside of metadata.

    Metadata is kept as text, so its keys need no proof. A page that is no longer than its
    texts need has no room for another member; on a longer one, such as one with blanks or
    escapes, the keys are counted.
    """
    if len(page.body.rstrip()) == _least_size(stream, page, texts):
        return True
    if page.has_spaced_colons:
        return False
    kept = [
        pc.sum(pc.count_substring(text, '":')).as_py() or 0 for text in _json_texts(stream, texts)
    ]
    keys = 2 + len(texts)
    return count_marks(page.body) == keys + sum(kept) or page.has_single_keys


def _json_texts(stream: Stream, texts: pa.Array) -> list[pa.Array]:
    return [_column(texts, stream.names, name) for name in stream.of_kind("json")]


def _least_size(stream: Stream, page: Page, texts: pa.Array) -> int:
    """How many bytes these texts need as JSON, with all keys of a page written once each."""
    rows = len(texts) // len(stream.columns)
    cursor = "null" if page.next_cursor is None else f'"{page.next_cursor}"'
    frame = len('{"data":[],"next_cursor":}') + len(cursor.encode()) + max(rows - 1, 0)
    quoted = len(texts) - texts.null_count
    quoted -= sum(len(text) - text.null_count for text in _json_texts(stream, texts))
    marks = len('""') * quoted + len("null") * texts.null_count
    return int(frame + rows * _key_size(stream) + marks + _text_size(texts))


@cache
def _key_size(stream: Stream) -> int:
    """How many bytes the keys of one record need, with its marks."""
    return len("{}") + sum(len(f'"{column.name}":,') for column in stream.columns) - len(",")


def _text_size(texts: pa.Array) -> int:
    """How many bytes the texts of an array hold."""
    if not len(texts):
        return 0
    ends = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :]
    return int(ends[len(texts)] - ends[0])
