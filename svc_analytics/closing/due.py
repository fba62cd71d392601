"""Which months of a lake are over, and from when on each can be closed: for close and the desk.

A month is over here when the hours are past in which late records come, and due when it is over
and `seals.versions` finds no seal of it.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from svc_analytics import periods
from svc_analytics.arguments import as_names
from svc_analytics.closing import seals
from svc_analytics.errors import ConfigError, PeriodNotClosed
from svc_analytics.instants import HOUR, duration, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.periods import QUARTER, YEAR, Period
from svc_analytics.proofs.sealed_zones import lake_zone
from svc_analytics.schema import STREAMS

GRACE_HOURS = 24
_WHY_IN_TURN = (
    "each seal names that of the month before, and {before} was not closed; "
    "settle {before}, then run close again"
)


def lake_months(lake: Lake, clock: int, zone: str, calendar: str | None) -> Iterator[Period]:
    """Yield the months of a lake, oldest first, from its first record to the one that runs."""
    first = min(_first_record(lake, clock), clock)
    period = periods.month_of(first, lake_zone(lake, zone), periods.calendar_name(calendar))
    while period.start <= clock:
        yield period
        period = period.shift(1)


def months_over(
    lake: Lake, clock: int, grace: int, zone: str, calendar: str | None
) -> Iterator[Period]:
    """Yield the months of a lake that are over, oldest first, those with a seal too."""
    months = lake_months(lake, clock, zone, calendar)
    return (month for month in months if closes_at(month, grace) <= clock)


def closes_at(period: Period, grace: int = GRACE_HOURS * HOUR) -> int:
    """Return the instant from which on a period can be closed."""
    return period.end + grace


def check_is_over(period: Period, clock: int, grace: int) -> None:
    """Refuse a month that has not begun, is running, or ended within the grace time."""
    if period.start >= clock:
        text = "{label} has not begun: choose a {NOUN} that is over"
        raise ConfigError(Message(text, label=period.folder, noun=translated(period.noun)))
    if period.end > clock:
        values = {"label": period.folder, "instant": format_instant(period.end)}
        raise PeriodNotClosed(Message("{label} is not over: it ends at {instant}", **values))
    if closes_at(period, grace) > clock:
        raise PeriodNotClosed(_too_recent(period, clock, grace))


def _too_recent(period: Period, clock: int, grace: int) -> str:
    """Say how a month that is final as read differs from one that can be sealed."""
    passed, due = duration(clock - period.end), format_instant(closes_at(period, grace))
    waits = f"close waits {grace / HOUR:g} hours after the end for late records"
    head = f"{period.folder} ended {passed} ago, and {waits}: close it from {due} on"
    return f"{head}; until then svc-analytics statement shows it as read"


def name_untried(months: Sequence[Period], tried: Collection[str], before: str) -> list[Message]:
    """Say which months were not tried, behind the one `before` that could not be sealed."""
    names = [month.folder for month in months if month.folder not in tried]
    if not names:
        return []
    one, more = "{first} was not tried: {WHY}", "{first} to {last} were not tried: {WHY}"
    values = {"first": names[0], "last": names[-1], "why": Message(_WHY_IN_TURN, before=before)}
    return [Message(one if len(names) == 1 else more, **values)]


def _first_record(lake: Lake, default: int) -> int:
    """Return when the first record of any stream was booked, as the footers of its months say."""
    footers = (footer for stream in STREAMS.values() for footer in lake.footers(stream).values())
    return min((ends.first for each in footers for ends in each.ends.values()), default=default)


def check_kinds(longer: Collection[str]) -> tuple[str, ...]:
    """Return the kinds of longer periods to close, quarters first."""
    named = as_names("longer", longer, QUARTER)
    if strange := [name for name in named if name not in (QUARTER, YEAR)]:
        raise ConfigError(f"longer names {strange[0]!r:.40}: give {QUARTER}, {YEAR} or both")
    return tuple(kind for kind in (QUARTER, YEAR) if kind in named)


def longer_over(months: Sequence[Period], kinds: Collection[str]) -> Iterator[Period]:
    """Yield the quarters and years all of whose months are over."""
    for kind in kinds:
        around = dict.fromkeys(month.around(kind) for month in months)
        yield from (period for period in around if set(period.months) <= set(months))


# ---------- The zones and calendars by which months are told
# The schedule's, and all sealed ones.
#
# Those of the schedule alarm, where a month of theirs is over and not sealed. Any other that has a
# seal is counted and shown too: one seal in another calendar must not hide what is due in the
# usual.


Reckoning = tuple[str, str]  # a zone and a calendar, by which months are told
USUAL: Reckoning = ("UTC", periods.GREGORIAN)


def reckonings(lake: Lake, scheduled: Reckoning | None = None) -> list[Reckoning]:
    """Return the zones and calendars whose months are told, that of the schedule first.

    Where nothing says what is scheduled it is UTC, unless months are sealed in others alone:
    then it is that of the newest.
    """
    manifests = [manifest for _, manifest in seals.all_sealed(lake.path / seals.STATEMENTS)]
    manifests.sort(key=lambda each: str(each.get("end")), reverse=True)
    pairs = dict.fromkeys((each["zone"], each["calendar"]) for each in manifests)
    sealed = [pair for pair in pairs if is_known(*pair)]
    if scheduled is None:
        scheduled = USUAL if USUAL in sealed or not sealed else sealed[0]
    return [*dict.fromkeys([scheduled, *sealed])]


def is_known(zone: str, calendar: str) -> bool:
    """Whether there are such a zone and calendar: a manifest may have been altered."""
    with suppress(ConfigError):
        return bool(periods.load_zone(zone) and periods.find_calendar(calendar))
    return False
