"""Sales of a scenario: payments as rows, with the fee and net of the service."""

from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

from svc_analytics.sandbox.core.coins import (
    BASIS_POINTS,
    Coin,
    Prices,
    decimal_text,
    half_up,
    units_for,
    usd_text,
)
from svc_analytics.sandbox.past import fake_texts
from svc_analytics.sandbox.past.timing import Day, draw_instants

Row = tuple[Any, ...]

USD_PLACES = (2, 2, 2, 4, 6, 8)


class Sale(NamedTuple):
    """Hold a payment; `charged` and `fee` are units of its coin."""

    number: int
    at: int
    payment_id: str
    session_id: str
    payer_id: str
    coin: Coin
    charged: int
    fee: int
    usd_value: str
    metadata: str

    @property
    def net(self) -> int:
        """The units that the wallet receives."""
        return self.charged - self.fee

    @property
    def row(self) -> Row:
        """The payment as a row of `schema.PAYMENTS`, without its receipt."""
        return (
            self.payment_id,
            fake_texts.receipt_no(self.number),
            self.session_id,
            fake_texts.order_reference(self.number),
            "completed",
            *payment_figures(self.coin, self.charged, self.fee).values(),
            self.usd_value,
            self.payer_id,
            self.metadata,
            self.at,
        )


def payment_figures(coin: Coin, charged: int, fee: int) -> dict[str, str]:
    """Return the currency and amounts of a payment, in the order of its columns."""
    amount = decimal_text(charged, coin.decimals)
    return {
        "currency": coin.slug,
        "amount": amount,
        "charged_amount": amount,
        "fee_amount": decimal_text(fee, coin.decimals),
        "fee_bearer": "merchant",
        "net_amount": decimal_text(charged - fee, coin.decimals),
    }


class Sales:
    """Make sales to many payers who buy once and some who buy often."""

    def __init__(
        self, rng: Random, prices: Prices, payers: list[str], coins: tuple[Coin, ...]
    ) -> None:
        self._rng = rng
        self._coins = coins
        self._shares = list(accumulate(coin.share for coin in coins))
        self._prices = prices
        self._payers = payers
        self._count = 0

    def of(self, day: Day) -> list[Sale]:
        """Return the sales of a day, oldest first."""
        return [self._sell(at, day) for at in draw_instants(self._rng, day, day.sales)]

    def _sell(self, at: int, day: Day) -> Sale:
        """Make one sale; the fee follows the day's tier, rounded half up to units."""
        rng = self._rng
        self._count += 1
        payer = self._pick_payer()
        coin = rng.choices(self._coins, cum_weights=self._shares)[0]
        price = self._prices[coin.slug][day.index]
        # In US cents: often a few dollars, seldom hundreds.
        charged = units_for(250 + rng.getrandbits(rng.randint(9, 16)), coin, price)
        return Sale(
            number=self._count,
            at=at,
            payment_id=fake_texts.uuid_text(rng),
            session_id=fake_texts.uuid_text(rng),
            payer_id=self._payers[payer],
            coin=coin,
            charged=charged,
            fee=half_up(charged * day.fee_tier, BASIS_POINTS),
            usd_value=usd_text(charged, coin, price, rng.choice(USD_PLACES)),
            metadata=fake_texts.metadata(rng, payer),
        )

    def _pick_payer(self) -> int:
        """Draw the number of a payer; low numbers are regular customers."""
        count = len(self._payers)
        return self._rng.randrange(count) * self._rng.randrange(count) // count
