"""Parse many pages at once, column by column: the fast path for regular records.

A page with anything unusual on it goes to `record_parser`; both parsers give the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from types import GenericAlias
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.texts import canonical_id
from svc_analytics.money import AMOUNT_PATTERN
from svc_analytics.records.page import Page, check_cursor, parse_page
from svc_analytics.records.raw_json import DEEPEST, count_marks, is_plain
from svc_analytics.records.record_parser import CALENDAR, Records, parse_records, write_extra
from svc_analytics.schema import INSTANT, MONEY, Instants, Kind, Stream

_INSTANT_PATTERN = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$"
_LARGE_NUMBER = r"(^|[:,\[\s])-?[0-9.]+[eE]\+?[0-9]{3}|[0-9]{200}"  # or perhaps one


@dataclass(frozen=True)
class ScannedPage:
    """A scanned page: either still text (fast path) or already parsed record by record."""

    body: bytes
    at: int  # when it was read, in UTC microseconds
    ids: pa.Array | pa.ChunkedArray  # of its records, in the order received
    instants: Instants
    texts: pa.Array | None = None  # all columns of the stream, one after another
    extra: pa.Array | None = None  # the members beyond the contract, if any
    records: Records | None = None  # if it is not text any more


def parse_list(stream: Stream, body: bytes) -> Page:
    """Parse a page of a list, with its records if they are regular; raises as `parse_page`."""
    try:
        page = _decoder(stream, True).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parse_page(body)
    return Page(body, check_cursor(page.next_cursor), page.data)


@cache
def load_parser() -> None:
    """Load what the first page needs; return at once when that is done.

    Arrow loads pandas with its first array: as long as several pages take to come.
    """
    pa.array([])


def scan_page(stream: Stream, page: Page, at: int) -> ScannedPage:
    """Return the ids and instants of a page; its other values stay text if they are regular."""
    if scanned := _scan_texts(stream, page, at):
        return scanned
    records = parse_records(stream, Page(page.body, None), at)
    ids, instants = records.rows["id"], stream.instants(records.rows)
    return ScannedPage(page.body, at, ids, instants, records=records)


def _scan_texts(stream: Stream, page: Page, at: int) -> ScannedPage | None:
    decoded = _decode(stream, page)
    if decoded is None:
        return None
    rows, is_strict = decoded
    try:
        values = _texts_by_member(stream, rows)
        texts = pa.array(list(chain.from_iterable(values.values())), pa.string())
        is_regular = is_strict and _has_single_keys(stream, page, texts)
        extra = None if is_regular else _read_extra(stream, page)
        instants = _micros(pc.cast(_column(texts, stream.names, stream.instant), INSTANT))
        _refuse_odd_years(instants)
        ids = _column(texts, stream.names, "id")
        _refuse_capitals(ids)
    except (_NeedsRecordParser, pa.ArrowException, UnicodeDecodeError):
        return None
    return ScannedPage(page.body, at, ids, instants, texts, extra)


def parse_bulk(stream: Stream, pages: Sequence[ScannedPage]) -> pa.Table | None:
    """Parse several pages into one table; None when one of them needs the record parser."""
    if any(page.texts is None for page in pages):
        return None
    try:
        texts = [_split_columns(page.texts, stream.names) for page in pages]
        columns = {name: pa.concat_arrays([page[name] for page in texts]) for name in stream.names}
        _refuse_capitals(pa.concat_arrays([columns[name] for name in stream.uuids]))
        for name in stream.of_kind("json"):
            _refuse_unplain(columns[name])
        columns |= _cast_all(stream, "money", columns)
        columns |= _cast_all(stream, "instant", columns)
        extra = _join_extra(pages)
    except (_NeedsRecordParser, pa.ArrowException, UnicodeDecodeError):
        return None
    read_at = np.repeat([page.at for page in pages], [len(page.ids) for page in pages])
    arrays = [*columns.values(), extra, pa.array(read_at, INSTANT)]
    return pa.Table.from_arrays(arrays, schema=stream.record_schema)


def parse_alone(stream: Stream, page: ScannedPage) -> Records:
    """Parse one scanned page: in bulk if it is regular, else record by record."""
    rows = parse_bulk(stream, [page])
    if rows is not None:
        return Records(rows)
    return page.records or parse_records(stream, Page(page.body, None), page.at)


def _join_extra(pages: Sequence[ScannedPage]) -> pa.Array:
    """Join the members beyond the contract; nearly always there are none."""
    if all(page.extra is None for page in pages):
        return pa.nulls(sum(len(page.ids) for page in pages), pa.string())
    return pa.concat_arrays(
        pa.nulls(len(page.ids), pa.string()) if page.extra is None else page.extra for page in pages
    )


class _NeedsRecordParser(Exception):
    """Something on the page is unusual: only the record parser can read it."""


@cache
def _decoder(stream: Stream, is_strict: bool) -> msgspec.json.Decoder[Any]:
    """Return a decoder of pages into structs; a strict one refuses missing and unknown members."""
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


def _texts_by_member(stream: Stream, rows: list[Any]) -> dict[str, Sequence[Any]]:
    """Transpose records into one list of texts for each member."""
    names = stream.names
    values = zip(*map(msgspec.structs.astuple, rows), strict=True) if rows else [()] * len(names)
    columns: dict[str, Sequence[Any]] = dict(zip(names, values, strict=True))
    for name in stream.of_kind("json"):
        texts = [str(raw, "utf-8") for raw in columns[name]]
        columns[name] = [None if text == "null" else text for text in texts]
    return columns


def _split_columns(values: pa.Array, names: Sequence[str]) -> dict[str, pa.Array]:
    """Split an array that holds several columns, one after another."""
    rows = len(values) // len(names)
    return {name: values.slice(place * rows, rows) for place, name in enumerate(names)}


def _column(values: pa.Array, names: Sequence[str], name: str) -> pa.Array:
    rows = len(values) // len(names)
    return values.slice(names.index(name) * rows, rows)


def _cast_all(stream: Stream, kind: Kind, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """Validate and cast all columns of a kind together: each call costs more than a row."""
    names = stream.of_kind(kind)
    texts = pa.concat_arrays([columns[name] for name in names])
    pattern, into = (AMOUNT_PATTERN, MONEY) if kind == "money" else (_INSTANT_PATTERN, INSTANT)
    if pc.all(pc.match_substring_regex(texts, pattern)).as_py() is False:
        raise _NeedsRecordParser
    values = pc.cast(texts, into)
    if kind == "instant":
        _refuse_odd_years(_micros(values.drop_null()))
    return _split_columns(values, names)


def _refuse_capitals(ids: pa.Array) -> None:
    """Refuse UUIDs in capitals, which are held in lower case."""
    lower = pc.ascii_lower(ids)
    if lower.equals(ids):
        return
    odd = ids.filter(pc.not_equal(lower, ids))
    if any(canonical_id(text) != text for text in odd.to_pylist()):
        raise _NeedsRecordParser


def _refuse_unplain(texts: pa.Array) -> None:
    """Refuse JSON that not every reader takes: numbers of many digits, and deep nesting."""
    is_long = pc.greater(pc.binary_length(texts), 2 * DEEPEST)
    odd = texts.filter(pc.or_(is_long, pc.match_substring_regex(texts, _LARGE_NUMBER)))
    if not all(is_plain(text.encode()) for text in odd.to_pylist()):
        raise _NeedsRecordParser


def _micros(values: pa.Array) -> Instants:
    """Return instants as integers without a copy; Arrow's own cast takes ten times as long."""
    if not len(values):
        return np.empty(0, np.int64)
    return np.frombuffer(values.buffers()[1], np.int64)[values.offset :][: len(values)]


def _refuse_odd_years(instants: Instants) -> None:
    if len(instants) and not CALENDAR[0] <= instants.min() <= instants.max() < CALENDAR[1]:
        raise _NeedsRecordParser


def _decode(stream: Stream, page: Page) -> tuple[list[Any], bool] | None:
    """Return the records as structs, and whether the strict decoder took them."""
    if page.structs is not None:
        return page.structs, True
    for is_strict in (True, False):
        try:
            return _decoder(stream, is_strict).decode(page.body).data, is_strict
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return None


def _read_extra(stream: Stream, page: Page) -> pa.Array:
    """Return the members beyond the contract as JSON, once no key is known to appear twice."""
    if not page.has_single_keys:
        raise _NeedsRecordParser
    known = {*stream.names}
    extras = [write_extra(known, page.raw_members(raw)) for raw in page.raw_records()]
    return pa.array(extras, pa.string())


def _has_single_keys(stream: Stream, page: Page, texts: pa.Array) -> bool:
    """Tell whether no key appears twice on a strictly decoded page, metadata not counted.

    On a page longer than its texts need, as by blanks or escapes, the keys are counted.
    """
    if len(page.body.rstrip()) == _least_size(stream, page, texts):
        return True  # no room for another member
    if page.has_spaced_colons:
        return False
    marks = (pc.count_substring(text, '":') for text in _json_texts(stream, texts))
    in_metadata = sum(pc.sum(counts).as_py() or 0 for counts in marks)
    keys = 2 + len(texts)  # `data`, `next_cursor`, and a key for each text
    return count_marks(page.body) == keys + in_metadata or page.has_single_keys


def _json_texts(stream: Stream, texts: pa.Array) -> list[pa.Array]:
    return [_column(texts, stream.names, name) for name in stream.of_kind("json")]


def _least_size(stream: Stream, page: Page, texts: pa.Array) -> int:
    """Return the bytes of a page that holds these texts, each key once, without a blank."""
    rows = len(texts) // len(stream.columns)
    cursor = "null" if page.next_cursor is None else f'"{page.next_cursor}"'
    frame = len('{"data":[],"next_cursor":}') + len(cursor.encode()) + max(rows - 1, 0)
    quoted = len(texts) - texts.null_count
    quoted -= sum(len(text) - text.null_count for text in _json_texts(stream, texts))
    marks = len('""') * quoted + len("null") * texts.null_count
    return int(frame + rows * _key_size(stream) + marks + _text_size(texts))


@cache
def _key_size(stream: Stream) -> int:
    return len("{}") + sum(len(f'"{column.name}":,') for column in stream.columns) - len(",")


def _text_size(texts: pa.Array) -> int:
    if not len(texts):
        return 0
    ends = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :]
    return int(ends[len(texts)] - ends[0])
