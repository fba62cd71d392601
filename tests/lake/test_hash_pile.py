"""Piles of hashes: all of them in order, however few are in memory at a time."""

from pathlib import Path

import numpy as np
import pytest

from svc_analytics.lake.index import hash_pile
from svc_analytics.lake.index.hash_pile import HashPile, doubles, share_any
from svc_analytics.lake.index.hashes import Hashes


@pytest.fixture(params=[(10, 40), (10, 10_000), (1_000, 40), (100_000, 500_000)])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for piles that are held in memory wholly, partly, or hardly at all."""
    monkeypatch.setattr(hash_pile, "BLOCK", request.param[0])
    monkeypatch.setattr(hash_pile, "PORTION", request.param[1])
    return tmp_path


def some(count: int, seed: int) -> Hashes:
    """Hashes that differ, the least and the greatest there are among them."""
    drawn = np.random.default_rng(seed).integers(1, 2**64 - 1, count, np.uint64)
    return np.append(drawn, np.array([0, 2**64 - 1], np.uint64))


def pile_of(folder: Path, hashes: Hashes) -> HashPile:
    pile = HashPile(folder)
    for part in np.array_split(hashes, 7):
        pile.add(part)
    return pile


def test_portions_are_all_hashes_in_order(folder: Path) -> None:
    hashes = np.append(some(500, 1), some(500, 1)[:30])
    portions = [*pile_of(folder, hashes).portions()]
    assert np.concatenate(portions).tolist() == sorted(hashes.tolist())
    ends = [(set(one.tolist()), set(other.tolist())) for one in portions for other in portions]
    assert all(one == other or not one & other for one, other in ends)


def test_what_occurs_twice_is_found_in_one_pile_and_in_two(folder: Path) -> None:
    one, other = some(300, 1), some(300, 2)
    twice = [0, *sorted(one[5:9].tolist()), 2**64 - 1]
    piles = [pile_of(folder, one), pile_of(folder, np.append(other, one[5:9]))]
    assert doubles(piles).tolist() == twice
    assert doubles(piles[:1]).tolist() == []
    assert doubles([pile_of(folder, np.append(one, one[5:9]))]).tolist() == twice[1:-1]


def test_piles_share_a_hash_or_none(folder: Path) -> None:
    one, other = (pile_of(folder, some(300, seed)[:-2]) for seed in (1, 2))
    assert not share_any(one, other) and not one.holds_any(np.array([7], np.uint64))
    other.add(some(300, 1)[17:18])
    assert share_any(one, other) and one.holds_any(some(300, 1)[17:18])
