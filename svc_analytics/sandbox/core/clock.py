"""The clock of the sandbox, in UTC microseconds."""

import time


class Clock:
    """Tell the time of this machine, or a fixed time that moves only when told to.

    >>> clock = Clock(1_000_000)
    >>> clock.advance(5)
    >>> clock.now()
    1000005
    """

    def __init__(self, at: int | None = None) -> None:
        self._at = at

    def now(self) -> int:
        """Return the current instant."""
        return time.time_ns() // 1_000 if self._at is None else self._at

    def set(self, at: int) -> None:
        """Stop the clock at an instant."""
        self._at = at

    def run(self) -> None:
        """Follow this machine's time again."""
        self._at = None

    def advance(self, micros: int) -> None:
        """Stop the clock so many microseconds after now."""
        self._at = self.now() + micros
