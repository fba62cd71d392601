"""What arrived, by the list of an exchange, beside the payouts that were sent."""

import random
from decimal import Decimal
from typing import Any

import pytest

import svc_analytics as svc
from svc_analytics.instants import DAY, MINUTE
from tests.support.rings import rings
from tests.support.seeded_shops import MONTH, Expected, record_of, write_lake

HEAD = "Date,Reference,Coin,Amount,Fee,Status"


class Sent:
    """Payouts of a seed, the list of the exchange that they went to, and what that comes to."""

    def __init__(self, seed: int) -> None:
        self.rng, self.expected = random.Random(seed), Expected()
        self.records: list[dict[str, Any]] = []
        self.rows: list[str] = []
        mishaps = sorted(name for name in dir(self) if name.startswith("is_"))
        for number in range(30):
            self.number, self.coin = number, self.rng.choice(("usdt", "btc"))
            amount = Decimal(self.rng.randint(10**4, 10**8)).scaleb(-4)
            getattr(self, self.rng.choice(mishaps))(amount)
        self.rng.shuffle(self.rows)

    def is_agreed(self, amount: Decimal) -> None:
        self.send(amount)
        self.arrive(amount)
        self.add("agreed", amount, amount)

    def is_known_by_its_amount(self, amount: Decimal) -> None:
        at = MONTH.start + self.rng.randint(5, 20) * DAY
        self.send(amount, at, reference=None)
        self.arrive(amount, f"2026-10-{(at - MONTH.start) // DAY + 2:02}", "")
        self.add("agreed", amount, amount)

    def is_sent_in_parts(self, amount: Decimal) -> None:
        self.send(amount)
        self.arrive(amount / 4)
        self.arrive(amount - amount / 4)
        self.add("agreed", amount, amount)

    def is_not_arrived(self, amount: Decimal) -> None:
        self.send(amount)
        self.arrive(amount, status="Failed")
        self.add("not_arrived", None, amount)

    def is_not_sent(self, amount: Decimal) -> None:
        self.arrive(amount)
        self.add("not_sent", amount, None)

    def is_arrived_twice(self, amount: Decimal) -> None:
        self.send(amount)
        self.arrive(amount)
        self.arrive(amount)
        self.add("arrived_twice", 2 * amount, amount)

    def is_arrived_less_fee(self, amount: Decimal) -> None:
        self.send(amount)
        self.arrive(amount - Decimal("0.25"), fee="0.25")
        self.add("arrived_less_fee", amount - Decimal("0.25"), amount)

    def is_other_amount(self, amount: Decimal) -> None:
        self.send(amount)
        self.arrive(amount / 2)
        self.add("other_amount", amount / 2, amount)

    def is_arrived_later(self, amount: Decimal) -> None:
        self.send(amount, MONTH.end - MINUTE)
        self.arrive(amount, "2026-11-01")
        self.add("other_period", None, amount)

    def is_sent_before(self, amount: Decimal) -> None:
        self.send(amount, MONTH.start - MINUTE)
        self.arrive(amount, "2026-10-01")
        self.add("other_period", amount, None)

    def send(self, amount: Decimal, at: int | None = None, reference: str | None = "") -> None:
        at = MONTH.start + self.rng.randint(1, 25) * DAY if at is None else at
        record = record_of(self.rng, "payout", self.coin, amount, at)
        named = f"out-{self.number:03}" if reference == "" else reference
        self.records.append(record | {"reference_id": named})

    def arrive(
        self, amount: Decimal, day: str = "", reference: str | None = None, **more: str
    ) -> None:
        day = day or f"2026-10-{self.rng.randint(1, 31):02}"
        named = f"out-{self.number:03}" if reference is None else reference
        cells = [day, named, self.coin.upper(), format(amount, "f")]
        self.rows.append(",".join([*cells, more.get("fee", ""), more.get("status", "Completed")]))

    def add(self, code: str, theirs: Decimal | None, ours: Decimal | None) -> None:
        sides = [[] if amount is None else [(self.coin, amount)] for amount in (theirs, ours)]
        self.expected.add(code, *sides)


@pytest.mark.parametrize("seed", rings(range(12), range(300)))
def test_every_payout_and_arrival_is_in_the_one_line_that_it_belongs_to(seed, tmp_path):
    """Counts and sums by code and coin are those of plain arithmetic: 0 wrong, 0 left over."""
    sent = Sent(seed)
    lake = write_lake(tmp_path / "lake", [], sent.records)
    found = []
    for name, rows in {"a.csv": sent.rows, "b.csv": sent.rows[::-1]}.items():
        (tmp_path / name).write_text("\n".join([HEAD, *rows]))
        found.append(svc.match(lake, "payouts", tmp_path / name, month="2026-10"))
    assert found[0].by == sent.expected.by()
    assert found[0].total("ours") == sent.expected.total("ours")
    assert found[0].digest == found[1].digest


def test_a_payout_is_known_by_the_transaction_that_its_comment_names(tmp_path):
    """And what two payouts may be is ambiguous, with both: nothing is guessed."""
    rng, at = random.Random(1), MONTH.start + DAY
    records = [
        record_of(rng, "payout", "btc", Decimal(1), at) | {"comment": "tx 0xabc123ff to wallet"},
        *(record_of(rng, "payout", "btc", Decimal(2), at) for _ in range(2)),
    ]
    lake = write_lake(tmp_path / "lake", [], records)
    rows = "Time,TxID,Coin,Amount\n2026-10-20,0xabc123ff,BTC,1\n2026-10-02,0xother77,BTC,2\n"
    (tmp_path / "a.csv").write_text(rows)
    both = svc.match(lake, "payouts", tmp_path / "a.csv", month="2026-10")
    assert {code: each["count"] for code, each in both.by.items()} == {
        "agreed": 1,
        "ambiguous": 2,
    }
