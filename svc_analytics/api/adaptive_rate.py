"""How many calls a second the service allows, as learnt from its answers.

Additive increase, multiplicative decrease, bent like TCP's cubic law so that little of
a steady limit is wasted: the rate that was refused is remembered as a ceiling, the
rate falls a little below it, comes back in ever smaller steps, and leaves it behind in
ever larger ones. Arithmetic only: the clock is the caller's.
"""

from collections import deque

# Of a rate, gained per second of success.
FASTEST = 0.35  # far from any ceiling
SLOWEST_UNSURE = 0.01  # near one that was met only once, or that is a dip below better days
SLOWEST_SURE = 0.0001  # near one that was met again
BEND = 5.0  # times the squared distance from the ceiling, in between

KEPT = 0.965  # of the ceiling, after a refusal
BELOW = 0.985  # of a rate that was refused where the limit was met before: the limit lies below
OVERSHOT = 0.95  # of a rate that was refused short of its ceiling, or far beyond: the true one
NEAR = (0.97, 1.1)  # of the ceiling: a refusal there confirms it
CALM = 5.0  # seconds without a refusal, for that: else the burst of a bucket ran out
DIP = 0.75  # of the best ceiling: below, better days are expected back
FADING = 0.985  # of the best ceiling, each time a lower one is confirmed
FIRST_GUESS = 10.0  # calls a second: too high is told at once, too low costs time
LEAST = 0.2  # calls a second
WINDOW = 1.0  # seconds over which what passed before a first refusal is counted


class AdaptiveRate:
    """The rate to keep to. The service names no limits, so none holds until a refusal."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self._passed = 0  # calls since the last lowering
        self._ceiling: float | None = None
        self._is_guess = False  # whether the ceiling is but a count of what passed
        self._is_sure = False  # whether the ceiling was met twice
        self._best = 0.0  # ceiling that was
        self._recent: deque[float] = deque()

    def on_success(self, now: float, *, is_late: bool = False) -> None:
        """Note a call that passed, late if it was sent before the last lowering."""
        if self.rate is None:
            self._recent.append(now)
            while self._recent[0] <= now - WINDOW:
                self._recent.popleft()
        elif not is_late:
            self._passed += 1
            self.rate += self._gain()
        elif self._is_guess:
            self._guess(1)

    def on_throttle(self) -> None:
        """Note a refusal of a call that was sent after the last lowering."""
        if self.rate is None:
            self._guess(0)
        else:
            self.rate = max(LEAST, KEPT * self._find_ceiling(self.rate))
        self._passed = 0

    def _guess(self, passed: int) -> None:
        """Take what passed within the last second for the limit, unless that is next to nothing."""
        self._recent.extend(passed * [0])
        self._is_guess = len(self._recent) >= FIRST_GUESS
        self._ceiling = len(self._recent) if self._is_guess else None
        self.rate = KEPT * max(FIRST_GUESS, len(self._recent))

    def _find_ceiling(self, refused: float) -> float:
        """Remember where the limit is: where it was met again, or as far down as answers say."""
        is_there = self._ceiling is not None and NEAR[0] <= refused / self._ceiling <= NEAR[1]
        self._is_sure = is_there and (self._is_guess or self._passed >= CALM * refused)
        # Of the calls since the last lowering this share passed; few calls say little.
        share = (self._passed + 1) / (self._passed + 2)
        of_last_second = 1 / (1 + self._gain() / 2)
        below = BELOW if self._is_sure else min(OVERSHOT, share, of_last_second)
        self._ceiling = refused * below
        self._best = max(self._ceiling, self._best * (FADING if self._is_sure else 1))
        self._is_guess = False
        return self._ceiling

    def _gain(self) -> float:
        """How much the rate rises with one call that passed."""
        if self._ceiling is None or self.rate is None:
            return FASTEST
        is_settled = self._is_sure and self._ceiling >= DIP * self._best
        slowest = SLOWEST_SURE if is_settled else SLOWEST_UNSURE
        distance = self.rate / self._ceiling - 1
        return min(FASTEST, max(slowest, BEND * distance**2))
