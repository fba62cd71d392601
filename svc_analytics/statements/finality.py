"""What keeps a period from being stated, or from being final: time not read, findings."""

from collections import Counter
from collections.abc import Iterator, Mapping

import pyarrow as pa

from svc_analytics.coverage import Coverage, gaps, intersection, span_values
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.instants import format_instant, from_micros, readable_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period
from svc_analytics.render.document import UNFINISHED, Reason
from svc_analytics.schema import STREAMS
from svc_analytics.warehouse.acknowledgements import blocking_findings
from svc_analytics.warehouse.models import count_findings
from svc_analytics.webhooks.reconcile import SAYINGS


def require_begun(period: Period, clock: int) -> None:
    """Raise `ConfigError` for a month, a quarter or a year that lies in the future."""
    if period.start >= clock:
        raise ConfigError(f"{period.folder} has not begun: choose a {period.noun} up to now")


def require_begun_by(period: Period, as_of: int) -> None:
    """Raise `ConfigError` where a period had not begun at the instant it is to be stated as of."""
    if as_of <= period.start:
        begins, then = format_instant(period.start), format_instant(as_of)
        message = (
            f"{period.folder} begins at {begins}, and as_of is {then}: nothing of it was known"
        )
        raise ConfigError(f"{message} then; give a later as_of")


def read_until(lake: Lake, coverage: dict[str, Coverage], as_of: int | None) -> int:
    """Return the end of the newest read; refuse an `as_of` that is later than that."""
    read_to = max((end for each in coverage.values() for _, end in each.read), default=None)
    if read_to is None:
        raise ConfigError(f"nothing was read into {lake.place} yet: run svc-analytics extract")
    if as_of is not None and read_to < as_of:
        message = f"{lake.place} was read only up to {format_instant(read_to)}: run extract first"
        raise LakeError(message)
    return read_to


def find_reasons(
    period: Period, coverage: dict[str, Coverage], checks: pa.Table, known_to: int, is_over: bool
) -> tuple[Reason, ...]:
    """List why a statement is provisional: a running month, unread time, blocking findings."""
    ends = readable_instant(from_micros(period.end))
    running = (
        []
        if is_over
        else [Reason(Message(UNFINISHED, period=translated(period.noun), instant=ends))]
    )
    unread = [
        Reason(text)
        for name, read in coverage.items()
        for text in _unread(name, read, period, known_to, is_over)
    ]
    counts = Counter(blocking_findings(checks)["check_name"].to_pylist())
    blocking = [
        Reason(count_findings(name, count, SAYINGS)) for name, count in sorted(counts.items())
    ]
    return (*running, *unread, *blocking)


def unread_again(causes: Mapping[str, str]) -> list[Reason]:
    """List the streams that a second reading could not read, each with its cause."""
    return [
        Reason(Message("reason.unread_again", stream=translated(STREAMS[name].words), why=why))
        for name, why in sorted(causes.items())
    ]


def _unread(
    name: str, coverage: Coverage, period: Period, known_to: int, is_over: bool
) -> Iterator[Message]:
    """Say which time of the period a stream was not read for, or only provisionally."""
    words = STREAMS[name].words
    if not coverage.read:
        yield Message("reason.never_extracted", stream=translated(words))
        return
    for span in gaps(coverage, period.start - STREAMS[name].settles_within, known_to):
        yield Message("reason.unread", stream=translated(words), **span_values(span))
    fresh = intersection(coverage.provisional, period.start, known_to)
    if is_over and fresh:
        yield Message("reason.still_provisional", stream=translated(words), **span_values(fresh[0]))
