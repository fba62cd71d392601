"""The clock of the sandbox, in UTC microseconds."""

import time

from svc_analytics.instants import SECOND, from_micros


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


def instant_text(micros: int) -> str:
    """Write an instant in whole seconds, milliseconds or microseconds, as it needs.

    >>> instant_text(1_500_000), instant_text(1)
    ('1970-01-01T00:00:01.500Z', '1970-01-01T00:00:00.000001Z')
    """
    fine = "microseconds" if micros % 1000 else "milliseconds"
    precision = fine if micros % SECOND else "seconds"
    return from_micros(micros).isoformat(timespec=precision).removesuffix("+00:00") + "Z"
