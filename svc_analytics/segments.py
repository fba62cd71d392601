"""Who reads what: segments of time, swept newest first and shared among workers.

A segment is what is left of one stream's interval. Its upper end falls as pages
arrive; an idle worker takes the older half of the longest one (design 6).
"""

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from svc_analytics.coverage import Span, Spans
from svc_analytics.periods import BEGINNING, DAY, SECOND
from svc_analytics.schema import Stream

Instants = npt.NDArray[np.int64]

# How far an open-ended segment is taken to reach when it is shared out. Only a first
# guess: the oldest part sends no lower bound and reads on to the end of the list.
GUESSED_HISTORY = 10 * 365 * DAY
SHARED_PAGES = 3  # a part is worth a request of its own from here on
KEPT_PAGES = 32  # no worker keeps more than this for itself when another is idle
WORTH_WAITING = 3.0  # times as long for a page as its reading: then more workers help
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
    """What one page gave: the interval whose rows are wanted, what is proven, what no longer.

    `disorder` are two instants seen one behind the other, the second of them newer: where
    it is set, the list was found not to be newest first.
    """

    wanted: Span
    proven: Spans = ()
    doubted: Spans = ()
    disorder: Span | None = None


def advance(
    segment: Segment, instants: Instants, is_repeat: npt.NDArray[np.bool_], is_last: bool
) -> Progress:
    """Move a segment's end down past a page's rows, in the order received.

    `is_repeat` marks rows that stood on the page before: rows arriving in between
    may push them on. Everything newer than the oldest row is done, ties are read
    again; but once a page is not newest first, only the end of the list proves anything.
    """
    disorder = _find_disorder(segment, instants[~is_repeat]) if segment.is_ordered else None
    doubted = _give_up_order(segment) if disorder else ()
    wanted = (segment.start, segment.end)
    segment.pages += 1
    segment.rows += len(instants)
    if len(instants):
        lowest = int(instants.min())
        segment.is_bounded &= int(instants.max()) < segment.top + 2 * PADDING
        segment.oldest = lowest if segment.oldest is None else min(segment.oldest, lowest)
    reached = segment.start if is_last else _reached(segment)
    proven = ((reached, segment.end),) if reached < segment.end else ()
    segment.end = min(segment.end, reached)
    return Progress(wanted, proven, doubted, disorder)


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
    doubted = (segment.end, segment.top)
    segment.end = segment.top
    return (doubted,) if doubted[0] < doubted[1] else ()


class Board:
    """Hands segments to workers until none is left, or the run is called off."""

    def __init__(self, segments: list[Segment]) -> None:
        self._waiting = list(segments)
        self._active: list[Segment] = []
        self._changed = threading.Condition()
        self._tops = {segment.stream.name: segment.top for segment in segments}
        self._asked_for = self._taken_in = 0.0  # seconds spent waiting for pages, and reading them
        # Streams of which a part was asked for, and whether the bounds were heeded.
        self._heeded: dict[str, bool] = {}
        self._is_off = False

    def take(self) -> Segment | None:
        """Return the next segment to sweep, waiting for one; None when all is done."""
        with self._changed:
            while not self._is_off:
                segment = self._waiting.pop() if self._waiting else self._share()
                if segment:
                    self._active.append(segment)
                    return segment
                if not self._active:
                    return None
                self._changed.wait()
            return None

    def advance(
        self, segment: Segment, instants: Instants, is_repeat: npt.NDArray[np.bool_], is_last: bool
    ) -> Progress:
        """Advance a segment while nobody else can take a part of it."""
        with self._changed:
            progress = advance(segment, instants, is_repeat, is_last)
            self._note_bounds(segment)
            if self._longest():  # waking the idle for nothing costs more than reading a page
                self._changed.notify()
            return progress

    def note_times(self, asking: float, taking: float) -> None:
        """Note how long a page took to come, and how long to read."""
        with self._changed:
            self._asked_for += asking
            self._taken_in += taking

    def finish(self, segment: Segment) -> None:
        """Take a segment off the board, done or failed."""
        with self._changed:
            self._active.remove(segment)
            self._changed.notify_all()

    def call_off(self) -> None:
        """Let no worker take another segment."""
        with self._changed:
            self._is_off = True
            self._changed.notify_all()

    def _share(self) -> Segment | None:
        longest = self._longest()
        return longest.split() if longest else None

    def _longest(self) -> Segment | None:
        """The segment most worth sharing, if any is."""
        shared = [segment for segment in self._active if self._may_share(segment.stream.name)]
        longest = max(shared, key=lambda segment: segment.promised_pages, default=None)
        is_worth = longest is not None and longest.promised_pages >= SHARED_PAGES
        return longest if is_worth else None

    def _may_share(self, name: str) -> bool:
        """Tell whether another worker would help with a stream.

        It would not where pages come about as fast as they are read: one interpreter
        reads them all. And a stream is shared once, then on only if the part that was
        shown is the part that was asked for.
        """
        if self._asked_for < WORTH_WAITING * self._taken_in:
            return False
        parts = sum(segment.stream.name == name for segment in self._active)
        return self._heeded.get(name, parts == 1)

    def _note_bounds(self, segment: Segment) -> None:
        name = segment.stream.name
        if not segment.is_bounded:
            self._heeded[name] = False
        elif segment.top < self._tops[name]:
            self._heeded.setdefault(name, True)
