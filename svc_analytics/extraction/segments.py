"""Segments: the parts of a stream's time still to be read, swept newest first."""

import math
import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from svc_analytics.coverage import Span, Spans, union
from svc_analytics.instants import BEGINNING, DAY, SECOND
from svc_analytics.schema import Instants, Stream

# How long an open-ended segment is taken to be when it is split. Only a first guess:
# the oldest part sends no lower bound and reads on to the end of the list.
GUESSED_HISTORY = 10 * 365 * DAY
OWN_PAGES = 32  # a worker keeps no more than this when another is idle
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
    own_pages: int = OWN_PAGES  # when an idle worker takes the rest
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
        share = min(0.5, self.own_pages / self.expected_pages)
        middle = self.end - max(int(self.reach * share), 1)
        older = Segment(self.stream, self.start, middle, middle, readings=self.readings)
        older.since = middle
        if older.is_open_ended:
            older.own_pages = FARTHER * self.own_pages
        self.start, self.own_pages = middle, OWN_PAGES
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


# ---------- Schedule segments among workers
# An idle one takes the older part of another's.
#
# Of the open end first, to learn where history begins; then of the newest long one, so that
# few months are being read at a time; in the end of the longest.
#
# How many work at a time is given, or follows from how long answers take: on a slow line more
# make no more requests a second than few on a fast one.


SHARED_PAGES = 3  # pages left that make a segment worth splitting
# More workers help where fetching a page takes so many times as long as reading it.
WORTH_WAITING = 3.0
# Workers, where nobody says how many: as many as make this many requests a second.
FEWEST, MOST = 8, 16
REQUESTS = 320
TIMED_PAGES = 3  # by which it is known how long answers take: the first may wait for a connection


class SegmentQueue:
    """A work-stealing queue: hands segments to workers until none is left, or it is cancelled."""

    def __init__(self, segments: list[Segment], workers: int | None = None) -> None:
        self._workers = workers or FEWEST
        self._may_grow = workers is None
        self._waiting = list(segments)
        self._active: list[Segment] = []
        self._changed = threading.Condition()
        # By stream, the newest instant of what is read.
        self.tops = {
            each.stream.name: each.top for each in sorted(segments, key=lambda each: each.top)
        }
        self._fetch_seconds = self._read_seconds = 0.0
        self._pages, self._least_fetch = 0, math.inf
        # By stream, once a part of it was asked for: whether the service heeds `from` and `to`.
        self._heeds_bounds: dict[str, bool] = {}
        # By stream, the fewest records that a seam repeats; and of which streams that is certain.
        self._repeats: dict[str, int] = {}
        self._certain: set[str] = set()
        self._is_cancelled = False

    @property
    def most_workers(self) -> int:
        """How many workers there may ever be."""
        return MOST if self._may_grow else self._workers

    def take(self) -> Segment | None:
        """Return the next segment to sweep, waiting for one; None when all is done."""
        with self._changed:
            while not self._is_cancelled:
                segment = self._next()
                if segment:
                    self._active.append(segment)
                    self._wake_if_worth()
                    return segment
                if not self._active:
                    return None
                self._changed.wait()
            return None

    def advance(
        self, segment: Segment, instants: Instants, is_repeat: npt.NDArray[np.bool_], is_last: bool
    ) -> Progress:
        """Advance a segment past a page, while nobody else can take a part of it."""
        with self._changed:
            progress = advance(segment, instants, is_repeat, is_last)
            self._note_bounds(segment)
            self._wake_if_worth()
            return progress

    def note_times(self, fetching: float, reading: float) -> None:
        """Add the seconds that a page took to come, and to be read."""
        with self._changed:
            self._fetch_seconds += fetching
            self._read_seconds += reading
            self._pages += 1
            self._least_fetch = min(self._least_fetch, fetching)
            if self._may_grow and self._pages == TIMED_PAGES:
                self._workers = min(max(int(self._least_fetch * REQUESTS), FEWEST), MOST)
                self._changed.notify_all()

    @property
    def is_slow(self) -> bool:
        """Whether pages take far longer to come than to be read."""
        return self._fetch_seconds >= WORTH_WAITING * self._read_seconds

    def add(self, segment: Segment) -> None:
        """Add a segment that is to be swept too."""
        with self._changed:
            self._waiting.append(segment)

    def doubt(self, segment: Segment) -> None:
        """Doubt what was swept of a segment, while nobody else can take a part of it."""
        with self._changed:
            segment.doubt()

    def note_repeats(self, segment: Segment, repeats: int, *, is_certain: bool = False) -> None:
        """Note how many records a seam repeats; it `is_certain` if the list was seen to stand."""
        with self._changed:
            name = segment.stream.name
            self._repeats[name] = min(repeats, self._repeats.get(name, repeats))
            if is_certain:
                self._certain.add(name)

    def usual_repeats(self, segment: Segment) -> int:
        """Return how many records each seam of a stream repeats though its list stands still.

        A second reading believes the first one, where that could not be made certain.
        """
        with self._changed:
            name = segment.stream.name
            is_known = name in self._certain or segment.readings > 1
            return self._repeats.get(name, 0) if is_known else 0

    def finish(self, segment: Segment) -> None:
        """Remove a segment that is done, or has failed."""
        with self._changed:
            self._active.remove(segment)
            self._changed.notify_all()

    def give_up(self, segment: Segment) -> None:
        """Split no segment of this one's stream any more: its parts would fail in turn."""
        with self._changed:
            self._heeds_bounds[segment.stream.name] = False

    def cancel(self) -> None:
        """Let no worker take another segment."""
        with self._changed:
            self._is_cancelled = True
            self._changed.notify_all()

    def _next(self) -> Segment | None:
        if len(self._active) >= self._workers:
            return None
        if self._waiting:
            return self._waiting.pop()
        best = self._best_to_split()
        return best.split() if best else None

    def _wake_if_worth(self) -> None:
        if self._best_to_split():  # waking an idle worker in vain costs more than reading a page
            self._changed.notify()

    def _best_to_split(self) -> Segment | None:
        """The segment most worth splitting, if any is."""
        shared = [segment for segment in self._active if self._may_split(segment.stream.name)]
        best = max(shared, key=_worth, default=None)
        return best if best is not None and best.expected_pages >= SHARED_PAGES else None

    def _may_split(self, name: str) -> bool:
        """Tell whether another worker would help: pages take long, and bounds are heeded."""
        if not self.is_slow:
            return False
        # Until the service was seen to heed the bounds of a part, it is split only once.
        parts = sum(segment.stream.name == name for segment in self._active)
        return self._heeds_bounds.get(name, parts == 1)

    def _note_bounds(self, segment: Segment) -> None:
        name = segment.stream.name
        if not segment.is_bounded:
            self._heeds_bounds[name] = False
        elif segment.top < self.tops[name]:
            self._heeds_bounds.setdefault(name, True)


def _worth(segment: Segment) -> tuple[bool, bool, float]:
    """Order segments by how much they are worth splitting."""
    pages = segment.expected_pages
    is_long = pages >= 2 * OWN_PAGES
    return segment.is_open_ended and is_long, is_long, segment.end if is_long else pages
