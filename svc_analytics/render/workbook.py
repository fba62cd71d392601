"""A statement as a workbook: exact numbers where a spreadsheet can hold them, text beside.

A spreadsheet keeps 15 significant digits. A column with a longer value holds numbers
rounded to 15, for sums and sorting, and next to it the same figures as exact text.
Texts are only ever written as strings: none becomes a formula, a link or a number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.formatting.sanitize import escape_formula
from svc_analytics.formatting.values import is_ratio, rows_of, value_text
from svc_analytics.instants import from_micros

if TYPE_CHECKING:
    from svc_analytics.render.document import Document

SHEET_ROWS = 1_048_575  # of data, below the header
EXACT_DIGITS = 15
LONGEST_TEXT = 32_767
CUT = "… (cut: the whole text is in the other forms)"
WIDEST = 60
_FIFTEEN = Context(prec=EXACT_DIGITS, rounding=ROUND_HALF_UP)
_UNREADABLE = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}  # no XML may hold these


@dataclass(frozen=True)
class _Column:
    """How one column of a table is laid out; `has_exact` adds its exact text beside it."""

    name: str
    kind: pa.DataType
    is_ratio: bool
    has_exact: bool
    places: int
    width: int

    @property
    def is_number(self) -> bool:
        return bool(pa.types.is_decimal(self.kind) or pa.types.is_integer(self.kind))

    @property
    def number_format(self) -> str:
        """Thousands apart, and every place that the column uses."""
        if self.is_ratio:
            return "0.000000%"
        if pa.types.is_integer(self.kind):
            return "0" if self.name.endswith("_no") else "#,##0"
        return "#,##0.00" + "#" * max(self.places - 2, 0)


def write_workbook(statement: Document, facts: dict[str, Any], path: Path) -> None:
    """Write the workbook; the same statement gives the same bytes."""
    import xlsxwriter

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(str(path), options) as workbook:
        made_at = from_micros(statement.as_of).replace(tzinfo=None)
        title = f"Statement {facts['label']}"
        workbook.set_properties({"title": title, "created": made_at})
        pen = _CellWriter(workbook)
        _write_provenance(pen, facts)
        for name, table in statement.tables.items():
            for number, start in enumerate(range(0, max(table.num_rows, 1), SHEET_ROWS), 1):
                sheet = sheet_name(name, number)
                _write_table(pen, sheet, table.slice(start, SHEET_ROWS))


def sheet_name(table: str, number: int) -> str:
    """Name a table's sheet; a table too long for one goes on in a second.

    >>> sheet_name("lines", 1), sheet_name("lines", 2)
    ('lines', 'lines 2')
    """
    cleaned = "".join("-" if mark in "[]:*?/\\'" else mark for mark in table)
    return cleaned[:28] if number == 1 else f"{cleaned[:24]} {number}"


def significant_digits(value: Decimal | int) -> int:
    """Count the digits a spreadsheet would have to keep.

    >>> significant_digits(Decimal("1200.0500")), significant_digits(Decimal("1E-18"))
    (6, 1)
    """
    return len(value_text(value).lstrip("-").replace(".", "").strip("0"))


class _CellWriter:
    """Writes cells of a workbook, strings always as strings."""

    def __init__(self, workbook: Any) -> None:
        self.workbook = workbook
        self.formats: dict[tuple[Any, ...], Any] = {}

    def style(self, **properties: Any) -> Any:
        key = tuple(sorted(properties.items()))
        if key not in self.formats:
            self.formats[key] = self.workbook.add_format(properties)
        return self.formats[key]

    def text(self, sheet: Any, row: int, column: int, text: str, **properties: Any) -> None:
        """Write a string; one that looks like a formula is marked as text for editing too."""
        if not text:
            return
        if len(text) > LONGEST_TEXT:
            text = text[: LONGEST_TEXT - len(CUT)] + CUT
        if escape_formula(text) != text:
            properties["quote_prefix"] = True
        style = self.style(**properties) if properties else None
        sheet.write_string(row, column, text.translate(_UNREADABLE), style)

    def number(self, sheet: Any, row: int, column: int, value: Decimal, number_format: str) -> None:
        # A Decimal is printed digit by digit; as a float the 16th digit could be off.
        rounded = _FIFTEEN.plus(value).normalize(_FIFTEEN)
        sheet.write_number(row, column, rounded, self.style(num_format=number_format))


def _write_provenance(pen: _CellWriter, facts: dict[str, Any]) -> None:
    sheet = pen.workbook.add_worksheet("provenance")
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, 1, 100)
    for row, (name, text) in enumerate(provenance(facts)):
        pen.text(sheet, row, 0, name, bold=True, valign="top")
        pen.text(sheet, row, 1, text, align="left", text_wrap=True, valign="top")
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)


def provenance(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a reader must know to trust the figures, one fact a row."""
    merchant = facts["merchant"]
    yield "statement", facts["label"]
    yield "status", "sealed" if facts["is_sealed"] else facts["status"]
    yield from (("because", reason) for reason in facts["reasons"])
    for name in ("display_name", "display_name_fa", "id"):
        yield f"merchant {name}", value_text(merchant.get(name))
    for name in ("version", "calendar", "zone", "start", "end", "as_of"):
        yield name, value_text(facts[name])
    for stream, spans in facts["coverage"].items():
        for start, end, state in spans or [("", "", "not read")]:
            yield f"coverage {stream}", f"{start} .. {end} {state}" if start else state
    for name in ("content_digest", "tool_version", "previous_seal", "supersedes"):
        yield name, value_text(facts.get(name))
    yield "options", json.dumps(facts["options"], ensure_ascii=False) if facts["options"] else ""


def _write_table(pen: _CellWriter, name: str, table: pa.Table) -> None:
    sheet = pen.workbook.add_worksheet(name)
    columns = [_lay_out(field, table[field.name]) for field in table.schema]
    width = _write_header(pen, sheet, columns)
    writers = [_writer(pen, sheet, column) for column in columns]
    for row, values in enumerate(rows_of(table), 1):
        place = 0
        for write, column, value in zip(writers, columns, values, strict=True):
            if value is not None:
                write(row, place, value)
            place += 1 + column.has_exact
    sheet.freeze_panes(1, 2 if "currency" in table.column_names[:2] else 1)
    if width:
        sheet.autofilter(0, 0, max(table.num_rows, 1), width - 1)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.repeat_rows(0)


def _lay_out(field: pa.Field, values: pa.ChunkedArray) -> _Column:
    found = [value for chunk in values.chunks for value in chunk.to_pylist() if value is not None]
    ratio = is_ratio(field)
    texts = [value_text(value, is_ratio=ratio) for value in found]
    has_exact, places = False, 0
    if pa.types.is_decimal(field.type) or pa.types.is_integer(field.type):
        has_exact = any(significant_digits(value) > EXACT_DIGITS for value in found)
        places = max((len(text.partition(".")[2]) for text in texts), default=0)
    grouped = 1.3 if has_exact or places else 1.15
    longest = max(map(len, texts), default=0)
    width = min(max(longest * grouped, len(field.name) + 4, 8), WIDEST)
    return _Column(field.name, field.type, ratio, has_exact, places, int(width) + 1)


def _write_header(pen: _CellWriter, sheet: Any, columns: list[_Column]) -> int:
    place = 0
    for column in columns:
        look = {"bold": True, "bottom": 1, "align": "right" if column.is_number else "left"}
        titles = [column.name, f"{column.name} exact"][: 1 + column.has_exact]
        for title in titles:
            sheet.set_column(place, place, max(column.width, len(title) + 4))
            pen.text(sheet, 0, place, title, **look)
            place += 1
    return place


def _writer(pen: _CellWriter, sheet: Any, column: _Column) -> Callable[[int, int, Any], None]:
    """Return what writes a value of a column, and its exact text beside it if need be."""

    def write_number(row: int, place: int, value: Any) -> None:
        pen.number(sheet, row, place, Decimal(value), column.number_format)
        if column.has_exact:
            exact = value_text(value, is_ratio=column.is_ratio)
            pen.text(sheet, row, place + 1, exact, align="right")

    def write_day(row: int, place: int, value: date) -> None:
        if value.year < 1901 or isinstance(value, datetime):
            pen.text(sheet, row, place, value_text(value))
        else:
            sheet.write_datetime(row, place, value, pen.style(num_format="yyyy-mm-dd"))

    def write_bool(row: int, place: int, value: bool) -> None:
        sheet.write_boolean(row, place, value)

    def write_text(row: int, place: int, value: Any) -> None:
        # Instants too: a spreadsheet keeps neither a zone nor microseconds.
        plain = json.dumps(value, ensure_ascii=False, default=value_text)
        pen.text(sheet, row, place, plain if isinstance(value, (list, dict)) else value_text(value))

    if column.is_number:
        return write_number
    if pa.types.is_boolean(column.kind):
        return write_bool
    return write_day if pa.types.is_date(column.kind) else write_text
