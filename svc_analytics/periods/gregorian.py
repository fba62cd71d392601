"""The Gregorian calendar."""

from datetime import date

from svc_analytics.periods.calendar import Calendar


def _split(day: date) -> tuple[int, int, int]:
    return day.year, day.month, day.day


CALENDAR = Calendar(
    name="gregorian",
    months=(
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    ),
    spellings=(
        *("jan", "feb", "mar", "apr", "may", "jun"),
        *("jul", "aug", "sep sept", "oct", "nov", "dec"),
    ),
    first_day=lambda year, month: date(year, month, 1),
    split=_split,
    earliest=(1969, 1),
    latest=(9999, 1),
    years=range(1900, 2200),
    example="2026-10",
)
