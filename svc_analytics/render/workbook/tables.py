"""A table as a sheet: real dates, filters, a frozen head; exact texts behind the last column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from dataclasses import field as field_of
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.cells import PERIODS
from svc_analytics.formatting.columns import BATCH, chunked_texts
from svc_analytics.formatting.display import head_of
from svc_analytics.formatting.numbers import COIN, kind_of
from svc_analytics.formatting.standing import Standing
from svc_analytics.formatting.values import is_exact_number, is_ratio
from svc_analytics.language.catalogue import WORDED
from svc_analytics.language.isolation import isolate_right_to_left
from svc_analytics.messages import KEPT, TEXTS, Message
from svc_analytics.render.workbook.cells import (
    EXACT_DIGITS,
    LINE_HEIGHT,
    CellWriter,
    lines_in,
    marked,
    whole_digits,
)
from svc_analytics.render.workbook.columns import (
    SheetRows,
    WriteCell,
    is_told_by_head,
    significant_digits,
    words_of,
)
from svc_analytics.warehouse.definitions import label_of

HEAD = 1  # the row of the column heads, below the caption
WIDEST, NARROWEST = 60, 9
A4 = 9


@dataclass(frozen=True)
class SheetContents:
    """The contents of a sheet: a table, its title, and how many columns are printed."""

    name: str
    title: str
    table: pa.Table
    standing: Standing
    zone: str
    printed: int | None = None


@dataclass(frozen=True)
class _ColumnLayout:
    """The layout of a table's column."""

    field: pa.Field
    head: str
    width: float
    has_exact: bool
    is_told: bool = False  # whether its head tells that its numbers are rounded
    is_jalali: bool = False  # the Jalali days of the column before it
    look: dict[str, Any] = field_of(default_factory=dict)  # of its texts


def write_table(pen: CellWriter, contents: SheetContents) -> None:
    """Write a table as a sheet, printed one page wide."""
    sheet = pen.sheet(contents.name)
    fields = [field for field in contents.table.schema if field.name != KEPT]
    whole = SheetRows(pen, sheet, contents.table, contents.standing, _longest(contents.table))
    columns = [column for field in fields for column in _lay_out(whole, field, contents.zone)]
    columns = [_look(pen, *pair) for pair in zip(columns, [None, *columns], strict=False)]
    behind = [place for place, column in enumerate(columns) if column.has_exact]
    title, standing = map(pen.spoken.text, (contents.title, contents.standing.text))
    pen.text(sheet, 0, 0, f"{title}: {standing}", **pen.own | {"bold": True})
    _write_heads(pen, sheet, columns, behind)
    row = HEAD + 1
    for rows in contents.table.to_batches(max_chunksize=BATCH):
        part = replace(whole, rows=rows)
        writers = [_writer(part, column) for column in columns]
        writers += [part.exact_writer(columns[source].field) for source in behind]
        for index in range(rows.num_rows):
            for place, write in enumerate(writers):
                write(index, row + index, place)
        row += rows.num_rows
    _set_up(pen, sheet, contents, columns)


def _writer(part: SheetRows, column: _ColumnLayout) -> WriteCell:
    if column.is_jalali:
        return part.jalali_writer(column.field)
    return part.writer(column.field, column.look, is_told=column.is_told)


def _look(pen: CellWriter, column: _ColumnLayout, before: _ColumnLayout | None) -> _ColumnLayout:
    """Return a column with the look of its texts: a long sentence is broken into lines.

    One that follows a number keeps away from it.
    """
    look: dict[str, Any] = (
        {"text_wrap": True} if column.field.name in TEXTS and column.width >= WIDEST else {}
    )
    if before and is_exact_number(before.field) and not is_exact_number(column.field):
        look |= pen.indent
    return replace(column, look=look)


def _lay_out(whole: SheetRows, field: pa.Field, zone: str) -> list[_ColumnLayout]:
    """Return the column of a field; in Persian that of its Jalali days stands beside it."""
    column = _column(whole, field, zone)
    if not (whole.pen.language.has_jalali and pa.types.is_temporal(field.type)):
        return [column]
    head = Message("{COLUMN}, Jalali", COLUMN=head_of(field, label_of))
    return [column, _ColumnLayout(field, head, 15, has_exact=False, is_jalali=True)]


def _column(whole: SheetRows, field: pa.Field, zone: str) -> _ColumnLayout:
    """Return a column's head and width, and whether a value has more digits than a cell keeps."""
    texts, language = chunked_texts(whole.rows[field.name], field), whole.pen.language
    is_told = is_told_by_head(whole, field, texts)
    head = head_of(field, label_of)
    if pa.types.is_timestamp(field.type):
        head = Message("{COLUMN}, {UNIT}", COLUMN=head, UNIT="UTC" if field.type.tz else zone)
        is_long = pc.match_substring(texts, ".")
    else:
        is_long = pc.greater(significant_digits(texts), EXACT_DIGITS)
    is_exact = is_exact_number(field) or pa.types.is_timestamp(field.type)
    has_exact = is_exact and pc.any(is_long).as_py() is True
    if not language.is_english and field.name in WORDED:
        texts = pa.chunked_array([words_of(whole.rows, field, language)])
    width = _width(field, _most_letters(texts, field), has_exact=has_exact)
    width = max(width, min(len(head) + 3, 24), NARROWEST)
    return _ColumnLayout(field, head, width, has_exact, is_told)


def _most_letters(texts: pa.ChunkedArray, field: pa.Field) -> int:
    """Return the length of a column's longest text, zeros at the end of a ratio left out."""
    if is_ratio(field):
        texts = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
    return pc.max(pc.utf8_length(texts)).as_py() or 0


def _width(field: pa.Field, letters: int, *, has_exact: bool) -> float:
    """Return the width of a column: of dates fixed, of numbers with their separators."""
    if pa.types.is_timestamp(field.type):
        return 20
    if field.name in PERIODS:  # one of them may be running
        return max(letters * 1.15 + 2, 18)
    most = 24 if has_exact else WIDEST
    return min(letters * 1.15 + 2, most)


def _write_heads(
    pen: CellWriter, sheet: Any, columns: Sequence[_ColumnLayout], behind: Sequence[int]
) -> None:
    """Write the heads; what stands behind is folded away, one click from sight."""
    look = {"bold": True, "bottom": 1, "text_wrap": True, "valign": "bottom"}
    if not pen.language.is_english:  # programs do not see how high such a row is
        lines = [lines_in(pen.worded(each.head, is_broken=True), each.width) for each in columns]
        sheet.set_row(HEAD, LINE_HEIGHT * max(lines, default=1))
    for place, column in enumerate(columns):
        align = "right" if is_exact_number(column.field) else pen.start
        own = {"align": align} | ({"indent": 1} if "indent" in column.look else {})
        sheet.set_column(place, place, column.width)
        head = marked(column.head) if column.is_told else column.head
        pen.words(sheet, HEAD, place, head, **own, **look)
    for place, source in enumerate(behind, len(columns)):
        sheet.set_column(place, place, 32, None, {"level": 1, "hidden": True})
        pen.words(
            sheet, HEAD, place, Message("{COLUMN}, exact", COLUMN=columns[source].head), **look
        )
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
    ends = [(name, end) for name in amounts for end in ("min", "max")]
    longest: dict[str, int] = {}
    for row in table.group_by("currency").aggregate(ends).to_pylist():
        currency = str(row.pop("currency"))
        digits = [whole_digits(value) for value in row.values() if value is not None]
        longest[currency] = max(digits, default=1)
    return longest


def _set_up(
    pen: CellWriter, sheet: Any, contents: SheetContents, columns: Sequence[_ColumnLayout]
) -> None:
    """Freeze the head, filter by it, and print one A4 page wide with the head on each."""
    rows, names = contents.table.num_rows, [column.field.name for column in columns]
    first = [place for place, name in enumerate(names[:3]) if name == "currency"]
    sheet.freeze_panes(HEAD + 1, first[0] + 1 if first else 1)
    if names:
        printed = contents.table.column_names[: contents.printed]
        last = max(place for place, name in enumerate(names) if name in printed)
        sheet.autofilter(HEAD, 0, max(HEAD + rows, HEAD + 1), len(names) - 1)
        sheet.print_area(0, 0, HEAD + rows, last)
    set_up_print(pen, sheet, contents.standing, is_wide=True)
    sheet.repeat_rows(0, HEAD)


def set_up_print(pen: CellWriter, sheet: Any, standing: Standing, *, is_wide: bool) -> None:
    """Print a sheet on A4, one page wide: whose it is above, status and page number below."""
    if is_wide:
        sheet.set_landscape()
    sheet.set_paper(A4)
    sheet.set_margins(0.4, 0.4, 0.7 if pen.running else 0.5, 0.6)
    sheet.fit_to_pages(1, 0)
    if pen.running:
        sheet.set_header(f"&L&8 {_printed(pen, pen.running)}")
    pages = "&P of &N" if pen.language.is_english else "&P / &N"
    sheet.set_footer(f"&L&8 {_printed(pen, pen.spoken.text(standing.text))}&R&8 &A, {pages}")


def _printed(pen: CellWriter, text: str) -> str:
    """Return a text for the head or the foot of paper, where & begins a sign of the layout.

    Paper runs from left to right, whatever the sheet does: a Persian line is isolated there.
    """
    # A space parts the size of the letters from a text that begins with a digit.
    shown = text.replace("&", "&&")[:180]
    return isolate_right_to_left(shown) if pen.language.direction == "rtl" else shown
