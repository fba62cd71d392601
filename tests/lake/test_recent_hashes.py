"""Hashes that a writer remembers: which of the months it wrote may hold a value."""

import numpy as np
import pyarrow as pa
import pytest

from svc_analytics.lake.index import recent
from svc_analytics.lake.index.hash_file import entries_of
from svc_analytics.lake.index.hashes import Hashes, hash_texts
from svc_analytics.lake.index.month_index import MonthIndex
from svc_analytics.lake.index.recent import RecentHashes
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, payment

MONTHS = ["2026-01", "2026-02", "2026-03"]


def hashes(*texts: str) -> Hashes:
    return np.sort(hash_texts(pa.chunked_array([texts], pa.string())))


def remember(held: RecentHashes, label: str, *ids: str) -> None:
    """Remember a month of these ids; the row group 7 is not to be taken for a month."""
    held.remove(label)
    if held.has_room(len(ids)):
        held.add(label, [entries_of(hashes(*ids), 7)])


@pytest.fixture
def held() -> RecentHashes:
    """January has the ids a and b, February b and c; nothing is known of March."""
    held = RecentHashes(["id"])
    remember(held, "2026-01", "a", "b")
    remember(held, "2026-02", "b", "c")
    return held


@pytest.mark.parametrize(
    ("ids", "months"), [("a", "1 3"), ("ab", "1 2 3"), ("c", "2 3"), ("x", "3"), ("", "3")]
)
def test_the_months_that_hold_a_value_are_told_and_those_not_known(
    held: RecentHashes, ids: str, months: str
) -> None:
    found = held.may_hold(MONTHS, "id", hashes(*ids))
    assert found == [f"2026-0{month}" for month in months.split()]
    assert held.may_hold(MONTHS[2:], "id", hashes(*ids)) == MONTHS[2:]


def test_a_month_written_again_holds_what_it_holds_now(held: RecentHashes) -> None:
    """January loses a, and b stays; it is asked between the two, and after a third."""
    assert held.may_hold(MONTHS[:2], "id", hashes("a")) == MONTHS[:1]
    for _ in range(2):
        remember(held, "2026-01", "b", "d")
        assert held.may_hold(MONTHS[:2], "id", hashes("a")) == []
        assert held.may_hold(MONTHS[:2], "id", hashes("b")) == MONTHS[:2]
        assert held.may_hold(MONTHS[:2], "id", hashes("d")) == MONTHS[:1]


def test_a_month_for_which_there_is_no_room_may_hold_anything(
    held: RecentHashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of five entries four are taken; the room of a month that goes is free again."""
    monkeypatch.setattr(recent, "MOST", 5)
    remember(held, "2026-03", "c", "d")
    assert held.may_hold(MONTHS, "id", hashes("x")) == MONTHS[2:]
    held.remove("2026-02")
    remember(held, "2026-03", "c", "d")
    assert held.may_hold(MONTHS, "id", hashes("c")) == MONTHS[1:]
    monkeypatch.setattr(recent, "MOST_OF_MONTH", 1)
    assert not held.has_room(2)


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
