"""A third calendar, the year of a business that begins on 1 April, and other rules of a zone."""

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

import pytest

from svc_analytics.periods import Calendar, zones

_LOAD = zones._load


class Rules(tzinfo):
    """Clocks that are so many hours ahead of UTC, each from an instant on."""

    def __init__(self, name: str, hours: dict[str, float]) -> None:
        self.key = name
        self.hours = [(datetime.fromisoformat(at), ahead) for at, ahead in hours.items()]

    def fromutc(self, dt: datetime) -> datetime:
        at = dt.replace(tzinfo=UTC)
        ahead = [hours for since, hours in self.hours if since <= at][-1]
        offset = timedelta(hours=ahead)
        return (dt + offset).replace(tzinfo=timezone(offset))


def rule(patch: pytest.MonkeyPatch, name: str, hours: dict[str, float]) -> None:
    """Let this machine have such rules of a zone, and today's of all others."""
    rules = Rules(name, {"1969-01-01T00:00:00Z": next(iter(hours.values())), **hours})
    patch.setattr(zones, "_load", lambda asked: rules if asked == name else _LOAD(asked))


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
