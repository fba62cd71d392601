"""Hashes of ids: what tells where an id may be, without reading it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from svc_analytics.files import atomic_write
from svc_analytics.lake.index import hash_file
from svc_analytics.lake.index.hash_file import HashFile, entries_of, write_hash_file
from svc_analytics.lake.index.hashes import Hashes, hash_texts
from svc_analytics.lake.index.month_index import (
    MonthIndex,
    Texts,
    read_rows_with,
)
from svc_analytics.schema import PAYMENTS
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, payment

IDS = ["5d0f3c7e-6a1b-4c2d-9e8f-0a1b2c3d4e5f", "pay_1", "pay_10", "شناسه", "", "pay_2"]
WHOLE = pa.chunked_array([IDS], pa.string())
CUTS = {
    "one by one": pa.chunked_array([[i] for i in IDS], pa.string()),
    "with empty chunks": pa.chunked_array([[], IDS[:2], [], IDS[2:]], pa.string()),
    "out of a longer column": pa.chunked_array([["before", *IDS, "behind"]], pa.string())[1:-1],
}
GROUPS = 70


@pytest.mark.parametrize("name", CUTS)
def test_an_id_has_one_hash_however_its_column_is_cut(name: str) -> None:
    """Ids of one length go another way than ids of several; both come to the same."""
    assert hash_texts(CUTS[name]).tolist() == hash_texts(WHOLE).tolist()


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
def test_every_row_group_of_every_hash_is_found_and_no_other(
    tmp_path: Path, count: int, wanted: int
) -> None:
    """Of three sections the last, by few of its blocks or by all of them."""
    held = some_hashes(count)
    homes = write(tmp_path / "h", some_hashes(700, 2), np.empty(0, np.uint64), held)
    asked = np.sort(np.concatenate([held[-wanted // 2 :], some_hashes(wanted, 3)]))
    with HashFile.open(tmp_path / "h", "v1") as hashes:
        found = hashes.find(2, asked)
    expected = [homes.get(value >> 20, set()) for value in asked.tolist()]
    assert found.groups == sorted(set().union(*expected))
    assert found.places.tolist() == [place for place, groups in enumerate(expected) if groups]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many bytes of hash files are read from now on, piece by piece."""
    sizes: list[int] = []
    real = hash_file._read_at

    def read_at(*args: Any) -> bytes:
        sizes.append(args[-1])
        return real(*args)

    monkeypatch.setattr(hash_file, "_read_at", read_at)
    yield sizes


def test_no_flipped_bit_of_the_hashes_is_a_silent_answer(tmp_path: Path) -> None:
    """It is found out where it lies in what is read, and else the answer is the same."""
    path, held = tmp_path / "h", some_hashes(2_000)
    write(path, held)
    whole = path.read_bytes()
    with HashFile.open(path, "v1") as hashes:
        right = hashes.find(0, np.sort(held)).groups
    for place in range(0, len(whole), 97):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises(ValueError, match="hashes"), HashFile.open(path, "v1") as hashes:
            assert hashes.find(0, np.sort(held)).groups != right
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="another version"), HashFile.open(path, "v2"):
        pass


@pytest.fixture
def held(service: FakeService, desk: Desk) -> Desk:
    """A payment a month; two of them share a receipt number, and one has none."""
    service.payments = [payment(n, f"2026-0{n}-05T00:00:00Z") for n in range(1, 6)]
    service.payments[4]["receipt_no"] = service.payments[1]["receipt_no"]
    service.payments[3]["receipt_no"] = None
    desk.extract()
    return desk


def test_rows_are_found_in_the_months_that_hold_them(held: Desk) -> None:
    """By id in the one month; by receipt number in both, the newest first."""
    shared, single = held.service.payments[1], held.service.payments[2]
    found = read_rows_with(held.lake, PAYMENTS, "receipt_no", [shared["receipt_no"], "none such"])
    assert found["paid_at"].to_pylist() == [
        row["paid_at"] for n in (5, 2) for row in held.rows() if row["paid_at"].month == n
    ]
    columns = read_rows_with(held.lake, PAYMENTS, "id", [single["id"]], columns=["amount", "id"])
    assert columns.column_names == ["amount", "id"] and columns["id"].to_pylist() == [single["id"]]


@pytest.mark.parametrize("is_whole", [True, False], ids=["indexed", "without an index"])
def test_a_month_that_was_replaced_is_not_read_by_the_index_of_the_old_one(
    held: Desk, is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader holds no lock: what it opens may be newer than what it looked up."""
    index = MonthIndex(held.lake, PAYMENTS)
    wanted = Texts.of(pa.chunked_array([[held.service.payments[1]["id"]]]))
    if is_whole:
        stale = ("of before", hash_file.Found(np.array([0]), [7]))
        monkeypatch.setattr(MonthIndex, "_look_up", lambda *args: stale)
    else:
        (held.lake.path / ".ids" / "payments" / "2026-02.hashes").unlink()
    assert len(index.rows("2026-02", "id", wanted)) == 1


def test_hashes_of_ids_that_a_month_lacks_are_told_apart(held: Desk) -> None:
    """Whoever holds only hashes learns which may stand there; without an index any may."""
    index = MonthIndex(held.lake, PAYMENTS)
    ids = pa.chunked_array([sorted(row["id"] for row in held.rows())])
    hashes = np.sort(hash_texts(ids))
    own = next(row["id"] for row in held.rows() if row["paid_at"].month == 3)
    assert (
        index.shared_hashes("2026-03", hashes).tolist()
        == hash_texts(pa.chunked_array([[own]])).tolist()
    )
    (held.lake.path / ".ids" / "payments" / "2026-03.hashes").unlink()
    assert index.shared_hashes("2026-03", hashes).tolist() == hashes.tolist()
