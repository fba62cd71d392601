"""Calendars, Gregorian and Jalali: a month's first day, and the month of a day."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError


@dataclass(frozen=True)
class Calendar:
    """A calendar of twelve months a year, from the `earliest` month to the `latest`.

    In every zone they hold the times that a lake can hold, 1970 to 9998 in UTC, and at
    least a month before.
    """

    name: str
    earliest: tuple[int, int]
    latest: tuple[int, int]
    first_day: Callable[[int, int], date]
    month_of: Callable[[date], tuple[int, int]]


def _first_gregorian_day(year: int, month: int) -> date:
    return date(year, month, 1)


def _gregorian_month(day: date) -> tuple[int, int]:
    return day.year, day.month


def _first_jalali_day(year: int, month: int) -> date:
    import jdatetime  # takes long to load, and few use this calendar

    first: date = jdatetime.date(year, month, 1).togregorian()
    return first


def _jalali_month(day: date) -> tuple[int, int]:
    import jdatetime  # as above

    jalali = jdatetime.date.fromgregorian(date=day)
    return jalali.year, jalali.month


CALENDARS = {
    "gregorian": Calendar(
        "gregorian", (1969, 1), (9999, 1), _first_gregorian_day, _gregorian_month
    ),
    "jalali": Calendar("jalali", (1348, 1), (9377, 10), _first_jalali_day, _jalali_month),
}


def find_calendar(name: str) -> Calendar:
    """Return the calendar of that name, or raise `ConfigError`."""
    check("calendar", name, str, '"gregorian" or "jalali"')
    if name not in CALENDARS:
        raise ConfigError(f"no calendar {name!r}: use {' or '.join(CALENDARS)}")
    return CALENDARS[name]
