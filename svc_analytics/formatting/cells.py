"""Values as people read them: numbers at a readable scale, and the cells of tables to display.

A number of which digits are hidden is marked, and has its exact text beside it. What is unknown
has a note that says why.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.status_line import NOWHERE, StatusLine, running
from svc_analytics.formatting.texts import escape_invisible, visible
from svc_analytics.formatting.values import display_text, is_exact_number, is_ratio
from svc_analytics.instants import in_words, readable_instant
from svc_analytics.messages import MESSAGE_COLUMN, TEXTS, Message, stored_text
from svc_analytics.money import EXACT, HALF_UP, format_amount, group_digits
from svc_analytics.periods import GREGORIAN, find_calendar

ROUNDED = "\N{ALMOST EQUAL TO}"  # before a number of which digits are hidden
USD_PLACES, RATE_PLACES, PERCENT_PLACES = 2, 8, 2
_RATE_DIGITS = 4  # that a rate shows at least: some coins are worth less than 0.00000001 USD
_DIGIT, _POINT = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"  # as wide as a digit, as a point

_USD_RATES = ("low", "median", "high", "rate")  # and every column whose name ends in _rate
# A word of every name of a ratio. A coin's amounts, cast to its own 8 places, are none.
_RATIO_WORDS = {"ratio", "rate", "share", "concentration"}
_NOT_MONEY = ("line_no", "entry_no", "days_to_refund", "version", "record_version")
_CHANGES = ("old", "new", "difference")  # of figures of several units
# Divided once per record: more places than the coin has, so they do not tell its scale.
_DERIVED = ("fee_leakage", "fee_kept", "ticket_avg", "ticket_median", "value", *_CHANGES)

# What a number is of, where its column or a column beside it says so.
COUNT, RATIO, USD, RATE, COIN, PLAIN = "count", "ratio", "USD", "rate", "coin", "plain"
POINTS = "points"  # the difference of two ratios, in percentage points
_UNITS = {"coin": COIN, "USD": USD, "USD per coin": RATE, "ratio": RATIO}
_PLACES = {USD: USD_PLACES, RATE: RATE_PLACES, RATIO: PERCENT_PLACES, COUNT: 0}


def kind_of(field: pa.Field) -> str:
    """Return the kind of a column's numbers, by its type and name."""
    if field.name in _NOT_MONEY or field.name.endswith("percent"):
        return PLAIN
    if is_ratio(field) and not _RATIO_WORDS.isdisjoint(field.name.split("_")):
        return RATIO
    if not pa.types.is_decimal(field.type):
        return COUNT
    if field.name in _USD_RATES or field.name.endswith("_rate"):
        return RATE
    return USD if field.name.startswith("usd_") else COIN


def kind_of_unit(unit: str) -> str:
    """Return the kind of a unit's numbers; all but amounts and ratios are counts.

    >>> kind_of_unit("USD per coin"), kind_of_unit("payments")
    ('rate', 'count')
    """
    return _UNITS.get(unit, COUNT)


def is_divided(name: str) -> bool:
    """Whether amounts of this name were divided, and so have more places than their coin."""
    return name in _DERIVED


def unit_name(kind: str, currency: str) -> str:
    """Return the unit of a kind of number: USD, USD per coin, or the coin itself."""
    if kind == RATE:
        return Message("USD per {coin}", coin=currency) if currency else "USD per coin"
    return {USD: "USD", COIN: currency}.get(kind, "")


def exact_text(value: Decimal | int, kind: str = COIN) -> str:
    """Write every digit of a number, with thousands separators; a ratio as a percentage.

    >>> exact_text(Decimal("0.01273686"), RATIO), exact_text(Decimal("93942.931498"))
    ('1.273686%', '93,942.931498')
    """
    if isinstance(value, int):
        return str(value) if kind == PLAIN else f"{value:,}"
    if kind == PLAIN:
        return format(value, "f")  # never as 1E-8
    if kind == RATIO:
        return f"{group_digits(format_amount(value.scaleb(2, EXACT)))}%"
    return group_digits(format_amount(value))


def readable_text(value: Decimal | int, kind: str = COIN, scale: int | None = None) -> str:
    """Write a number at the scale of its kind, rounded half up, marked where digits are hidden.

    A coin's amounts have the places of its `scale`; without one, every digit in use.

    >>> readable_text(Decimal("93942.935"), USD), readable_text(Decimal("0.5"), COIN, 8)
    ('≈93,942.94', '0.50000000')
    """
    shown = rounded(value, kind, scale)
    if isinstance(value, int) or shown is None:
        return exact_text(value, kind)
    mark = ROUNDED if shown != value else ""
    number = shown.scaleb(2, EXACT) if kind == RATIO else shown
    text = format(number if number else abs(number), "f")  # no minus sign before a zero
    return f"{mark}{group_digits(text)}{'%' if kind == RATIO else ''}"


def rounded(value: Decimal | int, kind: str, scale: int | None = None) -> Decimal | None:
    """Return a number as it is read, rounded half up; None where every digit is shown.

    >>> rounded(Decimal("0.061149"), RATIO), rounded(Decimal("93942.935"), USD)
    (Decimal('0.0611'), Decimal('93942.94'))
    """
    places = scale if kind == COIN else _PLACES.get(kind)
    if isinstance(value, int) or places is None:
        return None
    places = rate_places(value) if kind == RATE else places
    places += 2 if kind == RATIO else 0
    return value.quantize(Decimal(1).scaleb(-places), context=HALF_UP)


def rate_places(value: Decimal | int) -> int:
    """Return the places of a rate: more than the usual ones where it would look like nothing.

    >>> rate_places(Decimal("64000.5")), rate_places(Decimal("0.000000000001504753"))
    (8, 15)
    """
    first = Decimal(value).adjusted() if value else 0
    return max(RATE_PLACES, _RATE_DIGITS - 1 - first)


def coin_scales(tables: Iterable[pa.Table]) -> dict[str, int]:
    """Return the scale of each coin: the most places among its plain amounts in tables.

    The service states none. Amounts that were divided do not count.
    """
    scales: dict[str, int] = {}
    for table in (each for each in tables if "currency" in each.column_names):
        names = [
            field.name
            for field in table.schema
            if is_exact_number(field) and kind_of(field) == COIN and not is_divided(field.name)
        ]
        for currency in pc.unique(table["currency"]).drop_null().to_pylist():
            own = table.filter(pc.equal(table["currency"], currency))
            scales[currency] = reduce(_more_places, map(own.column, names), scales.get(currency, 0))
    return scales


def _more_places(few: int, amounts: pa.ChunkedArray) -> int:
    """Return the most places that amounts have, trailing zeros left out, and no less than `few`."""
    many = amounts.type.scale
    middle = few  # nearly always no column of a coin has more than those before it
    while few < many:
        cut = pc.round(amounts, middle, "towards_zero")  # the one mode that never overflows
        is_whole = pc.all(pc.equal(cut, amounts)).as_py() is not False
        few, many = (few, middle) if is_whole else (middle + 1, many)
        middle = (few + many) // 2
    return few


def paddings(texts: Sequence[str]) -> list[str]:
    """Return the padding behind each number, so that right-aligned points stand in one line.

    >>> [padding.count(_DIGIT) for padding in paddings(["1.25", "3", "0.5%"])]
    [0, 2, 0]
    """
    fractions = [text.partition(".")[1:] for text in texts]
    longest = max((len(fraction) for _, fraction in fractions), default=0)
    has_point = any(point for point, _ in fractions)
    return [
        _POINT * (has_point and not point) + _DIGIT * (longest - len(fraction))
        for point, fraction in fractions
    ]


def plain_spaces(text: str) -> str:
    """Write the padding of numbers as ordinary spaces, for a terminal."""
    return text.replace(_DIGIT, " ").replace(_POINT, " ")


def scale_of(scales: Mapping[str, int], currency: Any) -> int | None:
    """Return the places of a coin's amounts, None where they are not known."""
    return scales.get(str(currency)) if currency else None


DASH = "\N{EN DASH}"
SHADES = 5
NO_VALUE = "the record has no value here"
_FIGURES = ("implied_rate_at", "rate_record_id")  # texts that no record has: as unknown as numbers
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
    below: "Cell | None" = None  # a smaller value below it
    shade: int = 0  # from 0, none, to SHADES
    number: Number | None = field(default=None, compare=False, repr=False)
    at: date | None = field(default=None, compare=False, repr=False)  # the day or instant of it

    @property
    def in_english(self) -> str:
        """Its text, with days as people say them; those of a column stand in line."""
        if self.at is None:
            return in_words(self.text) if isinstance(self.text, Message) else self.text
        words = in_words(self.text, has_seconds=True)
        return f"{_DIGIT}{words}" if words[1] == " " else words

    @property
    def look(self) -> str:
        """The CSS classes of its cell in a page."""
        kind = "n" if self.is_number else "fixed" if self.is_fixed else "text"
        return f"{kind}{' unknown' * bool(self.note)}{f' shade{self.shade}' * bool(self.shade)}"

    @property
    def hover(self) -> str:
        """The text at the pointer: every digit, or why it is unknown."""
        own = self.note or self.exact
        if self.below is None or not (own or self.below.hover):
            return own
        return f"{own or self.text}, {self.below.hover or self.below.text}"

    @property
    def is_foreign(self) -> bool:
        """Whether its text may run from right to left, so that it must be isolated."""
        return not self.is_number and not self.text.isascii() and not self.note


def number_cell(
    value: Any, kind: str, scale: int | None = None, *, is_exact: bool = False, why: str = ""
) -> Cell:
    """Return a number as a cell: at a readable scale, or with every digit if `is_exact`.

    None is a dash, with the reason why it is unknown.

    Its unit is not in it: the column `currency`, or the head, names it once. Nor is the mark of
    a rounded number, which stands in the head too.
    """
    if value is None:
        return unknown_cell(why, is_number=True)
    exact = exact_text(value, kind)
    shown = exact if is_exact else readable_text(value, kind, scale)
    hidden = exact if shown.startswith(ROUNDED) else ""
    number = Number(value, kind, scale)
    return Cell(shown.removeprefix(ROUNDED), is_number=True, exact=hidden, number=number)


def read_difference(
    old: Decimal, new: Decimal, kind: str, scale: int | None = None, *, is_exact: bool = False
) -> Cell:
    """Return a difference as that of both numbers as they are read, so that they foot.

    >>> cell = read_difference(Decimal("206.547"), Decimal("209.052"), USD)
    >>> cell.text, cell.exact
    ('2.50', '2.505')
    """
    cell = number_cell(EXACT.subtract(new, old), kind, scale, is_exact=is_exact)
    before, after = (rounded(each, kind, scale) for each in (old, new))
    if is_exact or before is None or after is None:
        return cell
    shown = number_cell(EXACT.subtract(after, before), kind, scale)
    return replace(cell, text=shown.text, exact=cell.exact or cell.text)


def unknown_cell(why: str, *, is_number: bool) -> Cell:
    """Return a value that is not there as a dash, with the reason."""
    return Cell(DASH, note=why, is_number=is_number)


@dataclass(frozen=True)
class CellMaker:
    """Makes the cells of one table's rows."""

    schema: pa.Schema
    why: str = "unknown"
    status_line: StatusLine = NOWHERE
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
            why = self.why if is_number or field.name in _FIGURES else NO_VALUE
            return unknown_cell(why, is_number=is_number)
        if is_number:
            currency = str(row.get("currency") or "")
            scales = self.status_line.scales if self.scales is None else self.scales
            scale = scale_of(scales, currency)
            return number_cell(value, kind_in_row(row, field), scale, is_exact=self.is_exact)
        if field.name in TEXTS:
            return Cell(visible(stored_text(str(value), row.get(MESSAGE_COLUMN))))
        if isinstance(value, datetime):
            return self._instant(value)
        text = self._text(value)
        if field.name in PERIODS and self.status_line.is_running(value, field.name):
            text = running(text)
        at = value if isinstance(value, date) else None
        return Cell(text, is_fixed=bool(at) or field.name in PERIODS, at=at)

    def _instant(self, at: datetime) -> Cell:
        """Return an instant to the second, so that all of a column have one length."""
        exact = self._text(at, "microseconds") if at.microsecond else ""
        if exact and self.is_exact:
            return Cell(exact, is_fixed=True, at=at)
        return Cell(self._text(at), is_fixed=True, exact=exact, at=at)

    def _text(self, value: Any, timespec: str = "seconds") -> str:
        """Write a value; a local day or time of a Jalali month has its Jalali day first."""
        text, calendar = _plain(value, timespec), self.status_line.calendar
        is_local = isinstance(value, date) and getattr(value, "tzinfo", None) is None
        if calendar == GREGORIAN or not is_local:
            return text
        day = value.date() if isinstance(value, datetime) else value
        return f"{find_calendar(calendar).day_text(day)} ({text})"


def kind_in_row(row: Mapping[str, Any], field: pa.Field) -> str:
    """Return the kind of a number; beside a column `unit`, it is that of the unit."""
    unit = row.get("unit") if field.name in _OF_A_UNIT else None
    return kind_of_unit(str(unit)) if unit else kind_of(field)


def _plain(value: Any, timespec: str) -> str:
    if isinstance(value, datetime):
        return readable_instant(value, timespec)
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
