"""Time zones, and when a local day begins."""

import re
from datetime import UTC, date, datetime
from difflib import get_close_matches
from zoneinfo import ZoneInfo, available_timezones

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError
from svc_analytics.instants import to_micros

_CLOSE = 0.8  # how alike the names of two places are at least
_PLACE = re.compile(r"(?!Etc/).+/.+")  # Etc/GMT+3 is three hours behind UTC: no one means it


def load_zone(name: str) -> ZoneInfo:
    """Return the IANA zone of that name, or raise `ConfigError`."""
    check("zone", name, str, 'the name of a zone as text, such as "Asia/Tehran"')
    try:
        if name == "localtime":  # differs from machine to machine
            raise KeyError(name)
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise ConfigError(f"no time zone {name!r}: {_zone_meant(name)}") from error


def _zone_meant(name: str) -> str:
    """Say which zone has a place of nearly that name, or what a zone is called.

    >>> _zone_meant("Lisbon"), _zone_meant("Asia/Teheran")
    ('did you mean Europe/Lisbon?', 'did you mean Asia/Tehran?')
    """
    zones = sorted(zone for zone in available_timezones() if _PLACE.fullmatch(zone))
    places = {_place(zone): zone for zone in zones}
    near = get_close_matches(_place(name), places, n=1, cutoff=_CLOSE)
    if near:
        return f"did you mean {places[near[0]]}?"
    return "use an IANA name such as UTC or Asia/Tehran"


def _place(zone: str) -> str:
    return zone.rpartition("/")[2].lower()


def midnight(day: date, zone: str) -> int:
    """Return the first instant of a local day.

    Where clocks skip midnight, `fold=0` names the moment of the skip, and where
    they repeat it, the first of the two: in both cases the start of the day.
    """
    local = datetime(day.year, day.month, day.day, tzinfo=load_zone(zone))
    return to_micros(local.astimezone(UTC))
