"""A statement as an Excel workbook: a sheet per table, and one of provenance.

A spreadsheet keeps 15 significant digits. A column with a longer value holds numbers
rounded to 15, for sums and sorting, and next to it the same figures as exact text.
Texts are always written as strings: none becomes a formula, a link or a number.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import xlsxwriter

from svc_analytics.formatting.sanitize import escape_formula
from svc_analytics.formatting.values import is_exact_number, is_ratio, rows_of, value_text
from svc_analytics.instants import from_micros
from svc_analytics.render.document import Document, unknown_lines

SHEET_ROWS = 1_048_575  # below the header
EXACT_DIGITS = 15
LONGEST_TEXT = 32_767
CUT = "… (cut: the whole text is in the other forms)"
WIDEST = 60
_FIRST_DAY = date(1901, 1, 1)  # Excel counts the days before it wrongly
_FIFTEEN = Context(prec=EXACT_DIGITS, rounding=ROUND_HALF_UP)
_UNREADABLE = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}  # not allowed in XML


@dataclass(frozen=True)
class _Column:
    """The layout of a table's column; `has_exact` adds a column of exact texts."""

    field: pa.Field
    has_exact: bool
    places: int
    width: int

    @property
    def number_format(self) -> str:
        """The Excel format: thousands separators and every decimal place in use."""
        if is_ratio(self.field):
            return "0.000000%"
        if pa.types.is_integer(self.field.type):
            return "0" if self.field.name.endswith("_no") else "#,##0"
        return "#,##0.00" + "#" * max(self.places - 2, 0)


def write_workbook(statement: Document, facts: dict[str, Any], path: Path) -> None:
    """Write the workbook; the same statement gives the same bytes."""
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
    """Return the name of a table's sheet; a long table goes on in a second sheet.

    >>> sheet_name("lines", 1), sheet_name("lines", 2)
    ('lines', 'lines 2')
    """
    cleaned = "".join("-" if mark in "[]:*?/\\'" else mark for mark in table)
    return cleaned[:28] if number == 1 else f"{cleaned[:24]} {number}"


def significant_digits(value: Decimal | int) -> int:
    """Count the significant digits of a number.

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
        """Write a string; one like a formula stays text when a person edits it."""
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

    def value(self, sheet: Any, row: int, place: int, value: Any, column: _Column) -> None:
        """Write a value of a table's column, and its exact text next to it if need be."""
        if is_exact_number(column.field):
            self.number(sheet, row, place, Decimal(value), column.number_format)
            if column.has_exact:
                exact = value_text(value, is_ratio=is_ratio(column.field))
                self.text(sheet, row, place + 1, exact, align="right")
        elif isinstance(value, bool):
            sheet.write_boolean(row, place, value)
        elif pa.types.is_date(column.field.type) and value >= _FIRST_DAY:
            sheet.write_datetime(row, place, value, self.style(num_format="yyyy-mm-dd"))
        elif isinstance(value, (list, dict)):
            text = json.dumps(value, ensure_ascii=False, default=value_text)
            self.text(sheet, row, place, text)
        else:  # instants too: a spreadsheet keeps neither a zone nor microseconds
            self.text(sheet, row, place, value_text(value))


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
    """Yield where the figures come from, one fact a row: status, coverage, digest."""
    merchant = facts["merchant"]
    yield "statement", facts["label"]
    yield "status", "sealed" if facts["is_sealed"] else facts["status"]
    yield from (("because", reason) for reason in facts["reasons"])
    yield from (("unknown", text) for text in unknown_lines(facts))
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
    for row, values in enumerate(rows_of(table), 1):
        place = 0
        for column, value in zip(columns, values, strict=True):
            if value is not None:
                pen.value(sheet, row, place, value, column)
            place += 1 + column.has_exact
    sheet.freeze_panes(1, 2 if "currency" in table.column_names[:2] else 1)
    if width:
        sheet.autofilter(0, 0, max(table.num_rows, 1), width - 1)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.repeat_rows(0)


def _lay_out(field: pa.Field, values: pa.ChunkedArray) -> _Column:
    known = [value for value in values.to_pylist() if value is not None]
    texts = [value_text(value, is_ratio=is_ratio(field)) for value in known]
    has_exact, places = False, 0
    if is_exact_number(field):
        has_exact = any(significant_digits(value) > EXACT_DIGITS for value in known)
        places = max((len(text.partition(".")[2]) for text in texts), default=0)
    grouped = 1.3 if has_exact or places else 1.15
    longest = max(map(len, texts), default=0)
    width = min(max(longest * grouped, len(field.name) + 4, 8), WIDEST)
    return _Column(field, has_exact, places, int(width) + 1)


def _write_header(pen: _CellWriter, sheet: Any, columns: list[_Column]) -> int:
    place = 0
    for column in columns:
        name, align = column.field.name, "right" if is_exact_number(column.field) else "left"
        for title in (name, f"{name} exact")[: 1 + column.has_exact]:
            sheet.set_column(place, place, max(column.width, len(title) + 4))
            pen.text(sheet, 0, place, title, bold=True, bottom=1, align=align)
            place += 1
    return place
