"""Schedule segments among workers: an idle one takes the older part of another's.

Of the open end first, to learn where history begins; then of the newest long one, so that
few months are being read at a time; in the end of the longest.

How many work at a time is given, or follows from how long answers take: on a slow line more
make no more requests a second than few on a fast one.
"""

import math
import threading

import numpy as np
import numpy.typing as npt

from svc_analytics.extraction.segments import KEPT_PAGES, Progress, Segment, advance
from svc_analytics.schema import Instants

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
        self.tops = {each.stream.name: each.top for each in sorted(segments, key=_top)}
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
        return self._waiting.pop() if self._waiting else self._steal()

    def _wake_if_worth(self) -> None:
        if self._best_to_split():  # waking an idle worker in vain costs more than reading a page
            self._changed.notify()

    def _steal(self) -> Segment | None:
        best = self._best_to_split()
        return best.split() if best else None

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


def _top(segment: Segment) -> int:
    return segment.top


def _worth(segment: Segment) -> tuple[bool, bool, float]:
    """Order segments by how much they are worth splitting."""
    pages = segment.expected_pages
    is_long = pages >= 2 * KEPT_PAGES
    return segment.is_open_ended and is_long, is_long, segment.end if is_long else pages
