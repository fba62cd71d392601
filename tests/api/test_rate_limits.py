"""The gate before services with limits, in virtual time: how much of a limit is made use of."""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

import pytest

from svc_analytics.api import rate_limiter
from svc_analytics.api.rate_limiter import Cancelled, RateLimiter
from svc_analytics.errors import Unavailable
from tests.simulation import virtual
from tests.simulation.virtual import World
from tests.support.rings import sample

TROUBLE = Unavailable("the service stayed away")
TWO_MINUTES = 120.0


class Bucket:
    """Lets `rate` calls a second through, and `burst` at once after a rest."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._left, self._at = burst, 0.0

    def allows(self, now: float) -> bool:
        self._left = min(self.burst, self._left + (now - self._at) * self.rate)
        self._at = now
        is_allowed = self._left >= 1
        self._left -= is_allowed
        return is_allowed


class Sliding:
    """Lets `rate` calls through within any second."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._passed: deque[float] = deque()

    def allows(self, now: float) -> bool:
        while self._passed and self._passed[0] <= now - 1:
            self._passed.popleft()
        if len(self._passed) == self.rate:
            return False
        self._passed.append(now)
        return True


class Fixed:
    """Lets `rate` calls through within each second of the clock."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._second, self._count = -1, 0

    def allows(self, now: float) -> bool:
        if int(now) != self._second:
            self._second, self._count = int(now), 0
        self._count += 1
        return self._count <= self.rate


class Away:
    """A service in trouble: it answers every call with 503."""


Limit = Bucket | Sliding | Fixed | Away


@dataclass
class Shop:
    """A service with a limit that may change; workers of one limiter call it without pause."""

    limits: dict[float, Limit]  # by the second from which each holds
    retry_after: float | None = None
    latency: float = 0.05
    passed: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)

    def serve(self, workers: int, seconds: float, seed: int = 1) -> None:
        """Let workers call for so long. A seed sets how uneven the way is, by a tenth."""
        self._world, self._end, self._random = World("shop"), seconds, Random(seed)
        self._limiter = RateLimiter(3600, lambda: self._world.now, self._wait)
        self._limiter.mark_reachable()
        for _ in range(workers):
            self._world.begin(self._work)
        self._world.end_run()

    def share_refused(self) -> float:
        return len(self.refused) / (len(self.refused) + len(self.passed))

    def passed_within(self, start: float, end: float) -> int:
        return sum(start <= at < end for at in self.passed)

    def _work(self) -> None:
        with suppress(Cancelled):
            while True:
                attempt = 0
                while not self._call():
                    self._limiter.backoff(attempt, TROUBLE)
                    attempt += 1
                self._travel(0.002)  # reading takes time too

    def _call(self) -> bool:
        entered_at = self._limiter.acquire()
        self._travel(self.latency / 2)
        at = self._world.now
        limit = self.limits[max(since for since in self.limits if since <= at)]
        is_allowed = not isinstance(limit, Away) and limit.allows(at)
        (self.passed if is_allowed else self.refused).append(at)
        self._travel(self.latency / 2)
        if is_allowed:
            self._limiter.on_success(entered_at)
        elif not isinstance(limit, Away):
            self._limiter.on_throttle(entered_at, self.retry_after)
        return is_allowed

    def _travel(self, seconds: float) -> None:
        if self._wait(seconds * self._random.uniform(0.9, 1.1)):
            raise Cancelled

    def _wait(self, seconds: float) -> bool:
        """Let the others work until so much time has passed; tell whether the end has come."""
        self._world.sleep(seconds)
        return self._world.now >= self._end


@pytest.fixture(autouse=True)
def seeded(monkeypatch) -> None:
    monkeypatch.setattr(rate_limiter, "JITTER", Random(1))
    monkeypatch.setattr(virtual, "TOO_MANY_STEPS", 10**7)  # a shop is called for minutes


LIMITS: dict[str, Callable[[int], Limit]] = {
    "a bucket of a second": lambda rate: Bucket(rate, rate),
    "a bucket of two seconds": lambda rate: Bucket(rate, 2 * rate),
    "any second": Sliding,
    "each second": Fixed,
}
LIMITED = pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
TOLD = pytest.mark.parametrize("retry_after", [None, 1.0], ids=["untold", "told to wait"])


@LIMITED
@TOLD
@pytest.mark.parametrize("workers", sample([8, 1, 16], 3))
def test_nearly_all_of_a_limit_is_used_and_hardly_a_call_refused(limit, retry_after, workers):
    """At least 95 % of 20 calls a second over two minutes, and less than 5 % refused."""
    latency = 0.05 if workers > 1 else 0.01
    shop = Shop({0.0: limit(20)}, retry_after, latency)
    shop.serve(workers, TWO_MINUTES)
    assert len(shop.passed) >= 0.95 * 20 * TWO_MINUTES
    assert shop.share_refused() < 0.05


@pytest.mark.parametrize("rate", sample([8, 50, 100], 3))
def test_other_limits_are_used_as_well(rate):
    """Nothing is tuned to one figure: 8, 50 and 100 calls a second are found too."""
    shop = Shop({0.0: Sliding(rate)})
    shop.serve(16, TWO_MINUTES)
    assert len(shop.passed) >= 0.95 * rate * TWO_MINUTES
    assert shop.share_refused() < 0.05


DIPS: dict[str, Callable[[], Limit]] = {
    "an outage": Away,
    "nothing let through": lambda: Sliding(0),
    "two calls a second": lambda: Sliding(2),
    "half": lambda: Bucket(10, 10),
}


@TOLD
@pytest.mark.parametrize("dip", DIPS.values(), ids=DIPS.keys())
@pytest.mark.parametrize("length", sample([10, 60], 2))
def test_half_a_minute_after_a_dip_the_pace_is_back(dip, retry_after, length):
    """Within 30 s after a dip 90 % of 20 calls a second pass again, and in the minute after."""
    over = 40.0 + length
    shop = Shop({0.0: Sliding(20), 40.0: dip(), over: Sliding(20)}, retry_after)
    shop.serve(8, over + 90)
    fives = [shop.passed_within(over + second, over + second + 5) for second in range(26)]
    assert max(fives) >= 0.9 * 20 * 5
    assert shop.passed_within(over + 30, over + 90) >= 0.9 * 20 * 60


def test_without_a_limit_sixteen_workers_are_sixteen_times_as_fast():
    """No limit is guessed where none is: 16 workers call 16 times as often as one."""
    alone, together = (Shop({0.0: Bucket(1e9, 1e9)}) for _ in range(2))
    alone.serve(1, 10)
    together.serve(16, 10)
    assert len(together.passed) > 15.5 * len(alone.passed)
    assert not together.refused


def test_a_limit_lower_for_good_is_settled_for():
    """After minutes at a lower limit better days are no longer tried for every few seconds."""
    shop = Shop({0.0: Sliding(20), 30.0: Sliding(10)})
    shop.serve(8, 300)
    late = [at for at in shop.refused if at >= 240]
    assert len(late) < 0.02 * shop.passed_within(240, 300)
