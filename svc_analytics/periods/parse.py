"""The door for what people type: a month, a quarter, a year or a year to date."""

from svc_analytics.errors import ConfigError
from svc_analytics.periods.calendar import LENGTHS, MONTH, TO_DATE, YEAR
from svc_analytics.periods.calendars import GREGORIAN, find_calendar
from svc_analytics.periods.period import Period, month_of
from svc_analytics.periods.texts import PeriodWords, not_a_month, read_text


def parse_period(text: str, now: int, zone: str = "UTC", calendar: str | None = None) -> Period:
    """Return the month, quarter or year that a person wrote, or a year to date.

    Months are those of `parse_month`. `2026-Q3`, `q3 2026` and `last quarter` are quarters,
    `2026`, `1405` and `this year` are years; `2026-10-ytd` is the year up to the end of that
    month, and `ytd`, or `2026-ytd`, up to the end of the newest month that is over.

    >>> parse_period("1405-Q3", 0, "Asia/Tehran").local_bounds
    '1 Mehr 1405 00:00 to 1 Dey 1405 00:00, Asia/Tehran'
    """
    written, wanted = read_text(text), find_calendar(calendar or GREGORIAN).name
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
