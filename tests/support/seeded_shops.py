"""Shops that a seed draws: orders, payments and refunds with mishaps, and what each comes to.

What is expected is added up here, in plain Python, while the mishaps are made: no SQL, and nothing
of the matcher.
"""

import csv
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa

from svc_analytics.instants import BEGINNING, DAY, MINUTE
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.matching.match import Match
from svc_analytics.periods import month
from svc_analytics.schema import STREAMS

Record = dict[str, Any]
MERCHANT = {"id": "11111111-1111-4111-8111-111111111111", "name": "Seeded shop"}
MONTH = month("2026-10")
NOW = MONTH.end + 40 * DAY
COINS = ("usdt", "btc", "eth")
# What became of an order, by which shares of its amount were paid, in as many payments.
PAID_SO: dict[str, tuple[str, list[Decimal]]] = {
    "agreed": ("agreed", [Decimal(1)]),
    "parts": ("agreed", [Decimal("0.25"), Decimal("0.75")]),
    "no_payment": ("no_payment", []),
    "twice": ("paid_twice", [Decimal(1), Decimal(1)]),
    "short": ("short", [Decimal("0.5")]),
    "over": ("over", [Decimal("1.5")]),
}


@dataclass
class Expected:
    """What a match has to say: counts and sums by code, sums by coin."""

    counts: Counter[str] = field(default_factory=Counter)
    sums: dict[tuple[str, str, str], Decimal] = field(default_factory=lambda: defaultdict(Decimal))

    def add(self, code: str, theirs: Iterable[Any] = (), ours: Iterable[Any] = ()) -> None:
        """Count a thing, with amounts as pairs of coin and amount on either side."""
        self.counts[code] += 1
        for side, amounts in (("theirs", theirs), ("ours", ours)):
            for coin, amount in amounts:
                self.sums[code, side, coin] += amount

    def by(self) -> dict[str, dict[str, Any]]:
        found = {code: {"count": n, "theirs": {}, "ours": {}} for code, n in self.counts.items()}
        for (code, side, coin), amount in self.sums.items():
            found[code][side][coin] = amount  # type: ignore[index]
        return found

    def total(self, side: str) -> dict[str, Decimal]:
        total: dict[str, Decimal] = defaultdict(Decimal)
        for (_, where, coin), amount in self.sums.items():
            if where == side:
                total[coin] += amount
        return dict(total)


@dataclass
class Shop:
    """What the service recorded, what the own list of a shop says, and what that comes to."""

    seed: int
    orders: list[dict[str, str]] = field(default_factory=list)
    payments: list[Record] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    expected: Expected = field(default_factory=Expected)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        own = [name.removeprefix("_is_") for name in dir(self) if name.startswith("_is_")]
        mishaps = sorted({*own, *PAID_SO} - {"paid_so"})
        chosen = self.rng.sample(mishaps, 2) if self.seed % 3 else mishaps  # pairs, or all of them
        for number in range(self.rng.randint(20, 60)):
            self.number = number
            usual = number >= 2 * len(chosen) and self.rng.random() < 0.7
            name = "agreed" if usual else chosen[number % len(chosen)]
            act = (
                partial(self._is_paid_so, name) if name in PAID_SO else getattr(self, f"_is_{name}")
            )
            act(self.rng.choice(COINS), self._amount())
        self.rng.shuffle(self.orders)

    def lake(self, folder: Path) -> Lakehouse:
        """Write what the service recorded."""
        return write_lake(folder, self.payments, self.records)

    def write_orders(self, path: Path, *, is_turned: bool = False) -> Path:
        """Write the shop's own list."""
        rows = self.orders[::-1] if is_turned else self.orders
        with path.open("w", newline="", encoding="utf-8") as file:
            names = ["Order ID", "Date", "Status", "Currency", "Total"]
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(rows)
        return path

    # ---------- what may befall an order

    def _is_paid_so(self, name: str, coin: str, amount: Decimal) -> None:
        self._order(coin, amount)
        code, shares = PAID_SO[name]
        paid = [self._pay(coin, amount * share)["amount"] for share in shares]
        self.expected.add(code, [(coin, amount)], [(coin, sum(paid))] * bool(paid))

    def _is_unpaid(self, coin: str, amount: Decimal) -> None:
        self._order(coin, amount, self.rng.choice(("pending", "cancelled", "expired", "failed")))

    def _is_no_order(self, coin: str, amount: Decimal) -> None:
        self._pay(coin, amount)
        self.expected.add("no_order", (), [(coin, amount)])

    def _is_refunded(self, coin: str, amount: Decimal) -> None:
        self._order(coin, amount, self.rng.choice(("completed", "refunded")))
        share, code = self.rng.choice(
            ((1, "refunded"), (2, "refunded_in_part"), (Decimal("0.5"), "refunded_over"))
        )
        self._refund(self._pay(coin, amount), amount / share)
        self.expected.add(code, [(coin, amount)], [(coin, amount)])

    def _is_cancelled(self, coin: str, amount: Decimal) -> None:
        status = self.rng.choice(("cancelled", "expired"))
        self._order(coin, amount, status)
        self._pay(coin, amount)
        self.expected.add(f"{status}_but_paid", [(coin, amount)], [(coin, amount)])

    def _is_in_another_coin(self, coin: str, amount: Decimal) -> None:
        self._order("eur", amount)
        self._pay(coin, amount)
        self.expected.add("other_currency", [("eur", amount)], [(coin, amount)])

    def _is_paid_later(self, coin: str, amount: Decimal) -> None:
        self._order(coin, amount)
        self._pay(coin, amount, MONTH.end + self.rng.randrange(DAY))
        self.expected.add("other_period", [(coin, amount)])

    def _is_ordered_before(self, coin: str, amount: Decimal) -> None:
        self._order(coin, amount, day="2026-09-30")
        self._pay(coin, amount, MONTH.start + MINUTE)
        self.expected.add("other_period", (), [(coin, amount)])

    def _is_of_another_month(self, coin: str, amount: Decimal) -> None:
        self._order(coin, amount, day="2026-09-12")
        self._pay(coin, amount, MONTH.start - 9 * DAY)

    # ---------- records

    def _order(self, coin: str, amount: Decimal, status: str = "completed", day: str = "") -> None:
        day = day or f"2026-10-{self.rng.randint(1, 31):02}"
        row = {"Order ID": f"A-{self.number}", "Date": day, "Status": status}
        self.orders.append(row | {"Currency": coin.upper(), "Total": format(amount, "f")})

    def _pay(self, coin: str, amount: Decimal, at: int | None = None) -> Record:
        at = self.rng.randrange(MONTH.start, MONTH.end) if at is None else at
        record = payment_of(self.rng, coin, amount, at) | {"reference_id": f"A-{self.number}"}
        self.payments.append(record)
        return record

    def _refund(self, parent: Record, amount: Decimal) -> None:
        at = parent["paid_at"] + MINUTE
        record = record_of(self.rng, "refund", parent["currency"], amount, at)
        self.records.append(record | {"payment_id": parent["id"]})

    def _amount(self) -> Decimal:
        return Decimal(self.rng.randint(1000, 10**7)).scaleb(-self.rng.choice((2, 6)))


def uuid(rng: random.Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))


def payment_of(rng: random.Random, coin: str, amount: Decimal, at: int) -> Record:
    """A payment without a fee."""
    return {
        **dict.fromkeys(("reference_id", "metadata", "receipt", "extra")),
        **dict.fromkeys(("amount", "charged_amount", "net_amount"), amount),
        **{name: uuid(rng) for name in ("id", "session_id", "payer_id")},
        "receipt_no": f"SVC-{rng.getrandbits(40)}",
        "status": "completed",
        "currency": coin,
        "fee_amount": Decimal(0),
        "fee_bearer": "merchant",
        "usd_value": amount * 2,
        "paid_at": at,
        "extracted_at": NOW,
    }


def record_of(rng: random.Random, kind: str, coin: str, amount: Decimal, at: int) -> Record:
    """A payout or a refund without a fee."""
    return {
        **dict.fromkeys(("payment_id", "comment", "extra")),
        **dict.fromkeys(("amount", "debited_amount"), amount),
        **dict.fromkeys(("fee_amount", "fee_percent"), Decimal(0)),
        **dict.fromkeys(("created_at", "settled_at"), at),
        **{name: uuid(rng) for name in ("id", "payer_id")},
        "reference_id": f"out-{rng.getrandbits(40)}",
        "kind": kind,
        "status": "completed",
        "currency": coin,
        "usd_value": amount * 2,
        "extracted_at": NOW,
    }


def write_lake(
    folder: Path,
    payments: list[Record],
    records: list[Record],
    streams: Iterable[str] = tuple(STREAMS),
    now: int = NOW,
) -> Lakehouse:
    """Write a lake of which these streams were read whole."""
    lake = Lakehouse(folder)
    with open_writer(lake, MERCHANT, now) as writer:
        writer.begin_run(watermark=now - MINUTE, is_open_ended=True, lookback=0, judged_at=now)
        for name, rows in zip(STREAMS, (payments, records), strict=True):
            if name not in streams:
                continue
            stream = STREAMS[name]
            buffer = writer.buffer(stream)
            buffer.add(pa.Table.from_pylist(rows, schema=stream.record_schema), [])
            buffer.cover((BEGINNING, now))
        writer.publish()
    return lake


def counts(both: Match) -> dict[str, int]:
    """How many rows of each code there are."""
    return {code: each["count"] for code, each in both.by.items()}
