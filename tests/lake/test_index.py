"""The index of a lake: what is looked up is found, and what two months share is listed."""

import random
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from svc_analytics.files import atomic_write
from svc_analytics.lake.footer import Shared
from svc_analytics.lake.index import hash_file, hash_pile, recent, shared
from svc_analytics.lake.index.hash_file import HashFile, entries_of, write_hash_file
from svc_analytics.lake.index.hash_pile import HashPile, share_any
from svc_analytics.lake.index.hashes import Hashes, hash_texts
from svc_analytics.lake.index.month_index import MonthIndex, Texts, read_rows_with
from svc_analytics.lake.writing.month_files import MonthFiles
from svc_analytics.schema import PAYMENTS
from tests.simulation.virtual import Killed
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, payment
from tests.support.prepared import extracted
from tests.support.rings import rings

COLUMNS = ("receipt_no", "reference_id")
GROUPS = 70


@pytest.fixture
def held(service: FakeService, desk: Desk) -> Desk:
    """Two payments a month from January to June; each has a number of its own."""
    days = [f"2026-{month:02}-{day:02}T00:00:00Z" for month in range(1, 7) for day in (3, 4)]
    service.payments = [payment(n, at) for n, at in enumerate(days)]
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


def one_of(service: FakeService, chance: random.Random) -> Any:
    return chance.choice(service.payments)


def at(chance: random.Random) -> str:
    return f"2026-{chance.randint(1, 7):02}-{chance.randint(5, 28):02}T00:00:00Z"


def sell(service: FakeService, chance: random.Random, count: int = 1, **more: Any) -> None:
    first = 100 + len(service.payments)
    service.payments += [payment(first + n, at(chance), **more) for n in range(count)]


STEPS: dict[str, Callable[[FakeService, random.Random], Any]] = {
    "a payment with a number of another": lambda service, chance: sell(
        service,
        chance,
        **{name: one_of(service, chance)[name] for name in chance.sample(COLUMNS, 1)},
    ),
    "two at once with one new number": lambda service, chance: sell(
        service, chance, 2, receipt_no=f"new {len(service.payments)}"
    ),
    "a payment restated to a number of another": lambda service, chance: one_of(
        service, chance
    ).update(receipt_no=one_of(service, chance)["receipt_no"]),
    "a payment without a number": lambda service, chance: one_of(service, chance).update(
        receipt_no=None
    ),
    "a payment that moves": lambda service, chance: one_of(service, chance).update(
        paid_at=at(chance)
    ),
}


SPOILT: tuple[Callable[[bytes], bytes | None], ...] = (
    lambda text: None,  # it is gone
    lambda text: b"",
    lambda text: text[:-8],
    lambda text: bytes(len(text)),
    lambda text: text[:-1] + bytes([text[-1] ^ 1]),
    lambda text: text.replace(b"duckdb", b"other"),  # of another engine
)


def spoil(desk: Desk, chance: random.Random) -> None:
    """Do something to the files of hashes, of which none is needed; as often nothing."""
    change = chance.choice((*SPOILT, *[lambda text: text] * len(SPOILT)))
    for path in (desk.lake.path / ".ids").rglob("*.hashes"):
        changed = change(path.read_bytes())
        path.unlink() if changed is None else path.write_bytes(changed)


@pytest.mark.parametrize("seed", rings([0], range(8)))
def test_what_is_looked_up_is_found_and_what_is_shared_is_listed_whatever_happens(
    held: Desk, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a run is killed between two files, hashes are spoilt, or few fit in memory."""
    chance = random.Random(seed)
    write, written = MonthFiles.write, 0

    def write_few(self: MonthFiles, *args: Any, **more: Any) -> None:
        nonlocal written
        if written == 0:
            raise Killed
        written -= 1
        write(self, *args, **more)

    monkeypatch.setattr(MonthFiles, "write", write_few)
    for written in [*(chance.choice([1, 2, 3, 1_000]) for _ in range(5)), 1_000]:  # noqa: B007
        for name in chance.sample(sorted(STEPS), 3):
            STEPS[name](held.service, chance)
        monkeypatch.setattr(recent, "MOST", chance.choice([5, 4_000_000]))
        with suppress(Killed):
            held.extract(workers=1, rereads=True)
        spoil(held, chance)
        assert not unlisted(held) and not misses(held, chance)
    assert len(held.rows()) == len(held.service.payments)


def test_a_month_lists_the_numbers_of_its_new_rows_that_other_months_hold(
    held: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three it says that there are many, and goes on saying it: more than two are not listed."""
    monkeypatch.setattr(shared, "MOST", 2)
    numbers = [each["receipt_no"] for each in held.service.payments[2:5]]
    held.service.payments.append(payment(90, "2026-06-20T00:00:00Z", receipt_no=numbers[0]))
    held.extract(rereads=True)
    assert listed(held)["2026-06"] == {"receipt_no": (numbers[0],), "reference_id": ()}
    assert listed(held)["2026-02"] == {"receipt_no": (), "reference_id": ()}
    for n, number in enumerate((*numbers[1:], "of its own")):
        held.service.payments.append(payment(91 + n, "2026-06-20T00:00:00Z", receipt_no=number))
        held.extract(rereads=True)
        many = None if n else (numbers[0], numbers[1])
        assert listed(held)["2026-06"] == {"receipt_no": many, "reference_id": ()}


def test_a_first_extraction_searches_no_file_for_the_values_of_another(
    service: FakeService, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_writer_remembers_what_its_months_hold_now() -> None:
    """January had the ids a and b, and has b and d; nothing is known of March."""
    held, months = recent.RecentHashes(["id"]), ["2026-01", "2026-02", "2026-03"]

    def hashes(ids: str) -> Hashes:
        return np.sort(hash_texts(pa.chunked_array([[*ids]], pa.string())))

    for label, ids in (("2026-01", "ab"), ("2026-02", "bc"), ("2026-01", "bd")):
        held.remove(label)
        held.add(label, [entries_of(hashes(ids), 7)])
    for ids, expected in {"a": "3", "b": "123", "c": "23", "d": "13", "ax": "3", "": "3"}.items():
        found = held.may_hold(months, "id", hashes(ids))
        assert found == [f"2026-0{month}" for month in expected]


def test_two_piles_on_disk_share_a_hash_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record may wait in two months: they are then published together."""
    monkeypatch.setattr(hash_pile, "BLOCK", 10)
    monkeypatch.setattr(hash_pile, "PORTION", 40)
    one, other = HashPile(tmp_path), HashPile(tmp_path)
    for part in np.split(np.arange(0, 2**60, 2**53, np.uint64), 8):
        one.add(part)
        other.add(part + np.uint64(1))
    assert not share_any(one, other)
    other.add(np.array([2**59], np.uint64))
    assert share_any(one, other)


def test_a_month_that_was_replaced_is_not_read_by_the_index_of_the_old_one(
    held: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader holds no lock: what it opens may be newer than what it looked up."""
    wanted = Texts.of(pa.chunked_array([[held.service.payments[2]["id"]]]))
    stale = ("of before", hash_file.Matches(np.array([0]), [7]))
    monkeypatch.setattr(MonthIndex, "_look_up", lambda *args: stale)
    assert len(MonthIndex(held.lake, PAYMENTS).rows("2026-02", "id", wanted)) == 1


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


def test_an_id_has_one_hash_however_its_column_is_cut() -> None:
    """Ids of one length go another way than ids of several; both come to the same."""
    ids = ["5d0f3c7e-6a1b-4c2d-9e8f-0a1b2c3d4e5f", "pay_1", "pay_10", "شناسه", "", "pay_2"]
    whole = hash_texts(pa.chunked_array([ids], pa.string())).tolist()
    for chunks in ([[each] for each in ids], [[], ids[:2], [], ids[2:]]):
        assert hash_texts(pa.chunked_array(chunks, pa.string())).tolist() == whole
    longer = pa.chunked_array([["before", *ids, "behind"]], pa.string())
    assert hash_texts(longer[1:-1]).tolist() == whole
