"""Numbers for people: at a readable scale, marked where digits are hidden, points in one line.

Rounding is half up, on the decimal itself, and for display only: no rounded number is ever
used again. Files hold every digit.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.values import is_exact_number, is_ratio
from svc_analytics.messages import Message
from svc_analytics.money import EXACT, format_amount, group_digits

ROUNDED = "\N{ALMOST EQUAL TO}"  # before a number of which digits are hidden
USD_PLACES, RATE_PLACES, PERCENT_PLACES = 2, 8, 2
_DIGIT, _POINT = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"  # as wide as a digit, as a point
_HALF_UP = Context(prec=160, rounding=ROUND_HALF_UP)

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
    places = scale if kind == COIN else _PLACES.get(kind)
    if isinstance(value, int) or places is None:
        return exact_text(value, kind)
    number = value.scaleb(2, EXACT) if kind == RATIO else value
    shown = number.quantize(Decimal(1).scaleb(-places), context=_HALF_UP)
    mark = ROUNDED if shown != number else ""
    text = format(shown if shown else abs(shown), "f")  # no minus sign before a zero
    return f"{mark}{group_digits(text)}{'%' if kind == RATIO else ''}"


def coin_scales(tables: Iterable[pa.Table]) -> dict[str, int]:
    """Return the scale of each coin: the most places among its plain amounts in tables.

    The service states none. Amounts that were divided do not count.
    """
    scales: dict[str, int] = {}
    for table in (each for each in tables if "currency" in each.column_names):
        names = [field.name for field in table.schema if _is_plain_amount(field)]
        for currency in pc.unique(table["currency"]).drop_null().to_pylist():
            own = table.filter(pc.equal(table["currency"], currency))
            scales[currency] = reduce(_more_places, map(own.column, names), scales.get(currency, 0))
    return scales


def _is_plain_amount(field: pa.Field) -> bool:
    is_money = is_exact_number(field) and kind_of(field) == COIN
    return is_money and not is_divided(field.name)


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
