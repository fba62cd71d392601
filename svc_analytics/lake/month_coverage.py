"""How covered time is shared out among month files: arithmetic, no file access.

Each file covers its own month, the origin's (`0000-00`) the time before the first.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from svc_analytics.coverage import Coverage, Span, Spans, difference, intersection, union
from svc_analytics.instants import BEGINNING, MINUTE
from svc_analytics.lake.footer import MonthFileFooter
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.periods import month, month_of, utc_months

CLOCK_TOLERANCE = 15 * MINUTE  # by which clocks may differ that are both right


@dataclass(frozen=True)
class CoverageUpdate:
    """The change that one publication makes to the coverage of month files."""

    retracted: Spans = ()  # to be read again
    stale: Spans = ()  # complete until now, and provisional from now on
    gained: dict[str, Coverage] = field(default_factory=dict)  # by the month that gets it

    def remaining(self, held: Coverage) -> Coverage:
        """Return the coverage of a file that still holds."""
        return held.remove(self.retracted).mark_provisional(self.stale)

    def retracts(self, held: Coverage) -> bool:
        """Whether a file's own claim is retracted, whatever is covered anew."""
        return held.remove(self.retracted) != held

    def confirmed(self, held: MonthFileFooter) -> Spans:
        """Return the confirmed coverage of a file that still holds."""
        return difference(held.confirmed, self.retracted)

    def apply(self, label: str, held: Coverage) -> Coverage:
        """Return the new coverage of a month's file."""
        return self.remaining(held).add(self.gained.get(label, Coverage()))


def owned_span(label: str, labels: Iterable[str], now: int) -> Span:
    """Return the time of a month; for the origin, that before the first label."""
    if label != ORIGIN:
        return month(label).start, month(label).end
    return BEGINNING, _first_start(labels, default=now)


def lookback_window(complete: Spans, lookback: int) -> Spans:
    """Return the newest complete time, which a run reads again for late records."""
    newest = complete[-1][1] if complete else BEGINNING
    return intersection(complete, max(newest - lookback, BEGINNING), newest)


def stale_coverage(window: Spans, covered: Spans) -> Spans:
    """Return the provisional part of the lookback window once this is covered.

    Publishing newer time moves the window of the next run forward. What this run has not
    read again of the old window would stay complete without ever having been read again.
    """
    unread = difference(window, covered)
    moves_on = unread and covered and covered[-1][1] > unread[-1][1]
    return unread if moves_on else ()


def first_month_start(
    covered: Spans, labels: Iterable[str], new_labels: Iterable[str], *, fills_months: bool
) -> int:
    """Return the start of the first month that has a file, or gets one now.

    Those of `new_labels` get one; the month read last, if there is none yet; and every
    covered month, if the run `fills_months`.
    """
    starts = [month(label).start for label in new_labels]
    newest = month_of(covered[-1][1] - 1).start if covered else max(starts)
    starts.append(_first_start(labels, default=newest))
    if fills_months:
        starts += [month_of(start).start for start, _ in covered if start >= 0]
    return min(starts)


def coverage_by_month(gained: Coverage, origin: Coverage, first: int) -> dict[str, Coverage]:
    """Split newly gained coverage by the month whose file is to hold it.

    Month files hold the time from `first` on, so what the origin's file covers of it moves
    into them: also between or after months that have a file, where a power cut took some.
    """
    moved = origin.clip(first, max((end for _, end in origin.read), default=first))
    ours = gained.clip(first, max((end for _, end in gained.read), default=first)).add(moved)
    by_month = {ORIGIN: gained.clip(BEGINNING, first)}
    for start, end in ours.read:
        for period in utc_months(start, end):
            by_month[period.label] = ours.clip(period.start, period.end)
    return by_month


def early_claims(footers: Iterable[MonthFileFooter], now: int) -> Spans:
    """Return the covered time that has not come, or had not when its file was written.

    Whatever came later was never read: a clock was far ahead when the claim was made.
    """
    spans: list[Span] = []
    for footer in footers:
        for limit in (footer.claimed_at, now):
            beyond = difference(footer.coverage.read, [(BEGINNING, limit)])
            is_early = beyond and beyond[-1][1] > limit + CLOCK_TOLERANCE
            spans += beyond if is_early else ()
    return union(spans)


def _first_start(labels: Iterable[str], default: int) -> int:
    starts = (month(label).start for label in labels if label != ORIGIN)
    return min(starts, default=default)
