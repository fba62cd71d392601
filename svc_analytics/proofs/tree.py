"""The hash tree of a statement's lines, of the shape of RFC 9162.

It is made in memory that does not grow. A root fixes all leaves and their order. A path of some
hashes leads from one leaf to the root, and a proof of consistency from the root of the first
leaves to that of all. A leaf is the exact text of a record of `lines.csv`, salted with the secret
of its lake.
"""

from __future__ import annotations

import csv
import hmac
import secrets
from binascii import unhexlify
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import count, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.errors import LakeError
from svc_analytics.files import chunks_of
from svc_analytics.formatting.tables import csv_pairs
from svc_analytics.storage import Storage, merge_into

EMPTY = sha256(b"").digest()
HASH = len(EMPTY)
PART = 1024  # leaves whose part of a tree is made at once
_LEAF, _NODE = sha256(b"\0"), sha256(b"\1")  # begun once: a copy takes half the time of a new one
TABLE = "lines"
_NO_TABLE = f"the {TABLE} are no table that close wrote"
_RECORD, _RECEIPT = b"record_id", b"receipt_sha256"
_NO_RECEIPT = bytes(HASH)
_BOM = b"\xef\xbb\xbf"
_GROUP = 20_000  # rows of a Parquet file that are in memory at a time
_LONGEST = 1 << 20  # bytes of a record: a quote that nobody closes shall not take the memory
# The secret of a lake, of which salts are made: without its salt, nobody can guess a line. It is
# made when the lake first seals a month. Whoever has it can test guesses at lines of which only a
# hash was given away, so it is in every copy of the lake and in no package.
FILE = "secret"
SCHEME = "hmac-sha256/1"
_TAG = b"svc-analytics/salt/1"
_BYTES = 32


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


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its exact text, its number from 1, and what its leaf is made of."""

    number: int
    text: bytes
    receipt: bytes  # the hash of its receipt token, or zeros
    salt: bytes


class Lines:
    """The lines behind the header of CSV, each with its salt; they are read once."""

    def __init__(self, records: Iterator[bytes], salts: Salts) -> None:
        self.header = next(records, b"").removeprefix(_BOM)
        self.names = cells_of(self.header)
        self._records, self._salts = records, salts
        if not {_RECORD, _RECEIPT} <= {*self.names}:
            raise LakeError(_NO_TABLE)
        self._record, self._receipt = self.names.index(_RECORD), self.names.index(_RECEIPT)
        self._behind = len(self.names) - self._receipt

    def texts(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield the lines as they fill parts of a tree, each with the number of its first."""
        parts = iter(lambda: [*islice(self._records, PART)], [])
        return zip(count(1, PART), parts, strict=False)

    def leaves(self, first: int, texts: list[bytes]) -> list[bytes]:
        """Hash the lines of a part. Raises `LakeError` where they are no lines."""
        try:
            return [*self._leaves(first, texts)]
        except (ValueError, LookupError) as error:
            raise LakeError(_NO_TABLE) from error

    def line(self, number: int, text: bytes) -> Line:
        """Make one line of its text."""
        record_id, receipt = self._named(text)
        return Line(number, text, receipt, self._salts.of(record_id, number))

    def _leaves(self, first: int, texts: list[bytes]) -> Iterator[bytes]:
        """Yield the hash of each leaf; all that is done here, is done a million times."""
        named, salt_of = self._named, self._salts.of
        for number, text in enumerate(texts, first):
            record_id, receipt = named(text)
            yield leaf_hash(salt_of(record_id, number) + receipt + text)

    def _named(self, text: bytes) -> tuple[bytes, bytes]:
        """Take the record and the receipt from a text; most have no quoted field."""
        if b'"' in text:
            cells = cells_of(text)
            record_id, token = cells[self._record], cells[self._receipt]
        else:
            record_id = text.split(b",", self._record + 1)[self._record]
            token = text.rsplit(b",", self._behind)[1]
        return record_id, unhexlify(token) or _NO_RECEIPT


def read_lines(folder: Path, manifest: dict[str, Any], secret: bytes) -> Lines:
    """Read a statement's lines as `lines.csv` has them, salted with the secret of its lake.

    A statement without that file has them in `lines.parquet`, and the texts are made of it.
    """
    return Lines(split_records(_chunks(folder, manifest)), Salts(secret, manifest))


def _chunks(folder: Path, manifest: dict[str, Any]) -> Iterator[bytes]:
    name = f"{TABLE}.csv"
    is_there = name in manifest["files"]
    return chunks_of(folder / name) if is_there else _texts(folder / f"{TABLE}.parquet")


def split_records(chunks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield each record of CSV without its line ending; a quoted field may hold newlines.

    >>> [*split_records([b'a,b\n1,"x', b'\ny"\n2,z'])]
    [b'a,b', b'1,"x\ny"', b'2,z']
    """
    rest = b""
    for chunk in chunks:
        *records, rest = _split(rest + chunk)
        yield from records
        if len(rest) > _LONGEST:
            raise LakeError(f"the {TABLE} have a record that does not end")
    if rest:
        yield rest


def _split(text: bytes) -> list[bytes]:
    """Split at the ends of records; the last of them may not have ended yet."""
    lines = text.split(b"\n")
    if b'"' not in text:
        return lines
    records, begun = list[bytes](), list[bytes]()
    is_open = False
    for line in lines:
        if not begun and b'"' not in line:
            records.append(line)
            continue
        begun.append(line)
        is_open ^= line.count(b'"') % 2 == 1
        if not is_open:
            records.append(b"\n".join(begun))
            begun = []
    return [*records, b"\n".join(begun)] if begun else records


def _texts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as source, pq.ParquetFile(source) as file:
        yield next(csv_pairs(file.schema_arrow.empty_table()))[1].encode()
        for batch in file.iter_batches(_GROUP):
            _, *parts = (safe for _, safe in csv_pairs(pa.Table.from_batches([batch])))
            yield from map(str.encode, parts)


def cells_of(record: bytes) -> list[bytes]:
    """Take a record of CSV apart."""
    if b'"' not in record:
        return record.split(b",")
    try:
        return [cell.encode() for cell in next(csv.reader([record.decode()], strict=True))]
    except (ValueError, csv.Error) as error:
        raise LakeError(_NO_TABLE) from error


def read_secret(lake: Path) -> bytes | None:
    """Read the secret of a lake; None where it has none. Raises `LakeError` for a torn one."""
    try:
        secret = (lake / FILE).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LakeError(f"{lake / FILE} cannot be read: {error.strerror}") from error
    if len(secret) != _BYTES:
        raise LakeError(f"{lake / FILE} is torn: restore it from a copy of the lake")
    return secret


def require_secret(storage: Storage) -> bytes:
    """Read the secret of a lake; where there is none, make one."""
    return read_secret(storage.folder) or merge_into(storage, partial(_make, storage))


def _make(storage: Storage) -> bytes:
    if known := read_secret(storage.folder):
        return known
    if next(storage.folder.glob("statements/*/checkpoint"), None):  # sealed with one
        message = f"{storage.folder / FILE} is gone, and months were sealed with it"
        fix = "restore it from a backup; where there is none, put 32 random bytes there"
        raise LakeError(f"{message}: {fix}, and no line of those months can be proven any more")
    secret = secrets.token_bytes(_BYTES)
    with storage.write(storage.folder / FILE) as temporary:
        temporary.touch(mode=0o600)
        temporary.write_bytes(secret)
    return secret


def netstring(content: bytes) -> bytes:
    """Write bytes with their length before them, so that no two lists of them are alike.

    >>> netstring(b"2026-10")
    b'7:2026-10,'
    """
    return b"%d:%b," % (len(content), content)


class Salts:
    """The salts of a statement's lines: a line that is restated has another one."""

    def __init__(self, secret: bytes, manifest: dict[str, Any]) -> None:
        facts = (manifest[name] for name in ("calendar", "zone", "label", "version"))
        scope = (str(fact).encode() for fact in (manifest["merchant"].get("id"), *facts))
        prefix = b"".join(map(netstring, [_TAG, *scope]))
        self._begun = hmac.new(secret, prefix, "sha256")

    def of(self, record_id: bytes, line_number: int) -> bytes:
        """Make the salt of a line, from its record and its number from 1."""
        number = b"%d" % line_number
        mac = self._begun.copy()
        mac.update(b"%d:%b,%d:%b," % (len(record_id), record_id, len(number), number))
        return mac.digest()
