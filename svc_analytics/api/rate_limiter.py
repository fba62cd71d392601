"""The rate limiter that all calls share: when each may go, and when a run gives up.

Calls go out freely until the first 429; then they keep to an `AdaptiveRate`.
"""

import random
import threading
import time
from collections import deque
from collections.abc import Callable

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


# ---------- Adaptive rate
# The calls a second that the service allows, learnt from its 429s.
#
# TCP's CUBIC law: the rate refused is remembered as an estimate of the limit; the rate falls
# a little below it, returns in ever smaller steps, and leaves it in ever larger ones.


# More than plain CUBIC, by the limits of tests/api/test_rate_limiter.py: that used 97 % of a
# limit, not 99 %, 7 of 27 times less than 95 %, and did not recover from 6 of 16 dips in 30 s.

BETA = 0.965  # factor of the limit to which a 429 lowers the rate
SCALE = 5.0  # times the squared distance from the limit: the gain of a call, of a rate per second
# Bounds of that gain.
FASTEST = 0.35  # far from any known limit
SLOWEST_UNSURE = 0.01  # at a limit met only once, or well below the best one
SLOWEST_SURE = 0.0001  # at a limit that was confirmed

# Factors from a refused rate to the estimated limit.
BELOW = 0.985  # when the refusal confirms the known limit
OVERSHOT = 0.95  # when the limit was somewhere else, at most
NEAR = (0.97, 1.1)  # times the known limit: a refusal in between confirms it
CALM = 5.0  # seconds without a 429 before, for that: else only a bucket's burst ran out
DIP = 0.75  # of the best limit: a lower one is expected to rise again
FADING = 0.985  # factor of the best limit, each time a lower one is confirmed
FIRST_GUESS = 10.0  # calls a second: too high is corrected at once, too low costs time
LEAST = 0.2  # calls a second
WINDOW = 1.0  # seconds before the first 429 whose calls are counted


class AdaptiveRate:
    """The rate to keep to, in calls a second; None until the first 429."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self._passed = 0  # calls since the rate was last lowered
        self._limit: float | None = None  # as estimated
        self._is_count = False  # whether that is only the calls of the last second
        self._is_sure = False  # whether it was confirmed by a second 429
        self._best = 0.0  # limit so far
        self._recent: deque[float] = deque()

    def on_success(self, now: float, *, is_late: bool = False) -> None:
        """Raise the rate after a good response; `is_late` if sent before it was last lowered."""
        if self.rate is None:
            self._recent.append(now)
            while self._recent[0] <= now - WINDOW:
                self._recent.popleft()
        elif not is_late:
            self._passed += 1
            self.rate += self._gain()
        elif self._is_count:
            self._recent.append(now)
            self._count_recent()

    def on_throttle(self) -> None:
        """Lower the rate after a 429 to a call that was sent since it was last lowered."""
        if self.rate is None:
            self._count_recent()
        else:
            self._limit = self._estimate_limit(self.rate)
            self.rate = max(LEAST, BETA * self._limit)
        self._passed = 0

    def _count_recent(self) -> None:
        """Take the calls of the last second for the limit, unless they are next to none."""
        count = len(self._recent)
        self._is_count = count >= FIRST_GUESS
        self._limit = count if self._is_count else None
        self.rate = BETA * max(FIRST_GUESS, count)

    def _estimate_limit(self, refused: float) -> float:
        """Return the limit to assume after a 429 at this rate."""
        is_near = self._limit is not None and NEAR[0] <= refused / self._limit <= NEAR[1]
        self._is_sure = is_near and (self._is_count or self._passed >= CALM * refused)
        # The share of calls that passed since the last 429; few calls say little.
        share = (self._passed + 1) / (self._passed + 2)
        a_second_ago = 1 / (1 + self._gain() / 2)
        limit = refused * (BELOW if self._is_sure else min(OVERSHOT, share, a_second_ago))
        self._best = max(limit, self._best * (FADING if self._is_sure else 1))
        self._is_count = False
        return limit

    def _gain(self) -> float:
        """Return how much a call that passed raises the rate."""
        if self._limit is None or self.rate is None:
            return FASTEST
        is_settled = self._is_sure and self._limit >= DIP * self._best
        slowest = SLOWEST_SURE if is_settled else SLOWEST_UNSURE
        distance = self.rate / self._limit - 1
        return min(FASTEST, max(slowest, SCALE * distance**2))
