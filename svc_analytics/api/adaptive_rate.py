"""Adaptive rate: the calls a second that the service allows, learnt from its 429s.

TCP's CUBIC law: the rate refused is remembered as an estimate of the limit; the rate falls
a little below it, returns in ever smaller steps, and leaves it in ever larger ones.
"""

from collections import deque

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
