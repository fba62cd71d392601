"""Months, quarters and years in a time zone and a calendar, as half-open intervals of instants.

Instants are integers, microseconds since 1970 in UTC, so that no comparison depends on
a float or on a local clock setting.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from zoneinfo import ZoneInfo

from svc_analytics.arguments import check
from svc_analytics.calendars import GREGORIAN, find_calendar
from svc_analytics.errors import ConfigError
from svc_analytics.instants import format_instant, from_micros, to_micros
from svc_analytics.month_texts import (
    EXAMPLES,
    MONTH,
    QUARTER,
    TO_DATE,
    YEAR,
    MonthText,
    kind_of,
    match_label,
    noun_of,
    read_month,
    read_relative,
)

_MONTH = re.compile(r"(\d{4})-(\d\d)\Z", re.ASCII)
_LENGTHS = {MONTH: 1, QUARTER: 3, YEAR: 12}
_STEPS = _LENGTHS | {TO_DATE: 12}  # from one to the next: of a year to date, a year


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
    """A calendar month in a zone: the interval [start, end) in UTC microseconds.

    Or several: `2026-Q3`, `2026`, and `2026-10-ytd`, the year up to the end of that month.
    """

    label: str
    start: int
    end: int
    zone: str = "UTC"
    calendar: str = GREGORIAN

    @cached_property
    def _span(self) -> tuple[str, int, int]:
        """Which kind it is of, the index of its first month, and how many months it has."""
        return _span_of(self.label, self.calendar)

    @property
    def kind(self) -> str:
        """`month`, `quarter`, `year` or `year to date`."""
        return self._span[0]

    @property
    def noun(self) -> str:
        """What sentences call it: the month, the quarter, the year or the period."""
        return noun_of(self.label)

    @property
    def is_longer(self) -> bool:
        """Whether it is made of months, rather than one itself."""
        return self.kind != MONTH

    @property
    def months(self) -> list["Period"]:
        """The months that it is made of, oldest first; of a month, itself."""
        _, first, count = self._span
        return [_period(first + place, self.zone, self.calendar) for place in range(count)]

    @property
    def title(self) -> str:
        """Its name for people: `October 2026`, `Q3 2026`, `Year 2026`, `January to October 2026`.

        A quarter has the number of its calendar's year: `Q1 1405` begins with Farvardin.
        """
        kind, first, count = self._span
        names = find_calendar(self.calendar).months
        if kind in (QUARTER, YEAR):
            return (
                f"Q{first % 12 // 3 + 1} {first // 12}"
                if kind == QUARTER
                else f"Year {first // 12}"
            )
        until = f" to {names[count - 1]}" if count > 1 else ""
        return f"{names[first % 12]}{until} {first // 12}"

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

    def shift(self, count: int) -> "Period":
        """Return the period that many months later (earlier, if negative).

        Of a quarter it is that many quarters, of a year that many years; of a year to date, the
        same months of another year.

        >>> period("2026-Q1").shift(-1).label, period("2026-10-ytd").shift(-1).label
        ('2025-Q4', '2025-10-ytd')
        """
        kind, first, length = self._span
        return _made(kind, first + count * _STEPS[kind], length, self.zone, self.calendar)


def month(label: str, zone: str = "UTC", calendar: str = GREGORIAN) -> Period:
    """Return the month of a label, such as `2026-10`, or `1405-08` in the Jalali calendar.

    This is how the program writes a month; `named_month` reads what people write.

    >>> month("2026-10", "Asia/Tehran").folder
    '2026-10@Asia-Tehran'
    """
    return _period(_month_index(label, calendar), zone, calendar)


def period(label: str, zone: str = "UTC", calendar: str = GREGORIAN) -> Period:
    """Return the period of a label: a month, `2026-Q3`, `2026`, or `2026-10-ytd`.

    >>> [each.label for each in period("2026-Q3").months]
    ['2026-07', '2026-08', '2026-09']
    """
    return _made(*_span_of(label, calendar), zone, calendar)


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
    return in_calendar(text, _written_month(read_month(text), now, zone, wanted), calendar)


def _written_month(written: MonthText, now: int, zone: str, wanted: str) -> Period:
    own = written.calendar or wanted
    if written.year is not None:
        return month(f"{written.year:04d}-{written.number:02d}", zone, own)
    current = month_of(now, zone, own)
    return current.shift(-((int(current.label[5:]) - written.number) % 12))


def in_calendar(text: str, found: Period, calendar: str | None) -> Period:
    """Return a period that is of the calendar chosen, if one is."""
    if calendar and found.calendar != calendar:
        raise _of_another_calendar(text, found, calendar)
    return found


def _of_another_calendar(text: str, found: Period, calendar: str) -> ConfigError:
    """Name the months of the wanted calendar that a month of another one lies in."""
    first = month_of(found.start, found.zone, calendar)
    if found.is_longer:
        first = period_around(found.kind, first)
    return ConfigError(
        f"{text!r} is a {found.calendar} {found.kind}, not a {calendar} one: "
        f"write {first.label} or {first.shift(1).label}, or choose the calendar {found.calendar}"
    )


def period_around(kind: str, first: Period) -> Period:
    """Return the quarter, year or year to date that a month lies in."""
    year, number = first.label.split("-")
    quarter = f"{year}-Q{(int(number) + 2) // 3}"
    label = {QUARTER: quarter, YEAR: year, TO_DATE: f"{first.label}-ytd"}[kind]
    return period(label, first.zone, first.calendar)


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


def _span_of(label: str, calendar: str) -> tuple[str, int, int]:
    """Return the kind of a label, the index of its first month, and how many months it has."""
    match, kind = match_label(label), kind_of(label)
    if match is None or kind == MONTH:
        return MONTH, _month_index(label, calendar), 1
    ends_with = int(match["quarter"]) * 3 if kind == QUARTER else match["month"] or 12
    last = _month_index(f"{match['year']}-{int(ends_with):02d}", calendar)
    count = _LENGTHS.get(kind, last % 12 + 1)
    return kind, _month_index(_month_label(last - count + 1), calendar), count


def _made(kind: str, first: int, count: int, zone: str, calendar: str) -> Period:
    """Return the period of so many months."""
    start, end = (_period(place, zone, calendar) for place in (first, first + count - 1))
    year = f"{first // 12:04d}"
    label = {
        MONTH: start.label,
        QUARTER: f"{year}-Q{first % 12 // 3 + 1}",
        YEAR: year,
        TO_DATE: f"{end.label}-ytd",
    }[kind]
    return Period(label, start.start, end.end, zone, calendar)


def _period(index: int, zone: str, calendar: str) -> Period:
    first_day = find_calendar(calendar).first_day
    start, end = (
        midnight(first_day(place // 12, place % 12 + 1), zone) for place in (index, index + 1)
    )
    return Period(_month_label(index), start, end, zone, calendar)


def _month_label(index: int) -> str:
    return f"{index // 12:04d}-{index % 12 + 1:02d}"


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
