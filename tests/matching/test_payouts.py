"""What arrived, by the list of an exchange, beside the payouts that were sent."""

import random
from decimal import Decimal
from typing import Any

import pytest

import svc_analytics as svc
from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, MINUTE
from tests.support.rings import rings
from tests.support.seeded_shops import MONTH, Expected, counts, record_of, write_lake

HEAD = "Date,Reference,Coin,Amount,Fee,Status,Note"
# What becomes of a payout, by which shares of its amount arrive, each by itself.
ARRIVED_SO = {
    "is_agreed": ("agreed", "1"),
    "is_sent_in_parts": ("agreed", "0.25", "0.75"),
    "is_arrived_twice": ("arrived_twice", "1", "1"),
    "is_other_amount": ("other_amount", "0.5"),
}


class Sent:
    """Payouts of a seed, the list of the exchange that they went to, and what that comes to."""

    def __init__(self, seed: int) -> None:
        self.seed, self.rng, self.expected = seed, random.Random(seed), Expected()
        self.records: list[dict[str, Any]] = []
        self.rows: list[str] = []
        mishaps = sorted(name for name in (*dir(self), *ARRIVED_SO) if name.startswith("is_"))
        for number in range(30):
            self.number, self.coin = number, self.rng.choice(("usdt", "btc"))
            amount = Decimal(self.rng.randint(10**4, 10**8)).scaleb(-4)
            name = self.rng.choice(mishaps)
            if name in ARRIVED_SO:
                code, *shares = ARRIVED_SO[name]
                self.arrived_so(code, amount, *map(Decimal, shares))
            else:
                getattr(self, name)(amount)
        self.rng.shuffle(self.rows)

    def arrived_so(self, code: str, amount: Decimal, *shares: Decimal) -> None:
        """Send an amount, of which these shares arrive, each by itself."""
        self.send(amount)
        for share in shares:
            self.arrive(amount * share)
        self.add(code, amount * sum(shares), amount)

    def is_known_by_its_amount(self, amount: Decimal) -> None:
        at = MONTH.start + self.rng.randint(5, 20) * DAY
        self.send(amount, at, reference=None)
        self.arrive(amount, f"2026-10-{(at - MONTH.start) // DAY + 2:02}", "")
        self.add("agreed", amount, amount)

    def is_a_batch(self, amount: Decimal) -> None:
        """Three payouts that name their batch arrive as one deposit of its key."""
        self.batch(amount, [f"in batch-{self.seed}-{self.number:03}"] * 3, self.number_of("batch"))

    def is_a_row_that_names_several(self, amount: Decimal) -> None:
        self.batch(amount, [None] * 3, "", note=" ".join(map(self.number_of, "abc")))

    def batch(
        self, amount: Decimal, comments: list[str | None], reference: str, note: str = ""
    ) -> None:
        parts = [amount, amount / 4, amount - amount / 4]
        for letter, part, comment in zip("abc", parts, comments, strict=True):
            self.send(part, reference=self.number_of(letter))
            self.records[-1]["comment"] = comment
            self.add("agreed", part, part)
        self.arrive(sum(parts), reference=reference, note=note)

    def number_of(self, prefix: str) -> str:
        return f"{prefix}-{self.seed}-{self.number:03}"

    def is_not_arrived(self, amount: Decimal) -> None:
        self.send(amount)
        self.arrive(amount, status="Failed")
        self.add("not_arrived", None, amount)

    def is_not_sent(self, amount: Decimal) -> None:
        self.arrive(amount)
        self.add("not_sent", amount, None)

    def is_arrived_less_fee(self, amount: Decimal) -> None:
        self.send(amount)
        self.arrive(amount - Decimal("0.25"), fee="0.25")
        self.add("arrived_less_fee", amount - Decimal("0.25"), amount)

    def is_arrived_less_our_fee(self, amount: Decimal) -> None:
        """The list has no fee of its own; what lacks is the fee that the service tells."""
        self.send(amount)
        self.records[-1]["fee_amount"] = Decimal("0.5")
        self.arrive(amount - Decimal("0.5"))
        self.add("arrived_less_fee", amount - Decimal("0.5"), amount)

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
        cells += [more.get("fee", ""), more.get("status", "Completed"), more.get("note", "")]
        self.rows.append(",".join(cells))

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


@pytest.fixture
def match(tmp_path):
    """The codes of payouts of 2 October beside a list, with their counts."""

    def match(sent: list[tuple[str, str, str | None]], rows: str) -> svc.Match:
        rng, at = random.Random(1), MONTH.start + DAY
        records = [
            record_of(rng, "payout", "btc", Decimal(amount), at)
            | {"reference_id": reference, "comment": comment}
            for reference, amount, comment in sent
        ]
        lake = write_lake(tmp_path / "lake", [], records)
        (tmp_path / "a.csv").write_text(rows)
        return svc.match(lake, "payouts", tmp_path / "a.csv", month="2026-10")

    return match


def test_a_payout_is_known_by_the_transaction_that_its_comment_names(match):
    """And what two payouts may be is ambiguous, with both: nothing is guessed."""
    sent = [("a", "1", "tx 0xabc123ff to wallet"), ("b", "2", None), ("c", "2", None)]
    rows = "Time,TxID,Coin,Amount\n2026-10-20,0xabc123ff,BTC,1\n2026-10-02,0xother77,BTC,2\n"
    both = match(sent, rows)
    assert counts(both) == {"agreed": 1, "ambiguous": 2}
    candidates = {*both.rows["candidates"].dropna()}
    assert candidates == {"0xother77 (or of b)", "0xother77 (or of c)"}


def test_a_day_in_a_text_is_no_key(match):
    """Wages of a day and a rent of the same day have nothing in common but the day."""
    sent = [("out-000001", "1", "wages 2026-10-02"), ("out-000002", "5", None)]
    rows = "Date,Note,Coin,Amount\n2026-10-02,rent 2026-10-02,BTC,7\n2026-10-03,out-000002,BTC,5"
    assert counts(match(sent, rows)) == {"agreed": 1, "not_arrived": 1, "not_sent": 1}


def test_a_deposit_of_a_batch_is_shared_out_where_it_is_its_sum(match):
    """1 + 2 are 3, on line 2; what is no sum of its payouts stays open, and is not shared out."""
    sent = [("a", "1", "batch-77"), ("b", "2", "batch-77")]
    head = "Date,Reference,Coin,Amount\n"
    both = match(sent, f"{head}2026-10-02,BATCH-77,BTC,3")
    assert counts(both) == {"agreed": 2} and not both.open_count
    assert both.rows["theirs_amount"].tolist() == [1, 2] and {*both.rows["lines"]} == {"2"}
    assert counts(match(sent, f"{head}2026-10-02,batch-77,BTC,3\n2026-10-04,batch-77,BTC,3")) == {
        "arrived_twice": 2
    }
    sent_by_number = [("out-000001", "1", None), ("out-000002", "2", None)]
    named = match(sent_by_number, f"{head}2026-10-02,out-000001; OUT-000002,BTC,3")
    assert counts(named) == {"agreed": 2}
    some = match(sent, f"{head}2026-10-02,batch-77,BTC,2.9\n2026-10-02,a,BTC,1")
    assert counts(some) == {"agreed": 1, "not_arrived": 1, "not_sent": 1}


def test_what_arrived_on_no_day_is_refused(match):
    """It would be of no month, and count nowhere."""
    with pytest.raises(ConfigError, match=r"a\.csv, line 3: it has no day"):
        match([("a", "1", None)], "Date,Reference,Coin,Amount\n2026-10-02,a,BTC,1\n,b,BTC,1")
