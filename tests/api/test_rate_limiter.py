"""The gate: free until the first 429, then never faster than the rate, on a clock of our own."""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, strategies as st

from svc_analytics.api import rate_limiter
from svc_analytics.api.rate_limiter import (
    BETA,
    FIRST_GUESS,
    FIRST_PAUSE,
    FIRST_REST,
    LEAST,
    LONGEST_HOLD,
    LONGEST_PAUSE,
    LONGEST_REST,
    Cancelled,
    RateLimiter,
)
from svc_analytics.errors import Unavailable
from tests.simulation import virtual
from tests.simulation.virtual import World
from tests.support.rings import sample
from tests.support.unit_material import Hours, examples

TROUBLE = Unavailable("the service stayed away")


@pytest.fixture
def hours() -> Hours:
    return Hours()


@pytest.fixture
def limiter(hours) -> RateLimiter:
    return hours.limiter()


def refused_at(hours: Hours, limiter: RateLimiter, rate: int) -> None:
    """Let calls pass at a rate for two seconds, then refuse one."""
    entered = 0.0
    for _ in range(2 * rate):
        hours.now += 1 / rate
        entered = limiter.acquire()
        limiter.on_success(entered)
    limiter.on_throttle(entered, 0)


def test_calls_go_out_freely_until_the_first_429(hours, limiter):
    """No limit is known, so none is assumed."""
    for _ in range(1000):
        limiter.on_success(limiter.acquire())
    assert (hours.waits, limiter.rate) == ([], None)


def test_every_429_lowers_the_rate_by_a_share(hours, limiter):
    """A3: each refusal after a success takes the rate down, by a twentieth to a half."""
    refused_at(hours, limiter, 16)
    for _ in range(10):
        before = limiter.rate or 0
        limiter.on_success(limiter.acquire())
        hours.now += 1
        limiter.on_throttle(hours.now, None)
        assert before / 2 <= (limiter.rate or 0) <= before * 0.95


def test_refusals_in_a_row_shut_the_gate_for_longer_and_longer(hours, limiter):
    """A4: where nothing passes at all the rate says nothing: rests double, up to a limit."""
    refused_at(hours, limiter, 20)
    before, rests = limiter.rate, []
    for _ in range(10):
        refused = limiter.acquire()
        limiter.on_throttle(refused, None)
        rests.append(limiter.acquire() - refused)
    assert limiter.rate == before
    assert rests[:4] == pytest.approx([FIRST_REST * 2**n for n in range(1, 5)])
    assert max(rests) <= LONGEST_REST + 0.001


def test_rate_never_falls_to_nothing(hours, limiter):
    """A4: however often the service refuses, a request still goes out now and then."""
    for _ in range(100):
        entered = limiter.acquire()
        limiter.on_success(entered)
        limiter.on_throttle(entered, None)
        hours.now += 60
    assert limiter.rate == LEAST
    assert limiter.acquire() <= hours.now


@examples
@given(
    st.lists(st.sampled_from(["ok", "ok", "ok", "429"]), min_size=5, max_size=60),
    st.integers(1, 50),
)
def test_no_second_holds_more_than_the_rate(answers, first):
    """After a refusal the requests of any second stay within the highest rate of that second."""
    hours = Hours()
    limiter = hours.limiter()
    refused_at(hours, limiter, first)
    sent: list[tuple[float, float]] = []
    for answer in answers:
        at = limiter.acquire()
        sent.append((at, limiter.rate or 0))
        limiter.on_success(at) if answer == "ok" else limiter.on_throttle(at, None)
    for at, _ in sent[1:]:
        within = [rate for moment, rate in sent[1:] if at <= moment < at + 1]
        assert len(within) <= max(within) + 2


RETRY_AFTER = {
    "seconds": (7.0, 7.0),
    "nothing": (0.0, 0.0),
    "below zero": (-5.0, 0.0),
    "thirty years": (1e9, LONGEST_HOLD),
}


@pytest.mark.parametrize(("asked", "pause"), RETRY_AFTER.values(), ids=RETRY_AFTER.keys())
def test_retry_after_is_heeded_within_reason(hours, limiter, asked, pause):
    """A3: the gate stays shut as long as the service asked, but never for years."""
    refused_at(hours, limiter, 50)
    refused = hours.now
    limiter.on_throttle(refused, asked)
    assert limiter.acquire() >= refused + pause
    assert hours.now <= refused + pause + 1 / LEAST


def test_shorter_retry_after_does_not_open_the_gate(hours, limiter):
    """A3: of several pauses asked for, the longest holds."""
    refused = hours.now
    limiter.on_throttle(refused, 20)
    limiter.on_throttle(refused, 1)
    assert limiter.acquire() >= refused + 20


def waiters(
    hours: Hours, limiter: RateLimiter, count: int, last: Callable[[], None]
) -> list[float]:
    """Let that many calls wait for their turns at once, then let `last` happen."""
    entered: list[float] = []
    waiting = [0]

    def wait(seconds: float) -> bool:
        until = hours.now + seconds
        waiting[0] += 1
        if waiting[0] < count:
            entered.append(limiter.acquire())
        elif waiting[0] == count:
            last()
        hours.now = max(hours.now, until)
        return False

    limiter._wait = wait
    entered.append(limiter.acquire())
    return sorted(entered)


def test_one_pause_is_shared_by_all_that_wait(hours, limiter):
    """A3: a Retry-After that comes while others wait their turn moves all of them behind it.

    Then they go out at the rate, not all at once.
    """
    refused_at(hours, limiter, 4)
    limiter.acquire()
    start = hours.now
    entered = waiters(hours, limiter, 6, lambda: limiter.on_throttle(0, 10))
    assert len(entered) == 6 and entered[0] >= start + 10
    step = 1 / (limiter.rate or 1)
    assert min(later - earlier for earlier, later in pairwise(entered)) > step / 2


def test_pauses_double_up_to_a_limit_with_jitter(hours):
    """A5: failures in a row wait longer and longer, each time a random part less."""
    limiter = hours.limiter(patience=10_000)
    limiter.mark_reachable()
    for attempt in range(12):
        limiter.backoff(attempt, TROUBLE)
    full = [min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE) for attempt in range(12)]
    assert all(most / 2 <= waited <= most for waited, most in zip(hours.waits, full, strict=True))
    assert len(set(hours.waits[-4:])) > 1


def until_given_up(limiter: RateLimiter) -> Unavailable:
    for attempt in range(100_000):
        try:
            limiter.backoff(attempt, TROUBLE)
        except Unavailable as error:
            return error
    raise AssertionError("it never gave up")


def test_progress_renews_the_patience(hours):
    """A4: a good answer of any worker starts the patience of all anew."""
    limiter = hours.limiter(60)
    limiter.mark_reachable()
    for _ in range(50):
        hours.now += 50
        limiter.backoff(0, TROUBLE)
        limiter.on_success(hours.now)
    start = hours.now
    until_given_up(limiter)
    assert hours.now >= start + 60


def test_stop_wakes_all_that_wait():
    """A7: a stopped run frees every worker at once, wherever it waits."""
    limiter = RateLimiter(3600)
    limiter.mark_reachable()
    limiter.on_throttle(limiter.acquire(), 30)
    freed: list[bool] = []

    def work(act: Callable[[], object]) -> None:
        try:
            act()
        except Cancelled:
            freed.append(True)

    acts: list[Callable[[], object]] = [limiter.acquire] * 3 + [
        lambda: limiter.backoff(16, TROUBLE)
    ] * 3
    threads = [threading.Thread(target=work, args=(act,), daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    limiter.stop()
    for thread in threads:
        thread.join(5)
    assert len(freed) == 6


@pytest.mark.parametrize("is_waiting", [False, True], ids=["an open gate", "a wait"])
def test_nothing_passes_after_the_stop(hours, limiter, is_waiting):
    """A7: no further call goes out; a wait that ends because of the stop is not a turn."""
    if is_waiting:
        limiter.on_throttle(hours.now, 5)
        hours.is_stopped = True
    else:
        limiter.stop()
    with pytest.raises(Cancelled):
        limiter.acquire()


def test_late_answers_count_for_the_first_guess(hours, limiter):
    """Calls on their way while the first was refused, and let through, are part of the limit."""
    entered = [limiter.acquire() for _ in range(21)]
    for at in entered[:15]:
        limiter.on_success(at)
    hours.now += 0.05
    limiter.on_throttle(entered[15], None)
    for at in entered[16:]:
        limiter.on_success(at)
    assert limiter.rate == 20 * BETA


def test_few_calls_before_the_first_429_say_nothing(hours, limiter):
    """A bucket that held three calls may fill quickly: the first guess is not below ten."""
    refused_at(hours, limiter, 1)
    assert limiter.rate == FIRST_GUESS * BETA


def test_refusals_of_one_burst_lower_the_rate_once(hours, limiter):
    """A3: sixteen requests sent together, four of them refused, are one sign, not four."""
    entered = [limiter.acquire() for _ in range(16)]
    for at in entered[:12]:
        limiter.on_success(at)
    hours.now += 0.2
    for at in entered[12:]:
        limiter.on_throttle(at, None)
    assert limiter.rate == 12 * BETA


def test_rate_grows_with_calls_and_not_with_time(hours, limiter):
    """An hour without a call earns no right to a burst."""
    refused_at(hours, limiter, 20)
    before = limiter.rate
    hours.now += 3600
    entered = [limiter.acquire() for _ in range(3)]
    assert limiter.rate == before
    assert entered[2] - entered[1] == pytest.approx(1 / (before or 1))


# ---------- before services with limits, in virtual time: how much of a limit is made use of


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
TOLD = pytest.mark.parametrize("retry_after", [None, 1.0], ids=["untold", "told to wait"])


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
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
