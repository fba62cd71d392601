"""The records of seeded lakes, the same for a seed each time: regular ones, and odd ones.

Refunds of what is missing, of another coin, before their payment; unknown kinds; shared references;
instants on the bounds of months in three calendars, and ties; amounts of every size.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any
from uuid import UUID

from svc_analytics.instants import DAY, HOUR, MINUTE
from svc_analytics.periods import Period, month, month_of

COINS = ("usdt", "btc", "eth", "$.x")
HUGE = Decimal("12345678901234567890.123456789012345678")
TEHRAN, JALALI = "Asia/Tehran", "jalali"
_WIDE = Context(prec=120, rounding=ROUND_HALF_UP)

Record = dict[str, Any]


@dataclass
class SeededRecords:
    """Makes the records of the months given, the last of which is running, up to `now`."""

    rng: random.Random
    months: list[Period]
    now: int
    moments: list[int] = field(default_factory=list)  # instants that others may share

    def __post_init__(self) -> None:
        self.coins = self.rng.sample(COINS, self.rng.randint(1, len(COINS)))
        self.priced_until = self.rng.choice([self.now, self.now, self.months[0].end])
        self.moments += [at for period in self.months for at in _bounds(period)]

    def payments(self) -> list[Record]:
        """Return some payments of each month; one may be as large as can be held."""
        counts = [self.rng.choice((0, 2, 5, 9, 16)) for _ in self.months]
        found = [
            self._payment(self.instant(period))
            for period, count in zip(self.months, counts, strict=True)
            for _ in range(count)
        ]
        if self.rng.random() < 0.3:
            huge = {"amount": HUGE, "charged_amount": HUGE, "net_amount": HUGE}
            huge |= {"currency": "huge", "fee_amount": Decimal(), "usd_value": None}
            found.append(self._payment(self.instant(self.months[0])) | huge)
        return found

    def _payment(self, at: int) -> Record:
        coin, amount = self.rng.choice(self.coins), self._amount()
        fee = self._fee(amount)
        charged = amount if self.rng.random() < 0.95 else amount + 1
        net = charged - fee if self.rng.random() < 0.95 else charged
        number = self.rng.randrange(10**9)
        return {
            "id": self.uuid(),
            "receipt_no": self.one_of(0.06, ("SVC-1", "SVC-2", None), f"SVC-{number}"),
            "session_id": self.uuid(),
            "reference_id": self.one_of(0.06, ("order-1", "order-2", None), f"order-{number}"),
            "status": self.one_of(0.03, ("pending", "reversed"), "completed"),
            "currency": coin,
            "amount": amount,
            "charged_amount": charged,
            "fee_amount": fee,
            "fee_bearer": self.one_of(0.1, ("customer", None), "merchant"),
            "net_amount": net,
            "usd_value": self._price(coin, amount, at),
            "payer_id": self.one_of(0.1, (None,), f"payer-{number % 5}"),
            "metadata": None,
            "receipt": self.one_of(0.2, (None,), f"v1.{number}"),
            "paid_at": at,
            "extra": None,
        }

    def refunds(self, payments: list[Record]) -> list[Record]:
        """Return refunds of some of the payments: of some two, or more."""
        count = self.rng.randint(0, 2 + len(payments) // 2) if payments else 0
        chosen = self.rng.choices(payments, k=count)
        found = [self._refund(parent) for parent in chosen]
        return [refund for refund in found if refund["created_at"] < self.now]

    def _refund(self, parent: Record) -> Record:
        delay = self.rng.choice((HOUR, DAY, 9 * DAY, 40 * DAY, 100 * DAY, -2 * DAY))
        created = max(parent["paid_at"] + delay + self.rng.randrange(HOUR), 0)
        whole = parent["charged_amount"]
        amount = _round(whole / self.rng.choice((1, 2, 3, 7)), 18)
        if parent["currency"] == "huge":
            amount = Decimal("0.000000000000000001")
        coin = self.one_of(0.05, COINS, parent["currency"])
        debited = self.one_of(0.04, (amount + 1,), amount)
        more = {
            "kind": self.one_of(0.03, ("reversal",), "refund"),
            "payment_id": self.one_of(0.07, (self.uuid(), None), parent["id"]),
            "payer_id": parent["payer_id"],
        }
        return self._record(created, coin, amount, Decimal(), debited) | more

    def payouts(self) -> list[Record]:
        """Return some payouts of each month."""
        found = []
        for period in self.months:
            for _ in range(self.rng.choice((0, 1, 4))):
                coin, amount = self.rng.choice(self.coins), self._amount()
                fee = self._fee(amount)
                debited = self.one_of(0.04, (amount,), amount + fee)
                created = self.instant(period)
                found.append(self._record(created, coin, amount, fee, debited))
        return found

    def _record(
        self, created: int, coin: str, amount: Decimal, fee: Decimal, debited: Decimal
    ) -> Record:
        number = self.rng.randrange(10**9)
        waits = (0, MINUTE, 5 * HOUR, 23 * HOUR, 40 * DAY, -HOUR)
        wait = self.rng.choices(waits, weights=(6, 6, 3, 3, 1, 1))[0]
        return {
            "id": self.uuid(),
            "reference_id": self.one_of(0.08, ("out-1", None), f"out-{number}"),
            "kind": "payout",
            "status": self.one_of(0.03, ("failed",), "completed"),
            "currency": coin,
            "amount": amount,
            "debited_amount": debited,
            "fee_amount": fee,
            "fee_percent": Decimal(1 if fee else 0),
            "usd_value": self._price(coin, amount, created),
            "payer_id": self.one_of(0.1, (None,), f"payer-{number % 5}"),
            "payment_id": None,
            "comment": self.one_of(0.1, ("thanks",), None),
            "created_at": created,
            "settled_at": max(created + wait, 0),
            "extra": None,
        }

    def instant(self, period: Period) -> int:
        """Return an instant of a month that is over: often on a bound of one, often a tie."""
        end = min(period.end, self.now - HOUR)
        kept = [at for at in self.moments if period.start <= at < end]
        if kept and self.rng.random() < 0.3:
            return self.rng.choice(kept)
        at = self.rng.randrange(period.start, end)
        self.moments.append(at)
        return at

    def _amount(self) -> Decimal:
        """Return an amount of few or many places, rarely zero, or below it."""
        sort = self.rng.random()
        if sort < 0.03:
            return Decimal()
        if sort < 0.06:
            return Decimal(-self.rng.randint(1, 500))
        if sort < 0.3:
            return Decimal(self.rng.randrange(10**21)).scaleb(-18)
        return Decimal(self.rng.randint(1, 10**7)).scaleb(-self.rng.choice((2, 6)))

    def _fee(self, amount: Decimal) -> Decimal:
        rate = Decimal(self.one_of(0.08, ("0.0137", "0.5"), "0.01"))
        return _round(amount * rate, self.rng.choice((6, 8, 18)))

    def _price(self, coin: str, amount: Decimal, at: int) -> Decimal | None:
        if at >= self.priced_until or self.rng.random() < 0.2:
            return None
        rate = Decimal(17 * (1 + COINS.index(coin)) if coin in COINS else 1)
        near = Decimal(self.rng.choice((100, 101, 97, 130))) / 100
        return _round(abs(amount) * rate * near, self.rng.choice((2, 6, 18)))

    def one_of(self, share: float, rare: Sequence[Any], usual: Any) -> Any:
        """Return the usual, or in a share of all cases something rare."""
        return self.rng.choice(rare) if self.rng.random() < share else usual

    def uuid(self) -> str:
        """Return another id."""
        return str(UUID(int=self.rng.getrandbits(128), version=4))


def _bounds(period: Period) -> list[int]:
    """Return instants at the bounds of a month, in UTC, in Tehran and of the Jalali calendar."""
    starts = [
        period.start,
        month(period.label, TEHRAN).start,
        month_of((period.start + period.end) // 2, TEHRAN, JALALI).start,
    ]
    return [max(at + step, 0) for at in starts for step in (-1, 0, 1)]


def _round(amount: Decimal, places: int) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(-places), context=_WIDE)
