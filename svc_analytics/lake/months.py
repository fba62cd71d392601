"""Which months a lake holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_analytics.coverage import gaps
from svc_analytics.errors import ConfigError
from svc_analytics.periods import month, month_of
from svc_analytics.schema import STREAMS

if TYPE_CHECKING:
    from svc_analytics.coverage import Span
    from svc_analytics.lake.lake import Lake


MOST_MONTHS = 1200


def last_full_month(lake: Lake, zone: str = "UTC") -> str:
    """Return the newest month that is over and was read whole.

    Only streams that are read at all count. Raises `ConfigError` if there is none.
    """
    read = [found for stream in STREAMS.values() if (found := lake.coverage(stream)).read]
    newest = min((found.read[-1][1] for found in read), default=None)
    if newest is None:
        raise ConfigError(f"nothing was read into {lake.path} yet: run svc-analytics extract")
    oldest = min(found.read[0][0] for found in read)
    period = month_of(newest, zone).shift(-1)
    for _ in range(MOST_MONTHS):
        if period.end <= oldest:
            break
        if not any(gaps(found, period.start, period.end) for found in read):
            return period.label
        period = period.shift(-1)
    raise ConfigError(f"{lake.path} holds no full month yet: name one with MONTH or --month")


def known_months(lake: Lake, zone: str = "UTC", calendar: str = "gregorian") -> list[str]:
    """Return the months from the first record to the newest reading, newest first."""
    newest = max((span[1] for span in _read(lake)), default=None)
    if newest is None:
        raise ConfigError(f"nothing was read into {lake.path} yet: run svc-analytics extract")
    first = min((label for stream in STREAMS.values() for label in lake.months(stream)), default="")
    period = month_of(newest - 1, zone, calendar)
    oldest = month(first).start if first else period.start
    found = [period.label]
    while len(found) < MOST_MONTHS and period.start > oldest:
        period = period.shift(-1)
        found.append(period.label)
    return found


def _read(lake: Lake) -> list[Span]:
    return [span for stream in STREAMS.values() for span in lake.coverage(stream).read]
