"""Lakes of four seeded months with customers, and why their figures moved, reckoned in fractions.

It shares nothing with the package: rows are read by pyarrow, and each part is made of them anew.
"""

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from svc_analytics.instants import DAY
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period, month
from tests.support.full_scan.rows import Books, Row
from tests.support.seeded_lakes import SeededRecords
from tests.support.seeded_shops import write_lake

MONTHS = [month("2026-10").shift(-place) for place in (3, 2, 1, 0)]
NOW = MONTHS[-1].end + 5 * DAY
CUSTOMERS = (
    *(f'{{"customer": {{"id": "c{n}"}}}}' for n in range(5)),
    *(None, "{}", "[1]", '{"customer": 3}', '{"customer": {"id": ""}}'),
)

Parts = dict[tuple[str, str, str], Fraction]  # by unit, name and whose they are


def make_moved_lake(folder: Path, seed: int) -> Lake:
    """Write four months of records, read once and whole."""
    rng = random.Random(seed)
    made = SeededRecords(rng, [*MONTHS, MONTHS[-1].shift(1)], NOW)
    payments = [each | {"metadata": rng.choice(CUSTOMERS)} for each in made.payments()]
    records = made.refunds(payments) + made.payouts()
    for record in (*payments, *records):
        record["extracted_at"] = NOW
    return write_lake(folder, payments, records, now=NOW)


@dataclass(frozen=True)
class Record:
    """What a record adds to a figure, in a period."""

    is_new: bool
    reason: str
    whose: str
    base: Fraction
    adds: Fraction
    usd: Fraction | None
    value: Fraction


class Model:
    """Why the figures of a coin moved between two months of a lake."""

    def __init__(self, books: Books, old: Period, new: Period, coin: str) -> None:
        self.books, self.old, self.new, self.coin = books, old, new, coin
        self.named = [self._customers(period) for period in (old, new)]
        self.middles = {
            kind: self._middle([row for row, *_ in self._rows() if row["kind_of"] == kind])
            for kind in ("payment", "refund")
        }

    def parts(self, figure: str) -> Parts:
        """Return the parts of a change of this figure, in coin and in USD."""
        groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
        for each in self._records(figure):
            groups[each.reason, each.whose].append(each)
        found: Parts = defaultdict(Fraction)
        for (reason, whose), records in groups.items():
            for unit in ("coin", "USD"):
                for name, amount in _split(reason, whose, records, unit):
                    found[unit, name, whose] += amount
        return found

    def _records(self, figure: str) -> Iterator[Record]:
        for row, is_new, reason, whose in self._rows():
            kind, usd, value = row["kind_of"], row["usd_value"], Fraction(row["usd_value"] or 0)
            amount, net, fee = (Fraction(row[name]) for name in ("amount", "net", "fee_amount"))
            own = {"is_new": is_new, "reason": reason, "whose": whose, "value": value}
            rated = kind == "payment" and usd is not None and amount
            if figure == "net_settlement" and kind == "payment":
                worth = _round(value * net / amount) if rated else None
                yield Record(base=amount, adds=net, usd=worth, **own)
            elif figure == "net_settlement":
                yield Record(base=net, adds=net, usd=None if usd is None else -value, **own)
            elif figure == "payment_fees" and kind == "payment":
                worth = _round(value * fee / amount) if rated else None
                yield Record(base=amount, adds=fee, usd=worth, **own)
            elif figure == "refunds_paid" and kind == "refund":
                yield Record(base=amount, adds=amount, usd=None if usd is None else value, **own)

    def _rows(self) -> Iterator[tuple[Row, bool, str, str]]:
        for is_new, period in enumerate((self.old, self.new)):
            for row in self._of(period):
                if row["currency"] == self.coin:
                    yield row, bool(is_new), *self._reason(row, period)

    def _of(self, period: Period) -> Iterator[Row]:
        for row in self.books.sales:
            if period.start <= row["paid_at"] < period.end:
                yield row | {"kind_of": "payment", "net": row["net_amount"]}
        for row in self.books.money:
            if row["kind"] == "refund" and period.start <= row["settled_at"] < period.end:
                yield row | {"kind_of": "refund", "net": -row["debited_amount"]}

    def _reason(self, row: Row, period: Period) -> tuple[str, str]:
        middle = getattr(self, "middles", {}).get(row["kind_of"], 0)
        if middle and abs(row["amount"]) > 20 * middle:
            return "one_off", ""
        customer = self._customer(row)
        whose = "none" if customer is None else "kept"
        if customer is not None and not all(customer in named for named in self.named):
            return ("new" if customer in self.named[1] else "lost") + "_customers", ""
        if row["kind_of"] == "payment":
            return "sales", whose
        parent = self.books.by_id.get(row["payment_id"])
        if parent is None:
            return "refunds_of_unknown_sales", ""
        return (
            ("refunds_of_earlier_sales", "")
            if parent["paid_at"] < period.start
            else ("refunds", whose)
        )

    def _customer(self, row: Row) -> str | None:
        payment = (
            row if row["kind_of"] == "payment" else self.books.by_id.get(row["payment_id"], {})
        )
        found: Any = json.loads(payment.get("metadata") or "{}")
        for name in ("customer", "id"):
            found = found.get(name) if isinstance(found, dict) else None
        return str(found) if found else None

    def _customers(self, period: Period) -> set[str | None]:
        return {self._customer(row) for row in self._of(period)}

    def _middle(self, rows: list[Row]) -> Fraction:
        """Return the middle amount, the lower of two."""
        amounts = sorted(abs(row["amount"]) for row in rows)
        return amounts[(len(amounts) - 1) // 2] if amounts else Fraction()


def _split(
    reason: str, whose: str, records: list[Record], unit: str
) -> Iterator[tuple[str, Fraction]]:
    """Yield the parts of some records by the sums of both months."""
    if unit == "USD":
        records = [each for each in records if each.usd is not None]
    old, new = ([each for each in records if each.is_new is flag] for flag in (False, True))
    base, adds, value = ([sum((getattr(r, n) for r in s), Fraction()) for s in (old, new)]
                         for n in ("base", "adds", "value"))  # fmt: skip
    own = [sum((r.usd or 0 for r in s), Fraction()) for s in (old, new)] if unit == "USD" else adds
    if not whose:
        yield reason, own[1] - own[0]
        return
    at_fees = _rate(base[1], own[0], base[0], own[1])
    at_prices = own[1]
    if unit == "USD" and reason == "refunds":
        at_prices = at_fees
    elif unit == "USD" and base[0]:
        part = (own[0], adds[0]) if adds[0] else (value[0], base[0])
        at_prices = _rate(adds[1], *part, own[1])
    yield ("refunds_of_own_sales" if reason == "refunds" else "volume"), at_fees - own[0]
    if reason == "sales":
        yield "fee_tier", at_prices - at_fees
    yield "price", own[1] - at_prices


def _rate(new: Fraction, part: Fraction, whole: Fraction, otherwise: Fraction) -> Fraction:
    exact = new * part / whole if whole else None
    return otherwise if exact is None or abs(exact) >= 10**38 else _round(exact)


def _round(exact: Fraction) -> Fraction:
    steps = int(abs(exact) * 10**18 + Fraction(1, 2))
    return Fraction(-steps if exact < 0 else steps, 10**18)
