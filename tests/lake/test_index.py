"""The index of a lake: what is looked up is found, and what two months share is listed.

So are the payments that refunds return, kept beside the lake: nothing of either is the only copy.
"""

import random
from collections import defaultdict
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics.files import atomic_write
from svc_analytics.lake import month_file
from svc_analytics.lake.coverage_footer import Shared
from svc_analytics.lake.index import hashes as hash_file, month_index, parents
from svc_analytics.lake.index.hashes import (
    Hashes,
    HashFile,
    HashPile,
    entries_of,
    hash_texts,
    share_any,
    write_hash_file,
)
from svc_analytics.lake.index.month_index import MonthIndex, SoughtTexts, read_rows_with
from svc_analytics.lake.index.parents import PARENTS, PAYMENT, parents_in
from svc_analytics.lake.writing import writer
from svc_analytics.lake.writing.month_files import MonthFiles
from svc_analytics.schema import PAYMENTS
from svc_analytics.warehouse.models import read_macros
from tests.simulation.virtual import Killed
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, payment, payout, refund
from tests.support.prepared import extracted
from tests.support.rings import rings

COLUMNS = ("receipt_no", "reference_id")
GROUPS = 70
UNKNOWN = payment(99, "2026-01-03T00:00:00Z")  # no list had it yet


@pytest.fixture
def held(service, desk) -> Desk:
    """Three payments a month from January to October; each month refunds one of the month before.

    The refund of February is rejected, and that of October is of a payment nobody knows.
    """
    days = [f"2026-{month:02}-{day:02}T00:00:00Z" for month in range(1, 11) for day in (3, 4, 5)]
    service.payments = [payment(n, at) for n, at in enumerate(days)]
    service.payouts = [
        refund(n, service.payments[3 * n - 6], f"2026-{n:02}-07T00:00:00Z") for n in range(2, 11)
    ]
    service.payouts[0]["amount"] = "1e3"
    service.payouts[-1]["payment_id"] = UNKNOWN["id"]
    service.payouts.append(payout(50, "2026-03-01T00:00:00Z"))
    return extracted(desk)


def listed(desk: Desk) -> dict[str, Shared]:
    """What each month's footer lists."""
    return {label: footer.shared for label, footer in desk.lake.footers(PAYMENTS).items()}


def unlisted(desk: Desk) -> list[tuple[str, str, str]]:
    """Values in two months of which neither footer lists them, or says that there are many."""
    homes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in desk.rows():
        for column in COLUMNS:
            homes[column, row[column]].add(f"{row['paid_at']:%Y-%m}")
    lists = listed(desk)

    def tells(label: str, column: str, value: str) -> bool:
        values = lists[label].get(column)
        return values is None or value in values

    return [
        (column, value, " ".join(pair))
        for (column, value), months in homes.items()
        if value is not None
        for pair in combinations(sorted(months), 2)
        if not any(tells(label, column, value) for label in pair)
    ]


def misses(desk: Desk, chance: random.Random) -> list[str]:
    """The columns by which a look-up of some values finds other rows than a scan."""
    rows, wrong = desk.rows(), []
    for column in ("id", *COLUMNS):
        values = sorted({row[column] for row in rows if row[column]})
        asked = ["none such", *chance.sample(values, len(values) // 2)]
        found = read_rows_with(desk.lake, PAYMENTS, column, asked)["id"].to_pylist()
        if sorted(found) != [row["id"] for row in rows if row[column] in asked]:
            wrong.append(column)
    return wrong


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


CHANGES = ("shared", "new pair", "restated", "numberless", "moved", "known", "refund", "good")


def change(what: str, service: FakeService, chance: random.Random) -> None:
    """Let payments and refunds come, or say something else."""
    number, some = 100 + len(service.payments), chance.choice(service.payments)
    at = f"2026-{chance.randint(1, 10):02}-{chance.randint(5, 28):02}T00:00:00Z"
    match what:
        case "shared":  # a number with another payment
            column = chance.choice(COLUMNS)
            service.payments.append(payment(number, at, **{column: some[column]}))
        case "new pair":
            new = {"receipt_no": f"new {number}"}
            service.payments += [payment(number, at, **new), payment(number + 1, at, **new)]
        case "restated":
            some["receipt_no"] = chance.choice(service.payments)["receipt_no"]
        case "numberless":
            some["receipt_no"] = None
        case "moved":
            some["paid_at"] = at
        case "known" if UNKNOWN not in service.payments:
            service.payments.append(UNKNOWN)
        case "refund":
            service.payouts.append(refund(200 + len(service.payouts), some, at))
        case "good":  # what was rejected
            service.payouts[0]["amount"] = "5"


LOSSES = ("lost", "empty", "cut short", "zeros", "a bit", "another's", "of another engine")


def spoil(desk: Desk, chance: random.Random) -> None:
    """Do something to all files of hashes and parents, of which none is needed; or nothing."""
    loss, before = chance.choice((*LOSSES, *[""] * len(LOSSES))), b""
    for path in sorted(desk.lake.path.glob(".[ip]*/**/*")):
        if path.is_dir():
            continue
        text = path.read_bytes()
        path.unlink()
        if loss != "lost":
            path.write_bytes(spoilt(loss, text, before, chance))
        before = text


def spoilt(loss: str, text: bytes, other: bytes, chance: random.Random) -> bytes:
    match loss:
        case "empty":
            return b""
        case "cut short":
            return text[:-8]
        case "zeros":
            return bytes(len(text))
        case "a bit" if text:
            place = chance.randrange(len(text))
            return text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :]
        case "another's":
            return other
        case "of another engine":
            return text.replace(b"duckdb", b"other")
    return text


@pytest.mark.parametrize(("seed", "runs"), rings([(1, 1)], [(seed, 5) for seed in range(8)]))
def test_what_is_looked_up_is_found_and_what_is_shared_is_listed_whatever_is_lost(
    held, seed, runs, monkeypatch
):
    """Also where a run is killed between two files or before it keeps the parents."""
    chance, refresh, write, left = random.Random(seed), parents.refresh_parents, MonthFiles.write, 0

    def write_few(self: MonthFiles, *args: Any, **more: Any) -> None:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1
        write(self, *args, **more)

    monkeypatch.setattr(MonthFiles, "write", write_few)
    monkeypatch.setattr(hash_file, "_ENTRIES", 2)
    monkeypatch.setattr(month_file, "ROW_GROUP", 2)
    monkeypatch.setattr(parents, "PIECE", 1)  # refunds that are looked for at once
    for left in [*(chance.choice([1, 2, 3, 1_000]) for _ in range(runs)), 1_000]:  # noqa: B007
        for what in chance.sample(CHANGES, 3):
            change(what, held.service, chance)
        monkeypatch.setattr(month_index, "MOST", chance.choice([5, 4_000_000]))
        refreshes = chance.random() < 0.6
        monkeypatch.setattr(writer, "refresh_parents", refresh if refreshes else lambda lake: None)
        with suppress(Killed):
            held.extract(workers=1, rereads=True)
        spoil(held, chance)
        assert not unlisted(held) and not misses(held, chance)
        assert given(held) == scanned(held)
    assert len(held.rows()) == len(held.service.payments)


def test_a_month_lists_the_numbers_of_its_new_rows_that_other_months_hold(held, monkeypatch):
    """Of three it says that there are many, and goes on saying it: more than two are not listed."""
    monkeypatch.setattr(month_index, "MOST_SHARED", 2)
    numbers = [each["receipt_no"] for each in held.service.payments[3:12:3]]
    held.service.payments.append(payment(90, "2026-06-20T00:00:00Z", receipt_no=numbers[0]))
    held.extract(rereads=True)
    assert listed(held)["2026-06"] == {"receipt_no": (numbers[0],), "reference_id": ()}
    assert listed(held)["2026-02"] == {"receipt_no": (), "reference_id": ()}
    for n, number in enumerate((*numbers[1:], "of its own")):
        held.service.payments.append(payment(91 + n, "2026-06-20T00:00:00Z", receipt_no=number))
        held.extract(rereads=True)
        many = None if n else (numbers[0], numbers[1])
        assert listed(held)["2026-06"] == {"receipt_no": many, "reference_id": ()}


def test_a_first_extraction_searches_no_file_for_the_values_of_another(service, desk, monkeypatch):
    """Six months are written; June has a number of February, which alone is searched."""
    service.payments = [payment(n, f"2026-0{n}-03T00:00:00Z") for n in range(1, 7)]
    service.payments[5]["receipt_no"] = service.payments[1]["receipt_no"]
    searched = []
    look_up = MonthIndex._look_up

    def noting(self: MonthIndex, label: str, column: str, *rest: object) -> object:
        searched.append((label, column))
        return look_up(self, label, column, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(MonthIndex, "_look_up", noting)
    desk.extract()
    assert [each for each in searched if each[1] != "id"] == [("2026-02", "receipt_no")]
    assert {label for label, column in searched if column == "id"} <= {"0000-00"}


def test_two_piles_on_disk_share_a_hash_or_none(tmp_path, monkeypatch):
    """A record may wait in two months: they are then published together."""
    monkeypatch.setattr(hash_file, "BLOCK", 10)
    monkeypatch.setattr(hash_file, "PORTION", 40)
    one, other = HashPile(tmp_path), HashPile(tmp_path)
    for part in np.split(np.arange(0, 2**60, 2**53, np.uint64), 8):
        one.add(part)
        other.add(part + np.uint64(1))
    assert not share_any(one, other)
    other.add(np.array([2**59], np.uint64))
    assert share_any(one, other)


def test_a_month_that_was_replaced_is_not_read_by_the_index_of_the_old_one(held, monkeypatch):
    """A reader holds no lock: what it opens may be newer than what it looked up."""
    wanted = SoughtTexts.of(pa.chunked_array([[held.service.payments[3]["id"]]]))
    stale = ("of before", hash_file.Matches(np.array([0]), [7]))
    monkeypatch.setattr(MonthIndex, "_look_up", lambda *args: stale)
    assert len(MonthIndex(held.lake, PAYMENTS).rows("2026-02", "id", wanted)) == 1


@pytest.fixture
def looked_in(monkeypatch) -> list[tuple[str, int]]:
    """In which months of payments parents are looked for from now on, and how many."""
    found: list[tuple[str, int]] = []
    real = MonthIndex.rows

    def rows(self: MonthIndex, label: str, column: str, texts: Any, *rest: Any) -> pa.Table:
        if self._stream.name == "payments" and "usd_value" in (rest[0] if rest else ()):
            found.append((label, len(texts.hashes)))
        return real(self, label, column, texts, *rest)

    monkeypatch.setattr(MonthIndex, "rows", rows)
    return found


def test_readers_see_the_payments_of_all_payout_records(held):
    """Those of the rejected one too; of the ten, one is of a payment that is not in the lake."""
    assert given(held) == scanned(held) and len(given(held)) == 9 - 1
    kept = {path.stem for path in (held.lake.path / ".parents").glob("*.parquet")}
    assert kept == {"0000-00", "rejected", *(f"2026-{month:02}" for month in range(3, 10))}


def test_what_is_kept_is_not_looked_for_again(held, looked_in):
    """A new payment and its refund: it is looked for, and what October lacks, in November."""
    held.service.payments.append(payment(60, "2026-11-20T11:20:00Z"))
    held.service.payouts.append(refund(60, held.service.payments[-1], "2026-11-20T11:25:00Z"))
    held.extract()
    assert sorted(looked_in) == [("2026-11", 1), ("2026-11", 1)]
    looked_in.clear()
    assert given(held) == scanned(held) and not looked_in


def test_parents_that_were_lost_are_looked_for_by_the_next_run_alone(held, looked_in):
    """The refund of May is of a payment of April; no reader looks for it after that."""
    (held.lake.path / ".parents" / "2026-05.parquet").unlink()
    held.extract()
    assert looked_in == [("2026-05", 1), ("2026-04", 1)]
    looked_in.clear()
    assert given(held) == scanned(held) and not looked_in


def test_only_parents_of_a_month_that_changed_are_looked_for_again(held, looked_in):
    """A payment of April is restated: the refund in May is of one beside it."""
    held.service.payments[10]["amount"] = "12"
    held.extract(rereads=True)
    assert looked_in == [("2026-04", 1), ("2026-04", 1)]  # of May's refund, and of October's
    assert given(held) == scanned(held)


def test_parents_of_an_earlier_form_are_looked_for_again(held, looked_in, monkeypatch):
    """Another release kept them, with other columns."""
    with monkeypatch.context() as patch:
        patch.setattr(parents, "_FORM", parents._FORM - 1)
        held.extract()
    looked_in.clear()
    assert given(held) == scanned(held) and looked_in


# ---------- files of hashes


def some_hashes(count: int, seed: int = 1) -> Hashes:
    """Hashes of which some are equal in all the bits that are kept, and the greatest there is."""
    hashes = np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)
    hashes[: count // 3] = hashes[count // 2 : count // 2 + 1] | np.uint64(0xFFFFF)
    return np.append(hashes, np.uint64(2**64 - 1))


def write(path: Path, *sections: Hashes) -> dict[int, set[int]]:
    """Write hashes, dealt out to row groups; return the groups of each by its kept bits."""
    dealt = [[section[group::GROUPS] for group in range(GROUPS)] for section in sections]
    written = (
        [np.sort(np.concatenate([entries_of(part, group) for group, part in enumerate(parts)]))]
        for parts in dealt
    )
    write_hash_file(atomic_write(path), "v1", written)
    homes: dict[int, set[int]] = {}
    for group, part in enumerate(dealt[-1]):
        for value in part.tolist():
            homes.setdefault(value >> 20, set()).add(group)
    return homes


@pytest.mark.parametrize("count", [0, 1, 511, 512, 513, 5_000])
@pytest.mark.parametrize("wanted", [1, 40, 5_000])
def test_every_row_group_of_every_hash_is_found_and_no_other(tmp_path, count, wanted):
    """Of three sections the last, by few of its blocks or by all of them."""
    held = some_hashes(count)
    homes = write(tmp_path / "h", some_hashes(700, 2), np.empty(0, np.uint64), held)
    asked = np.sort(np.concatenate([held[-wanted // 2 :], some_hashes(wanted, 3)]))
    with HashFile.open(tmp_path / "h", "v1") as hashes:
        found = hashes.find(2, asked)
    expected = [homes.get(value >> 20, set()) for value in asked.tolist()]
    assert found.groups == sorted(set().union(*expected))
    assert found.places.tolist() == [place for place, groups in enumerate(expected) if groups]


def test_no_flipped_bit_of_the_hashes_is_a_silent_answer(tmp_path):
    """It is found out where it lies in what is read; so is a file of another version."""
    path = tmp_path / "h"
    held = np.sort(some_hashes(2_000))
    write(path, held)
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises(ValueError, match="hashes"), HashFile.open(path, "v1") as hashes:
            hashes.find(0, held)
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="another version"), HashFile.open(path, "v2"):
        pass


def test_an_id_has_one_hash_however_its_column_is_cut():
    """Ids of one length go another way than ids of several; both come to the same."""
    ids = ["5d0f3c7e-6a1b-4c2d-9e8f-0a1b2c3d4e5f", "pay_1", "pay_10", "شناسه", "", "pay_2"]
    whole = hash_texts(pa.chunked_array([ids], pa.string())).tolist()
    for chunks in ([[each] for each in ids], [[], ids[:2], [], ids[2:]]):
        assert hash_texts(pa.chunked_array(chunks, pa.string())).tolist() == whole
    longer = pa.chunked_array([["before", *ids, "behind"]], pa.string())
    assert hash_texts(longer[1:-1]).tolist() == whole
