"""Rows from records: validated as text first, then cast, exactly or not at all.

A page of regular records is turned into columns at once. If anything in it is out
of the ordinary, the same page is read again record by record, and what cannot be
held exactly is set aside with its bytes and the reason (design 11).
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.errors import DataError
from svc_analytics.money import AMOUNT_PATTERN, parse_amount
from svc_analytics.pages import Page, count_marks, split, split_member
from svc_analytics.periods import month, parse_instant
from svc_analytics.schema import INSTANT, MONEY, Column, Kind, Stream

_INSTANT_PATTERN = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$"


# A zero time such as 0001-01-01 means "never set", not an instant to book by.
CALENDAR = (0, month("9998-12").end)


class _MetadataOnly(msgspec.Struct):
    metadata: msgspec.Raw = msgspec.Raw(b"null")


class _MetadataPage(msgspec.Struct):
    data: list[_MetadataOnly]


_metadata_page = msgspec.json.Decoder(_MetadataPage)


@dataclass(frozen=True)
class Rejected:
    """A record that cannot be held exactly: its bytes, why, and where it was found."""

    body: bytes
    reason: str
    record_id: str | None
    instant: int | None


@dataclass(frozen=True)
class Records:
    """The rows of one page, in the order received, and what was set aside."""

    rows: pa.Table
    rejected: tuple[Rejected, ...] = ()
    size: int = 0  # bytes of the page they came on: about what they take in memory

    @property
    def received(self) -> int:
        """How many records the page held."""
        return len(self.rows) + len(self.rejected)


def read_records(stream: Stream, page: Page, extracted_at: int) -> Records:
    """Turn a page into rows of the stream's schema.

    `extracted_at` is the moment of reading, in UTC microseconds. Raises
    `ProtocolError` for a page whose list or cursor stands on it twice.
    """
    rows = _read_columns(stream, page, extracted_at)
    if rows is None:
        return _read_each(stream, page, extracted_at)
    return Records(rows, size=len(page.body))


class _Irregular(Exception):
    """Something on the page needs a closer look."""


def _read_columns(stream: Stream, page: Page, extracted_at: int) -> pa.Table | None:
    """Read a page of regular records column by column, or return None."""
    records = page.records
    if records is None or not all(type(record) is dict for record in records):
        return None
    try:
        columns = _read_texts(stream, records)
        columns |= _cast_all(stream, "money", columns, AMOUNT_PATTERN, MONEY)
        columns |= _cast_all(stream, "instant", columns, _INSTANT_PATTERN, INSTANT)
        metadata = _read_metadata(page) if stream.of_kind("json") else []
        columns |= {name: pa.array(metadata, pa.string()) for name in stream.of_kind("json")}
        extra = _read_extra(stream, page, records, metadata)
    except (_Irregular, pa.ArrowException, UnicodeEncodeError, TypeError):
        return None
    arrays = [columns[column.name] for column in stream.columns]
    seen_at = pa.repeat(pa.scalar(extracted_at, INSTANT), len(records))
    return pa.Table.from_arrays([*arrays, extra, seen_at], schema=stream.schema)


def _read_texts(stream: Stream, records: list[dict[str, Any]]) -> dict[str, pa.Array]:
    columns = {}
    for column in stream.columns:
        if column.kind == "json":
            continue
        values = [record.get(column.name) for record in records]
        if column.is_required and (None in values or "" in values):
            raise _Irregular
        columns[column.name] = pa.array(values, pa.string())
    return columns


def _cast_all(
    stream: Stream, kind: Kind, columns: dict[str, pa.Array], pattern: str, into: pa.DataType
) -> dict[str, pa.Array]:
    """Validate and cast all columns of a kind in one go: each call costs more than a row."""
    names = stream.of_kind(kind)
    text = pa.concat_arrays([columns[name] for name in names])
    if pc.all(pc.match_substring_regex(text, pattern)).as_py() is False:
        raise _Irregular
    values = pc.cast(text, into)
    if kind == "instant":
        _refuse_odd_years(values)
    rows = len(text) // len(names)
    return {name: values.slice(place * rows, rows) for place, name in enumerate(names)}


def _refuse_odd_years(instants: pa.Array) -> None:
    extremes = pc.min_max(instants.cast(pa.int64())).as_py()
    if not all(at is None or CALENDAR[0] <= at < CALENDAR[1] for at in extremes.values()):
        raise _Irregular


def _read_metadata(page: Page) -> list[str | None]:
    raw = _metadata_page.decode(page.body).data
    texts = [bytes(record.metadata).decode() for record in raw]
    return [None if text == "null" else text for text in texts]


def _read_extra(
    stream: Stream, page: Page, records: list[dict[str, Any]], metadata: list[str | None]
) -> pa.Array:
    """Read what the contract does not name, once it is proven that no key stands twice."""
    known = {column.name for column in stream.columns}
    if all(record.keys() <= known for record in records):
        if not _has_single_keys(page, records, metadata):
            raise _Irregular
        return pa.nulls(len(records), pa.string())
    if not page.has_single_keys:
        raise _Irregular
    extras = [_write_extra(known, page.raw_members(raw)) for raw in page.raw_records()]
    return pa.array(extras, pa.string())


def _has_single_keys(page: Page, records: list[dict[str, Any]], metadata: list[str | None]) -> bool:
    """Prove it as `Page.has_single_keys` does, but without a look into any metadata.

    Metadata is kept as text, so its keys need no proof; every other member is known
    to be flat by now, or its column would not have been read.
    """
    keys = len(page.document or ()) + sum(map(len, records))
    kept = "".join(text for text in metadata if text).encode()
    return not page.has_spaced_colons and count_marks(page.body) == keys + count_marks(kept)


def _write_extra(known: Iterable[str], found: dict[str, bytes]) -> str | None:
    """Keep what the contract does not name, value for value as received."""
    unknown = [
        f"{json.dumps(name)}:{value.decode()}" for name, value in found.items() if name not in known
    ]
    return f"{{{','.join(unknown)}}}" if unknown else None


def _read_each(stream: Stream, page: Page, extracted_at: int) -> Records:
    """Read a page record by record, setting aside what does not fit."""
    page.refuse_doubles()
    rows: list[dict[str, Any]] = []
    rejected: list[Rejected] = []
    for raw in page.raw_records():
        try:
            rows.append(_read_one(stream, page.raw_members(raw)))
        except (DataError, UnicodeDecodeError, msgspec.DecodeError) as error:
            rejected.append(_set_aside(stream, raw, str(error)))
    columns = {
        name: [row[name] for row in rows] for name in stream.schema.names if name != "extracted_at"
    }
    columns["extracted_at"] = [extracted_at] * len(rows)
    table = pa.Table.from_pydict(columns, schema=stream.schema)
    return Records(table, tuple(rejected), len(page.body))


def _read_one(stream: Stream, found: dict[str, bytes]) -> dict[str, Any]:
    kept: dict[str, bytes] = {}  # texts of instants that say more than a microsecond
    row = {
        column.name: _read_value(column, found.get(column.name, b"null"), kept)
        for column in stream.columns
    }
    known = {column.name for column in stream.columns} - kept.keys()
    row["extra"] = _write_extra(known, found)
    return row


def _read_value(column: Column, raw: bytes, kept: dict[str, bytes]) -> Any:
    value = _decode(column.name, raw)
    if value is None or (column.is_required and value == ""):
        if column.is_required:
            raise DataError(f"{column.name} is missing")
        return None
    if column.kind == "json":
        return raw.decode()
    if not isinstance(value, str):
        raise DataError(f"{column.name} is not a text: {raw[:60].decode(errors='replace')}")
    if column.kind == "text":
        return _check_text(column.name, value)
    return _read_amount_or_instant(column, value, raw, kept)


def _read_amount_or_instant(
    column: Column, value: str, raw: bytes, kept: dict[str, bytes]
) -> Decimal | int:
    try:
        if column.kind == "money":
            return parse_amount(value)
        micros, is_whole = parse_instant(value)
    except DataError as error:
        raise DataError(f"{column.name}: {error}") from error
    if not CALENDAR[0] <= micros < CALENDAR[1]:
        raise DataError(f"{column.name} is out of any calendar of payments: {value}")
    if not is_whole:
        kept[column.name] = raw
    return micros


def _decode(name: str, raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_patiently(name, raw)


def _decode_patiently(name: str, raw: bytes) -> Any:
    """Decode what is valid JSON but beyond the quick decoder: huge exponents, surrogates."""
    try:
        return json.loads(raw.decode(), parse_constant=_refuse_constant)
    except RecursionError as error:
        raise DataError(f"{name} is nested too deep") from error
    except ValueError as error:
        raise DataError(f"{name} is not JSON") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _check_text(name: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{name} holds half of a surrogate pair") from error
    return value


def _set_aside(stream: Stream, raw: bytes, reason: str) -> Rejected:
    """Note a rejected record with whatever of its id and instant can still be read."""
    found = _find_members(raw)
    record_id = _find_text(found.get("id", b""))
    return Rejected(raw, reason, record_id, _find_instant(found.get(stream.instant, b"")))


def _find_members(raw: bytes) -> dict[str, bytes]:
    """Return the record's own members as far as it comes apart; never those of its metadata."""
    found: dict[str, bytes] = {}
    try:
        for part in split(raw, b"{"):
            name, value = split_member(part)
            found.setdefault(name, value)
    except DataError:
        pass
    return found


def _find_instant(raw: bytes) -> int | None:
    try:
        instant = parse_instant(_find_text(raw) or "")[0]
    except DataError:
        return None
    return instant if CALENDAR[0] <= instant < CALENDAR[1] else None


def _find_text(raw: bytes) -> str | None:
    match = re.fullmatch(rb'"([^"\\]{1,200})"', raw)
    return match[1].decode(errors="replace") if match else None
