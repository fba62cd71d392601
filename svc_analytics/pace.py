"""The gate all calls to one merchant pass: how fast, and for how long without luck.

Additive increase, multiplicative decrease. The service names no limits (contract,
Limits), so calls go out freely until the first 429; from then on the gate keeps a
rate, lowers it by a share at each refusal and raises it a little with each success.
"""

import random
import threading
import time
from collections import deque
from collections.abc import Callable

from svc_analytics.errors import Unavailable

DECREASE = 0.7  # of the rate, at a 429
INCREASE = 0.5  # requests per second, gained per second of success
SLOWEST = 0.2  # requests per second
FIRST_PAUSE = 0.25  # seconds, doubling with each failure in a row
LONGEST_PAUSE = 30.0
FIRST_CONTACT = 20.0  # patience with a service that never answered: a wrong address, no network
RATE_WINDOW = 2.0  # seconds over which the rate that met a first 429 is measured
JITTER = random.SystemRandom()


class Stopped(Exception):
    """The run was told to stop while a call waited its turn."""


class Pace:
    """One gate, shared by all workers. Clock and wait are seams for tests."""

    def __init__(
        self,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._patience = patience
        self._clock = clock
        self._stop = threading.Event()
        self._wait = wait or self._stop.wait
        self._lock = threading.Lock()
        self._rate: float | None = None
        self._next_slot = self._held_until = self._lowered_at = self._progress_at = clock()
        self._sent: deque[float] = deque()
        self._is_reached = False

    @property
    def rate(self) -> float | None:
        """Requests per second allowed now; None while no limit was met."""
        return self._rate

    def now(self) -> float:
        """Return the moment on this gate's clock."""
        return self._clock()

    def stop(self) -> None:
        """Wake every waiting call and let none pass any more."""
        self._stop.set()

    def enter(self) -> float:
        """Wait for a turn; return the moment it came, to be given back on refusal."""
        with self._lock:
            now, slot = self._take_slot()
        while slot > now:
            self._sleep(slot - now)
            with self._lock:
                now = self._clock()
                if slot < self._held_until:
                    # A Retry-After that came while waiting: queue again behind it.
                    now, slot = self._take_slot()
        if self._stop.is_set():
            raise Stopped
        self._note_sent(now)
        return now

    def reach(self) -> None:
        """Note that the service answered at all, whatever it said."""
        self._is_reached = True

    def succeed(self) -> None:
        """Note a good answer: progress was made, and the rate may rise."""
        with self._lock:
            self._progress_at = self._clock()
            if self._rate:
                self._rate += INCREASE / self._rate

    def slow_down(self, entered_at: float, retry_after: float | None) -> None:
        """Note a 429: lower the rate once per round trip, and hold the gate if told to."""
        with self._lock:
            now = self._clock()
            if entered_at >= self._lowered_at:
                reached = self._rate or len(self._sent) / RATE_WINDOW
                self._rate = max(SLOWEST, reached * DECREASE)
                self._lowered_at = now
            if retry_after is not None:
                self._held_until = max(
                    self._held_until, now + min(max(retry_after, 0), LONGEST_PAUSE)
                )
                self._next_slot = max(self._next_slot, self._held_until)

    def back_off(self, attempt: int, trouble: Unavailable, since: float | None = None) -> None:
        """Wait before the next try, or raise the trouble when the patience is spent.

        `since` is when the call began: a rest before it is no time without luck.
        """
        begun = self._progress_at if since is None else max(since, self._progress_at)
        idle = self._clock() - begun
        patience = self._patience if self._is_reached else min(self._patience, FIRST_CONTACT)
        if idle >= patience:
            raise trouble
        pause = min(FIRST_PAUSE * 2 ** min(attempt, 16), LONGEST_PAUSE)
        pause *= JITTER.uniform(0.5, 1)
        self._sleep(min(pause, patience - idle))

    def _take_slot(self) -> tuple[float, float]:
        now = self._clock()
        slot = max(now, self._next_slot)
        self._next_slot = slot + (1 / self._rate if self._rate else 0)
        return now, slot

    def _note_sent(self, now: float) -> None:
        with self._lock:
            self._sent.append(now)
            while self._sent[0] <= now - RATE_WINDOW:
                self._sent.popleft()

    def _sleep(self, seconds: float) -> None:
        if self._wait(seconds):
            raise Stopped
