"""Trees and proofs, against a plain recursive reckoning of RFC 9162."""

import random
from collections.abc import Sequence
from hashlib import sha256

import pytest

from svc_analytics.proofs.merkle import Tree, consistency, is_consistent, leaf_hash, root_of
from svc_analytics.proofs.verify import Result, root_by
from tests.support.rings import rings

LEAVES = [leaf_hash(str(number).encode()) for number in range(1025)]
SIZES = [1, 2, 3, 5, 8, 31, 32, 33, 1000, 1024, 1025]


def plain_root(leaves: Sequence[bytes]) -> bytes:
    """The tree hash as the RFC writes it: split behind the largest power of two."""
    if len(leaves) < 2:
        return leaves[0] if leaves else sha256(b"").digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\x01" + plain_root(leaves[:split]) + plain_root(leaves[split:])).digest()


def plain_path(index: int, leaves: Sequence[bytes]) -> list[bytes]:
    if len(leaves) == 1:
        return []
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    if index < split:
        return [*plain_path(index, leaves[:split]), plain_root(leaves[split:])]
    return [*plain_path(index - split, leaves[split:]), plain_root(leaves[:split])]


def leads(leaf: bytes, index: int, size: int, path: list[bytes], root: bytes) -> bool:
    """Whether a path leads from a leaf to a root, as verify.py reckons it."""
    try:
        return root_by(path, leaf, index, size) == root
    except Result:
        return False


def followed(size: int, *indices: int) -> Tree:
    tree = Tree()
    for index, leaf in enumerate(LEAVES[:size]):
        tree.add(leaf, is_followed=index in indices)
    return tree


def test_a_root_over_nothing_and_over_three_leaves():
    """Three leaves: two below the left node, and the third at the right."""
    a, b, c = LEAVES[:3]
    assert root_of([]) == sha256(b"").digest()
    left = sha256(b"\x01" + a + b).digest()
    assert root_of([a, b, c]) == sha256(b"\x01" + left + c).digest()


@pytest.mark.parametrize("size", SIZES)
def test_a_root_is_that_of_the_plain_reckoning(size):
    assert root_of(LEAVES[:size]) == plain_root(LEAVES[:size])


@pytest.mark.parametrize("count", rings([100], [3000]))
def test_each_path_leads_to_the_root_and_no_altered_one_does(count):
    """Of seeded leaves in trees of 1 to 1,025: the path is the plain one; a flipped bit is seen."""
    chance = random.Random(count)
    for _ in range(count):
        size = chance.randint(1, len(LEAVES))
        index = chance.randrange(size)
        tree = followed(size, index)
        root, path = tree.root(), tree.paths[index]
        assert path == plain_path(index, LEAVES[:size])
        assert leads(LEAVES[index], index, size, path, root)
        for forged in alterations(chance, index, size, path):
            assert not leads(LEAVES[index], *forged, root)


def alterations(
    chance: random.Random, index: int, size: int, path: list[bytes]
) -> list[tuple[int, int, list[bytes]]]:
    """A path with a bit flipped, one shorter, one longer, and of another place."""
    found = [(index, size, [*path, LEAVES[0]]), (size, size, path), (-1, size, path)]
    if path:
        place, bit = chance.randrange(len(path)), chance.randrange(256)
        other = int.from_bytes(path[place]) ^ 1 << bit
        flipped = [*path[:place], other.to_bytes(32), *path[place + 1 :]]
        found += [(index, size, flipped), (index, size, path[:-1]), (index ^ 1, size, path)]
    return found


def test_two_leaves_are_followed_at_once():
    """A record with several lines has a path for each."""
    tree = followed(1000, 3, 998)
    root = tree.root()
    for index in (3, 998):
        assert leads(LEAVES[index], index, 1000, tree.paths[index], root)


def test_a_longer_tree_is_proven_to_begin_with_the_shorter_one():
    """Every pair of sizes to 40; with another root, size or hash it is not."""
    for size in range(1, 41):
        later = size, root_of(LEAVES[:size])
        for before in range(size + 1):
            proof = consistency(LEAVES[:size], before)
            earlier = before, root_of(LEAVES[:before])
            assert is_consistent(earlier, later, proof)
            assert not is_consistent((before, LEAVES[0][::-1]), later, proof)
            assert not is_consistent(earlier, (size, LEAVES[0][::-1]), proof) or before == 0
            assert not is_consistent(earlier, later, [*proof, LEAVES[0]])
