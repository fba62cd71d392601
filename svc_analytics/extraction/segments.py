"""Who reads what: segments of time, swept newest first and shared among workers.

A segment is what is left of one stream's interval. Its upper end falls as pages
arrive; an idle worker takes the older half of the longest one (design 6).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from svc_analytics.coverage import Span, Spans
from svc_analytics.instants import BEGINNING, DAY, SECOND
from svc_analytics.schema import Stream

Instants = npt.NDArray[np.int64]

# How far an open-ended segment is taken to reach when it is shared out. Only a first
# guess: the oldest part sends no lower bound and reads on to the end of the list.
GUESSED_HISTORY = 10 * 365 * DAY

KEPT_PAGES = 32  # no worker keeps more than this for itself when another is idle

PADDING = SECOND  # asked for beyond a segment's bounds: whether they are inclusive is not known


@dataclass
class Segment:
    """The part [start, end) of a stream that is still to be read; `top` is where it began."""

    stream: Stream
    start: int
    end: int
    top: int
    rows: int = 0
    pages: int = 0
    oldest: int | None = None  # instant of the oldest row seen
    is_ordered: bool = True
    is_bounded: bool = True  # whether the service heeds the bounds asked for

    @classmethod
    def of(cls, stream: Stream, span: Span) -> "Segment":
        """Return the segment of a whole interval."""
        return cls(stream, span[0], span[1], span[1])

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to read."""
        return self.end <= self.start

    @property
    def reach(self) -> int:
        """How much time is left, guessed where the segment is open-ended."""
        return GUESSED_HISTORY if self.start == BEGINNING else self.end - self.start

    @property
    def promised_pages(self) -> float:
        """How many pages are left if the rest is as dense as what was seen."""
        if not (self.is_ordered and self.rows and self.end < self.top):
            return 0
        return self.pages * self.reach / (self.top - self.end)

    def reopen(self) -> None:
        """Begin again at the upper end of what is left, without a cursor."""
        self.oldest = None

    def split(self) -> "Segment":
        """Give away the older half, or more of it where the newer one would be long.

        Workers so stay close to one another, and few months are open at a time.
        """
        kept = min(0.5, KEPT_PAGES / self.promised_pages)
        middle = self.end - max(int(self.reach * kept), 1)
        older = Segment(self.stream, self.start, middle, middle)
        self.start = middle
        return older


@dataclass(frozen=True)
class Progress:
    """What one page gave: the interval whose rows are wanted, what is covered, what no longer.

    `out_of_order` are two instants seen one behind the other, the second of them newer: where
    it is set, the list was found not to be newest first.
    """

    wanted: Span
    covered: Spans = ()
    retracted: Spans = ()
    out_of_order: Span | None = None


def advance(
    segment: Segment, instants: Instants, is_repeat: npt.NDArray[np.bool_], is_last: bool
) -> Progress:
    """Move a segment's end down past a page's rows, in the order received.

    `is_repeat` marks rows that stood on the page before: rows arriving in between
    may push them on. Everything newer than the oldest row is done, ties are read
    again; but once a page is not newest first, only the end of the list proves anything.
    """
    out_of_order = _find_disorder(segment, instants[~is_repeat]) if segment.is_ordered else None
    retracted = _give_up_order(segment) if out_of_order else ()
    wanted = (segment.start, segment.end)
    segment.pages += 1
    segment.rows += len(instants)
    if len(instants):
        lowest = int(instants.min())
        segment.is_bounded &= int(instants.max()) < segment.top + 2 * PADDING
        segment.oldest = lowest if segment.oldest is None else min(segment.oldest, lowest)
    reached = segment.start if is_last else _reached(segment)
    covered = ((reached, segment.end),) if reached < segment.end else ()
    segment.end = min(segment.end, reached)
    return Progress(wanted, covered, retracted, out_of_order)


def _reached(segment: Segment) -> int:
    """Return the instant from which on all is read, after a page that is not the last."""
    if segment.oldest is None or not segment.is_ordered:
        return segment.end
    return max(segment.start, segment.oldest + 1)


def _find_disorder(segment: Segment, instants: Instants) -> Span | None:
    """Return the first two instants of a page, or around its edge, that are not newest first."""
    if not len(instants):
        return None
    if segment.oldest is not None and instants[0] > segment.oldest:
        return segment.oldest, int(instants[0])
    rises = np.flatnonzero(np.diff(instants) > 0)
    return (int(instants[rises[0]]), int(instants[rises[0] + 1])) if len(rises) else None


def _give_up_order(segment: Segment) -> Spans:
    segment.is_ordered = False
    retracted = (segment.end, segment.top)
    segment.end = segment.top
    return (retracted,) if retracted[0] < retracted[1] else ()
