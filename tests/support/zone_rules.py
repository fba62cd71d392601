"""Other rules of a zone than those of today's package, as an older or a newer one has them."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest

from svc_analytics.periods import zones

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
