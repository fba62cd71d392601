"""Parse a page record by record: each becomes an exact row, or is rejected with its bytes.

This is the slow path, for pages with anything unusual on them.
"""

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from svc_analytics.errors import DataError
from svc_analytics.formatting.texts import canonical_id
from svc_analytics.instants import parse_instant
from svc_analytics.messages import Message, translated
from svc_analytics.money import drop_surplus_zeros, parse_amount
from svc_analytics.periods import month
from svc_analytics.records import raw_json
from svc_analytics.records.page import Page
from svc_analytics.schema import Column, Kind, Stream

T = TypeVar("T")

# A zero time such as 0001-01-01 means "never set", not an instant to book by.
CALENDAR = (0, month("9998-12").end)


@dataclass(frozen=True)
class RejectedRecord:
    """A record that cannot be held exactly: its bytes, the reason, its id and instant if known."""

    body: bytes
    reason: str  # a message, unless a library worded it
    record_id: str | None
    instant: int | None
    place: int = 0  # how many rows of its page stand before it


@dataclass(frozen=True)
class Records:
    """The rows of one page, in the order received, and its rejected records."""

    rows: pa.Table
    rejected: tuple[RejectedRecord, ...] = ()

    @property
    def received(self) -> int:
        """The number of records on the page."""
        return len(self.rows) + len(self.rejected)


def write_extra(known: Iterable[str], values: dict[str, bytes]) -> str | None:
    """Return the members beyond the contract as a JSON object, each value as received.

    A value that some reader of JSON refuses is kept as a text of what was received.
    """
    unknown = [
        f"{json.dumps(name)}:{raw_json.as_text(raw)}"
        for name, raw in values.items()
        if name not in known
    ]
    return f"{{{','.join(unknown)}}}" if unknown else None


def take_from_extra(columns: Iterable[Column], extra: str | None) -> dict[str, Any]:
    """Return the values of columns that were kept beyond them, and the `extra` that is left.

    What a column cannot hold stays where it was kept.
    """
    if extra is None:
        return {}
    values, altered = raw_json.members(extra.encode()), set[str]()
    row: dict[str, Any] = {}
    for column in columns:
        with suppress(DataError):
            row[column.name] = _parse_value(column, values.get(column.name, b"null"), altered)
    return row | {"extra": write_extra(row.keys() - altered, values)}


def parse_records(stream: Stream, page: Page, at: int) -> Records:
    """Parse a page record by record; `at` is when it was read, in UTC microseconds."""
    page.refuse_doubles()
    rows: list[dict[str, Any]] = []
    rejected: list[RejectedRecord] = []
    for raw in page.raw_records():
        try:
            rows.append(_parse_record(stream, page.raw_members(raw)))
        except (DataError, UnicodeDecodeError, msgspec.DecodeError) as error:
            # A library's error has its own words.
            reason = error.args[0] if isinstance(error, DataError) else str(error)
            rejected.append(_reject(stream, raw, reason, len(rows)))
    table = pa.Table.from_pylist([row | {"extracted_at": at} for row in rows], stream.record_schema)
    return Records(table, tuple(rejected))


def is_record_of(stream: Stream, rejected: RejectedRecord, record_id: str) -> bool:
    """Whether rejected bytes are a record of this id: with all that the contract requires of one.

    What else a service may answer, such as an empty object, is none.
    """
    values = _find_members(rejected.body)
    required = (column.name for column in stream.columns if column.is_required)
    is_whole = not any(values.get(name, b"null") in (b"null", b'""') for name in required)
    return is_whole and rejected.record_id == record_id


def _parse_record(stream: Stream, values: dict[str, bytes]) -> dict[str, Any]:
    altered: set[str] = set()  # what its column does not hold as received goes to `extra`
    row = {
        column.name: _parse_value(column, values.get(column.name, b"null"), altered)
        for column in stream.columns
    }
    row["extra"] = write_extra({*stream.names} - altered, values)
    return row


def _parse_value(column: Column, raw: bytes, altered: set[str]) -> Any:
    """Convert a value for its column; raise `DataError` if the record cannot do without it.

    Any other is left out if it cannot be held. But the text of a name, such as a reference, is
    needed wherever there is one: without it the record would seem to have none.
    """
    try:
        value, is_whole = _READERS[column.kind](column, raw)
    except DataError:
        is_name = column.kind == "text" and not column.is_free and raw.startswith(b'"')
        if column.is_required or is_name:
            raise
        value, is_whole = None, False
    if not is_whole:
        altered.add(column.name)
    return value


# Each returns what a column holds of a value, and whether that is all that was received.


def _read_json(column: Column, raw: bytes) -> tuple[str | None, bool]:
    plain = raw_json.plain_json(raw)
    return None if plain == b"null" else plain.decode(), plain == raw


def _read_text(column: Column, raw: bytes) -> tuple[str | None, bool]:
    text = _decode_text(column, raw)
    if text is None:
        return None, True
    held = raw_json.escape_halves(text)
    if held != text and not column.is_free:
        raise DataError(Message("record.surrogate", field=column.name))
    held = canonical_id(held) if column.is_uuid else held
    return held, held == text


def _read_amount(column: Column, raw: bytes) -> tuple[Decimal | None, bool]:
    text = _decode_text(column, raw)
    if text is None:
        return None, True
    shorter = drop_surplus_zeros(text)
    return _parsed(column, parse_amount, shorter), shorter == text


def _read_instant(column: Column, raw: bytes) -> tuple[int | None, bool]:
    text = _decode_text(column, raw)
    if text is None:
        return None, True
    micros, is_whole = _parsed(column, parse_instant, text)
    if not CALENDAR[0] <= micros < CALENDAR[1]:
        raise DataError(Message("record.other_year", field=column.name, text=text))
    return micros, is_whole


def _parsed(column: Column, parse: Callable[[str], T], text: str) -> T:
    """Read the text of a column; the error of one that cannot be read names the column."""
    try:
        return parse(text)
    except DataError as error:
        reason = translated(error.args[0])
        raise DataError(Message("record.wrong", field=column.name, reason=reason)) from error


_READERS: dict[Kind, Callable[[Column, bytes], tuple[Any, bool]]] = {
    "json": _read_json,
    "text": _read_text,
    "money": _read_amount,
    "instant": _read_instant,
}


def _decode_text(column: Column, raw: bytes) -> str | None:
    value = _decode(column.name, raw)
    if value is None or (column.is_required and value == ""):
        if column.is_required:
            raise DataError(Message("record.missing", field=column.name))
        return None
    if not isinstance(value, str):
        shown = raw[:60].decode(errors="replace")
        raise DataError(Message("record.no_text", field=column.name, text=shown))
    return value


def _decode(name: str, raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_odd(name, raw)


def _decode_odd(name: str, raw: bytes) -> Any:
    """Decode valid JSON that msgspec refuses: huge exponents, halves of surrogate pairs."""
    try:
        return json.loads(raw.decode(), parse_constant=_refuse_constant)
    except RecursionError as error:
        raise DataError(Message("record.too_deep", field=name)) from error
    except ValueError as error:
        raise DataError(Message("record.not_json", field=name)) from error


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _reject(stream: Stream, raw: bytes, reason: str, place: int) -> RejectedRecord:
    """Return a rejected record with its id and instant, as far as they can be read."""
    values = _find_members(raw)
    record_id = _find_text(values.get("id", b""))
    instant = _find_instant(values.get(stream.instant, b""))
    return RejectedRecord(raw, reason, record_id, instant, place)


def _find_members(raw: bytes) -> dict[str, bytes]:
    """Return the record's own members as far as it can be split; never those of its metadata."""
    values: dict[str, bytes] = {}
    with suppress(DataError):
        for part in raw_json.split(raw, b"{"):
            values.setdefault(*raw_json.split_member(part))
    return values


def _find_instant(raw: bytes) -> int | None:
    try:
        instant = parse_instant(_find_text(raw) or "")[0]
    except DataError:
        return None
    return instant if CALENDAR[0] <= instant < CALENDAR[1] else None


def _find_text(raw: bytes) -> str | None:
    match = re.fullmatch(rb'"([^"\\]{1,200})"', raw)
    return canonical_id(match[1].decode(errors="replace")) if match else None
