"""Amounts: decimal text to Decimal and back, exact or refused.

The contract writes every amount as a decimal string. A lake holds it as
DECIMAL(38,18), so at most 20 digits before the point and 18 behind it.
"""

import re
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation
from fractions import Fraction

from svc_analytics.errors import DataError
from svc_analytics.messages import Message

INTEGER_DIGITS = 20
SCALE = 18
PRECISION = INTEGER_DIGITS + SCALE
RATIO_SCALE = 8
PERCENT_SCALE = 8

# Validated as text before any cast, because casts round and are lax.
AMOUNT_PATTERN = rf"^-?[0-9]{{1,{INTEGER_DIGITS}}}(\.[0-9]{{1,{SCALE}}})?$"
_AMOUNT = re.compile(AMOUNT_PATTERN.replace("$", r"\Z"))
_PLAIN = re.compile(r"-?(?P<whole>[0-9]+)(\.(?P<places>[0-9]+))?\Z")
_WITH_ZEROS = re.compile(
    rf"(?P<sign>-?)0*(?P<whole>[0-9]{{1,{INTEGER_DIGITS}}})"
    rf"(?:(?P<places>\.[0-9]{{1,{SCALE}}})0*)?\Z"
)

# Wide enough for any sum or product of amounts; traps instead of rounding.
EXACT = Context(prec=160, traps=[Inexact, InvalidOperation])
# For what is rounded once, where it is written.
HALF_UP = Context(prec=160, rounding=ROUND_HALF_UP)


def parse_amount(text: str) -> Decimal:
    """Read a contract amount exactly, or refuse it.

    A 19th digit behind the point is refused, never rounded away.

    >>> parse_amount("0.10")
    Decimal('0.10')
    >>> parse_amount("1e3")
    Traceback (most recent call last):
        ...
    svc_analytics.errors.DataError: not a plain decimal amount: '1e3'
    """
    if not isinstance(text, str) or not _AMOUNT.match(text):
        raise DataError(_why_refused(text))
    return Decimal(text)


def _why_refused(text: object) -> Message:
    plain, shown = _PLAIN.match(text) if isinstance(text, str) else None, f"{text!r:.60}"
    if not plain:
        return Message("amount.not_plain", text=shown)
    places = len(plain["places"] or "")
    if places > SCALE:
        return Message("amount.too_precise", count=f"{places:,}", most=SCALE)
    return Message("amount.too_large", count=f"{len(plain['whole']):,}", text=shown)


def drop_surplus_zeros(text: str) -> str:
    """Return an amount's text without the zeros that `parse_amount` has no place for.

    >>> drop_surplus_zeros("1.50000000000000000000"), drop_surplus_zeros("1.50")
    ('1.500000000000000000', '1.50')
    """
    if len(text) <= INTEGER_DIGITS or _AMOUNT.match(text):  # too short for a surplus one
        return text
    surplus = _WITH_ZEROS.match(text)
    return surplus["sign"] + surplus["whole"] + (surplus["places"] or "") if surplus else text


def format_amount(value: Decimal) -> str:
    """Write an amount as plain digits, without exponent or trailing zeros.

    >>> format_amount(Decimal("1E-18")), format_amount(Decimal("2.500"))
    ('0.000000000000000001', '2.5')
    """
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def round_half_up(value: Fraction, places: int) -> Decimal:
    """Round an exact number once, half away from zero, to so many decimal places.

    >>> round_half_up(Fraction(-1, 8), 2), round_half_up(Fraction(2, 3), 4)
    (Decimal('-0.13'), Decimal('0.6667'))
    """
    steps = int(abs(value) * 10**places + Fraction(1, 2))
    return Decimal(-steps if value < 0 else steps).scaleb(-places, EXACT)


def as_decimal(value: Fraction) -> Decimal:
    """Write an exact number as a decimal: every digit, or 18 places of one that has no end.

    >>> as_decimal(Fraction(483, 500)), as_decimal(Fraction(2, 3))
    (Decimal('0.966'), Decimal('0.666666666666666667'))
    """
    try:
        return EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))
    except Inexact:
        return round_half_up(value, SCALE)


def percent_change(old: Decimal, new: Decimal) -> Decimal | None:
    """Reckon the change of a figure, in per cent of `old` without its sign.

    So plus always says that the figure rose, and minus that it fell, also where `old` is
    negative. The quotient is exact, rounded once, half up, to 8 places. None where it would mean
    nothing: of zero, and where the sign changes.

    >>> percent_change(Decimal("40"), Decimal("50")), percent_change(Decimal("-50"), Decimal("-25"))
    (Decimal('25.00000000'), Decimal('50.00000000'))
    """
    if not old or (new and old.is_signed() != new.is_signed()):
        return None
    exact = 100 * (Fraction(new) - Fraction(old)) / abs(Fraction(old))
    return round_half_up(exact, PERCENT_SCALE)


def is_plain(text: str) -> bool:
    """Whether a text is a plain decimal.

    >>> [is_plain(text) for text in ("-0.10", "1e3", "btc", "2026-10-01")]
    [True, False, False, False]
    """
    return bool(_PLAIN.match(text))


def group_digits(text: str) -> str:
    """Separate the thousands of a plain decimal text, for people.

    >>> group_digits("-1234567.8901")
    '-1,234,567.8901'
    """
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole, dot, fraction = digits.partition(".")
    return f"{sign}{int(whole):,}{dot}{fraction}"
