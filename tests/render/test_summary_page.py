"""Sums of all coins in USD: what they leave out, what keeps them unknown, what they compare to."""

from decimal import Decimal
from typing import Any

from svc_analytics.render.summary_page import AllCoins

WORTH = "usd_exposure"


def position(coin: str, closing: int | None, worth: int | None) -> dict[str, Any]:
    """A coin without movements, and what its position is worth."""
    usd = None if worth is None else Decimal(worth)
    return {"currency": coin, "closing_position": closing, WORTH: usd}


BTC, UNPRICED = position("btc", 2, 100), position("pepe", 7, None)
EMPTY, UNREAD = position("pepe", 0, None), position("pepe", None, None)


def test_a_position_without_a_rate_is_left_out_and_named():
    """Where nothing is left of the coin it is worth nothing, and the sum is of all coins."""
    some, every = AllCoins([BTC, UNPRICED]), AllCoins([BTC, EMPTY])
    assert (some.usd(WORTH), some.head) == (100, "All coins but pepe, USD")
    assert (every.usd(WORTH), every.head) == (100, "All coins, USD")


def test_a_position_that_was_not_read_leaves_the_sum_unknown():
    """It may be worth anything."""
    unknown = AllCoins([BTC, UNREAD])
    assert (unknown.usd(WORTH), unknown.left_out) == (None, [])


def test_positions_are_compared_only_where_both_leave_out_the_same_coins():
    """A month opens with what was left out before only where that is still left out."""
    some, every = AllCoins([BTC, UNPRICED]), AllCoins([BTC, position("pepe", 7, 5)])
    assert some.is_alike(some, WORTH) and not some.is_alike(every, WORTH)
    assert some.opens(some) and every.opens(some) and not some.opens(every)
