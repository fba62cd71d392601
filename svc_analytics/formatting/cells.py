"""One displayed value: its text, its exact text, and a note on what is unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.formatting.numbers import (
    ROUNDED,
    exact_text,
    kind_of,
    kind_of_unit,
    paddings,
    readable_text,
    scale_of,
)
from svc_analytics.formatting.sanitize import escape_invisible, visible
from svc_analytics.formatting.standing import NOWHERE, Standing, running
from svc_analytics.formatting.values import display_text, is_exact_number
from svc_analytics.instants import readable_instant
from svc_analytics.messages import KEPT, TEXTS, stored_text
from svc_analytics.periods import GREGORIAN, find_calendar

DASH = "\N{EN DASH}"
NO_VALUE = "the record has no value here"
_OF_A_UNIT = ("value", "old", "new", "difference")
PERIODS = ("day", "month", "period", "payment_month", "refund_month")


@dataclass(frozen=True)
class Number:
    """The number of a cell, for a form that shows numbers in a way of its own."""

    value: Decimal | int
    kind: str
    scale: int | None = None
    is_signed: bool = False  # whether a plus stands before what rose


@dataclass(frozen=True)
class Cell:
    """One displayed value; `exact` is its whole text where the shown one hides digits.

    A note says why the value is unknown.
    """

    text: str
    note: str = ""
    is_number: bool = False
    is_fixed: bool = False  # never broken into two lines
    exact: str = ""
    padding: str = ""  # behind a number, so that the points of a column stand in one line
    exact_padding: str = ""  # the same where every digit is shown
    number: Number | None = field(default=None, compare=False, repr=False)
    at: date | None = field(default=None, compare=False, repr=False)  # the day or instant of it

    @property
    def look(self) -> str:
        """The CSS classes of its cell in a page."""
        kind = "n" if self.is_number else "fixed" if self.is_fixed else "text"
        return f"{kind} unknown" if self.note else kind

    @property
    def hover(self) -> str:
        """The text at the pointer: every digit, or why it is unknown."""
        return self.note or self.exact

    @property
    def is_foreign(self) -> bool:
        """Whether its text may run from right to left, so that it must be isolated."""
        return not self.is_number and not self.text.isascii() and not self.note


def number_cell(value: Any, kind: str, scale: int | None = None, *, is_exact: bool = False) -> Cell:
    """Return a number as a cell: at a readable scale, or with every digit if `is_exact`.

    Its unit is not in it: the column `currency`, or the head, names it once. Nor is the mark of
    a rounded number, which stands in the head too.
    """
    exact = exact_text(value, kind)
    shown = exact if is_exact else readable_text(value, kind, scale)
    hidden = exact if shown.startswith(ROUNDED) else ""
    number = Number(value, kind, scale)
    return Cell(shown.removeprefix(ROUNDED), is_number=True, exact=hidden, number=number)


def unknown_cell(why: str, *, is_number: bool) -> Cell:
    """Return a value that is not there as a dash, with the reason."""
    return Cell(DASH, note=why, is_number=is_number)


@dataclass(frozen=True)
class CellMaker:
    """Makes the cells of one table's rows."""

    schema: pa.Schema
    why: str = "unknown"
    standing: Standing = NOWHERE
    scales: Mapping[str, int] | None = None
    is_exact: bool = False

    def row(self, values: Sequence[Any]) -> list[Cell]:
        """Return a row as cells, its amounts at the scale of the row's currency."""
        row = dict(zip(self.schema.names, values, strict=True))
        return [self.cell(row, field) for field in self.schema]

    def cell(self, row: Mapping[str, Any], field: pa.Field) -> Cell:
        """Return a column's value of a row as a cell; a NULL is a dash that says why."""
        value, is_number = row[field.name], is_exact_number(field)
        if value is None:
            return unknown_cell(self.why if is_number else NO_VALUE, is_number=is_number)
        if is_number:
            currency = str(row.get("currency") or "")
            scales = self.standing.scales if self.scales is None else self.scales
            scale = scale_of(scales, currency)
            return number_cell(value, kind_in_row(row, field), scale, is_exact=self.is_exact)
        if field.name in TEXTS:
            return Cell(visible(stored_text(str(value), row.get(KEPT))))
        text = self._text(value)
        if field.name in PERIODS and self.standing.is_running(value, field.name):
            text = running(text)
        at = value if isinstance(value, date) else None
        return Cell(text, is_fixed=bool(at) or field.name in PERIODS, at=at)

    def _text(self, value: Any) -> str:
        """Write a value; a local day or time of a Jalali month has its Jalali day first."""
        text, calendar = _plain(value), self.standing.calendar
        is_local = isinstance(value, date) and getattr(value, "tzinfo", None) is None
        if calendar == GREGORIAN or not is_local:
            return text
        day = value.date() if isinstance(value, datetime) else value
        return f"{find_calendar(calendar).day_text(day)} ({text})"


def kind_in_row(row: Mapping[str, Any], field: pa.Field) -> str:
    """Return the kind of a number; beside a column `unit`, it is that of the unit."""
    unit = row.get("unit") if field.name in _OF_A_UNIT else None
    return kind_of_unit(str(unit)) if unit else kind_of(field)


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return readable_instant(value)
    return escape_invisible(display_text(value))


def in_line(columns: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return columns with their numbers padded, so that the points stand in one line."""
    return [list(map(_padded, column, *_paddings(column))) for column in columns]


def _paddings(column: Sequence[Cell]) -> tuple[list[str], list[str]]:
    """Return the paddings of a column's texts, and those of its exact texts."""
    numbers = [cell if cell.is_number and not cell.note else Cell("") for cell in column]
    return paddings([n.text for n in numbers]), paddings([n.exact or n.text for n in numbers])


def _padded(cell: Cell, padding: str, exact: str) -> Cell:
    is_padded = cell.is_number and (padding or exact)
    return replace(cell, padding=padding, exact_padding=exact) if is_padded else cell
