"""Time zones, and when a local day begins."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError
from svc_analytics.instants import to_micros


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


def midnight(day: date, zone: str) -> int:
    """Return the first instant of a local day.

    Where clocks skip midnight, `fold=0` names the moment of the skip, and where
    they repeat it, the first of the two: in both cases the start of the day.
    """
    local = datetime(day.year, day.month, day.day, tzinfo=load_zone(zone))
    return to_micros(local.astimezone(UTC))
