"""The days and months on an axis of a picture, in both calendars where a language has two."""

import re
from datetime import timedelta

from svc_analytics.charts.words import worded
from svc_analytics.language.catalogue import Language
from svc_analytics.language.isolation import isolate
from svc_analytics.periods import CALENDARS, GREGORIAN, JALALI

CALENDARS_NAMED = "Jalali (Gregorian)"  # below an axis of days
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})(?: (.+))?")
_FIRST_GREGORIAN = 1900  # an earlier year is of the Jalali calendar


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
