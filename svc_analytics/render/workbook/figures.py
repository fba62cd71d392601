"""The figures of a workbook's first sheet: the face as on the page, then the details by coin.

What leaves the wallet has a minus. All coins stand in the last column, and each number's exact
text behind it. A sum that a spreadsheet gives to the last digit is a formula of the cells it adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from xlsxwriter.utility import xl_rowcol_to_cell

from svc_analytics.formatting.cells import DASH
from svc_analytics.formatting.numbers import COIN, COUNT, RATE, USD, kind_of
from svc_analytics.formatting.values import is_ratio, value_text
from svc_analytics.messages import Message, translated
from svc_analytics.render.face.all_coins import ALL_COINS
from svc_analytics.render.face.face import UNPRICED, UNPRICED_LABEL, Face, FaceRow
from svc_analytics.render.figures import FigureCells, summary_groups
from svc_analytics.render.workbook.blocks import sum_formula
from svc_analytics.render.workbook.cells import (
    HEADING,
    CellWriter,
    hides_digits,
    is_rounded_throughout,
    marked,
    number_format,
    shown_places,
    whole_digits,
)

GAP = 1  # column between the figures and their exact texts
_LOOKS: dict[str, dict[str, Any]] = {"": {}, "sub": {"top": 1}, "sum": {"bold": True, "top": 1}}
_ADDED = {  # which rows above add up to a row, where they do
    "net_sales": ("gross_sales", "payment_fees"),
    "refunds_debited": ("refunds_same_period", "refunds_prior_period", "refunds_unresolved"),
    "net_settlement": ("net_sales", "refunds_debited"),
    "payouts_debited": ("payouts_sent", "payout_fees"),
    "rail_movement": ("net_settlement", "payouts_debited"),
    "closing_position": ("opening_position", "rail_movement"),
}
Number = Decimal | int


@dataclass(frozen=True)
class FigureRows:
    """Writes the figures of a statement in their groups."""

    pen: CellWriter
    sheet: Any
    cells: FigureCells
    face: Face
    _written: dict[str, dict[int, tuple[str, Number]]] = field(default_factory=dict)

    def write(self, row: int) -> int:
        """Write heads, groups and figures; return the row below."""
        self._write_heads(row)
        for group, rows in self._groups:
            row += 1
            self.pen.words(self.sheet, row, 0, group, bold=True, font_color=HEADING)
            for each in rows:
                row += 1
                self._write_row(row, each)
                row += self._write_jalali(row + 1, each)
        return row + 1

    @cached_property
    def _groups(self) -> list[tuple[str, list[FaceRow]]]:
        return [*self.face.groups.items(), *self._details().items()]

    @cached_property
    def _rounded_columns(self) -> set[int]:
        """The columns whose heads tell that their numbers are rounded."""
        rows = [row for _, rows in self._groups for row in rows]
        columns = {
            place: [(row.name, value) for row in rows for value in _numbers(row, place)]
            for place in range(1, len(self.coins) + 2)
        }
        return {
            place
            for place, numbers in columns.items()
            if is_rounded_throughout(
                (kind, value, hides_digits(value, places))
                for name, value in numbers
                for kind, places in [self._shown(name, place, value)]
            )
        }

    @cached_property
    def coins(self) -> list[str]:
        """The coins, each with a column."""
        return [str(row["currency"]) for row in self.cells.rows]

    def _write_heads(self, row: int) -> None:
        look = {"bold": True, "bottom": 1}
        self.pen.words(self.sheet, row, 0, "Figure", **look)
        if not self.coins:
            return
        for place, coin in enumerate(self.coins, 1):
            head = marked(coin) if place in self._rounded_columns else coin
            self.pen.text(self.sheet, row, place, head, **self._right | look)
            exact = Message("{coin}, every digit", coin=coin)
            self.pen.words(self.sheet, row, self._behind(place), exact, **look)
        last = len(self.coins) + 1
        head = marked(ALL_COINS) if last in self._rounded_columns else ALL_COINS
        wrapped = {"text_wrap": True} if self.pen.language.is_both else {}
        self.pen.words(self.sheet, row, last, head, **look | wrapped | {"align": "right"})
        exact = Message("{COLUMN}, exact", column=ALL_COINS)
        self.pen.words(self.sheet, row, self._behind(last), exact, **look)

    def _behind(self, place: int) -> int:
        return place + len(self.coins) + 1 + GAP

    @property
    def _right(self) -> dict[str, Any]:
        return {"align": "right"} | self.pen.left_to_right

    def _details(self) -> dict[str, list[FaceRow]]:
        """Return the figures that are not of the face; of those in USD all coins add up."""
        rows, known = self.cells.rows, {*self.face.names}
        groups = summary_groups(list(rows[0])) if rows else {}
        details = {
            group: [self._detail(name) for name in names if name not in known]
            for group, names in groups.items()
        }
        return {group: figures for group, figures in details.items() if figures}

    def _detail(self, name: str) -> FaceRow:
        is_usd = name.startswith("usd_")
        total = self.face.coins.usd(name) if is_usd else None
        return FaceRow(name, "", [row[name] for row in self.cells.rows], total, is_usd)

    def _write_row(self, row: int, each: FaceRow) -> None:
        head = UNPRICED_LABEL if each.name == UNPRICED else self.cells.head(each.name).text
        self.pen.words(self.sheet, row, 0, head, **self.pen.indent | _LOOKS[each.weight])
        self._written[each.name] = {}
        for place, value in enumerate(each.values, 1):
            self._write_cell(row, place, each, value)
        if each.has_total:
            self._write_cell(row, len(self.coins) + 1, each, each.total)
        elif each.weight:
            self.pen.blank(self.sheet, row, len(self.coins) + 1, **_LOOKS[each.weight])

    def _write_cell(self, row: int, place: int, each: FaceRow, value: Any) -> None:
        """Write a value, and every digit of it behind."""
        name, look = each.name, _LOOKS[each.weight]
        if isinstance(value, datetime):
            self.pen.instant(self.sheet, row, place, value, align="right")
        elif value is None or isinstance(value, str | bool):
            text = value_text(value) or DASH
            self.pen.text(self.sheet, row, place, text, **self._right | look)
        else:
            self._write_number(row, place, each, value)
        exact = self.pen.language.number(value_text(value, is_ratio=self._is_ratio(name)))
        self.pen.text(self.sheet, row, self._behind(place), exact, **self._right)

    def _write_number(self, row: int, place: int, each: FaceRow, value: Number) -> None:
        """Write a number, as a formula if it is a sum of cells that are written."""
        look, form = _LOOKS[each.weight], self._form(each.name, place, value)
        cell, formula = xl_rowcol_to_cell(row, place), sum_formula(self._parts(each, place), value)
        self._written[each.name][place] = cell, value
        if formula:
            self.pen.sum(self.sheet, cell, formula, value, self.pen.number_look(form, **look))
        else:
            self.pen.number(self.sheet, row, place, value, form, **look)

    def _is_ratio(self, name: str) -> bool:
        return name != UNPRICED and is_ratio(self._field(name))

    def _field(self, name: str) -> Any:
        return self.cells.statement.tables["summary"].schema.field(name)

    def _parts(self, each: FaceRow, place: int) -> dict[str, Number]:
        """Return the cells that may add up to one: above it, or of all coins beside it."""
        above = [self._written.get(name, {}).get(place) for name in _ADDED.get(each.name, ())]
        cells = [cell for cell in above if cell]
        is_last = place > len(self.coins)
        if is_last and not cells and (each.usd in ("", each.name)):
            cells = [*self._written[each.name].values()]
        return dict(cells)

    def _form(self, name: str, place: int, value: Number) -> str:
        """Return the number format of a figure; the points of a coin's column are in one line."""
        kind, places = self._shown(name, place, value)
        room = 2
        if place <= len(self.coins):
            room = max(self._places(COIN, place), self._places(RATE, place))
        return number_format(value, kind, places, room, is_told=place in self._rounded_columns)

    def _shown(self, name: str, place: int, value: Number) -> tuple[str, int]:
        """Return the kind of a figure in a column, and how many places of it are shown."""
        if place > len(self.coins):
            return (COUNT, 0) if isinstance(value, int) else (USD, 2)
        kind = COUNT if name == UNPRICED else kind_of(self._field(name))
        return kind, self._places(kind, place)

    def _places(self, kind: str, place: int) -> int:
        scale = self.cells.scales.get(self.coins[place - 1])
        return shown_places(kind, scale, self._longest(place))

    def _longest(self, place: int) -> int:
        """Count the digits before the point of a coin's largest amount."""
        amounts = (
            value
            for name, value in self.cells.rows[place - 1].items()
            if isinstance(value, Decimal) and kind_of(self._field(name)) == COIN
        )
        return max(map(whole_digits, amounts), default=1)

    def _write_jalali(self, row: int, each: FaceRow) -> int:
        """In Persian, write the Jalali days of a figure that is an instant; count the rows."""
        is_instant = any(isinstance(value, datetime) for value in each.values)
        if not (self.pen.language.has_jalali and is_instant):
            return 0
        head = Message("{COLUMN}, Jalali", column=translated(self.cells.head(each.name).text))
        self.pen.words(self.sheet, row, 0, head, **self.pen.indent)
        for place, value in enumerate(each.values, 1):
            if isinstance(value, datetime):
                self.pen.jalali(self.sheet, row, place, value, align="right")
        return 1


def _numbers(row: FaceRow, place: int) -> Iterator[Number]:
    """Yield the number that a row has in a column, if it is one."""
    value = row.values[place - 1] if place <= len(row.values) else row.total
    if isinstance(value, Decimal | int) and not isinstance(value, bool):
        yield value
