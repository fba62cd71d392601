"""Cells of a workbook: numbers with as many digits as a spreadsheet keeps, and plain texts.

A spreadsheet keeps 15 significant digits. A number is written with those, and its format
shows no more. Texts are always strings: none becomes a formula, a link or a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import xlsxwriter

from svc_analytics.formatting.cells import (
    COIN,
    COUNT,
    PERCENT_PLACES,
    PLAIN,
    POINTS,
    RATE,
    RATIO,
    USD,
    USD_PLACES,
    rate_places,
)
from svc_analytics.formatting.texts import escape_formula
from svc_analytics.formatting.values import value_text
from svc_analytics.instants import from_micros
from svc_analytics.language import catalogue
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message

EXACT_DIGITS = 15
LONGEST_TEXT = 32_767
LINE = 60  # letters
LINE_HEIGHT = 15.5  # points
CUT = "… (cut: the whole text is in the other forms)"
RICH = "<r>"
DAY_FORMAT, INSTANT_FORMAT = "d mmm yyyy", "d mmm yyyy hh:mm:ss"
_FIRST_YEAR = 1901  # Excel counts the days before it wrongly
_FIFTEEN = Context(prec=EXACT_DIGITS, rounding=ROUND_HALF_UP)
HEADING = "#0B5394"  # the colour of the words above a group of rows
ROUNDED_NOTE = Message(
    "Rounded, so a sum may miss by its last digit. A cell keeps 15 digits; the columns at "
    "the right hold every digit as text."
)
_UNIT_OF_POINTS = "pp"
UNREADABLE = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}  # not allowed in XML
# A ratio is written as a share: two places more than its percentage shows.
_PLACES = {USD: USD_PLACES, RATIO: PERCENT_PLACES + 2, COUNT: 0, PLAIN: 0}
_PLACES[POINTS] = PERCENT_PLACES
_FORMATS = {RATIO: "0.00%", COUNT: "#,##0", PLAIN: "0", POINTS: f'0.00" {_UNIT_OF_POINTS}"'}


def shown_places(kind: str, scale: int | None, longest: int, value: Decimal | int) -> int:
    """Return the places that a value shows: a coin's own, as far as 15 digits reach.

    `longest` is the number of digits before the point of the largest amount beside it.

    >>> shown_places("coin", 8, 9, 1), shown_places("rate", None, 1, Decimal("0.0000000015"))
    (6, 12)
    """
    if kind == RATE:
        return rate_places(value)
    if kind != COIN:
        return _PLACES[kind]
    return max(min(EXACT_DIGITS if scale is None else scale, EXACT_DIGITS - longest), 2)


def lines_in(text: str, width: float) -> int:
    """Count the lines of a text in a cell as many letters wide; not every program does.

    >>> lines_in("one line", 10), lines_in("two lines, or more", 10)
    (1, 2)
    """
    return sum(max(-(-len(line) // int(width)), 1) for line in text.split("\n"))


def whole_digits(value: Decimal | int) -> int:
    """Count the digits before the point.

    >>> whole_digits(Decimal("-120.5")), whole_digits(Decimal("0.5"))
    (3, 1)
    """
    return len(str(abs(int(value))))


@cache
def format_of(kind: str, places: int, room: int = 0, *, is_signed: bool = False) -> str:
    """Return the Excel format of numbers of a kind.

    >>> format_of("USD", 2, is_signed=True)
    '+#,##0.00;-#,##0.00;#,##0.00'
    """
    points = "." + "0" * places if places else ""
    form = _FORMATS.get(kind, f"#,##0{points}")
    shown = len(form.partition(".")[2])  # the sign of a percentage takes a place too
    form += ("_." if room and not shown else "") + "_0" * max(room - shown, 0)
    return ";".join(f"{sign}{form}" for sign in ("+", "-", "")) if is_signed else form


def in_digits(form: str, language: Language) -> str:
    """Return a format of numbers or days in the digits of a language.

    They are its digits alone: the calendar stays Gregorian.

    >>> in_digits("#,##0.00", Language("fa", "fa"))
    '[$-3000429]#,##0.00'
    """
    return ";".join(f"{language.digits_in_excel}{part}" for part in form.split(";"))


def fifteen_digits(value: Decimal | int) -> Decimal:
    """Round a number to the 15 digits that a cell keeps.

    >>> fifteen_digits(Decimal("12345678901234.56"))
    Decimal('12345678901234.6')
    """
    return Decimal(value).normalize(_FIFTEEN)


@contextmanager
def open_workbook(path: Path, title: str, at: int, language: Language) -> Iterator[CellWriter]:
    """Open a workbook, made at an instant: the same cells give the same bytes."""
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(str(path), options) as workbook:
        made_at = from_micros(at).replace(tzinfo=None)
        workbook.set_properties({"title": title, "created": made_at})
        yield CellWriter(workbook, language)


@dataclass
class CellWriter:
    """Writes cells of a workbook; each look is made once."""

    workbook: Any
    language: Language = catalogue.ENGLISH
    running: str = ""  # the running head of each sheet on paper
    looks: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    forms: dict[tuple[Any, ...], Any] = field(default_factory=dict)  # the looks of numbers

    def look(self, **properties: Any) -> Any:
        """Return a format of the workbook."""
        key = tuple(sorted(properties.items()))
        if key not in self.looks:
            self.looks[key] = self.workbook.add_format(properties)
        return self.looks[key]

    def sheet(self, name: str) -> Any:
        """Add a sheet of that name in the language, from right to left if that runs so."""
        is_alone = not (self.language.is_english or self.language.is_both)
        base = name.rstrip(" 0123456789")
        shown = self.language.translation(base) if is_alone else None
        own = shown + name[len(base) :] if shown else name
        sheet = self.workbook.add_worksheet(own)
        if self.language.direction == "rtl":
            sheet.right_to_left()
        return sheet

    def words(self, sheet: Any, row: int, column: int, text: str, **properties: Any) -> None:
        """Write a text of ours in the language, in the direction of the sheet."""
        shown = self.worded(text, is_broken="text_wrap" in properties)
        self.text(sheet, row, column, shown, **self.own | properties)

    @property
    def spoken(self) -> Language:
        """The language of sentences: in two languages their digits are Latin.

        LibreOffice turns the parts of a Persian number around where English stands before it.
        """
        return Language(self.language.code) if self.language.is_both else self.language

    def worded(self, text: str, *, is_broken: bool = False) -> str:
        """Return a text of ours in the language; of a long one, each language on its own line.

        A Persian text with isolated values is isolated itself: LibreOffice would set a number
        that ends it at the beginning.
        """
        has_lines = is_broken or len(text) > LINE
        shown = self.spoken.text(text, between="\n" if has_lines else catalogue.BETWEEN)
        is_mixed = self.language.direction == "rtl" and catalogue.LEFT_TO_RIGHT in shown
        return catalogue.isolate_right_to_left(shown) if is_mixed else shown

    def text(self, sheet: Any, row: int, column: int, text: str, **properties: Any) -> None:
        """Write a string; one like a formula stays text when a person edits it."""
        if not text:
            return
        if len(text) > LONGEST_TEXT:
            text = text[: LONGEST_TEXT - len(CUT)] + CUT
        if escape_formula(text) != text:
            properties["quote_prefix"] = True
        style, text = self.look(**properties) if properties else None, text.translate(UNREADABLE)
        if text.startswith(RICH):
            # Between these marks the library takes a text for its own XML; in parts it does not.
            parts = [text[:1], text[1:2], text[2:], *([style] if style else [])]
            sheet.write_rich_string(row, column, *parts)
        else:
            sheet.write_string(row, column, text, style)

    def number(
        self, sheet: Any, row: int, column: int, value: Decimal | int, form: str, **more: Any
    ) -> None:
        """Write a number with its first 15 digits."""
        # A Decimal is printed digit by digit; as a float the 16th digit could be off.
        sheet.write_number(row, column, fifteen_digits(value), self.number_look(form, **more))

    def sum(self, sheet: Any, cell: str, formula: str, value: Decimal | int, look: Any) -> None:
        """Write a formula with the number that it gives, for those who do not reckon."""
        sheet.write_formula(cell, f"={formula}", look, fifteen_digits(value))

    def blank(self, sheet: Any, row: int, column: int, **properties: Any) -> None:
        """Give an empty cell a look."""
        sheet.write_blank(row, column, None, self.look(**properties))

    def number_look(self, form: str, **more: Any) -> Any:
        """Return the look of a number: its sign stays at its left in a sheet from the right.

        A sheet has many numbers, and few looks of them.
        """
        key = (form, *more.items())
        if key not in self.forms:
            look = self.left_to_right | more
            worded = form.replace(_UNIT_OF_POINTS, self.language.text(_UNIT_OF_POINTS))
            self.forms[key] = self.look(num_format=in_digits(worded, self.language), **look)
        return self.forms[key]

    @cached_property  # it is asked for with each date
    def start(self) -> str:
        """The side that a line of the sheet begins at."""
        return "right" if self.language.direction == "rtl" else "left"

    @property
    def indent(self) -> dict[str, Any]:
        """The look of a text away from the edge; LibreOffice indents only some at the right."""
        return {"indent": 1} if self.start == "left" else {}

    @property
    def own(self) -> dict[str, Any]:
        """The look of a text of ours: in a sheet from right to left it runs so too."""
        return {"reading_order": 2, "align": "right"} if self.start == "right" else {}

    @property
    def left_to_right(self) -> dict[str, Any]:
        """The look of an id, a name or a number: it runs from left to right in any sheet."""
        return {"reading_order": 1, "align": "right"} if self.start == "right" else {}

    def wide(self, sheet: Any, row: int, span: tuple[int, float], text: str, **look: Any) -> None:
        """Write a text of ours over the columns of a span, as many lines high as it needs.

        The span is its last column, and how many letters are in a line over its columns.
        """
        last, letters = span
        shown = self.worded(text)
        sheet.set_row(row, 15 * lines_in(shown, letters) * look.get("font_size", 11) / 11 + 1)
        own: dict[str, Any] = {"text_wrap": True, "valign": "top", "align": "left"} | self.own
        if last:  # a month without a coin has one column
            sheet.merge_range(row, 0, row, last, "", self.look(**own | look))
        self.text(sheet, row, 0, shown, **own | look)

    def instant(
        self,
        sheet: Any,
        row: int,
        column: int,
        value: date | datetime,
        form: str = DAY_FORMAT,
        **more: Any,
    ) -> None:
        """Write a day, or an instant in whole seconds, as a date that filters understand."""
        if isinstance(value, datetime):
            value = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            value, form = value.replace(microsecond=0), INSTANT_FORMAT
        if value.year < _FIRST_YEAR:
            self.text(sheet, row, column, value_text(value), **more)
            return
        look = self.number_look(form, **{"align": self.start} | more)
        sheet.write_datetime(row, column, value, look)

    def jalali(self, sheet: Any, row: int, column: int, value: date, **more: Any) -> None:
        """Write the day of a date or an instant in the Jalali calendar, as a text."""
        day = self.language.number(catalogue.jalali_day(f"{value:%Y-%m-%d}"))
        self.text(sheet, row, column, day, **self.left_to_right | more)
