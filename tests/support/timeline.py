"""Workers in virtual time, one at a time and the earliest first: every run is the same run."""

import heapq
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from random import Random

from svc_analytics.api.rate_limiter import Cancelled, RateLimiter
from svc_analytics.errors import Unavailable

TROUBLE = Unavailable("the service stayed away")


class Timeline:
    """A clock that stands still while a worker works, and jumps to whoever is due next."""

    def __init__(self, end: float) -> None:
        self.now = 0.0
        self._end = end
        self._due: list[tuple[float, int, threading.Semaphore]] = []
        self._order = count()
        self._is_empty = threading.Event()

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        """Let the others work until so much time has passed; tell whether the end has come."""
        turn = threading.Semaphore(0)
        heapq.heappush(self._due, (self.now + seconds, next(self._order), turn))
        self._pass_on()
        turn.acquire()
        return self.now >= self._end

    def run(self, work: Callable[[], None], workers: int) -> None:
        """Let that many workers work until the end."""
        turns = [threading.Semaphore(0) for _ in range(workers)]
        self._due = [(0.0, next(self._order), turn) for turn in turns]
        for turn in turns:
            threading.Thread(target=self._live, args=(turn, work), daemon=True).start()
        self._pass_on()
        assert self._is_empty.wait(60)

    def _live(self, turn: threading.Semaphore, work: Callable[[], None]) -> None:
        turn.acquire()
        try:
            work()
        except Cancelled:
            pass
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        if not self._due:
            self._is_empty.set()
            return
        at, _, turn = heapq.heappop(self._due)
        self.now = max(self.now, at)
        turn.release()


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
        self._timeline, self._random = Timeline(seconds), Random(seed)
        self._limiter = RateLimiter(3600, self._timeline.clock, self._timeline.wait)
        self._limiter.mark_reachable()
        self._timeline.run(self._work, workers)

    def share_refused(self) -> float:
        return len(self.refused) / (len(self.refused) + len(self.passed))

    def passed_within(self, start: float, end: float) -> int:
        return sum(start <= at < end for at in self.passed)

    def _work(self) -> None:
        while True:
            attempt = 0
            while not self._call():
                self._limiter.backoff(attempt, TROUBLE)
                attempt += 1
            self._travel(0.002)  # reading takes time too

    def _call(self) -> bool:
        entered_at = self._limiter.acquire()
        self._travel(self.latency / 2)
        at = self._timeline.now
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
        if self._timeline.wait(seconds * self._random.uniform(0.9, 1.1)):
            raise Cancelled
