"""Months, quarters, years and years to date, by the names that people give them."""

from svc_analytics.arguments import check
from svc_analytics.calendars import GREGORIAN, find_calendar
from svc_analytics.errors import ConfigError
from svc_analytics.month_texts import TO_DATE, YEAR, LongerText, read_longer
from svc_analytics.periods import Period, in_calendar, month_of, named_month, period


def named_period(text: str, now: int, zone: str = "UTC", calendar: str | None = None) -> Period:
    """Return the month, quarter or year that a person wrote, or a year to date.

    Months are those of `named_month`. `2026-Q3`, `q3 2026` and `last quarter` are quarters,
    `2026`, `1405` and `this year` are years; `2026-10-ytd` is the year up to the end of that
    month, and `ytd`, or `2026-ytd`, up to the end of the newest month that is over.

    >>> named_period("1405-Q3", 0, "Asia/Tehran").local_bounds
    '1 Mehr 1405 00:00 to 1 Dey 1405 00:00, Asia/Tehran'
    """
    check("month", text, str, 'it as text in quotes, such as "2026-10"')
    wanted = find_calendar(calendar or GREGORIAN).name
    written = read_longer(text)
    if written is None:
        return named_month(text, now, zone, calendar)
    own = written.calendar or wanted
    current = month_of(now, zone, own)
    if written.kind == TO_DATE:
        found = _year_to_date(written, current, now, calendar)
    else:
        found = _quarter_or_year(written, current)
    return in_calendar(text, found, calendar)


def _quarter_or_year(written: LongerText, current: Period) -> Period:
    year, number = map(int, current.label.split("-"))
    quarter = (number - 1) // 3 + 1
    if written.kind == YEAR:
        label = f"{year if written.year is None else written.year:04d}"
    elif written.number is None:
        label = f"{year:04d}-Q{quarter}"
    else:
        latest = year - (written.number > quarter)
        label = f"{latest if written.year is None else written.year:04d}-Q{written.number}"
    return period(label, current.zone, current.calendar).shift(written.shift)


def _year_to_date(written: LongerText, current: Period, now: int, calendar: str | None) -> Period:
    """Return a year up to the end of the month that is written, or of the newest one over."""
    if written.month:
        last = named_month(written.month, now, current.zone, calendar)
        return period(f"{last.label}-ytd", last.zone, last.calendar)
    year, number = map(int, current.label.split("-"))
    wanted = year if written.year is None else written.year
    if wanted < year:
        return period(f"{wanted:04d}-12-ytd", current.zone, current.calendar)
    if wanted > year:
        raise ConfigError(f"{wanted} has not begun: choose a year up to now")
    if number == 1:
        raise ConfigError(
            f"no month of {year} is over yet: write {year:04d}-01-ytd for the running month, "
            f"or {year - 1} for the year before"
        )
    return period(f"{year:04d}-{number - 1:02d}-ytd", current.zone, current.calendar)
