"""Months as people write them: by number or by name, in either calendar and its digits.

Also quarters, years, and years to date.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from svc_analytics.calendars import CALENDARS, GREGORIAN, JALALI
from svc_analytics.errors import ConfigError

EXAMPLES = {GREGORIAN: "2026-10", JALALI: "1405-08"}
MONTH, QUARTER, YEAR, TO_DATE = "month", "quarter", "year", "year to date"
_LABEL = re.compile(r"(?P<year>\d{4})(?:-(?:(?P<month>\d\d)(?P<ytd>-ytd)?|Q(?P<quarter>[1-4])))?\Z")
_RELATIVE = {"this month": 0, "last month": -1}
_SHIFTS = {"this": 0, "last": -1}
_A_QUARTER = re.compile(r"(?:(\d{4}) ?)?q ?(\d+)(?: ?(\d{4}))?", re.ASCII)
_A_YEAR = re.compile(r"(?:year )?(\d{4})", re.ASCII)
_TO_DATE = re.compile(r"(.*?) ?\b(?:(?:this )?year to date|to date|ytd)\b ?(.*)", re.ASCII)
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
_NUMBER = re.compile(r"(\d{4})-(\d\d)", re.ASCII)
_ALMOST_A_NUMBER = re.compile(r"(\d{4})\D?(\d\d?)(?:\D\d+)?", re.ASCII)
# People alive write years of these spans; the rest says nothing of the calendar.
_YEARS = {JALALI: range(1300, 1500), GREGORIAN: range(1900, 2200)}
_PERSIAN = (
    *("فروردین", "اردیبهشت", "خرداد", "تیر", "مرداد", "شهریور"),
    *("مهر", "آبان", "آذر", "دی", "بهمن", "اسفند"),
)
# Other usual spellings, by the month's place in its year.
_SPELLINGS: dict[str, dict[int, tuple[str, ...]]] = {
    GREGORIAN: {9: ("sept",)},
    JALALI: {
        1: ("farvardeen",),
        2: ("ordibehest", "ordebehesht"),
        3: ("khurdad",),
        4: ("teer",),
        5: ("amordad", "امرداد"),
        6: ("shahriver", "sharivar"),
        7: ("mihr",),
        9: ("azer",),
        10: ("dei",),
        12: ("isfand", "esphand"),
    },
}
# Persian and Arabic digits, and letters that are typed in either way.
_FOLDED = str.maketrans("۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩يىكآ", "01234567890123456789ییکا", "\u0654")
_THE_WORD_MONTH = "ماه"


def match_label(label: str) -> re.Match[str] | None:
    """Match the label of a period; its groups are year, month, ytd and quarter."""
    return _LABEL.match(label)


def kind_of(label: str) -> str:
    """Return what a label is of.

    >>> kind_of("2026-10"), kind_of("2026-Q3"), kind_of("2026"), kind_of("2026-10-ytd")
    ('month', 'quarter', 'year', 'year to date')
    """
    match = match_label(label)
    if match is None or (match["month"] and not match["ytd"]):
        return MONTH
    return QUARTER if match["quarter"] else TO_DATE if match["ytd"] else YEAR


def noun_of(label: str) -> str:
    """Return what sentences call the period of a label.

    >>> noun_of("2026-Q3"), noun_of("2026-10-ytd"), noun_of("2026-10")
    ('quarter', 'period', 'month')
    """
    return "period" if kind_of(label) == TO_DATE else kind_of(label)


@dataclass(frozen=True)
class MonthText:
    """What a text says of a month: its number, and its calendar and year if it tells them."""

    number: int
    year: int | None
    calendar: str | None


@dataclass(frozen=True)
class LongerText:
    """What a text says of a quarter, a year or a year to date.

    `shift` is how many of them after the one that is named, or that is running.
    """

    kind: str
    year: int | None = None
    calendar: str | None = None
    number: int | None = None  # of a quarter in its year
    shift: int = 0
    month: str = ""  # up to which a year to date goes, as it is written


def read_longer(text: str) -> LongerText | None:
    """Read a person's quarter, year or year to date; None for what may be a month.

    >>> read_longer("q3 2026") == read_longer("2026-Q3"), read_longer("oct 2026")
    (True, None)
    """
    words = " ".join(_words(text))
    for known, same in _SAME:
        words = words.replace(known, same)
    before, _, unit = words.partition(" ")
    if before in _SHIFTS and unit in (QUARTER, YEAR):
        return LongerText(unit, shift=_SHIFTS[before])
    if match := _TO_DATE.fullmatch(words):
        return _read_to_date(" ".join(filter(None, match.groups())))
    if match := _A_YEAR.fullmatch(words):
        return LongerText(YEAR, int(match[1]), _calendar_of(int(match[1])))
    if (match := _A_QUARTER.fullmatch(words)) and not (match[1] and match[3]):
        return _read_quarter(text, match[1] or match[3], int(match[2]))
    return None


def _read_quarter(text: str, year: str | None, number: int) -> LongerText:
    if not 1 <= number <= 4:
        raise ConfigError(f"{text!r} is not a quarter: a year has Q1 to Q4, such as 2026-Q3")
    if year is None:
        return LongerText(QUARTER, number=number)
    return LongerText(QUARTER, int(year), _calendar_of(int(year)), number)


def _read_to_date(rest: str) -> LongerText:
    """Return the year up to what stands beside the words, a year or a month."""
    if match := _A_YEAR.fullmatch(rest):
        return LongerText(TO_DATE, int(match[1]), _calendar_of(int(match[1])))
    number = re.fullmatch(r"(\d{4}) (\d\d)", rest, re.ASCII)
    month = f"{number[1]}-{number[2]}" if number else rest
    calendar = read_month(month).calendar if rest and read_relative(rest) is None else None
    return LongerText(TO_DATE, calendar=calendar, month=month)


def read_relative(text: str) -> int | None:
    """Return how many months after the running one a text names, if it counts from there.

    >>> read_relative("Last month"), read_relative("october")
    (-1, None)
    """
    return _RELATIVE.get(" ".join(_words(text)))


def read_month(text: str) -> MonthText:
    """Read a person's month, such as `2026-10`, `oct 2026`, `aban` or `۱۴۰۵-۰۸`.

    >>> read_month("۱۴۰۵-۰۸") == read_month("آبان ۱۴۰۵") == read_month("Aban 1405")
    True
    """
    if number := _NUMBER.fullmatch(_folded(text).strip()):
        year = int(number[1])
        return MonthText(int(number[2]), year, _calendar_of(year))
    words = _words(text)
    names = [word for word in words if word.isalpha()]
    years = [int(word) for word in words if word.isascii() and word.isdigit() and len(word) == 4]
    if len(names) != 1 or len(words) > 2 or len(names) + len(years) != len(words):
        raise _not_a_month(text)
    return _named(names[0], next(iter(years), None), text)


def _named(name: str, year: int | None, text: str) -> MonthText:
    """Return the month of a name, whose year must be of the name's calendar."""
    if name not in _NAMES:
        raise _no_name(name, text)
    calendar, number = _NAMES[name]
    other = None if year is None else _calendar_of(year)
    if other not in (None, calendar):
        example = f"{name} {EXAMPLES[calendar][:4]}"
        message = f"{text!r} has a {calendar} month and a {other} year: write it as {example}"
        raise ConfigError(message)
    return MonthText(number, year, calendar)


def _calendar_of(year: int) -> str | None:
    return next((calendar for calendar, years in _YEARS.items() if year in years), None)


def _folded(text: str) -> str:
    """Return a text in small letters and Latin digits, without marks of direction."""
    composed = unicodedata.normalize("NFKC", text)
    seen = "".join(letter for letter in composed if unicodedata.category(letter) != "Cf")
    return seen.casefold().translate(_FOLDED)


def _words(text: str) -> list[str]:
    """Split a text into words; in Persian a month may be followed by the word month."""
    words = [word for word in re.split(r"[\s,._-]+", _folded(text)) if word]
    return [word.removesuffix(_THE_WORD_MONTH) for word in words if word != _THE_WORD_MONTH]


def _not_a_month(text: str) -> ConfigError:
    almost = _ALMOST_A_NUMBER.fullmatch(_folded(text).strip())
    if almost and 1 <= int(almost[2]) <= 12:
        return ConfigError(f"{text!r} is not a month: write it as {almost[1]}-{int(almost[2]):02d}")
    return ConfigError(f"{text!r} is not a month: write it as 2026-10, october or aban 1405")


def _no_name(name: str, text: str) -> ConfigError:
    likely = get_close_matches(name, _NAMES, 1)
    if not likely:
        return _not_a_month(text)
    calendar, number = _NAMES[likely[0]]
    names = CALENDARS[calendar].months if likely[0].isascii() else _PERSIAN
    return ConfigError(f"no month {text!r}: did you mean {names[number - 1].lower()}?")


def _names_of(calendar: str, others: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Return every way to write a calendar's months, folded, with calendar and number."""
    return {
        _folded(name): (calendar, number)
        for number, *names in zip(range(1, 13), CALENDARS[calendar].months, others, strict=True)
        for name in (*names, *_SPELLINGS[calendar].get(number, ()))
    }


_SHORT = [name[:3] for name in CALENDARS[GREGORIAN].months]
_NAMES = _names_of(GREGORIAN, _SHORT) | _names_of(JALALI, _PERSIAN)
