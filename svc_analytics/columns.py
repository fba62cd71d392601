"""Rows from pages of regular records: whole columns at once, validated as text, then cast.

Whatever is out of the ordinary goes the careful road instead, record by record
(`records`); both give the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.money import AMOUNT_PATTERN
from svc_analytics.pages import Page, check_cursor, count_marks, parse_page
from svc_analytics.records import CALENDAR, Records, read_each, write_extra
from svc_analytics.schema import INSTANT, MONEY, Kind, Stream

_INSTANT_PATTERN = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$"

Instants = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Reading:
    """A page whose records look regular; no more of it was read than a sweep needs.

    `texts` are the stream's columns, none of them cast, in the order received, and
    `extra` what else the records hold; `at` is when it was read, in UTC microseconds.
    """

    at: int
    texts: dict[str, pa.Array]
    extra: pa.Array
    instants: Instants


def parse_list(stream: Stream, body: bytes) -> Page:
    """Read a page, and its records if they are just as the stream's; raise as `parse_page` does."""
    try:
        found = _decoder(stream, True).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return parse_page(body)
    return Page(body, check_cursor(found.next_cursor), found.data)


def read_ahead(stream: Stream, page: Page, at: int) -> Reading | None:
    """Read where a page stands in time; None when it needs a closer look."""
    decoded = _decode(stream, page)
    if decoded is None:
        return None
    rows, is_strict = decoded
    try:
        extra = _read_extra(stream, page, rows, is_strict)
        texts = _read_texts(stream, rows) | _read_raw(stream, rows)
        instants = np.asarray(pc.cast(texts[stream.instant], INSTANT).view(pa.int64()))
        _refuse_odd_years(instants)
    except (_Irregular, pa.ArrowException, UnicodeDecodeError):
        return None
    return Reading(at, texts, extra, instants)


def read_together(stream: Stream, readings: Sequence[Reading]) -> pa.Table | None:
    """Turn several pages into rows of the stream's schema; None when one is irregular.

    Several at a time, because every step costs more than its rows.
    """
    try:
        columns = {n: pa.concat_arrays([r.texts[n] for r in readings]) for n in readings[0].texts}
        columns |= _cast_all(stream, "money", columns)
        columns |= _cast_all(stream, "instant", columns)
    except (_Irregular, pa.ArrowException, UnicodeDecodeError):
        return None
    extra = pa.concat_arrays([reading.extra for reading in readings])
    seen_at = np.repeat([reading.at for reading in readings], [len(r.instants) for r in readings])
    arrays = [columns[column.name] for column in stream.columns]
    return pa.Table.from_arrays([*arrays, extra, pa.array(seen_at, INSTANT)], schema=stream.schema)


def read_records(stream: Stream, page: Page, at: int) -> Records:
    """Turn a page into rows of the stream's schema.

    `at` is the moment of reading, in UTC microseconds. Raises `ProtocolError` for a
    page whose list or cursor stands on it twice.
    """
    reading = read_ahead(stream, page, at)
    rows = read_together(stream, [reading]) if reading else None
    if rows is None:
        return read_each(stream, page, at)
    return Records(rows)


class _Irregular(Exception):
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


def _read_texts(stream: Stream, rows: list[Any]) -> dict[str, pa.Array]:
    """Read all members but those kept as JSON: in one array, for each costs more than a row."""
    names = [column.name for column in stream.columns if column.kind != "json"]
    by_member = zip(*map(attrgetter(*names), rows), strict=True)
    texts = pa.array(list(chain.from_iterable(by_member)), pa.string())
    return {name: texts.slice(place * len(rows), len(rows)) for place, name in enumerate(names)}


def _cast_all(stream: Stream, kind: Kind, columns: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """Validate and cast all columns of a kind in one go: each call costs more than a row."""
    names = stream.of_kind(kind)
    values = _cast_texts(kind, pa.concat_arrays([columns[name] for name in names]))
    rows = len(values) // len(names)
    return {name: values.slice(place * rows, rows) for place, name in enumerate(names)}


def _cast_texts(kind: Kind, texts: pa.Array) -> pa.Array:
    pattern, into = (AMOUNT_PATTERN, MONEY) if kind == "money" else (_INSTANT_PATTERN, INSTANT)
    if pc.all(pc.match_substring_regex(texts, pattern)).as_py() is False:
        raise _Irregular
    values = pc.cast(texts, into)
    if kind == "instant":
        _refuse_odd_years(np.asarray(values.drop_null().cast(pa.int64())))
    return values


def _refuse_odd_years(instants: Instants) -> None:
    if len(instants) and not CALENDAR[0] <= instants.min() <= instants.max() < CALENDAR[1]:
        raise _Irregular


def _read_raw(stream: Stream, rows: list[Any]) -> dict[str, pa.Array]:
    """Read the members that are kept as text."""
    columns = {}
    for name in stream.of_kind("json"):
        texts = [str(getattr(row, name), "utf-8") for row in rows]
        columns[name] = pa.array([None if text == "null" else text for text in texts], pa.string())
    return columns


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


def _read_extra(stream: Stream, page: Page, rows: list[Any], is_strict: bool) -> pa.Array:
    """Read what the contract does not name, once it is proven that no key stands twice."""
    if is_strict and (_has_single_keys(stream, page, rows) or page.has_single_keys):
        return pa.nulls(len(rows), pa.string())
    if not page.has_single_keys:
        raise _Irregular
    known = {column.name for column in stream.columns}
    extras = [write_extra(known, page.raw_members(raw)) for raw in page.raw_records()]
    return pa.array(extras, pa.string())


def _has_single_keys(stream: Stream, page: Page, rows: list[Any]) -> bool:
    """Prove it as `Page.has_single_keys` does, but without a look into any metadata.

    Metadata is kept as text, so its keys need no proof; all other members of a strict
    page are known: two of the page, and the stream's of each record.
    """
    if page.has_spaced_colons:
        return False
    kept = b"".join(getattr(row, name) for name in stream.of_kind("json") for row in rows)
    keys = 2 + len(rows) * len(stream.columns)
    return count_marks(page.body) == keys + kept.count(b'":')
