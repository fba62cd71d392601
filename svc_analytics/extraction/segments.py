"""Segments: the parts of a stream's time still to be read, swept newest first."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from svc_analytics.coverage import Span, Spans, union
from svc_analytics.instants import BEGINNING, DAY, SECOND
from svc_analytics.schema import Instants, Stream

# How long an open-ended segment is taken to be when it is split. Only a first guess:
# the oldest part sends no lower bound and reads on to the end of the list.
GUESSED_HISTORY = 10 * 365 * DAY
KEPT_PAGES = 32  # a worker keeps no more than this when another is idle
# Of an open end each keeps so many times as much as the one before: idle workers learn where
# history begins in a few steps, however long it is.
FARTHER = 2
PADDING = SECOND  # added to both bounds: the contract does not say if they are inclusive


@dataclass
class Segment:
    """The interval [start, end) of a stream still to be read; `end` falls from `top`."""

    stream: Stream
    start: int
    end: int
    top: int
    rows: int = 0
    pages: int = 0
    oldest: int | None = None  # instant of the oldest row seen
    is_ordered: bool = True
    is_bounded: bool = True  # whether the service heeds the bounds requested
    readings: int = 1  # how often it is read by now
    since: int | None = None  # from here down its pages tell how dense it is
    kept_pages: int = KEPT_PAGES  # when an idle worker takes the rest
    doubtful: Span | None = None  # swept, but the list moved meanwhile: to be read again
    has_moved: bool = False  # just before the next page

    @classmethod
    def of(cls, stream: Stream, span: Span) -> "Segment":
        """Return the segment of a whole interval."""
        return cls(stream, span[0], span[1], span[1])

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to read."""
        return self.end <= self.start

    @property
    def is_open_ended(self) -> bool:
        """Whether it reaches back to wherever history begins."""
        return self.start == BEGINNING

    @property
    def reach(self) -> int:
        """The time left, in microseconds; a guess where the segment is open-ended."""
        return GUESSED_HISTORY if self.is_open_ended else self.end - self.start

    @property
    def expected_pages(self) -> float:
        """The number of pages left, if the rest is as dense as what was seen."""
        if not (self.is_ordered and self.rows and self.since and self.end < self.since):
            return 0
        return self.pages * self.reach / (self.since - self.end)

    def split(self) -> "Segment":
        """Split off the older half, or more, so that few months are being read at a time."""
        share = min(0.5, self.kept_pages / self.expected_pages)
        middle = self.end - max(int(self.reach * share), 1)
        older = Segment(self.stream, self.start, middle, middle, readings=self.readings)
        older.since = middle
        if older.is_open_ended:
            older.kept_pages = FARTHER * self.kept_pages
        self.start, self.kept_pages = middle, KEPT_PAGES
        return older

    def doubt(self) -> None:
        """Doubt what was swept so far: records may have appeared there meanwhile."""
        lowest = max(self.start, self.end - 1) if self.is_ordered else self.start
        self.doubtful = (lowest, self.top)
        self.has_moved, self.oldest = True, None  # rows pushed on may be newer than the oldest

    def again(self) -> "Segment | None":
        """Return the segment that reads again what is doubtful, if anything is."""
        if self.doubtful is None:
            return None
        start, top = self.doubtful
        return Segment(self.stream, start, top, top, readings=self.readings + 1)


@dataclass(frozen=True)
class Progress:
    """The effect of one page on its segment: time covered, and time retracted."""

    wanted: Span  # only rows within it belong to the segment
    covered: Spans = ()
    retracted: Spans = ()
    out_of_order: Span | None = None  # the first pair of instants that is not newest-first
    is_ordered: bool = True  # whether the list was newest-first up to here
    newer: int | None = None  # instant of the oldest row before the page
    doubtful: Spans = ()  # covered, but only provisionally: the list moved at each reading


def advance(
    segment: Segment, instants: Instants, is_repeat: npt.NDArray[np.bool_], is_last: bool
) -> Progress:
    """Lower a segment's end past a page's rows; return what the page covers and retracts.

    `is_repeat` marks rows that were on the page before too: rows arriving in between may
    push them on. All time newer than the oldest row is covered, its own instant is read
    again; but once a list is not newest-first, only its last page proves anything.
    """
    newer = segment.oldest
    out_of_order = _find_disorder(segment, instants[~is_repeat]) if segment.is_ordered else None
    retracted = union(_give_up_order(segment) if out_of_order else (), _take_doubt(segment))
    wanted = (segment.start, segment.end)
    segment.pages += 1
    segment.rows += len(instants)
    if len(instants):
        lowest, highest = int(instants.min()), int(instants.max())
        segment.is_bounded &= highest < segment.top + 2 * PADDING
        if segment.since is None:
            segment.since = min(highest, segment.top)  # a shop may have closed long ago
        segment.oldest = lowest if segment.oldest is None else min(segment.oldest, lowest)
    reached = segment.start if is_last else _reached(segment)
    covered = ((reached, segment.end),) if reached < segment.end else ()
    segment.end = min(segment.end, reached)
    return Progress(wanted, covered, retracted, out_of_order, segment.is_ordered, newer)


def _reached(segment: Segment) -> int:
    """Return the instant from which on everything was read, after a page that is not the last."""
    if segment.oldest is None or not segment.is_ordered:
        return segment.end
    return max(segment.start, segment.oldest + 1)


def _find_disorder(segment: Segment, instants: Instants) -> Span | None:
    """Return the first pair of instants, within a page or across its edge, not newest-first."""
    if not len(instants):
        return None
    if segment.oldest is not None and instants[0] > segment.oldest:
        return segment.oldest, int(instants[0])
    rises = np.flatnonzero(np.diff(instants) > 0)
    return (int(instants[rises[0]]), int(instants[rises[0] + 1])) if len(rises) else None


def _take_doubt(segment: Segment) -> Spans:
    """Return the time to be retracted because the list has just moved."""
    has_moved, segment.has_moved = segment.has_moved, False
    return (segment.doubtful,) if has_moved and segment.doubtful else ()


def _give_up_order(segment: Segment) -> Spans:
    """Begin the segment anew; return what it had covered, which is to be retracted."""
    segment.is_ordered = False
    retracted = (segment.end, segment.top)
    segment.end = segment.top
    return (retracted,) if retracted[0] < retracted[1] else ()
