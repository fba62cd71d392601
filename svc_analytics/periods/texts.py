"""Periods as people write them: by number or by name, in every calendar and its digits."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError
from svc_analytics.periods.calendars import (
    CALENDARS,
    LENGTHS,
    MONTH,
    QUARTER,
    TO_DATE,
    YEAR,
    calendar_name,
    find_calendar,
)
from svc_analytics.periods.period import Period, month_of

# ---------- The door for what people type
# A month, a quarter, a year or a year to date.


def parse_period(text: str, now: int, zone: str = "UTC", calendar: str | None = None) -> Period:
    """Return the month, quarter or year that a person wrote, or a year to date.

    Months are those of `parse_month`. `2026-Q3`, `q3 2026` and `last quarter` are quarters,
    `2026`, `1405` and `this year` are years; `2026-10-ytd` is the year up to the end of that
    month, and `ytd`, or `2026-ytd`, up to the end of the newest month that is over.

    >>> parse_period("1405-Q3", 0, "Asia/Tehran").local_bounds
    '1 Mehr 1405 00:00 to 1 Dey 1405 00:00, Asia/Tehran'
    """
    written, wanted = read_text(text), calendar_name(calendar)
    if written.month:
        if read_text(written.month).kind != MONTH:
            raise ConfigError(f"{text!r} is no year to date: write it as 2026-10-ytd or 2026-ytd")
        period = parse_month(written.month, now, zone, calendar).around(TO_DATE)
    else:
        period = _find(written, now, zone, written.calendar or wanted)
    if calendar and period.calendar != calendar:
        raise _of_another_calendar(text, period, calendar)
    return period


def parse_month(text: str, now: int, zone: str = "UTC", calendar: str | None = None) -> Period:
    """Return the month that a person wrote, such as `2026-10`, `oct 2026` or `aban`.

    A name without a year is the latest month of that name that has begun. The calendar
    is that of the month as it is written: `aban` and `1405-08` are Jalali. `last month`
    and `this month` are of the calendar given, by default the Gregorian.

    >>> parse_month("aban 1405", 0, "Asia/Tehran").local_bounds
    '1 Aban 1405 00:00 to 1 Azar 1405 00:00, Asia/Tehran'
    """
    if read_text(text).kind != MONTH:
        raise not_a_month(text)
    return parse_period(text, now, zone, calendar)


def _find(written: PeriodWords, now: int, zone: str, calendar: str) -> Period:
    """Return the period that is written; without a year, the latest that has begun."""
    if written.kind == TO_DATE:
        return _year_to_date(written.year, month_of(now, zone, calendar))
    if written.year is not None:
        months = find_calendar(calendar).months_of(written.kind, written.year, written.number)
        return Period.of_months(*months, zone, calendar)
    running, length = month_of(now, zone, calendar).around(written.kind), LENGTHS[written.kind]
    if not written.number:
        return running.shift(written.shift)
    later = running.first // length + 1 - written.number
    return running.shift(-(later % (12 // length)))


def _year_to_date(year: int | None, running: Period) -> Period:
    """Return a year up to the end of the newest month that is over, whole if it is over."""
    newest, current = running.shift(-1), running.first // 12
    if year is not None and year < current:
        december = find_calendar(running.calendar).months_of(TO_DATE, year, 12)
        return Period.of_months(*december, running.zone, running.calendar)
    if year is not None and year > current:
        raise ConfigError(f"{year} has not begun: choose a year up to now")
    if newest.first // 12 < current:
        raise ConfigError(
            f"no month of {current} is over yet: write {running.around(TO_DATE).label} for the "
            f"running month, or {newest.around(YEAR).label} for the year before"
        )
    return newest.around(TO_DATE)


def _of_another_calendar(text: str, period: Period, calendar: str) -> ConfigError:
    """Name the periods of the wanted calendar that one of another calendar lies in."""
    first = month_of(period.start, period.zone, calendar).around(period.kind)
    return ConfigError(
        f"{text!r} is a {period.calendar} {period.kind}, not a {calendar} one: "
        f"write {first.label} or {first.shift(1).label}, or choose the calendar {period.calendar}"
    )


# ---------- Periods as people write them


_SHIFTS = {"this": 0, "last": -1}
# Forms, as `_match` takes them.
_A_QUARTER = r"(?:YEAR ?)?q ?(\d+)(?: ?YEAR)?"
_A_YEAR = r"(?:year )?YEAR"
_TO_DATE = r"(.*?) ?\b(?:(?:this )?year to date|to date|ytd)\b ?(.*)"
# Words of quarters and years that mean the same.
_SAME = (
    ("سه ماهه", "سهماهه"),
    *(
        (f"سهماهه {name}", f"q{number}")
        for number, name in enumerate(("اول", "دوم", "سوم", "چهارم"), 1)
    ),
    *(
        (f"{name} quarter", f"q{number}")
        for number, name in enumerate(("1st", "2nd", "3rd", "4th"), 1)
    ),
    ("quarter ", "q"),
    ("سال ", ""),
    ("امسال", "this year"),
    ("پارسال", "last year"),
)
_ALMOST_A_NUMBER = re.compile(r"(\d{4})\D?(\d\d?)(?:\D\d+)?", re.ASCII)
# Persian and Arabic digits, and letters that are typed in either way.
_FOLDED = str.maketrans("۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩يىكآ", "01234567890123456789ییکا", "\u0654")
_THE_WORD_MONTH = "ماه"


@dataclass(frozen=True)
class PeriodWords:
    """The reading of a period's text: its kind, and what it tells of year, calendar, place.

    `shift` is how many such periods after the running one.
    """

    kind: str
    year: int | None = None
    calendar: str | None = None
    number: int = 0  # of a month or a quarter in its year; 0 where none is named
    shift: int = 0
    month: str = ""  # up to which a year to date goes, as it is written


def read_text(text: str) -> PeriodWords:
    """Read a person's month, quarter, year or year to date.

    >>> read_text("q3 2026") == read_text("2026-Q3")
    True
    >>> read_text("۱۴۰۵-۰۸") == read_text("آبان ۱۴۰۵") == read_text("Aban 1405")
    True
    """
    check("month", text, str, 'it as text in quotes, such as "2026-10"')
    words = " ".join(_words(text))
    for known, same in _SAME:
        words = words.replace(known, same)
    if match := _match(_TO_DATE, words):
        return _read_to_date(" ".join(filter(None, match.groups())))
    before, _, unit = words.partition(" ")
    if before in _SHIFTS and unit in (QUARTER, YEAR):
        return PeriodWords(unit, shift=_SHIFTS[before])
    if match := _match(_A_YEAR, words):
        return _of_year(YEAR, match[1])
    if (match := _match(_A_QUARTER, words)) and not (match[1] and match[3]):
        return _read_quarter(text, match[1] or match[3], int(match[2]))
    return _read_month(text)


def _read_month(text: str) -> PeriodWords:
    """Read a person's month, such as `2026-10`, `oct 2026`, `aban` or `۱۴۰۵-۰۸`."""
    if match := _match(r"YEAR-(\d\d)", _folded(text).strip()):
        return _of_year(MONTH, match[1], int(match[2]))
    words = _words(text)
    if words[1:] == [MONTH] and words[0] in _SHIFTS:
        return PeriodWords(MONTH, shift=_SHIFTS[words[0]])
    names = [word for word in words if word.isalpha()]
    years = [word for word in words if _match("YEAR", word)]
    if len(names) != 1 or len(words) > 2 or len(names) + len(years) != len(words):
        raise not_a_month(text)
    return _named(names[0], next(iter(years), None), text)


def _match(form: str, text: str) -> re.Match[str] | None:
    """Match a text with a form, in which YEAR is a year of any calendar, behind its mark."""
    years = "|".join(rf"{each.mark.lower()}\d{{4}}" for each in CALENDARS.values())
    return re.fullmatch(form.replace("YEAR", f"({years})"), text, re.ASCII)


def _of_year(kind: str, year: str, number: int = 1) -> PeriodWords:
    return PeriodWords(kind, int(year[-4:]), _calendar_of(year), number)


def _read_quarter(text: str, year: str | None, number: int) -> PeriodWords:
    if not 1 <= number <= 4:
        raise ConfigError(f"{text!r} is not a quarter: a year has Q1 to Q4, such as 2026-Q3")
    return _of_year(QUARTER, year, number) if year else PeriodWords(QUARTER, number=number)


def _read_to_date(rest: str) -> PeriodWords:
    """Return the year up to what stands beside the words, a year or a month."""
    if match := _match(_A_YEAR, rest):
        return _of_year(TO_DATE, match[1])
    number = _match(r"YEAR (\d\d)", rest)
    return PeriodWords(TO_DATE, month=f"{number[1]}-{number[2]}" if number else rest)


def _named(name: str, year: str | None, text: str) -> PeriodWords:
    """Return the month of a name, whose year must be of the name's calendar."""
    other = year and _calendar_of(year)
    names = _names(other)
    if name not in names:
        raise _no_name(name, text)
    calendar, number, _ = names[name]
    if other and other != calendar:
        example = f"{name} {CALENDARS[calendar].example[:4]}"
        message = f"{text!r} has a {calendar} month and a {other} year: write it as {example}"
        raise ConfigError(message)
    return PeriodWords(MONTH, int(year[-4:]) if year else None, calendar, number)


def _calendar_of(year: str) -> str | None:
    """Return the calendar of a year that people alive write, by its mark and number."""
    mark, number = year[:-4].upper(), int(year[-4:])
    known = (each for each in CALENDARS.values() if each.mark == mark and number in each.years)
    return next((each.name for each in known), None)


def _names(first: str | None = None) -> dict[str, tuple[str, int, str]]:
    """Return every way to write a month, folded: its calendar, number, and usual spelling.

    A name of several calendars is that of the `first`, if it is one of them.
    """
    names: dict[str, tuple[str, int, str]] = {}
    for calendar in sorted(CALENDARS.values(), key=lambda each: each.name != first):
        for number, ways in enumerate(zip(calendar.months, calendar.spellings, strict=True), 1):
            words = " ".join(ways).lower().split()
            for word in words:
                usual = next(each for each in words if each.isascii() == word.isascii())
                names.setdefault(_folded(word), (calendar.name, number, usual))
    return names


def _folded(text: str) -> str:
    """Return a text in small letters and Latin digits, without marks of direction."""
    composed = unicodedata.normalize("NFKC", text)
    seen = "".join(letter for letter in composed if unicodedata.category(letter) != "Cf")
    return seen.casefold().translate(_FOLDED)


def _words(text: str) -> list[str]:
    """Split a text into words; in Persian a month may be followed by the word month."""
    words = [word for word in re.split(r"[\s,._-]+", _folded(text)) if word]
    return [word.removesuffix(_THE_WORD_MONTH) for word in words if word != _THE_WORD_MONTH]


def not_a_month(text: str) -> ConfigError:
    """Return the error for what is no month, with the way to write what is almost one."""
    almost = _ALMOST_A_NUMBER.fullmatch(_folded(text).strip())
    if almost and 1 <= int(almost[2]) <= 12:
        return ConfigError(f"{text!r} is not a month: write it as {almost[1]}-{int(almost[2]):02d}")
    return ConfigError(f"{text!r} is not a month: write it as 2026-10, october or aban 1405")


def _no_name(name: str, text: str) -> ConfigError:
    names = _names()
    likely = get_close_matches(name, names, 1)
    if not likely:
        return not_a_month(text)
    return ConfigError(f"no month {text!r}: did you mean {names[likely[0]][2]}?")
