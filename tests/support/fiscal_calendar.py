"""A third calendar, in one file: the year of a business that begins on 1 April."""

from datetime import date

from svc_analytics.periods import Calendar

# FY2026 is April 2026 to March 2027.
FISCAL = Calendar(
    name="fiscal",
    months=(
        *("April", "May", "June", "July", "August", "September"),
        *("October", "November", "December", "January", "February", "March"),
    ),
    spellings=("",) * 12,
    first_day=lambda year, month: date(year + (month > 9), (month + 2) % 12 + 1, 1),
    split=lambda day: (day.year - (day.month < 4), (day.month - 4) % 12 + 1, day.day),
    earliest=(1969, 1),
    latest=(9998, 9),
    years=range(1900, 2200),
    example="FY2026-07",
    mark="FY",
)
