"""Which months are due to be closed: over, and past the hours in which late records come."""

from collections.abc import Collection, Iterator, Sequence

from svc_analytics.arguments import as_names
from svc_analytics.calendars import GREGORIAN
from svc_analytics.errors import ConfigError, PeriodNotClosed
from svc_analytics.instants import HOUR, duration, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.month_texts import QUARTER, YEAR
from svc_analytics.periods import Period, month_of, period_around
from svc_analytics.schema import STREAMS


def check_is_over(period: Period, clock: int, grace: int) -> None:
    """Refuse a month that has not begun, is running, or ended within the grace time."""
    if period.start >= clock:
        raise ConfigError(f"{period.folder} has not begun: choose a {period.noun} that is over")
    if period.end > clock:
        message = f"{period.folder} is not over: it ends at {format_instant(period.end)}"
        raise PeriodNotClosed(message)
    if period.end + grace > clock:
        raise PeriodNotClosed(_too_recent(period, clock, grace))


def _too_recent(period: Period, clock: int, grace: int) -> str:
    """Say how a month that is final as read differs from one that can be sealed."""
    passed, due = duration(clock - period.end), format_instant(period.end + grace)
    waits = f"close waits {grace / HOUR:g} hours after the end for late records"
    head = f"{period.folder} ended {passed} ago, and {waits}: close it from {due} on"
    return f"{head}; until then svc-analytics statement shows it as read"


def months_due(
    lake: Lake, clock: int, grace: int, zone: str, calendar: str | None
) -> Iterator[Period]:
    """Yield the months that are over, oldest first, from the first that has a record."""
    first = _first_record(lake)
    period = None if first is None else month_of(first, zone, calendar or GREGORIAN)
    while period and period.end + grace <= clock:
        yield period
        period = period.shift(1)


def _first_record(lake: Lake) -> int | None:
    """Return when the first record of any stream was booked, as the footers of its months say."""
    footers = (footer for stream in STREAMS.values() for footer in lake.footers(stream).values())
    return min((ends.first for each in footers for ends in each.ends.values()), default=None)


def check_kinds(longer: Collection[str]) -> tuple[str, ...]:
    """Return the kinds of longer periods to close, quarters first."""
    named = as_names("longer", longer, QUARTER)
    if strange := [name for name in named if name not in (QUARTER, YEAR)]:
        raise ConfigError(f"longer names {strange[0]!r:.40}: give {QUARTER}, {YEAR} or both")
    return tuple(kind for kind in (QUARTER, YEAR) if kind in named)


def longer_due(months: Sequence[Period], kinds: Collection[str]) -> Iterator[Period]:
    """Yield the quarters and years all of whose months are among those that are due."""
    for kind in kinds:
        around = dict.fromkeys(period_around(kind, month) for month in months)
        yield from (period for period in around if set(period.months) <= set(months))
