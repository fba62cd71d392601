"""Calendars, Gregorian and Jalali: their months' names and first days, and any day in them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError

GREGORIAN, JALALI = "gregorian", "jalali"


@dataclass(frozen=True)
class Calendar:
    """A calendar of twelve months a year, from the `earliest` month to the `latest`.

    In every zone they hold the times that a lake can hold, 1970 to 9998 in UTC, and at
    least a month before. `split` gives the year, month and day of a date.
    """

    name: str
    months: tuple[str, ...]
    earliest: tuple[int, int]
    latest: tuple[int, int]
    first_day: Callable[[int, int], date]
    split: Callable[[date], tuple[int, int, int]]

    def day_text(self, day: date) -> str:
        """Write a day in the calendar, such as `2026-10-23` or `1405-08-01`."""
        year, number, place = self.split(day)
        return f"{year:04d}-{number:02d}-{place:02d}"


def _first_gregorian_day(year: int, month: int) -> date:
    return date(year, month, 1)


def _split_gregorian(day: date) -> tuple[int, int, int]:
    return day.year, day.month, day.day


def _first_jalali_day(year: int, month: int) -> date:
    import jdatetime  # takes long to load, and few use this calendar

    first: date = jdatetime.date(year, month, 1).togregorian()
    return first


def _split_jalali(day: date) -> tuple[int, int, int]:
    import jdatetime  # as above

    jalali = jdatetime.date.fromgregorian(date=day)
    return jalali.year, jalali.month, jalali.day


CALENDARS = {
    GREGORIAN: Calendar(
        GREGORIAN,
        (
            *("January", "February", "March", "April", "May", "June"),
            *("July", "August", "September", "October", "November", "December"),
        ),
        (1969, 1),
        (9999, 1),
        _first_gregorian_day,
        _split_gregorian,
    ),
    JALALI: Calendar(
        JALALI,
        (
            *("Farvardin", "Ordibehesht", "Khordad", "Tir", "Mordad", "Shahrivar"),
            *("Mehr", "Aban", "Azar", "Dey", "Bahman", "Esfand"),
        ),
        (1348, 1),
        (9377, 10),
        _first_jalali_day,
        _split_jalali,
    ),
}


def find_calendar(name: str) -> Calendar:
    """Return the calendar of that name, or raise `ConfigError`."""
    check("calendar", name, str, '"gregorian" or "jalali"')
    if name not in CALENDARS:
        raise ConfigError(f"no calendar {name!r}: use {' or '.join(CALENDARS)}")
    return CALENDARS[name]
