"""A table as a sheet: real dates, filters, a frozen head; exact texts behind the last column."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.formatting.cells import PERIODS, kind_in_row
from svc_analytics.formatting.display import head_of
from svc_analytics.formatting.numbers import COIN, kind_of, scale_of
from svc_analytics.formatting.standing import RUNNING, Standing
from svc_analytics.formatting.values import is_exact_number, is_ratio, rows_of, value_text
from svc_analytics.render.workbook.cells import (
    DAY_FORMAT,
    EXACT_DIGITS,
    CellWriter,
    number_format,
    shown_places,
    significant_digits,
    whole_digits,
)
from svc_analytics.warehouse.definitions import label_of

HEAD = 1  # the row of the column heads, below the caption
WIDEST, NARROWEST = 60, 9
_EXACT = "{}, exact"
A4 = 9


@dataclass(frozen=True)
class Page:
    """What a sheet holds: a table, its title, and how many columns are printed."""

    name: str
    title: str
    table: pa.Table
    standing: Standing
    zone: str
    printed: int | None = None


@dataclass(frozen=True)
class _Column:
    """The layout of a table's column."""

    field: pa.Field
    head: str
    width: float
    has_exact: bool


def write_table(pen: CellWriter, page: Page) -> None:
    """Write a table as a sheet, printed one page wide."""
    sheet = pen.workbook.add_worksheet(page.name)
    columns = [_lay_out(field, page) for field in page.table.schema]
    behind = [place for place, column in enumerate(columns) if column.has_exact]
    pen.text(sheet, 0, 0, f"{page.title}: {page.standing.text}", bold=True)
    _write_heads(pen, sheet, columns, behind)
    longest = _longest(page.table)
    for row, values in enumerate(rows_of(page.table), HEAD + 1):
        maker = _Row(
            pen,
            sheet,
            row,
            page.standing,
            longest,
            dict(zip(page.table.column_names, values, strict=True)),
        )
        for place, column in enumerate(columns):
            maker.write(place, column)
        for place, source in enumerate(behind, len(columns)):
            maker.write_exact(place, columns[source])
    _set_up(sheet, page, len(columns))


def _lay_out(field: pa.Field, page: Page) -> _Column:
    """Return a column's head and width, and whether a value has more digits than a cell keeps."""
    known = page.table[field.name].drop_null().to_pylist()
    head = head_of(field, label_of)
    if pa.types.is_timestamp(field.type):
        head += f", {'UTC' if field.type.tz else page.zone}"
        has_exact = any(value.microsecond for value in known)
    else:
        is_number = is_exact_number(field)
        has_exact = is_number and any(significant_digits(v) > EXACT_DIGITS for v in known)
    width = _width(field, [len(value_text(value)) for value in known], has_exact=has_exact)
    return _Column(field, head, max(width, min(len(head) + 3, 24), NARROWEST), has_exact)


def _width(field: pa.Field, lengths: list[int], *, has_exact: bool) -> float:
    """Return the width of a column: of dates fixed, of numbers with their separators."""
    if pa.types.is_timestamp(field.type):
        return 20
    most = 24 if has_exact else WIDEST
    return min(max(lengths, default=0) * 1.15 + 2, most)


def _write_heads(
    pen: CellWriter, sheet: Any, columns: Sequence[_Column], behind: Sequence[int]
) -> None:
    """Write the heads; what stands behind is folded away, one click from sight."""
    look = {"bold": True, "bottom": 1, "text_wrap": True, "valign": "bottom"}
    for place, column in enumerate(columns):
        align = "right" if is_exact_number(column.field) else "left"
        sheet.set_column(place, place, column.width)
        pen.text(sheet, HEAD, place, column.head, align=align, **look)
    for place, source in enumerate(behind, len(columns)):
        sheet.set_column(place, place, 32, None, {"level": 1, "hidden": True})
        pen.text(sheet, HEAD, place, _EXACT.format(columns[source].head), **look)
    if behind:
        sheet.set_column(
            len(columns) + len(behind), len(columns) + len(behind), None, None, {"collapsed": True}
        )


def _longest(table: pa.Table) -> dict[str, int]:
    """Return how many digits each coin's amounts have before the point."""
    amounts = [
        field.name for field in table.schema if kind_of(field) == COIN and is_exact_number(field)
    ]
    if not amounts or "currency" not in table.column_names:
        return {}
    longest: dict[str, int] = {}
    for currency, *values in rows_of(table.select(["currency", *amounts])):
        most = max((whole_digits(value) for value in values if value is not None), default=1)
        longest[str(currency)] = max(longest.get(str(currency), 1), most)
    return longest


@dataclass(frozen=True)
class _Row:
    """One row of a sheet, with what its numbers need to know of their coin."""

    pen: CellWriter
    sheet: Any
    number: int
    standing: Standing
    longest: dict[str, int]
    values: dict[str, Any]

    def write(self, place: int, column: _Column) -> None:
        """Write the value of a column; an unknown one leaves the cell empty."""
        value, field = self.values[column.field.name], column.field
        if value is None:
            return
        if is_exact_number(field):
            self._number(place, value, field)
        elif isinstance(value, bool):
            self.sheet.write_boolean(self.number, place, value)
        elif isinstance(value, date):
            form = f'{DAY_FORMAT}" {RUNNING}"' if self._is_running(field, value) else DAY_FORMAT
            self.pen.instant(self.sheet, self.number, place, value, form)
        else:
            self.pen.text(self.sheet, self.number, place, self._text(value, field))

    def write_exact(self, place: int, column: _Column) -> None:
        """Write every digit of a column's value as text."""
        value = self.values[column.field.name]
        text = value_text(value, is_ratio=is_ratio(column.field))
        self.pen.text(self.sheet, self.number, place, text, align="right")

    def _number(self, place: int, value: Decimal | int, field: pa.Field) -> None:
        currency, kind = str(self.values.get("currency") or ""), kind_in_row(self.values, field)
        scale = scale_of(self.standing.scales, currency)
        places = shown_places(kind, scale, self.longest.get(currency, 1))
        self.pen.number(self.sheet, self.number, place, value, number_format(value, kind, places))

    def _text(self, value: Any, field: pa.Field) -> str:
        if isinstance(value, (list, dict)):
            return json.dumps(value, ensure_ascii=False, default=value_text)
        running = f" {RUNNING}" * self._is_running(field, value)
        return f"{value_text(value)}{running}"

    def _is_running(self, field: pa.Field, value: Any) -> bool:
        return field.name in PERIODS and self.standing.is_running(value, field.name)


def _set_up(sheet: Any, page: Page, width: int) -> None:
    """Freeze the head, filter by it, and print one A4 page wide with the head on each."""
    rows, names = page.table.num_rows, page.table.column_names
    sheet.freeze_panes(HEAD + 1, 2 if "currency" in names[:2] else 1)
    if width:
        sheet.autofilter(HEAD, 0, max(HEAD + rows, HEAD + 1), width - 1)
        sheet.print_area(0, 0, HEAD + rows, (page.printed or width) - 1)
    set_up_print(sheet, page.standing.text, is_wide=True)
    sheet.repeat_rows(0, HEAD)


def set_up_print(sheet: Any, standing: str, *, is_wide: bool) -> None:
    """Print a sheet on A4, one page wide, with the status and the page number below."""
    if is_wide:
        sheet.set_landscape()
    sheet.set_paper(A4)
    sheet.set_margins(0.4, 0.4, 0.5, 0.6)
    sheet.fit_to_pages(1, 0)
    # A space parts the size of the letters from a text that begins with a digit.
    text = standing.replace("&", "&&")[:180]
    sheet.set_footer(f"&L&8 {text}&R&8 &A, &P of &N")
