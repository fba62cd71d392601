"""Months as people write them: by number or by name, in either calendar and its digits."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from svc_analytics.calendars import CALENDARS, GREGORIAN, JALALI
from svc_analytics.errors import ConfigError

EXAMPLES = {GREGORIAN: "2026-10", JALALI: "1405-08"}
_RELATIVE = {"this month": 0, "last month": -1}
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
_FOLDED = str.maketrans("۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩يىكآ", "01234567890123456789ییکا")
_THE_WORD_MONTH = "ماه"


@dataclass(frozen=True)
class MonthText:
    """What a text says of a month: its number, and its calendar and year if it tells them."""

    number: int
    year: int | None
    calendar: str | None


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
