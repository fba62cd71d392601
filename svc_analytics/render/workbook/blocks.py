"""A sheet of tables to display, one below the other, their cells as numbers.

Every number has its exact text behind. One that is the sum of others is a formula, where a
spreadsheet gives it to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property, reduce
from typing import Any

from xlsxwriter.utility import xl_rowcol_to_cell

from svc_analytics.formatting.cells import COIN, RATIO, Cell, Number
from svc_analytics.formatting.display import DisplayTable
from svc_analytics.formatting.status_line import StatusLine
from svc_analytics.formatting.values import value_text
from svc_analytics.language.catalogue import is_number, without_marks
from svc_analytics.messages import Message, translated
from svc_analytics.money import EXACT
from svc_analytics.render.workbook.cells import (
    HEADING,
    LINE,
    ROUNDED_NOTE,
    CellWriter,
    format_of,
    shown_places,
    whole_digits,
)
from svc_analytics.render.workbook.tables import set_up_print

_GAP = 1  # column between tables and their exact texts
_UPRIGHT = 6  # columns on an upright page
_NARROWEST, _WIDEST, _EXACT = 12, 24, 30  # widths of columns
_LETTER = 1.15  # of a width
_PAGE = (538, 744)  # points between the margins of an upright page: across, and down
_POINTS = 5.25  # of a column's width
_HEAD: dict[str, Any] = {"bold": True, "bottom": 1, "text_wrap": True, "valign": "bottom"}
_TOTAL: dict[str, Any] = {"bold": True, "top": 1}
Place = tuple[int, int]  # of a cell in a table: its row and its column
# The cells that may add up to one, each with the sign that it has in the sum.
Adds = Callable[[DisplayTable, Place], Iterable[tuple[str, Place]]]


@dataclass(frozen=True)
class TableSheet:
    """A sheet of tables, their columns as wide as what they show."""

    pen: CellWriter
    sheet: Any
    tables: Sequence[DisplayTable]

    @property
    def width(self) -> int:
        """How many columns the widest of its tables has."""
        return max((len(table.header) for table in self.tables), default=1)

    def write_head(self, title: str, lines: Sequence[str]) -> int:
        """Write what the sheet is, and return the row below."""
        for place in range(self.width):
            self.sheet.set_column(place, place, self._width(place))
        behind = self.width + _GAP
        self.sheet.set_column(behind - 1, behind - 1, 3)
        for place in range(1, self.width):
            self.sheet.set_column(
                *(behind + place - 1,) * 2, self._width_behind(place), None, {"level": 1}
            )
        self.pen.wide(self.sheet, 0, self._span, title, bold=True, font_size=16)
        return self.write_lines(1, lines)

    def write_lines(self, row: int, lines: Sequence[str], **look: Any) -> int:
        """Write sentences, each over the whole width; return the row below."""
        for place, line in enumerate(lines, row):
            self.pen.wide(self.sheet, place, self._span, line, **look)
        return row + len(lines)

    def write_tables(self, row: int, adds: Adds = lambda *_: (), notes: Sequence[str] = ()) -> int:
        """Write the tables one below the other, and what their marks mean.

        Each that fits a page stands whole on one. Return the row of the last table's heads.
        """
        page, breaks, heads = 0, [], row
        for table in self.tables:
            first = row
            heads = first + bool(table.title)
            row = Block(self.pen, self.sheet, self.width + _GAP, adds, table).write(row) + 1
            if row - page > self._rows_of_a_page:
                page = first
                breaks += [first] * (row - first <= self._rows_of_a_page)
        self.sheet.set_h_pagebreaks(breaks)
        reasons = dict.fromkeys(reason for table in self.tables for reason in table.reasons)
        end = self.write_lines(row, [*reasons, ROUNDED_NOTE, *notes], font_size=9)
        self.sheet.print_area(0, 0, end - 1, self.width - 1)
        return heads

    def set_up(self, status_line: StatusLine) -> None:
        """Print it one page wide."""
        set_up_print(self.pen, self.sheet, status_line, is_wide=self._is_wide)

    def write(
        self, title: str, lines: Sequence[str], status_line: StatusLine, adds: Adds = lambda *_: ()
    ) -> None:
        """Write what the sheet is, and its tables."""
        self.write_tables(self.write_head(title, lines) + 1, adds)
        self.set_up(status_line)

    @property
    def _span(self) -> tuple[int, float]:
        """The last column of a text over the whole width, and the letters of its lines."""
        return self.width - 1, sum(map(self._width, range(self.width))) * 0.95

    @property
    def _is_wide(self) -> bool:
        return self.width > _UPRIGHT

    @property
    def _rows_of_a_page(self) -> float:
        """How many rows fit a page, with some room for texts of several lines."""
        wide, high = reversed(_PAGE) if self._is_wide else _PAGE
        points = sum(self._width(place) * _POINTS + 4 for place in range(self.width))
        return high * max(1, points / wide) / 15 - 4

    def _width(self, place: int) -> float:
        """Return the width of a column, by the longest text in it."""
        cells = [row[place] for table in self.tables for row in table.rows if place < len(row)]
        letters = max(map(len, map(self._text, cells)), default=0)
        is_whole = any(cell.number or cell.at or _is_prose(cell) for cell in cells)
        most = LINE if place == 0 or is_whole else _WIDEST
        return max(_NARROWEST, min(letters * _LETTER + 2, most))

    def _width_behind(self, place: int) -> float:
        """Return the width of a column's exact texts: a longer one would run into the tables."""
        rows = [row for table in self.tables for row in table.rows if place < len(row)]
        exact = [value_text(each.value) for row in rows if (each := row[place].number)]
        return max([_EXACT, *(len(text) * _LETTER + 2 for text in exact)])

    def _text(self, cell: Cell) -> str:
        if cell.at and self.pen.language.has_jalali:  # both days stand there
            return without_marks(self.pen.language.value(cell.text))
        return cell.text if cell.is_number else self.pen.worded(cell.text)


def _is_prose(cell: Cell) -> bool:
    return not (cell.is_number or cell.is_fixed or isinstance(cell.text, Message))


@dataclass(frozen=True)
class Block:
    """A table in a sheet."""

    pen: CellWriter
    sheet: Any
    behind: int  # the column that its exact texts begin at
    adds: Adds
    table: DisplayTable
    _written: dict[Place, tuple[str, Number]] = field(default_factory=dict)

    def write(self, row: int) -> int:
        """Write it from a row on, its title first; return the row below."""
        if self.table.title:
            self.pen.words(self.sheet, row, 0, self.table.title, bold=True, font_color=HEADING)
            row += 1
        self._write_heads(row)
        for number, cells in enumerate(self.table.rows):
            if heading := self.table.headings.get(number):
                row += 1
                self.pen.words(self.sheet, row, 0, heading, bold=True, font_color=HEADING)
            row += 1
            for column, cell in enumerate(cells):
                self._write_cell(row, (number, column), cell)
        return row + 1

    @cached_property
    def _columns(self) -> list[_ColumnNumbers]:
        return [_ColumnNumbers.of(cells) for cells in zip(*self.table.rows, strict=True)]

    def _write_heads(self, row: int) -> None:
        for place, (head, column) in enumerate(zip(self.table.header, self._columns, strict=True)):
            look = _HEAD | ({"align": "right"} if column.is_right else {"align": self.pen.start})
            self._write_text(row, place, head, **look)
            if column.is_right:
                exact = Message("{COLUMN}, exact", column=translated(head))
                self.pen.words(self.sheet, row, self._behind(place), exact, **look)

    def _behind(self, column: int) -> int:
        return self.behind + column - 1

    def _write_cell(self, row: int, place: Place, cell: Cell) -> None:
        look = _TOTAL if place[0] in self.table.totals else {}
        look |= {"top": 1} if place[0] in self.table.subtotals else {}
        if cell.number:
            self._write_number(row, place, cell.number, look)
        elif cell.at and not self.pen.language.has_jalali:  # else its text has both days
            self.pen.instant(self.sheet, row, place[1], cell.at, **look)
            if isinstance(cell.at, datetime):  # a cell has whole seconds
                self._write_exact(row, place[1], value_text(cell.at))
        elif cell.is_number and cell.text:
            self._write_text(row, place[1], cell.text, align="right", **look)
        elif cell.is_fixed or isinstance(cell.text, Message):
            self._write_text(row, place[1], cell.text, **look)
        elif cell.text:
            text = {"text_wrap": True, "valign": "top"} | look
            self.pen.text(self.sheet, row, place[1], cell.text, **text)
        elif look:
            self.pen.blank(self.sheet, row, place[1], **look)

    def _write_text(self, row: int, column: int, text: str, **look: Any) -> None:
        """Write a text of ours, or a name, in the language."""
        if is_number(text) and not self.pen.language.is_english:  # such as a period
            text = self.pen.language.value(text)
        self.pen.words(self.sheet, row, column, text, **look)

    def _write_number(self, row: int, place: Place, number: Number, look: dict[str, Any]) -> None:
        """Write a number, as a formula if it is a sum of cells above or beside it."""
        name, column = xl_rowcol_to_cell(row, place[1]), self._columns[place[1]]
        form = column.form(number)
        formula = sum_formula(self._parts(place, number.kind), number.value)
        self._written[place] = name, number
        if formula:
            style = self.pen.number_look(form, **look)
            self.pen.sum(self.sheet, name, formula, number.value, style)
        else:
            self.pen.number(self.sheet, row, place[1], number.value, form, **look)
        self._write_exact(row, place[1], value_text(number.value))

    def _write_exact(self, row: int, column: int, text: str) -> None:
        own = {"align": "right"} | self.pen.left_to_right
        shown = self.pen.language.number(text)
        self.pen.text(self.sheet, row, self._behind(column), shown, **own)

    def _parts(self, place: Place, kind: str) -> dict[str, Decimal | int]:
        """Return the cells of a kind that may add up to one, by their names with their signs."""
        cells = [(sign, self._written.get(each)) for sign, each in self.adds(self.table, place)]
        return {
            f"{sign}{cell[0]}": Decimal(cell[1].value).copy_negate() if sign else cell[1].value
            for sign, cell in cells
            if cell and cell[1].kind == kind
        }


@dataclass(frozen=True)
class _ColumnNumbers:
    """The numbers of a column of a table: how many places they show."""

    numbers: Sequence[Number]
    is_right: bool  # whether it holds numbers, known or not

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> _ColumnNumbers:
        """Return the numbers in cells."""
        numbers = [cell.number for cell in cells if cell.number]
        return cls(numbers, any(cell.is_number for cell in cells))

    def form(self, number: Number) -> str:
        """Return the format of a number; the points of a column stand in one line."""
        places = self._places(number)
        is_nothing = number.value < 0 and round(number.value, places) == 0
        is_signed = number.is_signed and not is_nothing
        form = format_of(number.kind, places, self._room, is_signed=is_signed)
        return ";".join([form.partition(";")[0]] * 2) if is_nothing else form  # never -0.00

    def _places(self, number: Number) -> int:
        return shown_places(number.kind, number.scale, self._longest, number.value)

    @cached_property
    def _longest(self) -> int:
        """How many digits the largest amount has before its point."""
        amounts = [each.value for each in self.numbers if each.kind == COIN]
        return max(map(whole_digits, amounts), default=1)

    @cached_property
    def _room(self) -> int:
        return max((self._places(each) for each in self.numbers if each.kind != RATIO), default=0)


# ---------- Live sums of a workbook
# Formulas that give what their cell holds, to the last digit.
#
# A spreadsheet counts in binary with 15 digits. A sum that stays within them, rounded to its own
# places, is exact there; only such a sum is a formula, and any other stays a number.


_DIGITS = 15  # that a spreadsheet keeps


def sum_formula(parts: Mapping[str, Decimal | int], total: Decimal | int) -> str:
    """Return the formula that adds up parts by their cells; no text where it is not exact.

    >>> sum_formula({"B2": Decimal("0.1"), "B3": Decimal("0.2")}, Decimal("0.3"))
    'ROUND(SUM(B2,B3),1)'
    >>> sum_formula({"B2": 1, "B3": 2}, 3), sum_formula({"B2": 1, "B3": 2}, 4)
    ('SUM(B2,B3)', '')
    """
    values = [Decimal(value) for value in parts.values()]
    if len(values) < 2 or reduce(EXACT.add, values) != total:
        return ""
    places = max(map(_places, values))
    size = reduce(EXACT.add, (value.copy_abs() for value in values)).scaleb(places, EXACT)
    if size * len(values) >= 10**_DIGITS:  # each addition may round: all of them within a half
        return ""
    formula = f"SUM({','.join(parts)})"
    return f"ROUND({formula},{places})" if places else formula


def _places(value: Decimal) -> int:
    return max(-int(value.normalize(EXACT).as_tuple().exponent), 0)
