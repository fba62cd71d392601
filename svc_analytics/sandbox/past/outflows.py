"""What leaves the wallet: refunds when they fall due, payouts from what is then left."""

from collections import defaultdict
from collections.abc import Iterator
from operator import itemgetter
from random import Random
from typing import NamedTuple

from svc_analytics.periods import DAY, SECOND
from svc_analytics.sandbox.core.coins import (
    BASIS_POINTS,
    CENT,
    Coin,
    Prices,
    decimal_text,
    half_up,
    usd_text,
)
from svc_analytics.sandbox.past import fake_texts
from svc_analytics.sandbox.past.business import Business
from svc_analytics.sandbox.past.sales import USD_PLACES, Row, Sale
from svc_analytics.sandbox.past.timing import Day, moments

_PAYOUT_ONE_IN = 60
_CONSOLE_ONE_IN = 8
_SETTLED_LATER_ONE_IN = 6
_MONTH_END_PAYOUTS = 3
_LEAST_PAYOUT = 500 * CENT


class Movement(NamedTuple):
    """A payout, or a refund if it names a payment: units of a coin to one payer.

    Fee rules 1 and 2: a payout costs the tier that payments pay that day, in basis
    points, on top of its units; a refund costs nothing.
    """

    coin: Coin
    units: int
    fee_tier: int
    payer_id: str
    payment_id: str | None = None

    @property
    def kind(self) -> str:
        """What the contract calls it."""
        return "refund" if self.payment_id else "payout"

    @property
    def debited(self) -> int:
        """What the wallet loses."""
        return self.units + self.fee

    @property
    def fee(self) -> int:
        """What the service keeps."""
        return half_up(self.units * self.fee_tier, BASIS_POINTS)


class Attempt(NamedTuple):
    """A payout to try: so many percent of what is free in a coin's wallet."""

    coin: Coin
    percent: int
    payer_id: str


Event = Sale | Movement | Attempt


class Outflows:
    """A business wallet that never goes below zero."""

    def __init__(self, dice: Random, prices: Prices, payers: list[str], business: Business) -> None:
        self._dice = dice
        self._business = business
        self._coins = business.sold_for
        self._prices = prices
        self._payers = payers
        self._wallet: dict[str, int] = defaultdict(int)
        self._owed: dict[str, int] = defaultdict(int)
        self._due: dict[int, list[Movement]] = defaultdict(list)
        self._made = 0

    def of(self, day: Day, sales: list[Sale]) -> list[Row]:
        """Live through a day in order: sales come in, refunds and payouts go out."""
        plans = [*self._due.pop(day.index, ()), *self._attempts(day)]
        self._dice.shuffle(plans)
        times = moments(self._dice, day, len(plans))
        # At one instant the sale comes first, so that its coin can be spent.
        events: list[tuple[int, int, Event]] = [
            *((sale.at, 0, sale) for sale in sales),
            *((at, 1, plan) for at, plan in zip(times, plans, strict=True)),
        ]
        events.sort(key=itemgetter(0, 1))
        rows = (self._settle(at, day, event) for at, _, event in events)
        return [row for row in rows if row]

    def _settle(self, at: int, day: Day, event: Event) -> Row | None:
        if isinstance(event, Movement):
            return self._refund(at, day, event)
        if isinstance(event, Attempt):
            return self._pay_out(at, day, event)
        self._receive(day, event)
        return None

    def _receive(self, day: Day, sale: Sale) -> None:
        """Book a sale; plan its refunds, which never exceed what was charged in total."""
        self._wallet[sale.coin.slug] += sale.net
        one_in = self._business.refunded_one_in
        if not one_in or self._dice.randrange(one_in):
            return
        due_on = day.index
        for units in _refund_parts(self._dice, sale.charged):
            due_on += self._dice.choice(self._business.refund_days)
            refund = Movement(sale.coin, units, 0, sale.payer_id, sale.payment_id)
            self._due[due_on].append(refund)
            self._owed[sale.coin.slug] += units

    def _attempts(self, day: Day) -> Iterator[Attempt]:
        """Yield the payouts to try today, some more at a month's end."""
        dice = self._dice
        count = (day.sales + dice.randrange(_PAYOUT_ONE_IN)) // _PAYOUT_ONE_IN
        for _ in range(count + _MONTH_END_PAYOUTS * day.is_last_of_month):
            yield Attempt(dice.choice(self._coins), dice.randint(5, 40), dice.choice(self._payers))

    def _refund(self, at: int, day: Day, refund: Movement) -> Row | None:
        """Make a refund, unless the wallet cannot bear it: then the service refuses it."""
        slug = refund.coin.slug
        self._owed[slug] -= refund.units
        return self._send(at, day, refund) if refund.units <= self._wallet[slug] else None

    def _pay_out(self, at: int, day: Day, attempt: Attempt) -> Row | None:
        """Pay out a part of what is not set aside for refunds, if it is worth sending."""
        coin, percent, payer_id = attempt
        free = self._wallet[coin.slug] - self._owed[coin.slug]
        units = free * percent // 100
        if units * self._prices[coin.slug][day.index] < _LEAST_PAYOUT * 10**coin.decimals:
            return None
        return self._send(at, day, Movement(coin, units, day.fee_tier, payer_id))

    def _send(self, at: int, day: Day, movement: Movement) -> Row:
        """Debit the wallet and return the row, in the order of `schema.PAYOUT_RECORDS`."""
        coin, dice, is_refund = movement.coin, self._dice, movement.kind == "refund"
        self._wallet[coin.slug] -= movement.debited
        price = self._prices[coin.slug][day.index]
        return (
            fake_texts.uuid_text(dice),
            self._reference(movement.kind),
            movement.kind,
            "completed",
            coin.slug,
            decimal_text(movement.units, coin.decimals),
            decimal_text(movement.debited, coin.decimals),
            "0" if is_refund else decimal_text(movement.fee, coin.decimals),
            "0" if is_refund else decimal_text(movement.fee_tier, 2),  # basis points as percent
            usd_text(movement.units, coin, price, dice.choice(USD_PLACES)),
            movement.payer_id,
            movement.payment_id,
            fake_texts.comment(dice, movement.kind),
            at,
            self._settled_at(at),
        )

    def _reference(self, kind: str) -> str | None:
        """Return the merchant's own id; payouts made by hand in the console have none."""
        self._made += 1
        is_console = kind == "payout" and not self._dice.randrange(_CONSOLE_ONE_IN)
        return None if is_console else fake_texts.payout_reference(self._made)

    def _settled_at(self, at: int) -> int:
        """Return when a record made at an instant was settled: then, or milliseconds later."""
        is_midnight_near = at % DAY == DAY - 1
        if self._dice.randrange(2 if is_midnight_near else _SETTLED_LATER_ONE_IN):
            return at
        return at + self._dice.randint(1, 40) * SECOND // 1000


def _refund_parts(dice: Random, charged: int) -> list[int]:
    """Return the units of each refund of a payment: whole, partial, or repeated up to whole."""
    first, second = charged * dice.randint(5, 60) // 100, charged * dice.randint(5, 35) // 100
    shapes = ([charged], [first], [first, second], [first, second, charged - first - second])
    return dice.choice(shapes)
