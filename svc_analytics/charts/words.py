"""What a chart says: each text in the language of its axes, as it is written on them."""

import re
from datetime import timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING

from svc_analytics.errors import ConfigError
from svc_analytics.instants import in_words
from svc_analytics.language.catalogue import ENGLISH, Language, isolate
from svc_analytics.messages import joined
from svc_analytics.money import format_amount, group_digits
from svc_analytics.periods import CALENDARS, GREGORIAN, JALALI, read_label

if TYPE_CHECKING:
    import matplotlib.axes


ROUNDED = Context(prec=80, rounding=ROUND_HALF_UP)  # for texts only: never fed back
_WHOLE = Decimal("0.01")  # from here on a share is written in whole percents
_FIRST_GREGORIAN = 1900  # an earlier year is of the Jalali calendar
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})(?: (.+))?")
CALENDARS_NAMED = "Jalali (Gregorian)"  # below an axis of days


def language_of(axes: "matplotlib.axes.Axes") -> Language:
    """Return the language of axes: English, unless they were made for another one."""
    language: Language = getattr(axes, "language", ENGLISH)
    return language


def in_line(axes: "matplotlib.axes.Axes", text: str) -> str:
    """Return a text that has one line, such as an entry of a legend."""
    return worded(text, language_of(axes))


def apart(axes: "matplotlib.axes.Axes", text: str) -> str:
    """Return a text that may have a line for each of two languages."""
    return worded(text, language_of(axes), "\n")


def worded(text: str, language: Language, between: str = " ") -> str:
    """Return a text in the language; a number in its digits.

    With both languages, the Persian of a sentence stands `between` and the English before it.
    """
    if not any(letter.isalpha() for letter in text):
        return language.number(text)
    translated = None if language.is_english else language.translation(text)
    if translated is None:
        return in_words(text)
    return f"{in_words(text)}{between}{translated}" if language.is_both else translated


def percent(ratio: Decimal) -> str:
    """Write a ratio as a percentage with 2 places, rounded half up.

    >>> percent(Decimal("0.01273686")), percent(Decimal("0.5"))
    ('1.27%', '50.00%')
    """
    return f"{cents(ratio.scaleb(2, ROUNDED))}%"


def cents(value: Decimal) -> str:
    """Write an amount with 2 places, rounded half up.

    >>> cents(Decimal("70251.355"))
    '70,251.36'
    """
    return group_digits(format(value.quantize(Decimal("0.01"), context=ROUNDED), "f"))


def six_digits(amount: Decimal) -> str:
    """Write an amount of a coin in six digits, or its whole part, rounded half up.

    >>> six_digits(Decimal("0.627379542862185491")), six_digits(Decimal("350651612.7279"))
    ('0.62738', '350,651,613')
    """
    places = min(max(5 - amount.adjusted(), 0), 18)
    rounded = amount.quantize(Decimal(1).scaleb(-places), context=ROUNDED)
    return group_digits(format_amount(rounded))


def tick_text(text: str, language: Language, between: str) -> str:
    """Return the label of a tick, a month in it with those of the other calendar."""
    lines = text.split("\n")
    match = _MONTH.fullmatch(lines[0]) if language.has_jalali else None
    beside = months_beside(int(match[1]), int(match[2])) if match else ""
    if not match or not beside:
        return "\n".join(worded(line, language, "\n") for line in lines)
    month = isolate(language.number(f"{match[1]}-{match[2]}"))
    first = f"{month}{between}({isolate(language.number(beside))})"
    marks = [worded(mark, language) for mark in [match[3], *lines[1:]] if mark]
    return between.join([first, *marks])


def calendar_of(label: str) -> str:
    """Return the calendar that a year or a month is written in: its years tell.

    >>> calendar_of("2026-10"), calendar_of("1405-08")
    ('gregorian', 'jalali')
    """
    return GREGORIAN if int(label[:4]) >= _FIRST_GREGORIAN else JALALI


def months_beside(year: int, month: int) -> str:
    """Return the months of the other calendar that a month lies in.

    >>> months_beside(2026, 10), months_beside(1405, 8)
    ('1405-07/08', '2026-10/11')
    """
    own = calendar_of(f"{year:04}")
    other = JALALI if own == GREGORIAN else GREGORIAN
    try:
        first = CALENDARS[own].first_day(year, month)
        after = CALENDARS[own].first_day(year + month // 12, month % 12 + 1)
        starts, ends = map(CALENDARS[other].split, (first, after - timedelta(days=1)))
    except (ValueError, OverflowError):  # no month of these calendars
        return ""
    text = f"{starts[0]:04}-{starts[1]:02}"
    return text if starts[:2] == ends[:2] else f"{text}/{ends[1]:02}"


def period_name(label: str) -> str:
    """Return the name of a month, a quarter or a year; any other text as it is.

    >>> period_name("2026-10"), period_name("1405-08"), period_name("2026-Q3")
    ('October 2026', 'Aban 1405', 'Q3 2026')
    """
    try:
        return read_label(label, calendar=calendar_of(label)).title
    except (ConfigError, ValueError):
        return label


def month_short(label: str) -> str:
    """Return the first letters of a month's name.

    >>> month_short("2026-10")
    'Oct'
    """
    return CALENDARS[calendar_of(label)].months[int(label[5:7]) - 1][:3]


def share(part: Decimal, whole: Decimal) -> str:
    """Write a part of a whole, or a change of it, as a percentage for a sentence.

    >>> share(Decimal("53.4"), Decimal(100)), share(Decimal("0.4"), Decimal(100))
    ('53%', '0.40%')
    """
    ratio = abs(ROUNDED.divide(part, whole))
    if ratio < _WHOLE:
        return percent(ratio)
    return f"{(ratio * 100).quantize(Decimal(1), ROUND_HALF_UP)}%"


def sentences(*said: str) -> str:
    """Return sentences as one text; empty ones are left out."""
    texts = list(filter(None, said))
    return joined("list.sentences", texts) if texts else ""
