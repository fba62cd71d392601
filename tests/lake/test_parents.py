"""The payments that refunds return: kept beside the lake, and true of it whatever befell."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics.lake import month_file
from svc_analytics.lake.checksums import read_signature
from svc_analytics.lake.index import parents
from svc_analytics.lake.index.month_index import MonthIndex
from svc_analytics.lake.index.parent_rows import PARENTS, PAYMENT
from svc_analytics.lake.index.parents import parents_in
from svc_analytics.lake.lake import digest_of
from svc_analytics.lake.writing import writer
from svc_analytics.warehouse.models import read_macros
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, payment, payout, refund
from tests.support.prepared import extracted
from tests.support.rings import rings, sample


@pytest.fixture
def held(service: FakeService, desk: Desk) -> Desk:
    """Three payments a month from January to October; each month refunds one of the month before.

    The refund of February is rejected, and that of October is of a payment nobody knows.
    """
    days = [f"2026-{month:02}-{day:02}T00:00:00Z" for month in range(1, 11) for day in (3, 4, 5)]
    service.payments = [payment(n, at) for n, at in enumerate(days)]
    service.payouts = [
        refund(n, service.payments[3 * n - 6], f"2026-{n:02}-07T00:00:00Z") for n in range(2, 11)
    ]
    service.payouts[0]["amount"] = "1e3"
    service.payouts[-1]["payment_id"] = payment(99, days[0])["id"]
    service.payouts.append(payout(50, "2026-03-01T00:00:00Z"))
    return extracted(desk)


def scanned(desk: Desk) -> list[dict[str, Any]]:
    """The parents of all payout records, found by reading every payment, divided by the macros."""
    columns = ", ".join(f"payments.{name}" for name in PAYMENT.names[1:])
    query = f"""
        with named as (
            select id as payout_id, payment_id, amount as returned_amount
            from '{desk.lake.path}/payout_records/*.parquet'
            union all
            select null, decode(body)::json ->> '$.payment_id', null
            from '{desk.lake.path}/quarantine/payout_records/rejected.parquet'
            where resolved_at is null
        )
        select
            payout_id, payment_id, returned_amount, {columns},
            muldiv18(fee_amount, returned_amount, charged_amount) as fee_kept,
            muldiv18(usd_value, returned_amount, amount) as usd_when_paid
        from named
        inner join '{desk.lake.path}/payments/*.parquet' as payments on payments.id = payment_id
        order by payment_id, payout_id
    """
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone='UTC'")
        connection.execute(read_macros())
        return connection.sql(query).to_arrow_table().to_pylist()


def given(desk: Desk) -> list[dict[str, Any]]:
    """The parents that a reader sees."""
    with desk.lake.snapshot() as folder:
        files = sorted(parents_in(desk.lake, folder).glob("*.pq"))
        tables = [pq.read_table(file).cast(PARENTS) for file in files]
    order = [("payment_id", "ascending"), ("payout_id", "ascending")]
    return pa.concat_tables(tables).sort_by(order).to_pylist()


@pytest.fixture
def looked_in(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """In which months of payments parents are looked for from now on, and how many."""
    found: list[tuple[str, int]] = []
    real = MonthIndex.rows

    def rows(self: MonthIndex, label: str, column: str, texts: Any, *rest: Any) -> pa.Table:
        if self._stream.name == "payments" and "usd_value" in (rest[0] if rest else ()):
            found.append((label, len(texts.hashes)))
        return real(self, label, column, texts, *rest)

    monkeypatch.setattr(MonthIndex, "rows", rows)
    return found


def test_readers_see_the_payments_of_all_payout_records(held: Desk) -> None:
    """Those of the rejected one too; of the ten, one is of a payment that is not in the lake."""
    assert given(held) == scanned(held) and len(given(held)) == 9 - 1
    kept = {path.stem for path in (held.lake.path / ".parents").glob("*.parquet")}
    assert kept == {"0000-00", "rejected", *(f"2026-{month:02}" for month in range(3, 10))}


def test_what_is_kept_is_not_looked_for_again(held: Desk, looked_in: list[tuple[str, int]]) -> None:
    """A new payment and its refund: it is looked for, and what October lacks, in November."""
    held.service.payments.append(payment(60, "2026-11-20T11:20:00Z"))
    held.service.payouts.append(refund(60, held.service.payments[-1], "2026-11-20T11:25:00Z"))
    held.extract()
    assert sorted(looked_in) == [("2026-11", 1), ("2026-11", 1)]
    looked_in.clear()
    assert given(held) == scanned(held) and not looked_in


def test_only_parents_of_a_month_that_changed_are_looked_for_again(
    held: Desk, looked_in: list[tuple[str, int]]
) -> None:
    """A payment of April is restated: the refund in May is of one beside it."""
    held.service.payments[10]["amount"] = "12"
    held.extract(rereads=True)
    assert looked_in == [("2026-04", 1), ("2026-04", 1)]  # of May's refund, and of October's
    assert given(held) == scanned(held)


SPOILT: dict[str, Callable[[Path], Any]] = {
    "no parents": lambda folder: [path.unlink() for path in folder.glob(".parents/*")],
    "no sources": lambda folder: (folder / ".parents" / "sources.json").unlink(),
    "other sources": lambda folder: flip(folder / ".parents" / "sources.json", 40),
    "a flipped bit": lambda folder: flip(folder / ".parents" / "2026-05.parquet", 20),
    "a file of another month": lambda folder: (folder / ".parents" / "2026-05.parquet").write_bytes(
        (folder / ".parents" / "2026-06.parquet").read_bytes()
    ),
    "the form before": lambda folder: write_earlier_form(folder / ".parents"),
    "no hashes": lambda folder: [path.unlink() for path in folder.glob(".ids/*/*")],
}


def write_earlier_form(folder: Path) -> None:
    """Keep the parents as earlier versions did: the payments alone."""
    document = json.loads((folder / "sources.json").read_bytes())
    del document["sha256"]
    document["form"] -= 1
    for path in folder.glob("*.parquet"):
        pq.write_table(pq.read_table(path, columns=PAYMENT.names), path)
        if path.stem in document["files"]:
            document["files"][path.stem]["signature"] = read_signature(path)
    sources = document | {"sha256": digest_of(document)}
    (folder / "sources.json").write_text(json.dumps(sources))


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("spoil", sample(SPOILT.values(), 3), ids=SPOILT.keys())
def test_a_reader_makes_what_is_not_kept_and_a_writer_keeps_it(
    held: Desk, spoil: Callable[[Path], Any]
) -> None:
    """Nothing of it is the only copy."""
    expected = scanned(held)
    if (held.lake.path / ".parents").exists():
        spoil(held.lake.path)
    assert given(held) == expected
    held.extract()
    assert given(held) == expected


STEPS: dict[str, Callable[[FakeService, random.Random], Any]] = {
    "a late payment": lambda service, chance: service.payments.append(
        payment(100 + len(service.payments), f"2026-{chance.randint(1, 11):02}-09T00:00:00Z")
    ),
    "a restated payment": lambda service, chance: chance.choice(service.payments).update(
        receipt_no=f"restated {chance.random()}"
    ),
    "a payment that moves": lambda service, chance: chance.choice(service.payments).update(
        paid_at=f"2026-{chance.randint(1, 10):02}-11T00:00:00Z"
    ),
    "a payment nobody knew": lambda service, chance: (
        service.payments.append(payment(99, f"2026-{chance.randint(1, 10):02}-13T00:00:00Z"))
        if payment(99, "2026-01-01T00:00:00Z")["id"] not in {row["id"] for row in service.payments}
        else None
    ),
    "a refund": lambda service, chance: service.payouts.append(
        refund(
            200 + len(service.payouts),
            chance.choice(service.payments),
            f"2026-{chance.randint(1, 11):02}-12T00:00:00Z",
        )
    ),
    "a good version": lambda service, chance: service.payouts[0].update(amount="5"),
}


@pytest.mark.parametrize("seed", rings(range(1), range(3)))
def test_parents_are_those_that_a_scan_finds_whatever_changes(
    held: Desk, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some runs end before they keep anything; readers come between all of them."""
    chance, real = random.Random(seed), parents.refresh_parents
    for _ in range(4):
        for name in chance.sample(sorted(STEPS), 3):
            STEPS[name](held.service, chance)
        is_kept = chance.random() < 0.6
        monkeypatch.setattr(writer, "refresh_parents", real if is_kept else lambda lake: None)
        held.extract(rereads=True)
        assert given(held) == scanned(held)


def test_parents_are_the_same_ones_piece_by_piece(
    held: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A month's refunds are looked for some at a time: here 12 of 30, which return 20 payments."""
    monkeypatch.setattr(parents, "PIECE", 12)
    monkeypatch.setattr(month_file, "ROW_GROUP", 4)
    paid = held.service.payments
    held.service.payouts += [
        refund(100 + n, paid[n % 20], f"2026-11-{1 + n // 2:02}T00:00:00Z") for n in range(30)
    ]
    held.extract(rereads=True)
    assert given(held) == scanned(held)
    kept = pq.ParquetFile(held.lake.path / ".parents" / "2026-11.parquet")
    assert [kept.metadata.row_group(place).num_rows for place in range(3)] == [12, 12, 6]
    late = payment(99, "2026-01-09T00:00:00Z")  # what is kept of the others stays as it is
    held.service.payouts += [
        refund(200 + n, late, f"2026-11-{2 + 9 * n:02}T01:00:00Z") for n in (0, 1)
    ]
    held.extract(rereads=True)
    assert given(held) == scanned(held)
    held.service.payments.append(late)
    held.extract(rereads=True)
    assert given(held) == scanned(held) and late["id"] in {row["payment_id"] for row in given(held)}
