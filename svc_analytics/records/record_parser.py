"""Rows from records, one by one: each is held exactly, or set aside with its bytes.

This is the careful road, for pages that hold anything out of the ordinary (design 11);
`columns` is the quick one, and both give the same rows.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa

from svc_analytics.errors import DataError
from svc_analytics.instants import parse_instant
from svc_analytics.money import parse_amount
from svc_analytics.periods import month
from svc_analytics.records.page import Page
from svc_analytics.records.raw_json import split, split_member
from svc_analytics.schema import Column, Stream

# A zero time such as 0001-01-01 means "never set", not an instant to book by.
CALENDAR = (0, month("9998-12").end)


@dataclass(frozen=True)
class RejectedRecord:
    """A record that cannot be held exactly: its bytes, why, and where it was found."""

    body: bytes
    reason: str
    record_id: str | None
    instant: int | None


@dataclass(frozen=True)
class Records:
    """The rows of one page, in the order received, and what was set aside."""

    rows: pa.Table
    rejected: tuple[RejectedRecord, ...] = ()

    @property
    def received(self) -> int:
        """How many records the page held."""
        return len(self.rows) + len(self.rejected)


def write_extra(known: Iterable[str], found: dict[str, bytes]) -> str | None:
    """Keep what the contract does not name, value for value as received."""
    unknown = [
        f"{json.dumps(name)}:{value.decode()}" for name, value in found.items() if name not in known
    ]
    return f"{{{','.join(unknown)}}}" if unknown else None


def parse_records(stream: Stream, page: Page, at: int) -> Records:
    """Read a page record by record, setting aside what does not fit."""
    page.refuse_doubles()
    rows: list[dict[str, Any]] = []
    rejected: list[RejectedRecord] = []
    for raw in page.raw_records():
        try:
            rows.append(_read_one(stream, page.raw_members(raw)))
        except (DataError, UnicodeDecodeError, msgspec.DecodeError) as error:
            rejected.append(_set_aside(stream, raw, str(error)))
    columns = {
        name: [row[name] for row in rows] for name in stream.schema.names if name != "extracted_at"
    }
    columns["extracted_at"] = [at] * len(rows)
    table = pa.Table.from_pydict(columns, schema=stream.schema)
    return Records(table, tuple(rejected))


def _read_one(stream: Stream, found: dict[str, bytes]) -> dict[str, Any]:
    kept: dict[str, bytes] = {}  # texts of instants that say more than a microsecond
    row = {
        column.name: _read_value(column, found.get(column.name, b"null"), kept)
        for column in stream.columns
    }
    known = {column.name for column in stream.columns} - kept.keys()
    row["extra"] = write_extra(known, found)
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
        raise DataError(f"{column.name} is outside the years a payment can have: {value}")
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


def _set_aside(stream: Stream, raw: bytes, reason: str) -> RejectedRecord:
    """Note a rejected record with whatever of its id and instant can still be read."""
    found = _find_members(raw)
    record_id = _find_text(found.get("id", b""))
    return RejectedRecord(raw, reason, record_id, _find_instant(found.get(stream.instant, b"")))


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
