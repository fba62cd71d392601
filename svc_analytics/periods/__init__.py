"""Periods: months, quarters, years and years to date, of any zone and calendar.

`parse_period` reads what a person typed, `parse_month` where only a month will do. `read_label`
and `month` read how the program writes a period; `month_of` gives the month of an instant. A
calendar is a value in `calendars`.
"""

from svc_analytics.periods.calendars import (
    CALENDARS as CALENDARS,
    GREGORIAN as GREGORIAN,
    JALALI as JALALI,
    MONTH as MONTH,
    QUARTER as QUARTER,
    TO_DATE as TO_DATE,
    YEAR as YEAR,
    Calendar as Calendar,
    calendar_name as calendar_name,
    find_calendar as find_calendar,
    noun_of as noun_of,
)
from svc_analytics.periods.period import (
    Period as Period,
    known_until as known_until,
    month as month,
    month_of as month_of,
    read_label as read_label,
    utc_months as utc_months,
)
from svc_analytics.periods.texts import parse_month as parse_month, parse_period as parse_period
from svc_analytics.periods.zones import (
    Zone as Zone,
    ZoneClock as ZoneClock,
    clock_of as clock_of,
    load_zone as load_zone,
)
