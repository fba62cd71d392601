"""The calendars there are, by name."""

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError
from svc_analytics.periods import gregorian, jalali
from svc_analytics.periods.calendar import Calendar

CALENDARS = {each.name: each for each in (gregorian.CALENDAR, jalali.CALENDAR)}
GREGORIAN, JALALI = gregorian.CALENDAR.name, jalali.CALENDAR.name


def find_calendar(name: str) -> Calendar:
    """Return the calendar of that name, or raise `ConfigError`."""
    check("calendar", name, str, '"gregorian" or "jalali"')
    if name not in CALENDARS:
        raise ConfigError(f"no calendar {name!r}: use {' or '.join(CALENDARS)}")
    return CALENDARS[name]
