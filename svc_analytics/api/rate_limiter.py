"""The rate limiter that all calls share: when each may go, and when a run gives up.

Calls go out freely until the first 429; then they keep to an `AdaptiveRate`.
"""

import random
import threading
import time
from collections import deque
from collections.abc import Callable

from svc_analytics.api.adaptive_rate import AdaptiveRate
from svc_analytics.errors import Unavailable
from svc_analytics.interrupts import check_stop

FIRST_REST = 0.15  # seconds without calls after a 429 that does not say how long
LONGEST_REST = 8.0
FIRST_PAUSE = 0.25  # seconds a failed call waits, doubling with each failure in a row
LONGEST_PAUSE = 10.0  # so that all are back soon after an outage
LONGEST_HOLD = 30.0  # whatever Retry-After asks
FIRST_CONTACT = 20.0  # patience with a service that never answered: a wrong address, no network
A_MOMENT = 1e-6  # seconds: shorter waits are none
LOOK_AGAIN = 1.0  # seconds a waiting call sleeps at most: the rate may rise meanwhile
JITTER = random.SystemRandom()


class Cancelled(Exception):
    """The run was cancelled while a call waited for its turn."""


class RateLimiter:
    """One rate limit for all workers. `clock` and `wait` are seams for tests."""

    def __init__(
        self,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self.patience = patience  # seconds without progress
        self._clock = clock
        self._stop = threading.Event()
        self._wait = wait or self._stop.wait
        self._lock = threading.Lock()
        self._adaptive = AdaptiveRate()
        self._queue: deque[object] = deque()  # a ticket for each call that waits for its turn
        self._next_slot = self._lowered_at = self._progress_at = clock()
        self._refused_in_a_row = 0
        self._is_reached = False

    @property
    def rate(self) -> float | None:
        """Requests per second allowed now; None while no limit was met."""
        return self._adaptive.rate

    def now(self) -> float:
        """Return the moment on this limiter's clock."""
        return self._clock()

    def stop(self) -> None:
        """Cancel every waiting call, and all that follow."""
        self._stop.set()

    def acquire(self) -> float:
        """Wait for a turn; return its moment, for `on_success` or `on_throttle`."""
        ticket = object()
        with self._lock:
            self._queue.append(ticket)
        try:
            while not self._stop.is_set():
                with self._lock:
                    pause = self._until_turn(ticket)
                    if pause < A_MOMENT:
                        return self._take_slot()
                self._sleep(min(pause, LOOK_AGAIN))
            raise Cancelled
        finally:
            with self._lock:
                self._queue.remove(ticket)

    def mark_reachable(self) -> None:
        """Note that the service answered, whatever it said."""
        self._is_reached = True

    def on_success(self, entered_at: float) -> None:
        """Note a good response: progress was made, and the rate may rise."""
        with self._lock:
            self._progress_at = self._clock()
            is_late = entered_at < self._lowered_at  # sent before the rate was lowered
            if not is_late:
                self._refused_in_a_row = 0
            self._adaptive.on_success(self._progress_at, is_late=is_late)

    def on_throttle(self, entered_at: float, retry_after: float | None) -> None:
        """Note a 429: lower the rate once per round trip, and let all calls rest."""
        with self._lock:
            now = self._clock()
            rest = 0.0 if retry_after is None else min(max(retry_after, 0), LONGEST_HOLD)
            if entered_at >= self._lowered_at:
                self._lowered_at = now
                if self._refused_in_a_row == 0:
                    self._adaptive.on_throttle()
                if retry_after is None:
                    rest = min(FIRST_REST * 2 ** min(self._refused_in_a_row, 16), LONGEST_REST)
                self._refused_in_a_row += 1
            self._next_slot = max(self._next_slot, now + rest)

    def backoff(self, attempt: int, trouble: Unavailable, since: float | None = None) -> None:
        """Wait before the next try, or raise the trouble when the patience is spent."""
        begun = self._progress_at if since is None else max(since, self._progress_at)
        idle = self._clock() - begun
        patience = self.patience if self._is_reached else min(self.patience, FIRST_CONTACT)
        if idle >= patience:
            raise trouble
        pause = min(FIRST_PAUSE * 2 ** min(attempt, 16), LONGEST_PAUSE)
        pause *= JITTER.uniform(0.5, 1)
        self._sleep(min(pause, patience - idle))

    def _until_turn(self, ticket: object) -> float:
        """Return the seconds until a waiting call's turn if nothing changes meanwhile."""
        ahead = self._queue.index(ticket)
        return self._next_slot + ahead * self._step() - self._clock()

    def _take_slot(self) -> float:
        """Set when the next call may go; a call that wakes a little late costs no time."""
        now = self._clock()
        step = self._step()
        self._next_slot = max(self._next_slot, now - step / 2) + step
        return now

    def _step(self) -> float:
        return 1 / self.rate if self.rate else 0

    def _sleep(self, seconds: float) -> None:
        if self._wait(seconds):
            raise Cancelled
        check_stop()
