"""The first sheets of a comparison's workbook: what its page says, with the same hierarchy.

Both periods stand side by side: what is known of them, the chart of what moved, all coins in USD,
then coin by coin. What moved, part by part, and the sentences of people have sheets of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.charts.bridge import CHANGE, UNKNOWN, Step, change_steps, told_of_change
from svc_analytics.charts.palette import BLUE, PAPER, RUST, UP
from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import Display
from svc_analytics.formatting.display_table import DisplayTable
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.standing import Standing
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message
from svc_analytics.money import EXACT
from svc_analytics.render.compared.moved import MovedTables
from svc_analytics.render.workbook.blocks import GAP, Adds, Block, Place
from svc_analytics.render.workbook.cells import HEADING, LINE, ROUNDED_NOTE, CellWriter
from svc_analytics.render.workbook.tables import set_up_print

SHEET, MOVED = "Side by side", "What moved"
_OLD, _NEW, _DIFFERENCE = 1, 2, 3  # columns of a table with both periods side by side
_UPRIGHT = 5  # columns on an upright page
_NARROWEST, _WIDEST, _EXACT = 12, 24, 30  # widths of columns
_LETTER = 1.15  # of a width
_PAGE = (538, 744)  # points between the margins of an upright page: across, and down
_POINTS = 5.25  # of a column's width

_WIDTH, _HEIGHT, _BAR = 620, 36, 26  # pixels: of the chart, and of a bar in it
_ROW = 20  # pixels of a row
_USD = "#,##0.00"
_CLEAR: dict[str, Any] = {"fill": {"none": True}, "border": {"none": True}}


@dataclass(frozen=True)
class FrontSheets:
    """The material of the first sheets."""

    shown: Display  # both periods side by side
    moved: MovedTables | None  # what moved, where that was asked for
    names: str  # of the merchant
    change: pa.Table | None  # of each coin in USD: what the chart draws
    standing: Standing


def write_face(pen: CellWriter, face: FrontSheets) -> None:
    """Write the sheets."""
    _write_sides(pen, face)
    if face.moved:
        _write_moved(pen, face, face.moved)


def _write_sides(pen: CellWriter, face: FrontSheets) -> None:
    sheet = _Sheet(pen, pen.sheet(SHEET), face.shown.tables)
    row = sheet.write_head(face.shown.title, [single_line(face.names), *face.shown.lines]) + 1
    if face.change is not None:
        row = write_change(pen, sheet.sheet, row, sheet.span, face.change)
    sheet.write_tables(row, _difference)
    sheet.set_up(face.standing)


def _write_moved(pen: CellWriter, face: FrontSheets, moved: MovedTables) -> None:
    """Write the parts of what moved, and the sentences on it."""
    for name, tables, line in (
        (MOVED, moved.bridges, moved.line),
        *((table.title, [replace(table, title="")], "") for table in moved.sentences),
    ):
        sheet = _Sheet(pen, pen.sheet(name), tables)
        row = sheet.write_head(name, [face.shown.title, *filter(None, [line])]) + 1
        sheet.write_tables(row, _last)
        sheet.set_up(face.standing)


def _difference(_table: DisplayTable, place: Place) -> Iterable[tuple[str, Place]]:
    """Return the cells of a difference: the new figure less the old one."""
    row, column = place
    return [("", (row, _NEW)), ("-", (row, _OLD))] if column == _DIFFERENCE else []


def _last(table: DisplayTable, place: Place) -> Iterable[tuple[str, Place]]:
    """Return the cells of the new figure: the old one and the parts of its change, above it."""
    row, column = place
    return [("", (above, column)) for above in range(row)] if row in table.totals else []


@dataclass(frozen=True)
class _Sheet:
    """A sheet of tables, their columns as wide as what they show."""

    pen: CellWriter
    sheet: Any
    tables: Sequence[DisplayTable]

    @property
    def width(self) -> int:
        """How many columns the widest of its tables has."""
        return max((len(table.header) for table in self.tables), default=1)

    @property
    def span(self) -> tuple[int, float]:
        """The last column of a text over the whole width, and the letters of its lines."""
        return self.width - 1, sum(map(self._width, range(self.width))) * 0.95

    def write_head(self, title: str, lines: Sequence[str]) -> int:
        """Write what the sheet is, and return the row below."""
        for place in range(self.width):
            self.sheet.set_column(place, place, self._width(place))
        behind = self.width + GAP
        self.sheet.set_column(behind - 1, behind - 1, 3)
        self.sheet.set_column(behind, behind + self.width - 2, _EXACT, None, {"level": 1})
        self.pen.wide(self.sheet, 0, self.span, title, bold=True, font_size=16)
        for row, line in enumerate(lines, 1):
            self.pen.wide(self.sheet, row, self.span, line)
        return len(lines) + 1

    def write_tables(self, row: int, adds: Adds) -> None:
        """Write the tables one below the other, each whole on a page, and what their marks mean."""
        page, breaks = 0, []
        for table in self.tables:
            first = row
            row = Block(self.pen, self.sheet, self.width + GAP, adds, table).write(row) + 1
            if row - page > self._rows_of_a_page:
                page = first
                breaks.append(first)
        self.sheet.set_h_pagebreaks(breaks)
        reasons = dict.fromkeys(reason for table in self.tables for reason in table.reasons)
        for place, note in enumerate([*reasons, ROUNDED_NOTE], row):
            self.pen.wide(self.sheet, place, self.span, note, font_size=9)
        self.sheet.print_area(0, 0, row + len(reasons), self.width - 1)

    def set_up(self, standing: Standing) -> None:
        """Print it one page wide."""
        set_up_print(self.pen, self.sheet, standing, is_wide=self._is_wide)

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
        rows = [row for table in self.tables for row in table.rows if place < len(row)]
        letters = max((len(self._text(row[place])) for row in rows), default=0)
        most = LINE if place == 0 or any(_is_prose(row[place]) for row in rows) else _WIDEST
        return max(_NARROWEST, min(letters * _LETTER + 2, most))

    def _text(self, cell: Cell) -> str:
        return cell.text if cell.is_number else self.pen.worded(cell.text)


def _is_prose(cell: Cell) -> bool:
    return not (cell.is_number or cell.is_fixed or isinstance(cell.text, Message))


def write_change(
    pen: CellWriter, sheet: Any, row: int, span: tuple[int, float], change: pa.Table
) -> int:
    """Write the chart with its sentence, what it draws behind it; return the row below."""
    steps = change_steps(change.to_pylist())
    pen.words(sheet, row, 0, CHANGE, bold=True, font_color=HEADING)
    pen.wide(sheet, row + 1, span, told_of_change(steps) or UNKNOWN)
    if not steps:
        return row + 3
    first, behind = row + 2, span[0] + 2
    pen.words(sheet, first, behind, "What the chart draws", bold=True, bottom=1)
    for place, step in enumerate(steps, first + 1):
        pen.text(sheet, place, behind, _named(pen.spoken, step))
        for column, value in enumerate(_drawn(step), behind + 1):
            pen.number(sheet, place, column, value, _USD)
    sheet.insert_chart(first, 0, _chart(pen, sheet, (first + 1, behind), steps), {"y_offset": 4})
    return first + (_HEIGHT + _BAR * len(steps)) // _ROW + 2


def _drawn(step: Step) -> tuple[Decimal, ...]:
    """Return the clear part before a step's bar, and the bar on either side of zero."""
    low, high = min(step.start, step.end), max(step.start, step.end)
    nothing = Decimal()
    clear = low if low > 0 else high if high < 0 else nothing
    right = EXACT.subtract(high, max(low, nothing)) if high > 0 else nothing
    left = EXACT.subtract(low, min(high, nothing)) if low < 0 else nothing
    return clear, right, left


def _chart(pen: CellWriter, sheet: Any, place: tuple[int, int], steps: Sequence[Step]) -> Any:
    """Return the bars, one below the other, each from where the one before ends."""
    chart = pen.workbook.add_chart({"type": "bar", "subtype": "stacked"})
    (first, column), name = place, sheet.get_name()
    last = first + len(steps) - 1
    points = list(map(_colour, steps))
    for values, look in enumerate((_CLEAR, {"points": points}, {"points": points}), column + 1):
        chart.add_series(
            {
                "categories": [name, first, column, last, column],
                "values": [name, first, values, last, values],
                "gap": 40,
                **look,
            }
        )
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True, "line": {"none": True}, "major_tick_mark": "none"})
    chart.set_x_axis({"visible": False, "major_gridlines": {"visible": False}})
    chart.set_chartarea({"border": {"none": True}})
    chart.set_size({"width": _WIDTH, "height": _HEIGHT + _BAR * len(steps)})
    chart.show_hidden_data()  # what it draws may be folded away
    return chart


def _named(language: Language, step: Step) -> str:
    """Return a step with its amount: not every program has room for one beside a bar."""
    return f"{language.text(step.name)}  {language.number(step.text)}"


def _colour(step: Step) -> dict[str, Any]:
    """Return the look of a bar: worth dark, what comes in filled, what goes out hatched."""
    if step.amount < 0:
        look = {"pattern": "wide_upward_diagonal", "fg_color": RUST, "bg_color": PAPER}
        return {"pattern": look, "border": {"color": RUST}}
    return {"fill": {"color": BLUE if step.is_worth else UP}}
