"""The scheduler: shares out segments to workers, and splits long ones."""

import threading

import numpy as np
import numpy.typing as npt

from svc_analytics.extraction.segments import Instants, Progress, Segment, advance

SHARED_PAGES = 3  # a part is worth a request of its own from here on

WORTH_WAITING = 3.0  # times as long for a page as its reading: then more workers help


class SegmentQueue:
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
