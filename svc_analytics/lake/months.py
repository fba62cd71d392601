"""The months that a lake holds: the last full one, and all to choose from."""

from svc_analytics.coverage import gaps
from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import month, month_of
from svc_analytics.schema import STREAMS

MOST_MONTHS = 1200


def last_full_month(lake: Lake, zone: str = "UTC") -> str:
    """Return the newest month that is over and was read whole.

    Only streams that are read at all count. Raises `ConfigError` if there is none.
    """
    coverages = [lake.coverage(stream) for stream in STREAMS.values()]
    read = [coverage for coverage in coverages if coverage.read]
    newest = min((coverage.read[-1][1] for coverage in read), default=None)
    if newest is None:
        raise ConfigError(f"nothing was read into {lake.path} yet: run svc-analytics extract")
    oldest = min(coverage.read[0][0] for coverage in read)
    period = month_of(newest, zone).shift(-1)
    for _ in range(MOST_MONTHS):
        if period.end <= oldest:
            break
        if not any(gaps(coverage, period.start, period.end) for coverage in read):
            return period.label
        period = period.shift(-1)
    raise ConfigError(f"{lake.path} holds no full month yet: name one with MONTH or --month")


def known_months(lake: Lake, zone: str = "UTC", calendar: str = "gregorian") -> list[str]:
    """Return the months from the first record to the newest reading, newest first."""
    spans = [span for stream in STREAMS.values() for span in lake.coverage(stream).read]
    newest = max((end for _, end in spans), default=None)
    if newest is None:
        raise ConfigError(f"nothing was read into {lake.path} yet: run svc-analytics extract")
    first = min((label for stream in STREAMS.values() for label in lake.months(stream)), default="")
    period = month_of(newest - 1, zone, calendar)
    oldest = month(first).start if first else period.start
    labels = [period.label]
    while len(labels) < MOST_MONTHS and period.start > oldest:
        period = period.shift(-1)
        labels.append(period.label)
    return labels
