"""Months, quarters and years in a time zone and a calendar, as half-open intervals of instants.

Instants are integers, microseconds since 1970 in UTC, so that no comparison depends on
a float or on a local clock setting.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from svc_analytics.errors import ConfigError
from svc_analytics.instants import format_instant
from svc_analytics.messages import Message, translated
from svc_analytics.periods.calendar import LENGTHS, MONTH, TO_DATE, noun_of
from svc_analytics.periods.calendars import GREGORIAN, find_calendar
from svc_analytics.periods.zones import Change, ZoneClock, clock_of


@dataclass(frozen=True)
class Period:
    """A month, quarter, year or year to date in a zone: [start, end) in UTC microseconds.

    Examples:
        >>> svc.statement(lake, "2026-Q3").period.kind  # doctest: +SKIP
        'quarter'
    """

    kind: str  # `month`, `quarter`, `year` or `year to date`
    first: int  # its first month, counted from the year 0 of its calendar
    count: int  # of its months
    start: int
    end: int
    zone: str
    calendar: str

    @classmethod
    def of_months(cls, kind: str, first: int, count: int, zone: str, calendar: str) -> "Period":
        """Return the period of so many months, from the first on."""
        period = cls(kind, first, count, 0, 0, zone, calendar)
        start, end = map(period.clock.midnight, period.days)
        return replace(period, start=start, end=end)

    @property
    def label(self) -> str:
        """How its calendar writes it: `2026-10`, `2026-Q3`, `2026` or `2026-10-ytd`."""
        return find_calendar(self.calendar).label(self.kind, self.first, self.count)

    @property
    def noun(self) -> str:
        """Its noun in sentences: month, quarter, year or period."""
        return noun_of(self.label)

    @property
    def is_longer(self) -> bool:
        """Whether it is made of months, rather than one itself."""
        return self.kind != MONTH

    @property
    def months(self) -> list["Period"]:
        """The months that it is made of, oldest first; of a month, itself."""
        places = range(self.first, self.first + self.count)
        return [self.of_months(MONTH, place, 1, self.zone, self.calendar) for place in places]

    @property
    def days(self) -> tuple[date, date]:
        """Its first day, and the first day behind it."""
        first_day, behind = find_calendar(self.calendar).first_day, self.first + self.count
        return first_day(*_month(self.first)), first_day(*_month(behind))

    @property
    def clock(self) -> ZoneClock:
        """What clocks show in its zone."""
        return clock_of(self.zone, self.calendar)

    @property
    def changes(self) -> list[Change]:
        """How far these are ahead of UTC, since the first record of the lake and at its end."""
        since = getattr(self.zone, "since", 0)
        return self.clock.changes(min(since, self.start), self.end + 1)

    @property
    def title(self) -> str:
        """Its name for people: `October 2026`, `Q3 2026`, `Year 2026`, `January to October 2026`.

        A quarter has the number of its calendar's year: `Q1 1405` begins with Farvardin.
        """
        return find_calendar(self.calendar).title(self.kind, self.first, self.count)

    @property
    def local_bounds(self) -> str:
        """From when to when it lasts, in its own calendar and zone, for people."""
        start, end = self.moment(self.start), self.moment(self.end)
        return Message("part.bounds", start=start, end=translated(end), zone=self.zone)

    @property
    def folder(self) -> str:
        """The name of its statement folder, such as `2026-10@Asia-Tehran`."""
        return self.label if self.zone == "UTC" else f"{self.label}@{self.zone.replace('/', '-')}"

    def day_text(self, day: date) -> str:
        """Write a day in the period's calendar, such as `2026-10-23` or `1405-08-01`."""
        return find_calendar(self.calendar).day_text(day)

    @property
    def month_name(self) -> str:
        """The name of its first month in its calendar, such as `October` or `Mehr`."""
        return find_calendar(self.calendar).months[self.first % 12]

    def day_name(self, micros: int) -> Message:
        """Write the day of an instant without its year, such as `1 November` or `8 Aban`."""
        calendar = find_calendar(self.calendar)
        _, number, place = calendar.split(self.clock.local(micros).date())
        return Message("part.day", day=place, month=translated(calendar.months[number - 1]))

    def moment(self, micros: int) -> Message:
        """Write an instant for people, such as `1 November 2026 00:00`."""
        calendar = find_calendar(self.calendar)
        local = self.clock.local(micros)
        year, number, place = calendar.split(local.date())
        named = {"month": translated(calendar.months[number - 1]), "year": calendar.year_text(year)}
        return Message("part.moment", day=place, **named, time=f"{local:%H:%M}")

    def shift(self, count: int) -> "Period":
        """Return the period that many months later (earlier, if negative).

        Of a quarter it is that many quarters, of a year that many years; of a year to date, the
        same months of another year.

        Examples:
            >>> read_label("2026-Q1").shift(-1).label, read_label("2026-10-ytd").shift(-1).label
            ('2025-Q4', '2025-10-ytd')
        """
        first = self.first + count * LENGTHS.get(self.kind, 12)
        return self.of_months(self.kind, first, self.count, self.zone, self.calendar)

    def around(self, kind: str) -> "Period":
        """Return the quarter or year that a month lies in, or the year up to its end.

        Examples:
            >>> kinds = ("quarter", "year", "year to date")
            >>> [month("2026-08").around(kind).label for kind in kinds]
            ['2026-Q3', '2026', '2026-08-ytd']
        """
        first = self.first - self.first % LENGTHS.get(kind, 12)
        count = self.first % 12 + 1 if kind == TO_DATE else LENGTHS[kind]
        return self.of_months(kind, first, count, self.zone, self.calendar)


def read_label(label: str, zone: str = "UTC", calendar: str = GREGORIAN) -> Period:
    """Return the period of a label: a month, `2026-Q3`, `2026`, or `2026-10-ytd`.

    This is how the program writes a period; `parse_period` reads what people write.

    >>> [each.label for each in read_label("2026-Q3").months]
    ['2026-07', '2026-08', '2026-09']
    """
    return Period.of_months(*find_calendar(calendar).read(label), zone, calendar)


def month(label: str, zone: str = "UTC", calendar: str = GREGORIAN) -> Period:
    """Return the month of a label, such as `2026-10`, or `1405-08` in the Jalali calendar.

    >>> month("2026-10", "Asia/Tehran").folder
    '2026-10@Asia-Tehran'
    """
    period = read_label(label, zone, calendar)
    if period.is_longer:
        raise find_calendar(calendar).refusal(label)
    return period


def month_of(micros: int, zone: str = "UTC", calendar: str = GREGORIAN) -> Period:
    """Return the month that holds an instant, in a zone.

    Raises `ConfigError` for an instant that is in none of the calendar's months.
    """
    try:
        day = clock_of(zone, calendar).local(micros).date()
        year, number, _ = find_calendar(calendar).split(day)
        return Period.of_months(MONTH, year * 12 + number - 1, 1, zone, calendar)
    except (ValueError, OverflowError) as error:
        message = f"{format_instant(micros)} is in no month of the {calendar} calendar"
        raise ConfigError(f"{message}: is a clock wrong?") from error


def _month(place: int) -> tuple[int, int]:
    """Return the year and the number of a month that is counted from the year 0."""
    return place // 12, place % 12 + 1


def utc_months(start: int, end: int) -> Iterator[Period]:
    """Yield the UTC months that a half-open interval touches, oldest first."""
    period = month_of(start)
    while period.start < end:
        yield period
        period = period.shift(1)


def known_until(period: Period, as_of: int, clock: int) -> int:
    """Return the instant up to which a period must have been read to be known.

    That is its end, or in a running month the newest sweep; a month that no sweep has
    reached yet is unknown.
    """
    if period.end <= clock:
        return period.end
    return as_of if as_of > period.start else clock
