"""A table as a sheet: real dates, filters, a frozen head; exact texts behind the last column."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, field as field_of, replace
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting import values
from svc_analytics.formatting.cells import (
    COIN,
    PERIODS,
    RATE,
    kind_in_row,
    kind_of,
    rate_places,
    scale_of,
)
from svc_analytics.formatting.display import head_of
from svc_analytics.formatting.status_line import RUNNING, StatusLine, running
from svc_analytics.formatting.texts import FORMULA
from svc_analytics.language.catalogue import WORDED, Language, isolate, isolate_right_to_left
from svc_analytics.messages import MESSAGE_COLUMN, TEXTS, Message, stored_text, translated
from svc_analytics.render.workbook import cells
from svc_analytics.render.workbook.cells import CellWriter
from svc_analytics.warehouse.figures import label_of, read_figures

HEAD = 1  # the row of the column heads, below the caption
WIDEST, NARROWEST = 60, 9
A4 = 9


@dataclass(frozen=True)
class _ColumnLayout:
    """The layout of a table's column."""

    field: pa.Field
    head: str
    width: float
    has_exact: bool
    is_jalali: bool = False  # the Jalali days of the column before it
    look: dict[str, Any] = field_of(default_factory=dict)  # of its texts


def write_table(
    pen: CellWriter,
    name: str,
    table: pa.Table,
    status_line: StatusLine,
    zone: str,
    *,
    is_printed: bool,
) -> None:
    """Write a table as a sheet; one that `is_printed` is one page wide on paper."""
    sheet = pen.sheet(name)
    fields = [field for field in table.schema if field.name != MESSAGE_COLUMN]
    whole = SheetRows(pen, sheet, table, status_line, _longest(table))
    columns = [column for field in fields for column in _lay_out(whole, field, zone)]
    columns = [_look(pen, *pair) for pair in zip(columns, [None, *columns], strict=False)]
    behind = [place for place, column in enumerate(columns) if column.has_exact]
    title = ": ".join(map(pen.spoken.text, (name, status_line.text)))
    pen.text(sheet, 0, 0, title, **pen.own | {"bold": True})
    _write_heads(pen, sheet, columns, behind)
    row = HEAD + 1
    for rows in table.to_batches(max_chunksize=values.BATCH):
        part = replace(whole, rows=rows)
        writers = [*map(part.writer, columns)]
        writers += [part.exact_writer(columns[source].field) for source in behind]
        for index in range(rows.num_rows):
            for place, write in enumerate(writers):
                write(index, row + index, place)
        row += rows.num_rows
    _set_up(sheet, table.num_rows, columns, is_printed=is_printed)
    set_up_print(pen, sheet, status_line, is_wide=True)
    sheet.repeat_rows(0, HEAD)


def _look(pen: CellWriter, column: _ColumnLayout, before: _ColumnLayout | None) -> _ColumnLayout:
    """Return a column with the look of its texts: a long sentence is broken into lines.

    One that follows a number keeps away from it.
    """
    look: dict[str, Any] = (
        {"text_wrap": True} if column.field.name in TEXTS and column.width >= WIDEST else {}
    )
    if before and values.is_exact_number(before.field) and not values.is_exact_number(column.field):
        look |= pen.indent
    return replace(column, look=look)


def _lay_out(whole: SheetRows, field: pa.Field, zone: str) -> list[_ColumnLayout]:
    """Return the column of a field; in Persian that of its Jalali days stands beside it."""
    column = _column(whole, field, zone)
    if not (whole.pen.language.has_jalali and pa.types.is_temporal(field.type)):
        return [column]
    head = Message("{COLUMN}, Jalali", column=translated(head_of(field, label_of)))
    return [column, _ColumnLayout(field, head, 15, has_exact=False, is_jalali=True)]


def _column(whole: SheetRows, field: pa.Field, zone: str) -> _ColumnLayout:
    """Return a column's head and width, and whether a value has more digits than a cell keeps."""
    texts, language = values.chunked_texts(whole.rows[field.name], field), whole.pen.language
    head = head_of(field, label_of)
    if pa.types.is_timestamp(field.type):
        head = Message(
            "{COLUMN}, {UNIT}",
            column=translated(head),
            unit=translated("UTC" if field.type.tz else zone),
        )
        is_long = pc.match_substring(texts, ".")
    else:
        is_long = pc.greater(significant_digits(texts), cells.EXACT_DIGITS)
    is_exact = values.is_exact_number(field) or pa.types.is_timestamp(field.type)
    has_exact = is_exact and pc.any(is_long).as_py() is True
    if not language.is_english and field.name in WORDED:
        texts = pa.chunked_array([words_of(whole.rows, field, language)])
    width = _width(field, _most_letters(texts, field), has_exact=has_exact)
    width = max(width, min(len(head) + 3, 24), NARROWEST)
    return _ColumnLayout(field, head, width, has_exact)


def _most_letters(texts: pa.ChunkedArray, field: pa.Field) -> int:
    """Return the length of a column's longest text, zeros at the end of a ratio left out."""
    if values.is_ratio(field):
        texts = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
    return pc.max(pc.utf8_length(texts)).as_py() or 0


def _width(field: pa.Field, letters: int, *, has_exact: bool) -> float:
    """Return the width of a column: of dates fixed, of numbers with their separators."""
    if pa.types.is_timestamp(field.type):
        return 20
    if field.name in PERIODS:  # one of them may be running
        return max(letters * 1.15 + 2, 18)
    most = 40 if has_exact else WIDEST
    return min(letters * 1.15 + 2, most)


def _write_heads(
    pen: CellWriter, sheet: Any, columns: Sequence[_ColumnLayout], behind: Sequence[int]
) -> None:
    """Write the heads; what stands behind is folded away, one click from sight."""
    look = {"bold": True, "bottom": 1, "text_wrap": True, "valign": "bottom"}
    if not pen.language.is_english:  # programs do not see how high such a row is
        lines = [
            cells.lines_in(pen.worded(each.head, is_broken=True), each.width) for each in columns
        ]
        sheet.set_row(HEAD, cells.LINE_HEIGHT * max(lines, default=1))
    for place, column in enumerate(columns):
        align = "right" if values.is_exact_number(column.field) else pen.start
        own = {"align": align} | ({"indent": 1} if "indent" in column.look else {})
        sheet.set_column(place, place, column.width)
        pen.words(sheet, HEAD, place, column.head, **own, **look)
    for place, source in enumerate(behind, len(columns)):
        sheet.set_column(place, place, 32, None, {"level": 1, "hidden": True})
        pen.words(
            sheet,
            HEAD,
            place,
            Message("{COLUMN}, exact", column=translated(columns[source].head)),
            **look,
        )
    if behind:
        sheet.set_column(
            len(columns) + len(behind), len(columns) + len(behind), None, None, {"collapsed": True}
        )


def _longest(table: pa.Table) -> dict[str, int]:
    """Return how many digits each coin's amounts have before the point."""
    amounts = [
        field.name
        for field in table.schema
        if kind_of(field) == COIN and values.is_exact_number(field)
    ]
    if not amounts or "currency" not in table.column_names:
        return {}
    ends = [(name, end) for name in amounts for end in ("min", "max")]
    longest: dict[str, int] = {}
    for row in table.group_by("currency").aggregate(ends).to_pylist():
        currency = str(row.pop("currency"))
        digits = [cells.whole_digits(value) for value in row.values() if value is not None]
        longest[currency] = max(digits, default=1)
    return longest


def _set_up(sheet: Any, rows: int, columns: Sequence[_ColumnLayout], *, is_printed: bool) -> None:
    """Freeze the head, filter by it, and print the sheet, or leave it out on paper."""
    names = [column.field.name for column in columns]
    first = [place for place, name in enumerate(names[:3]) if name == "currency"]
    sheet.freeze_panes(HEAD + 1, first[0] + 1 if first else 1)
    sheet.autofilter(HEAD, 0, max(HEAD + rows, HEAD + 1), len(names) - 1)
    if is_printed:
        sheet.print_area(0, 0, HEAD + rows, len(names) - 1)


def set_up_print(pen: CellWriter, sheet: Any, status_line: StatusLine, *, is_wide: bool) -> None:
    """Print a sheet on A4, one page wide: whose it is above, status and page number below."""
    if is_wide:
        sheet.set_landscape()
    sheet.set_paper(A4)
    sheet.set_margins(0.4, 0.4, 0.7 if pen.running else 0.5, 0.6)
    sheet.fit_to_pages(1, 0)
    if pen.running:
        sheet.set_header(f"&L&8 {_printed(pen, pen.running)}")
    pages = "&P of &N" if pen.language.is_english else "&P / &N"
    sheet.set_footer(f"&L&8 {_printed(pen, pen.spoken.text(status_line.text))}&R&8 &A, {pages}")


def _printed(pen: CellWriter, text: str) -> str:
    """Return a text for the head or the foot of paper, where & begins a sign of the layout.

    Paper runs from left to right, whatever the sheet does: a Persian line is isolated there.
    """
    # A space parts the size of the letters from a text that begins with a digit.
    shown = text.replace("&", "&&")[:180]
    return isolate_right_to_left(shown) if pen.language.direction == "rtl" else shown


# ---------- The columns of a sheet
# What is known of a whole column is found once, not for each cell.


WriteCell = Callable[[int, int, int], None]  # of a row of the table: to this row and place
_WRAPPED = 58  # letters of a line of the widest column
_ODD = f"{FORMULA}|^{cells.RICH}|[{''.join(map(chr, cells.UNREADABLE))}]"


@dataclass(frozen=True)
class SheetRows:
    """Some rows of a table, and what their cells need to know of the sheet and of their coins."""

    pen: CellWriter
    sheet: Any
    rows: pa.Table | pa.RecordBatch
    status_line: StatusLine
    longest: dict[str, int]  # how many digits the amounts of a coin have before the point
    lines: dict[int, int] = field(default_factory=dict)  # of the rows that are higher than one

    def heighten(self, row: int, lines: int) -> None:
        """Make a row high enough for lines of text."""
        self.lines[row] = max(lines, self.lines.get(row, 1))
        self.sheet.set_row(row, cells.LINE_HEIGHT * self.lines[row])

    def writer(self, layout: _ColumnLayout) -> WriteCell:
        """Return the writer of a column's cells; an unknown value is empty."""
        column, look = layout.field, layout.look
        own = self.rows.column(column.name)
        if layout.is_jalali:
            return self._jalali_days(values.python_values(own, column.name))
        if values.is_exact_number(column):
            return self._numbers(column, values.python_values(own, column.name))
        if pa.types.is_string(column.type) and column.name not in PERIODS:
            if not self.pen.language.is_english and column.name in {*WORDED, "currency"}:
                words = words_of(self.rows, column, self.pen.spoken)
                return self._texts(words, self.pen.own | look)
            return self._texts(values.column_texts(own, column), self.pen.left_to_right | look)
        return self._others(column, values.python_values(own, column.name))

    def exact_writer(self, column: pa.Field) -> WriteCell:
        """Return the writer of every digit of a column's values, as text."""
        texts = values.column_texts(self.rows.column(column.name), column)
        if self.pen.language.has_own_digits:
            texts = _mapped(texts, self.pen.language.number)
        return self._texts(texts, {"align": "right"} | self.pen.left_to_right)

    def _jalali_days(self, days: Sequence[Any]) -> WriteCell:
        """Return the writer of the Jalali day of days or instants."""

        def write(index: int, row: int, place: int) -> None:
            if days[index] is not None:
                self.pen.jalali(self.sheet, row, place, days[index])

        return write

    def _texts(self, array: pa.Array, look: dict[str, Any]) -> WriteCell:
        """Return the writer of texts; like a formula or XML, or too long, one goes a longer way."""
        is_long = pc.greater(pc.utf8_length(array), cells.LONGEST_TEXT)
        is_odd = pc.or_(pc.match_substring_regex(array, _ODD), is_long).to_pylist()
        texts, style = array.to_pylist(), self.pen.look(**look) if look else None

        def write(index: int, row: int, place: int) -> None:
            if not (text := texts[index]):
                return
            if "text_wrap" in look and len(text) > _WRAPPED:
                self.heighten(row, cells.lines_in(text, _WRAPPED))
            if is_odd[index]:
                self.pen.text(self.sheet, row, place, text, **look)
            else:
                self.sheet.write_string(row, place, text, style)

        return write

    def _numbers(self, column: pa.Field, numbers: Sequence[Any]) -> WriteCell:
        """Return the writer of numbers, each in the format of its kind, its coin and its rate."""
        coins, units = (self._texts_of(name) for name in ("currency", "unit"))
        kinds = {unit: kind_in_row({"unit": unit}, column) for unit in {*units}}
        looks: dict[tuple[str, str, int], Any] = {}

        def write(index: int, row: int, place: int) -> None:
            if (value := numbers[index]) is None:
                return
            coin, kind = coins[index], kinds[units[index]]
            key = coin, kind, rate_places(value) if kind == RATE else 0
            if key not in looks:
                scale = scale_of(self.status_line.scales, coin)
                places = cells.shown_places(kind, scale, self.longest.get(coin, 1), value)
                looks[key] = self.pen.number_look(cells.format_of(kind, places))
            self.sheet.write_number(row, place, cells.fifteen_digits(value), looks[key])

        return write

    def _texts_of(self, name: str) -> list[str]:
        """Return a column of texts, empty ones where it has none, or there is no such column."""
        if name not in self.rows.schema.names:
            return [""] * self.rows.num_rows
        return [text or "" for text in self.rows.column(name).cast(pa.string()).to_pylist()]

    def _others(self, column: pa.Field, others: Sequence[Any]) -> WriteCell:
        """Return the writer of days, flags and lists, and of periods: one of them may run."""
        pen, sheet = self.pen, self.sheet

        def write(index: int, row: int, place: int) -> None:
            value = others[index]
            if value is None:
                return
            is_running = column.name in PERIODS and self.status_line.is_running(value, column.name)
            if isinstance(value, bool):
                sheet.write_boolean(row, place, value)
            elif isinstance(value, date):
                mark = f'" {pen.language.text(RUNNING)}"' if is_running else ""
                pen.instant(sheet, row, place, value, cells.DAY_FORMAT + mark)
            elif isinstance(value, (list, dict)):
                text = json.dumps(value, ensure_ascii=False, default=values.value_text)
                pen.text(sheet, row, place, text, **pen.left_to_right)
            elif is_running:
                pen.words(sheet, row, place, running(values.value_text(value)))
            else:
                text = pen.language.number(values.value_text(value))
                pen.text(sheet, row, place, text, **pen.left_to_right)

        return write


def words_of(rows: pa.Table | pa.RecordBatch, column: pa.Field, language: Language) -> pa.Array:
    """Return a column of words of ours in the language; of a figure's name, its label too.

    >>> rows = pa.table({"kind": ["refund", None]})
    >>> words_of(rows, rows.schema.field("kind"), Language("fa")).to_pylist()
    ['استرداد', None]
    """
    texts = rows[column.name]
    messages: dict[str, str] = {}
    if column.name in TEXTS and MESSAGE_COLUMN in rows.schema.names:
        messages = dict(zip(texts.to_pylist(), rows[MESSAGE_COLUMN].to_pylist(), strict=True))
    return _mapped(
        texts, lambda text: _word(stored_text(text, messages.get(text)), column.name, language)
    )


def _word(text: str, column: str, language: Language) -> str:
    if column == "note" and not language.translation(text):
        return language.text(f"{text}.")  # a meaning stands there without its full stop
    if column != "name":
        return language.text(text) if column != "currency" or " " in text else text
    label = language.text(label_of(text)) if text in read_figures() else ""
    return f"{label} ({isolate(text)})" if label else text


def _mapped(texts: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """Return texts changed, each different one once."""
    changed = {text: change(text) for text in pc.unique(texts).to_pylist() if text is not None}
    return pa.array(map(changed.get, texts.to_pylist()), pa.string())


def significant_digits(texts: pa.Array) -> pa.Array:
    """Count the significant digits of numbers that are plain texts.

    >>> significant_digits(pa.array(["1200.05", "0.000000000000000001"])).to_pylist()
    [6, 1]
    """
    bare = pc.replace_substring_regex(texts, "[-.]", "")
    return pc.utf8_length(pc.utf8_trim(bare, "0"))
