"""The first sheet of a workbook: the statement, figures down and coins across."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from svc_analytics.formatting.cells import DASH
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.numbers import COIN, RATE, ROUNDED, kind_of
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.standing import Standing
from svc_analytics.formatting.values import is_exact_number, is_ratio, value_text
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message
from svc_analytics.render.document import Document, unknown_lines
from svc_analytics.render.figures import FigureCells, summary_groups
from svc_analytics.render.pricing import describe_pricing
from svc_analytics.render.standing import status_note, status_word
from svc_analytics.render.workbook.cells import (
    CellWriter,
    lines_in,
    number_format,
    shown_places,
    whole_digits,
)
from svc_analytics.render.workbook.tables import set_up_print

SHEET = "Statement"
_COINS, _EXACT = 21, 30  # widths
_ENGLISH, _OTHER, _BOTH = 30, 36, 54  # widths of the first column, by the language
_TOTALS = ("net_settlement", "rail_movement", "closing_position")
_TOTAL: dict[str, Any] = {"bold": True, "top": 1}  # as on the page: bold, under a rule
_GAP = 1  # column between the figures and their exact texts
_MOST_UPRIGHT = 4  # coins on an upright page
_ROUNDED = (
    f"{ROUNDED} rounded for display. A cell keeps 15 digits; the columns at the right hold every "
    "digit as text."
)
_MEANINGS = "What each figure means stands in the sheet Definitions."


def write_summary(
    pen: CellWriter, statement: Document, facts: dict[str, Any], standing: Standing
) -> None:
    """Write the statement as a person reads it, and every exact text behind it."""
    sheet = pen.sheet(SHEET)
    cells = FigureCells(statement, standing.scales)
    coins = [str(row["currency"]) for row in cells.rows]
    sheet.set_column(0, 0, _label_width(pen.language))
    if coins:
        sheet.set_column(1, len(coins), _COINS)
        sheet.set_column(len(coins) + 1, len(coins) + _GAP, 3)
        behind = len(coins) + 1 + _GAP
        sheet.set_column(behind, behind + len(coins) - 1, _EXACT, None, {"level": 1})
    width = max(len(coins), 3)
    head = _write_head(pen, sheet, statement, facts, width)
    end = _Figures(pen, sheet, cells).write(head, coins)
    end = _write_notes(pen, sheet, statement, cells, end + 1, width)
    sheet.freeze_panes(head + 1, 1)
    sheet.print_area(0, 0, end, width)
    set_up_print(sheet, standing, is_wide=len(coins) > _MOST_UPRIGHT)


def _label_width(language: Language) -> int:
    if language.is_english:
        return _ENGLISH
    return _BOTH if language.is_both else _OTHER


def _write_head(
    pen: CellWriter, sheet: Any, statement: Document, facts: dict[str, Any], width: int
) -> int:
    """Write what the statement is, and return the row below."""
    names = single_line(names_of(statement.merchant, own=pen.language.code))
    texts = [
        (
            Message("Statement {PERIOD}", PERIOD=statement.period.title),
            {"bold": True, "font_size": 16},
        ),
        (names, {"font_size": 12}),
        (
            Message(
                "{BOUNDS}; data as of {instant}",
                BOUNDS=statement.period.local_bounds,
                instant=facts["as_of"],
            ),
            {},
        ),
        (status_word(statement), {"bold": True, "font_size": 14}),
        (status_note(statement), {}),
        *((text, {}) for text in unknown_lines(facts)),
        *((text, {}) for text in describe_pricing(statement.tables)),
    ]
    for row, (text, look) in enumerate(texts):
        _write_wide(pen, sheet, row, pen.worded(text), width, look)
    return len(texts) + 1


def _write_wide(
    pen: CellWriter, sheet: Any, row: int, text: str, width: int, look: Mapping[str, Any]
) -> None:
    """Write a text over the whole width, as many lines high as it needs."""
    lines = lines_in(text, _label_width(pen.language) + width * _COINS - 8)
    sheet.set_row(row, 15 * lines * look.get("font_size", 11) / 11 + 1)
    own: dict[str, Any] = {"text_wrap": True, "valign": "top", "align": "left"} | pen.own
    whole = own | dict(look)
    sheet.merge_range(row, 0, row, width, "", pen.look(**whole))
    pen.text(sheet, row, 0, text, **whole)


@dataclass(frozen=True)
class _Figures:
    """Writes the figures in their groups."""

    pen: CellWriter
    sheet: Any
    cells: FigureCells

    def write(self, row: int, coins: Sequence[str]) -> int:
        """Write heads, groups and figures; return the row below."""
        behind = len(coins) + 1 + _GAP
        self.pen.words(self.sheet, row, 0, "Figure", bold=True, bottom=1)
        for place, coin in enumerate(coins):
            look = self._right | {"bold": True, "bottom": 1}
            self.pen.text(self.sheet, row, 1 + place, coin, **look)
            exact = Message("{coin}, every digit", coin=coin)
            self.pen.words(self.sheet, row, behind + place, exact, bold=True, bottom=1)
        for group, names in self._groups().items():
            row += 1
            self.pen.words(self.sheet, row, 0, group, bold=True, font_color="#0B5394")
            for name in names:
                row += 1
                self._write_figure(row, name, behind)
                row += self._write_jalali(row + 1, name)
        return row + 1

    @property
    def _indent(self) -> dict[str, Any]:
        """The look of a label; LibreOffice indents only some that stand at the right."""
        return {"indent": 1} if self.pen.start == "left" else {}

    @property
    def _right(self) -> dict[str, Any]:
        return {"align": "right"} | self.pen.left_to_right

    def _groups(self) -> dict[str, list[str]]:
        rows = self.cells.rows
        return summary_groups(list(rows[0])) if rows else {}

    def _write_figure(self, row: int, name: str, behind: int) -> None:
        look = _TOTAL if name in _TOTALS else {}
        self.pen.words(self.sheet, row, 0, self.cells.head(name).text, **self._indent | look)
        for place, values in enumerate(self.cells.rows):
            self._write_value(row, 1 + place, values, name)
            field = self.cells.statement.tables["summary"].schema.field(name)
            exact = value_text(values[name], is_ratio=is_ratio(field))
            exact = self.pen.language.number(exact)
            self.pen.text(self.sheet, row, behind + place, exact, **self._right)

    def _write_jalali(self, row: int, name: str) -> int:
        """In Persian, write the Jalali days of a figure that is an instant; count the rows."""
        values = [values[name] for values in self.cells.rows]
        is_instant = any(isinstance(each, datetime) for each in values)
        if not (self.pen.language.has_jalali and is_instant):
            return 0
        head = Message("{COLUMN}, Jalali", COLUMN=self.cells.head(name).text)
        self.pen.words(self.sheet, row, 0, head, **self._indent)
        for place, value in enumerate(values, 1):
            if value is not None:
                self.pen.jalali(self.sheet, row, place, value, align="right")
        return 1

    def _write_value(self, row: int, place: int, values: Mapping[str, Any], name: str) -> None:
        field, value = self.cells.statement.tables["summary"].schema.field(name), values[name]
        if isinstance(value, datetime):
            self.pen.instant(self.sheet, row, place, value, align="right")
        elif value is None or not is_exact_number(field):
            look = self._right | (_TOTAL if name in _TOTALS else {})
            self.pen.text(self.sheet, row, place, value_text(value) or DASH, **look)
        else:
            coin, kind = str(values["currency"]), kind_of(field)
            longest, scale = self._longest(values), self.cells.scales.get(coin)
            room = max(shown_places(COIN, scale, longest), shown_places(RATE, None, longest))
            form = number_format(value, kind, shown_places(kind, scale, longest), room)
            look = _TOTAL if name in _TOTALS else {}
            self.pen.number(self.sheet, row, place, value, form, **look)

    def _longest(self, values: Mapping[str, Any]) -> int:
        """Count the digits before the point of a coin's largest amount."""
        schema = self.cells.statement.tables["summary"].schema
        amounts = (
            value
            for name, value in values.items()
            if isinstance(value, Decimal) and kind_of(schema.field(name)) == COIN
        )
        return max(map(whole_digits, amounts), default=1)


def _write_notes(
    pen: CellWriter, sheet: Any, statement: Document, cells: FigureCells, row: int, width: int
) -> int:
    """Write why figures are unknown and what the marks mean; return the last row."""
    names = [name for name in cells.statement.tables["summary"].column_names if cells.rows]
    shown = [cells.cell(values, name) for values in cells.rows for name in names]
    reasons = dict.fromkeys(f"{cell.text} {cell.note}" for cell in shown if cell.note)
    notes = [*map(single_line, reasons), _ROUNDED, _MEANINGS]
    for place, note in enumerate(notes):
        _write_wide(pen, sheet, row + place, pen.worded(note), width, {"font_size": 9})
    return row + len(notes)
