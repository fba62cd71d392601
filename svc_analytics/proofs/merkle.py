"""Hash trees of the shape of RFC 9162, built leaf by leaf in memory that does not grow.

A root fixes all leaves and their order. A path of some hashes leads from one leaf to the root,
and a proof of consistency from the root of the first leaves to that of all.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

EMPTY = sha256(b"").digest()
HASH = len(EMPTY)
PART = 1024  # leaves whose part of a tree is made at once
_LEAF, _NODE = sha256(b"\0"), sha256(b"\1")  # begun once: a copy takes half the time of a new one


def leaf_hash(content: bytes) -> bytes:
    """Hash what a leaf holds."""
    digest = _LEAF.copy()
    digest.update(content)
    return digest.digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two hashes into the one above them."""
    digest = _NODE.copy()
    digest.update(left + right)
    return digest.digest()


@dataclass
class Tree:
    """A tree that grows by a leaf at a time; of each whole part it keeps one hash.

    `paths` are the paths of the leaves that are followed, by their index, and `wholes` the roots
    of whole parts: 32 bytes of 1,024 leaves.
    """

    size: int = 0
    paths: dict[int, list[bytes]] = field(default_factory=dict)
    wholes: list[bytes] = field(default_factory=list)
    _parts: list[tuple[int, bytes]] = field(default_factory=list)  # the width of each, and its hash

    def add(self, leaf: bytes, *, is_followed: bool = False) -> None:
        """Add the hash of a leaf; one that is followed gets its path."""
        if is_followed:
            self.paths[self.size] = []
        self._join(1, leaf)

    def extend(self, leaves: Sequence[bytes], followed: Collection[int] = ()) -> None:
        """Add the hashes of leaves; those that are followed, by their place among these."""
        if followed or len(leaves) != PART or self.size % PART:
            for place, leaf in enumerate(leaves):
                self.add(leaf, is_followed=place in followed)
        else:
            self.add_part(whole_root(leaves))

    def add_part(self, root: bytes) -> None:
        """Add the root of a whole part behind whole parts."""
        self.wholes.append(root)
        self._join(PART, root)

    def _join(self, width: int, root: bytes) -> None:
        """Add a part of the tree behind the others, and join those of one width."""
        self.size += width
        parts = self._parts
        while parts and parts[-1][0] == width:
            left = parts.pop()[1]
            if self.paths:
                self._follow(self.size - 2 * width, self.size - width, left, root)
            root = node_hash(left, root)
            width *= 2
            if width == PART:
                self.wholes.append(root)
        parts.append((width, root))

    def root(self) -> bytes:
        """Close the tree: complete the paths that are followed, and tell the root."""
        if not self._parts:
            return EMPTY
        (width, root), start = self._parts[-1], self.size
        start -= width
        for width, left in reversed(self._parts[:-1]):
            self._follow(start - width, start, left, root)
            root = node_hash(left, root)
            start -= width
        return root

    def _follow(self, start: int, middle: int, left: bytes, right: bytes) -> None:
        """Lengthen the paths of leaves in two parts, of [start, middle) and behind, that join."""
        for index, path in self.paths.items():
            if index >= start:
                path.append(right if index < middle else left)


def whole_root(leaves: Sequence[bytes]) -> bytes:
    """Tell the root over as many leaves as a power of two."""
    level = leaves
    while len(level) > 1:
        level = [*map(node_hash, level[::2], level[1::2])]
    return level[0]


def root_of(leaves: Iterable[bytes]) -> bytes:
    """Tell the root over hashes of leaves.

    >>> root_of([]).hex()[:8]
    'e3b0c442'
    """
    tree = Tree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def consistency(leaves: Sequence[bytes], earlier: int) -> list[bytes]:
    """Prove that a tree of all leaves begins with that of the first `earlier` of them."""
    return [] if earlier in (0, len(leaves)) else _consistency(leaves, earlier, is_whole=True)


def _consistency(leaves: Sequence[bytes], earlier: int, *, is_whole: bool) -> list[bytes]:
    """Prove it of a part; `is_whole` says that the earlier root is known to the reader."""
    if earlier == len(leaves):
        return [] if is_whole else [root_of(leaves)]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    left, right = leaves[:split], leaves[split:]
    if earlier <= split:
        return [*_consistency(left, earlier, is_whole=is_whole), root_of(right)]
    return [*_consistency(right, earlier - split, is_whole=False), root_of(left)]


def is_consistent(
    earlier: tuple[int, bytes], later: tuple[int, bytes], proof: Sequence[bytes]
) -> bool:
    """Whether a proof shows that one tree, its size and root, is the beginning of another."""
    (size, root), (size_later, root_later) = earlier, later
    if size in (0, size_later):
        is_same = root == (root_later if size else EMPTY)
        return is_same and not proof
    if not 0 < size < size_later:
        return False
    path = [root, *proof] if size & (size - 1) == 0 else [*proof]
    index, last = size - 1, size_later - 1
    while index & 1:
        index, last = index >> 1, last >> 1
    if not path:
        return False
    old = new = path[0]
    for each in path[1:]:
        if last == 0:
            return False
        if index & 1 or index == last:
            old, new = node_hash(each, old), node_hash(each, new)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            new = node_hash(new, each)
        index, last = index >> 1, last >> 1
    return last == 0 and (old, new) == (root, root_later)
