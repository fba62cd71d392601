"""The gate before services with limits, in virtual time: how much of a limit is made use of."""

from collections.abc import Callable
from random import Random

import pytest

from svc_analytics.api import rate_limiter
from tests.support.rings import sample
from tests.support.timeline import Away, Bucket, Fixed, Limit, Shop, Sliding

TWO_MINUTES = 120.0


@pytest.fixture(autouse=True)
def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limiter, "JITTER", Random(1))


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
def test_nearly_all_of_a_limit_is_used_and_hardly_a_call_refused(
    limit: Callable[[int], Limit], retry_after: float | None, workers: int
) -> None:
    """At least 95 % of 20 calls a second over two minutes, and less than 5 % refused."""
    latency = 0.05 if workers > 1 else 0.01
    shop = Shop({0.0: limit(20)}, retry_after, latency)
    shop.serve(workers, TWO_MINUTES)
    assert len(shop.passed) >= 0.95 * 20 * TWO_MINUTES
    assert shop.share_refused() < 0.05


@pytest.mark.parametrize("rate", [8, 50, 100])
def test_other_limits_are_used_as_well(rate: int) -> None:
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
def test_half_a_minute_after_a_dip_the_pace_is_back(
    dip: Callable[[], Limit], retry_after: float | None, length: int
) -> None:
    """Within 30 s after a dip 90 % of 20 calls a second pass again, and in the minute after."""
    over = 40.0 + length
    shop = Shop({0.0: Sliding(20), 40.0: dip(), over: Sliding(20)}, retry_after)
    shop.serve(8, over + 90)
    fives = [shop.passed_within(over + second, over + second + 5) for second in range(26)]
    assert max(fives) >= 0.9 * 20 * 5
    assert shop.passed_within(over + 30, over + 90) >= 0.9 * 20 * 60


def test_without_a_limit_sixteen_workers_are_sixteen_times_as_fast() -> None:
    """No limit is guessed where none is: 16 workers call 16 times as often as one."""
    alone, together = (Shop({0.0: Bucket(1e9, 1e9)}) for _ in range(2))
    alone.serve(1, 10)
    together.serve(16, 10)
    assert len(together.passed) > 15.5 * len(alone.passed)
    assert not together.refused


def test_a_limit_lower_for_good_is_settled_for() -> None:
    """After minutes at a lower limit better days are no longer tried for every few seconds."""
    shop = Shop({0.0: Sliding(20), 30.0: Sliding(10)})
    shop.serve(8, 300)
    late = [at for at in shop.refused if at >= 240]
    assert len(late) < 0.02 * shop.passed_within(240, 300)
