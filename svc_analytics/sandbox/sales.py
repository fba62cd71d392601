"""Sales and outflows of a scenario: the records of its past, day by day."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import accumulate
from operator import itemgetter
from random import Random
from typing import Any, NamedTuple

from svc_analytics.instants import DAY, SECOND
from svc_analytics.sandbox.coins import (
    BASIS_POINTS,
    CENT,
    Coin,
    Prices,
    daily_prices,
    decimal_text,
    half_up,
    units_for,
    usd_text,
)
from svc_analytics.sandbox.scenario import Business, Day, Scenario, days, draw_instants

StoredRecord = dict[str, Any]  # what it does not name is NULL

USD_PLACES = (2, 2, 2, 4, 6, 8)


class Sale(NamedTuple):
    """Hold a payment as it is stored, without its receipt; `charged` and `net` in units."""

    at: int
    coin: Coin
    charged: int
    net: int  # what the wallet receives
    record: StoredRecord


def payment_figures(coin: Coin, charged: int, fee: int) -> dict[str, str]:
    """Return the currency and amounts of a payment."""
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
        fee = half_up(charged * day.fee_tier, BASIS_POINTS)
        record = {
            "id": uuid_text(rng),
            "receipt_no": receipt_no(self._count),
            "session_id": uuid_text(rng),
            "reference_id": order_reference(self._count),
            "status": "completed",
            **payment_figures(coin, charged, fee),
            "usd_value": usd_text(charged, coin, price, rng.choice(USD_PLACES)),
            "payer_id": self._payers[payer],
            "metadata": metadata(rng, payer),
            "paid_at": at,
        }
        return Sale(at, coin, charged, charged - fee, record)

    def _pick_payer(self) -> int:
        """Draw the number of a payer; low numbers are regular customers."""
        count = len(self._payers)
        return self._rng.randrange(count) * self._rng.randrange(count) // count


_PAYOUT_ONE_IN = 60
_CONSOLE_ONE_IN = 8
_SETTLED_LATER_ONE_IN = 6
_MONTH_END_PAYOUTS = 3
_LEAST_PAYOUT = 500 * CENT


class Transfer(NamedTuple):
    """Hold a payout, or a refund if it names a payment: units of a coin to one payer.

    Fee rules 1 and 2: a payout costs the day's fee tier (basis points) on top of its
    units; a refund costs nothing.
    """

    coin: Coin
    units: int
    fee_tier: int
    payer_id: str
    payment_id: str | None = None

    @property
    def kind(self) -> str:
        """The contract's word for it: payout or refund."""
        return "refund" if self.payment_id else "payout"

    @property
    def debited(self) -> int:
        """The units that leave the wallet."""
        return self.units + self.fee

    @property
    def fee(self) -> int:
        """The units that the service keeps as its fee."""
        return half_up(self.units * self.fee_tier, BASIS_POINTS)

    @property
    def figures(self) -> dict[str, str]:
        """The currency and amounts of the record."""
        coin, is_refund = self.coin, self.kind == "refund"
        return {
            "currency": coin.slug,
            "amount": decimal_text(self.units, coin.decimals),
            "debited_amount": decimal_text(self.debited, coin.decimals),
            "fee_amount": "0" if is_refund else decimal_text(self.fee, coin.decimals),
            # Basis points written with two decimals are percent.
            "fee_percent": "0" if is_refund else decimal_text(self.fee_tier, 2),
        }


class PlannedPayout(NamedTuple):
    """Plan a payout of so many percent of the free balance in a coin."""

    coin: Coin
    percent: int
    payer_id: str


Change = Sale | Transfer | PlannedPayout


class Outflows:
    """Make refunds and payouts from a wallet that never goes below zero."""

    def __init__(self, rng: Random, prices: Prices, payers: list[str], business: Business) -> None:
        self._rng = rng
        self._business = business
        self._coins = business.sold_for
        self._prices = prices
        self._payers = payers
        self._wallet: dict[str, int] = defaultdict(int)
        self._owed: dict[str, int] = defaultdict(int)
        self._due: dict[int, list[Transfer]] = defaultdict(list)
        self._count = 0

    def of(self, day: Day, sales: list[Sale]) -> list[StoredRecord]:
        """Return the refunds and payouts of a day, booked in order with its sales."""
        plans = [*self._due.pop(day.index, ()), *self._planned_payouts(day)]
        self._rng.shuffle(plans)
        times = draw_instants(self._rng, day, len(plans))
        # At the same instant the sale comes first: its coin can be spent at once.
        changes: list[tuple[int, int, Change]] = [
            *((sale.at, 0, sale) for sale in sales),
            *((at, 1, plan) for at, plan in zip(times, plans, strict=True)),
        ]
        changes.sort(key=itemgetter(0, 1))
        records = (self._settle(at, day, change) for at, _, change in changes)
        return [record for record in records if record]

    def _settle(self, at: int, day: Day, change: Change) -> StoredRecord | None:
        if isinstance(change, Transfer):
            return self._refund(at, day, change)
        if isinstance(change, PlannedPayout):
            return self._pay_out(at, day, change)
        self._receive(day, change)
        return None

    def _receive(self, day: Day, sale: Sale) -> None:
        """Book a sale and plan its refunds, together at most the charged amount."""
        self._wallet[sale.coin.slug] += sale.net
        one_in = self._business.refunded_one_in
        if not one_in or self._rng.randrange(one_in):
            return
        due_on, payer_id, payment_id = day.index, sale.record["payer_id"], sale.record["id"]
        for units in _refund_parts(self._rng, sale.charged):
            due_on += self._rng.choice(self._business.refund_days)
            refund = Transfer(sale.coin, units, 0, payer_id, payment_id)
            self._due[due_on].append(refund)
            self._owed[sale.coin.slug] += units

    def _planned_payouts(self, day: Day) -> Iterator[PlannedPayout]:
        """Yield the payouts planned for a day; there are more at a month's end."""
        rng = self._rng
        count = (day.sales + rng.randrange(_PAYOUT_ONE_IN)) // _PAYOUT_ONE_IN
        for _ in range(count + _MONTH_END_PAYOUTS * day.is_last_of_month):
            coin, percent = rng.choice(self._coins), rng.randint(5, 40)
            yield PlannedPayout(coin, percent, rng.choice(self._payers))

    def _refund(self, at: int, day: Day, refund: Transfer) -> StoredRecord | None:
        """Make a refund, unless the wallet does not cover it."""
        slug = refund.coin.slug
        self._owed[slug] -= refund.units
        return self._send(at, day, refund) if refund.units <= self._wallet[slug] else None

    def _pay_out(self, at: int, day: Day, planned: PlannedPayout) -> StoredRecord | None:
        """Pay out part of what is not reserved for refunds, if it is large enough."""
        coin, percent, payer_id = planned
        free = self._wallet[coin.slug] - self._owed[coin.slug]
        units = free * percent // 100
        if units * self._prices[coin.slug][day.index] < _LEAST_PAYOUT * 10**coin.decimals:
            return None
        return self._send(at, day, Transfer(coin, units, day.fee_tier, payer_id))

    def _send(self, at: int, day: Day, transfer: Transfer) -> StoredRecord:
        """Debit the wallet and return the record of the payout or refund."""
        coin, rng = transfer.coin, self._rng
        self._wallet[coin.slug] -= transfer.debited
        price = self._prices[coin.slug][day.index]
        return {
            "id": uuid_text(rng),
            "reference_id": self._reference(transfer.kind),
            "kind": transfer.kind,
            "status": "completed",
            **transfer.figures,
            "usd_value": usd_text(transfer.units, coin, price, rng.choice(USD_PLACES)),
            "payer_id": transfer.payer_id,
            "payment_id": transfer.payment_id,
            "comment": comment(rng, transfer.kind),
            "created_at": at,
            "settled_at": self._settled_at(at),
        }

    def _reference(self, kind: str) -> str | None:
        """Return the merchant's reference; payouts made in the console have none."""
        self._count += 1
        is_console = kind == "payout" and not self._rng.randrange(_CONSOLE_ONE_IN)
        return None if is_console else payout_reference(self._count)

    def _settled_at(self, at: int) -> int:
        """Draw the instant of settlement: at once, or some milliseconds later."""
        is_midnight_near = at % DAY == DAY - 1
        if self._rng.randrange(2 if is_midnight_near else _SETTLED_LATER_ONE_IN):
            return at
        return at + self._rng.randint(1, 40) * SECOND // 1000


def _refund_parts(rng: Random, charged: int) -> list[int]:
    """Draw the refunds of a payment in units: full, partial, or several partial ones."""
    first, second = charged * rng.randint(5, 60) // 100, charged * rng.randint(5, 35) // 100
    shapes = ([charged], [first], [first, second], [first, second, charged - first - second])
    return rng.choice(shapes)


OnProgress = Callable[[int, int], object]  # called with payments done and payments in all


class DayOfRecords(NamedTuple):
    """Hold the records of one day, oldest first."""

    payments: list[StoredRecord]
    payout_records: list[StoredRecord]


def history(scenario: Scenario, on_progress: OnProgress | None = None) -> Iterator[DayOfRecords]:
    """Generate a scenario's records day by day; the same scenario gives the same records."""
    rng, calendar = scenario.rng(), list(days(scenario))
    prices = daily_prices(rng, len(calendar))
    payers = [uuid_text(rng) for _ in range(12 + scenario.payments // 8)]
    shop = Sales(rng, prices, payers, scenario.business.sold_for)
    wallet = Outflows(rng, prices, payers, scenario.business)
    done, total = 0, sum(day.sales for day in calendar)
    for day in calendar:
        sales = shop.of(day)
        yield DayOfRecords([sale.record for sale in sales], wallet.of(day, sales))
        done += len(sales)
        if on_progress:
            on_progress(done, total)


# Made-up texts: they contain what merchants really write: slashes, spaces, Persian, and
# sometimes a text that a spreadsheet would take for a formula.
_METADATA = (
    "{}",
    "{}",
    '{"customer":{"id":"C-%(payer)06d"},"cart":{"items":[{"sku":"tea-100","qty":%(qty)d}]}}',
    '{"customer":{"id":"C-%(payer)06d","city":"تهران"},"cart":{"items":[{"sku":"tile/blue",'
    '"qty":%(qty)d},{"sku":"saffron-5g","qty":1}],"gift":true},"weight_kg":1.25}',
    '{"campaign":"نوروز","tags":["spring","بهار"],"customer":{"id":"C-%(payer)06d"}}',
    '{"customer":{"id":"C-%(payer)06d"},"note":"leave at the door 🌷","coupon":null}',
    '{"utm":{"source":"newsletter","n":%(qty)d},"path":["shop","tea & tiles","<b>checkout</b>"]}',
    '{"customer":{"id":"C-%(payer)06d"},"note":"=HYPERLINK(\\"https://x.example\\")"}',
)
_PAYOUT_COMMENTS = ("", "", "commission", "supplier share", "سهم فروشنده", "+ bonus, spring")
_REFUND_COMMENTS = ("", "returned", "arrived broken", "مرجوعی", "=goodwill, order was late")


def uuid_text(rng: Random) -> str:
    """Draw a version 4 UUID; `uuid.UUID` would take most of the seeding time."""
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def receipt_no(number: int) -> str:
    """Return the receipt number of the merchant's n-th payment."""
    return f"SVC-{number:09d}"


def order_reference(number: int) -> str:
    """Return the merchant's reference of its n-th order."""
    if number % 40 == 0:
        return f"سفارش-{number}"
    return f"shop 2/{number}" if number % 25 == 0 else f"order-{number:07d}"


def payout_reference(number: int) -> str:
    """Return the merchant's reference of its n-th payout or refund."""
    return f"پرداخت/{number}" if number % 10 == 0 else f"out/{number:06d}"


def metadata(rng: Random, payer: int) -> str:
    """Draw the metadata of an order as JSON text."""
    return rng.choice(_METADATA) % {"payer": payer, "qty": rng.randint(1, 9)}


def comment(rng: Random, kind: str) -> str:
    """Draw the comment on a payout or refund; often there is none."""
    return rng.choice(_REFUND_COMMENTS if kind == "refund" else _PAYOUT_COMMENTS)
