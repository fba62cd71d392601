"""Periods: months, quarters, years and years to date, of any zone and calendar.

`parse_period` reads what a person typed, `parse_month` where only a month will do. `read_label`
and `month` read how the program writes a period; `month_of` gives the month of an instant. A
calendar is a value in `calendars`.
"""

from svc_analytics.periods.calendars import (
    CALENDARS,
    GREGORIAN,
    JALALI,
    MONTH,
    QUARTER,
    TO_DATE,
    YEAR,
    Calendar,
    find_calendar,
    noun_of,
)
from svc_analytics.periods.period import (
    Period,
    known_until,
    month,
    month_of,
    read_label,
    utc_months,
)
from svc_analytics.periods.texts import parse_month, parse_period
from svc_analytics.periods.zones import Zone, ZoneClock, clock_of, load_zone

__all__ = [
    "CALENDARS",
    "GREGORIAN",
    "JALALI",
    "MONTH",
    "QUARTER",
    "TO_DATE",
    "YEAR",
    "Calendar",
    "Period",
    "Zone",
    "ZoneClock",
    "clock_of",
    "find_calendar",
    "known_until",
    "load_zone",
    "month",
    "month_of",
    "noun_of",
    "parse_month",
    "parse_period",
    "read_label",
    "utc_months",
]
