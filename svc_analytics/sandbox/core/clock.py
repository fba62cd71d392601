"""The sandbox's own time, in UTC microseconds."""

import time


class Clock:
    """The time of this machine, or, when made with an instant, a time that only tests move.

    >>> clock = Clock(1_000_000)
    >>> clock.advance(5)
    >>> clock.now()
    1000005
    """

    def __init__(self, at: int | None = None) -> None:
        self._at = at

    def now(self) -> int:
        """Return the present instant."""
        return time.time_ns() // 1_000 if self._at is None else self._at

    def set(self, at: int) -> None:
        """Stop the clock at an instant."""
        self._at = at

    def run(self) -> None:
        """Follow the time of this machine again."""
        self._at = None

    def advance(self, micros: int) -> None:
        """Stop the clock that much later than now."""
        self._at = self.now() + micros
