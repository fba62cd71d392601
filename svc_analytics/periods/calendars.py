"""The calendars: their months and days, and how each writes and reads its labels."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError
from svc_analytics.messages import Message, translated

MONTH, QUARTER, YEAR, TO_DATE = "month", "quarter", "year", "year to date"
LENGTHS = {MONTH: 1, QUARTER: 3, YEAR: 12}  # months; a year to date has one to twelve
Months = tuple[str, int, int]  # a kind, the first month since the year 0, and how many there are
_LABEL = re.compile(
    r"(?P<mark>[A-Z]*)(?P<year>\d{4})"
    r"(?:-(?:(?P<month>\d\d)(?P<to_date>-ytd)?|Q(?P<quarter>[1-4])))?\Z",
    re.ASCII,
)


@dataclass(frozen=True)
class Calendar:
    """A calendar of twelve months a year, from the `earliest` month to the `latest`.

    In every zone they hold the times that a lake can hold, 1970 to 9998 in UTC, and at least a
    month before. `split` gives the year, month and day of a date. People alive write years of the
    span `years`: a label of such a year is of this calendar. Where spans meet, a `mark` in front of
    the year tells them apart.
    """

    name: str
    months: tuple[str, ...]
    spellings: tuple[str, ...]  # for each month: other ways to write it, in words
    first_day: Callable[[int, int], date]
    split: Callable[[date], tuple[int, int, int]]
    earliest: tuple[int, int]
    latest: tuple[int, int]
    years: range
    example: str  # of the label of a month
    mark: str = ""

    def label(self, kind: str, first: int, count: int) -> str:
        """Write a label, such as `2026-10`, `2026-Q3`, `2026` or `2026-10-ytd`."""
        year, place = self.year_text(first // 12), first % 12
        if kind == YEAR:
            return year
        if kind == QUARTER:
            return f"{year}-Q{place // 3 + 1}"
        return f"{year}-{place + count:02d}{'-ytd' * (kind == TO_DATE)}"

    def read(self, label: str) -> Months:
        """Read a label as `label` writes it, or raise `ConfigError`."""
        match = _LABEL.match(label)
        if match is None or match["mark"] != self.mark:
            raise self.refusal(label)
        number = match["month"] or match["quarter"] or 1
        return self.months_of(_kind_of(match), int(match["year"]), int(number))

    def months_of(self, kind: str, year: int, number: int = 1) -> Months:
        """Return the months of a period of a year, up to the month `number` for a year to date."""
        count = LENGTHS.get(kind, number)
        last = number if kind == TO_DATE else number * count
        self._place(year, last)
        return kind, self._place(year, last - count + 1), count

    def title(self, kind: str, first: int, count: int) -> str:
        """Write the name of a period for people: `October 2026`, `Q3 2026` or `Year 2026`."""
        year, place = self.year_text(first // 12), first % 12
        if kind == QUARTER:
            return Message("part.year", name=translated(f"Q{place // 3 + 1}"), year=year)
        if kind == YEAR:
            return Message("part.year", name=translated("Year"), year=year)
        if count == 1:
            return Message("part.year", name=translated(self.months[place]), year=year)
        months = {
            "name": translated(self.months[place]),
            "last": translated(self.months[count - 1]),
        }
        return Message("part.months", **months, year=year)

    def year_text(self, year: int) -> str:
        """Write a year as it stands in labels."""
        return f"{self.mark}{year:04d}"

    def day_text(self, day: date) -> str:
        """Write a day in the calendar, such as `2026-10-23` or `1405-08-01`."""
        year, number, place = self.split(day)
        return f"{self.year_text(year)}-{number:02d}-{place:02d}"

    def refusal(self, label: str) -> ConfigError:
        """Return the error for what is no label of a month of the calendar."""
        message = f"{label!r} is not a month of the {self.name} calendar"
        return ConfigError(f"{message}: write it as {self.example}")

    def _place(self, year: int, number: int) -> int:
        """Count the months from the year 0 to a month, or raise `ConfigError` if there is none."""
        if not 1 <= number <= 12 or not self.earliest <= (year, number) <= self.latest:
            raise self.refusal(f"{self.year_text(year)}-{number:02d}")
        return year * 12 + number - 1


def _kind_of(match: re.Match[str]) -> str:
    if match["month"]:
        return TO_DATE if match["to_date"] else MONTH
    return QUARTER if match["quarter"] else YEAR


def noun_of(folder: str) -> str:
    """Return the noun for the period of a label, or of a statement's folder.

    >>> noun_of("2026-Q3"), noun_of("2026-10-ytd"), noun_of("2026-10@Asia-Tehran")
    ('quarter', 'period', 'month')
    """
    match = _LABEL.match(folder.partition("@")[0])
    kind = _kind_of(match) if match else MONTH
    return "period" if kind == TO_DATE else kind


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(", "))


_GREGORIAN = Calendar(
    name="gregorian",
    months=_names(
        "January, February, March, April, May, June, "
        "July, August, September, October, November, December"
    ),
    spellings=_names("jan, feb, mar, apr, may, jun, jul, aug, sep sept, oct, nov, dec"),
    first_day=lambda year, month: date(year, month, 1),
    split=lambda day: (day.year, day.month, day.day),
    earliest=(1969, 1),
    latest=(9999, 1),
    years=range(1900, 2200),
    example="2026-10",
)


def _jalali_first_day(year: int, month: int) -> date:
    import jdatetime  # takes long to load, and few use this calendar

    first: date = jdatetime.date(year, month, 1).togregorian()
    return first


def _jalali_split(day: date) -> tuple[int, int, int]:
    import jdatetime  # as above

    jalali = jdatetime.date.fromgregorian(date=day)
    return jalali.year, jalali.month, jalali.day


_JALALI = Calendar(
    name="jalali",
    months=_names(
        "Farvardin, Ordibehesht, Khordad, Tir, Mordad, Shahrivar, "
        "Mehr, Aban, Azar, Dey, Bahman, Esfand"
    ),
    spellings=(
        "فروردین farvardeen",
        "اردیبهشت ordibehest ordebehesht",
        "خرداد khurdad",
        "تیر teer",
        "مرداد امرداد amordad",
        "شهریور shahriver sharivar",
        "مهر mihr",
        "آبان",
        "آذر azer",
        "دی dei",
        "بهمن",
        "اسفند isfand esphand",
    ),
    first_day=_jalali_first_day,
    split=_jalali_split,
    earliest=(1348, 1),
    latest=(9377, 10),
    years=range(1300, 1500),
    example="1405-08",
)


CALENDARS = {each.name: each for each in (_GREGORIAN, _JALALI)}


GREGORIAN, JALALI = _GREGORIAN.name, _JALALI.name


def calendar_name(name: str | None) -> str:
    """Return the name of a calendar that exists: of the Gregorian one, unless a name is given."""
    check("calendar", name, (str, type(None)), '"gregorian" or "jalali"')
    return find_calendar(name or GREGORIAN).name


def find_calendar(name: str) -> Calendar:
    """Return the calendar of that name, or raise `ConfigError`."""
    check("calendar", name, str, '"gregorian" or "jalali"')
    if name not in CALENDARS:
        raise ConfigError(f"no calendar {name!r}: use {' or '.join(CALENDARS)}")
    return CALENDARS[name]
