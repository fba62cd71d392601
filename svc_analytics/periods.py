"""Months in a time zone and a calendar, as half-open intervals of instants.

Instants are integers, microseconds since 1970 in UTC, so that no comparison depends on
a float or on a local clock setting.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from svc_analytics.arguments import check
from svc_analytics.calendars import GREGORIAN, find_calendar
from svc_analytics.errors import ConfigError
from svc_analytics.instants import format_instant, from_micros, to_micros
from svc_analytics.month_texts import EXAMPLES, read_month, read_relative

_MONTH = re.compile(r"(\d{4})-(\d\d)\Z", re.ASCII)


def load_zone(name: str) -> ZoneInfo:
    """Return the IANA zone of that name, or raise `ConfigError`."""
    check("zone", name, str, 'the name of a zone as text, such as "Asia/Tehran"')
    try:
        if name == "localtime":  # differs from machine to machine
            raise KeyError(name)
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        message = f"no time zone {name!r}: use an IANA name such as UTC or Asia/Tehran"
        raise ConfigError(message) from error


@dataclass(frozen=True)
class Period:
    """A calendar month in a zone: the interval [start, end) in UTC microseconds."""

    label: str
    start: int
    end: int
    zone: str = "UTC"
    calendar: str = GREGORIAN

    @property
    def title(self) -> str:
        """The month's name and year, such as `October 2026` or `Aban 1405`."""
        year, number = map(int, self.label.split("-"))
        return f"{find_calendar(self.calendar).months[number - 1]} {year}"

    @property
    def local_bounds(self) -> str:
        """From when to when it lasts, in its own calendar and zone, for people."""
        return f"{self._local(self.start)} to {self._local(self.end)}, {self.zone}"

    @property
    def folder(self) -> str:
        """The name of its statement folder, such as `2026-10@Asia-Tehran`."""
        return self.label if self.zone == "UTC" else f"{self.label}@{self.zone.replace('/', '-')}"

    def day_text(self, day: date) -> str:
        """Write a day in the period's calendar, such as `2026-10-23` or `1405-08-01`."""
        return find_calendar(self.calendar).day_text(day)

    def _local(self, micros: int) -> str:
        known, at = find_calendar(self.calendar), from_micros(micros)
        local = at.astimezone(load_zone(self.zone))
        year, number, place = known.split(local.date())
        return f"{place} {known.months[number - 1]} {year} {local:%H:%M}"

    def shift(self, months: int) -> "Period":
        """Return the period that many months later (earlier, if negative)."""
        return _period(_month_index(self.label, self.calendar) + months, self.zone, self.calendar)


def month(label: str, zone: str = "UTC", calendar: str = GREGORIAN) -> Period:
    """Return the month of a label, such as `2026-10`, or `1405-08` in the Jalali calendar.

    This is how the program writes a month; `named_month` reads what people write.

    >>> month("2026-10", "Asia/Tehran").folder
    '2026-10@Asia-Tehran'
    """
    return _period(_month_index(label, calendar), zone, calendar)


def month_of(micros: int, zone: str = "UTC", calendar: str = GREGORIAN) -> Period:
    """Return the month that holds an instant, in a zone.

    Raises `ConfigError` for an instant that is in none of the calendar's months.
    """
    at = from_micros(micros)
    try:
        day = at.astimezone(load_zone(zone)).date()
        year, number, _ = find_calendar(calendar).split(day)
        period = _period(year * 12 + number - 1, zone, calendar)
    except (ValueError, OverflowError) as error:
        message = f"{format_instant(micros)} is in no month of the {calendar} calendar"
        raise ConfigError(f"{message}: is a clock wrong?") from error
    # Where clocks go back over midnight on a first, they show the old month once more.
    return period if micros < period.end else period.shift(1)


def named_month(text: str, now: int, zone: str = "UTC", calendar: str | None = None) -> Period:
    """Return the month that a person wrote, such as `2026-10`, `oct 2026` or `aban`.

    A name without a year is the latest month of that name that has begun. The calendar
    is that of the month as it is written: `aban` and `1405-08` are Jalali. `last month`
    and `this month` are of the calendar given, by default the Gregorian.

    >>> named_month("aban 1405", 0, "Asia/Tehran").local_bounds
    '1 Aban 1405 00:00 to 1 Azar 1405 00:00, Asia/Tehran'
    """
    check("month", text, str, 'it as text in quotes, such as "2026-10"')
    wanted = find_calendar(calendar or GREGORIAN).name
    shift = read_relative(text)
    if shift is not None:
        return month_of(now, zone, wanted).shift(shift)
    written = read_month(text)
    own = written.calendar or wanted
    if written.year is None:
        current = month_of(now, zone, own)
        found = current.shift(-((int(current.label[5:]) - written.number) % 12))
    else:
        found = month(f"{written.year:04d}-{written.number:02d}", zone, own)
    if calendar and own != calendar:
        raise _of_another_calendar(text, found, calendar)
    return found


def _of_another_calendar(text: str, found: Period, calendar: str) -> ConfigError:
    """Name the months of the wanted calendar that a month of another one lies in."""
    first = month_of(found.start, found.zone, calendar)
    return ConfigError(
        f"{text!r} is a {found.calendar} month, not a {calendar} one: "
        f"write {first.label} or {first.shift(1).label}, or choose the calendar {found.calendar}"
    )


def utc_months(start: int, end: int) -> Iterator[Period]:
    """Yield the UTC months that a half-open interval touches, oldest first."""
    period = month_of(start)
    while period.start < end:
        yield period
        period = period.shift(1)


def _month_index(label: str, calendar: str) -> int:
    """Count the months from the calendar's year 0 to a label such as `2026-10`."""
    match, known = _MONTH.match(label), find_calendar(calendar)
    year, number = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= 12 or not known.earliest <= (year, number) <= known.latest:
        example = EXAMPLES[known.name]
        message = f"{label!r} is not a month of the {calendar} calendar: write it as {example}"
        raise ConfigError(message)
    return year * 12 + number - 1


def _period(index: int, zone: str, calendar: str) -> Period:
    first_day = find_calendar(calendar).first_day
    start, end = (
        midnight(first_day(place // 12, place % 12 + 1), zone) for place in (index, index + 1)
    )
    return Period(f"{index // 12:04d}-{index % 12 + 1:02d}", start, end, zone, calendar)


def midnight(day: date, zone: str) -> int:
    """Return the first instant of a local day.

    Where clocks skip midnight, `fold=0` names the moment of the skip, and where
    they repeat it, the first of the two: in both cases the start of the day.
    """
    local = datetime(day.year, day.month, day.day, tzinfo=load_zone(zone))
    return to_micros(local.astimezone(UTC))


def known_until(period: Period, as_of: int, clock: int) -> int:
    """Return the instant up to which a period must have been read to be known.

    That is its end, or in a running month the newest sweep; a month that no sweep has
    reached yet is unknown.
    """
    if period.end <= clock:
        return period.end
    return as_of if as_of > period.start else clock
