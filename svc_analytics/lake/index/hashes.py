"""Hashes of texts, the same on every machine: what tells where a text may be."""

import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Self
from uuid import uuid4
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)  # multiplying by it spreads a changed bit over all bits


def hash_texts(texts: pa.ChunkedArray) -> Hashes:
    """Return a hash of each text; none may be NULL."""
    filled = (chunk for chunk in texts.chunks if len(chunk))  # an empty one may have no buffers
    return np.concatenate([np.empty(0, np.uint64), *map(_hash_chunk, filled)])


def is_among(sorted_hashes: Hashes, wanted: Hashes) -> npt.NDArray[np.bool_]:
    """Tell of each wanted hash whether it is among the sorted ones."""
    if not len(sorted_hashes):
        return np.zeros(len(wanted), np.bool_)
    places = np.minimum(np.searchsorted(sorted_hashes, wanted), len(sorted_hashes) - 1)
    return np.asarray(sorted_hashes[places] == wanted)


def join(parts: Iterable[Hashes]) -> Hashes:
    """Return all of these hashes, sorted; in place, for there may be many."""
    hashes = np.concatenate([np.empty(0, np.uint64), *parts])
    hashes.sort()
    return hashes


def repeated(sorted_hashes: Hashes) -> Hashes:
    """Return the hashes that occur more than once, sorted."""
    return np.unique(sorted_hashes[1:][sorted_hashes[1:] == sorted_hashes[:-1]])


def _hash_chunk(texts: pa.Array) -> Hashes:
    _, bounds, content = texts.buffers()
    ends = np.frombuffer(bounds, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    starts, sizes = ends[:-1], np.diff(ends)
    letters = np.frombuffer(content or b"", np.uint8)
    hashes = np.empty(len(texts), np.uint64)
    for size in np.unique(sizes):  # nearly always one: all ids are UUIDs, without a gap between
        has_size = sizes == size
        rows = (
            letters[ends[0] : ends[-1]].reshape(-1, size)
            if size and has_size.all()
            else letters[starts[has_size][:, None] + np.arange(size)]
        )
        hashes[has_size] = _mix(rows)
    return hashes


def _mix(rows: npt.NDArray[np.uint8]) -> Hashes:
    """Hash each row of letters, eight at a time; all rows have one length."""
    count, size = rows.shape
    padded = np.zeros((count, -(-size // 8) * 8), np.uint8)
    padded[:, :size] = rows
    hashes = np.full(count, size, np.uint64)
    for letters in padded.view("<u8").T:
        hashes = (hashes ^ letters) * _ODD
        hashes ^= hashes >> np.uint64(32)
    return hashes


# ---------- The file of a month's hashes
# Which row groups may hold a text, told by a few of its blocks.
#
# For each column that is looked up it has a section: 64-bit entries in order (44 bits of a hash,
# 20 of a row group), then a directory: the first entry and the checksum of every block of them.
# Its last bytes say of which version of the month it is, and vouch for the rest.


Places = npt.NDArray[np.intp]

_GROUP = np.uint64((1 << 20) - 1)  # the bits of a row group
_ENTRIES = 512  # in a block: 4 KiB, which a disk reads at once
_DIRECTORY = np.dtype([("first", "<u8"), ("crc", "<u8")])
_TAIL = 256  # bytes
_READ = 2_000  # blocks at a time: 8 MB
_MANY = 2  # where one block of so many is wanted, all are read: seeking costs more
_DAMAGED = "the hashes are not the ones that were written"


@dataclass(frozen=True)
class Matches:
    """Where hashes may be: which of those looked for, and in which row groups."""

    places: Places = field(default_factory=lambda: np.empty(0, np.intp))
    groups: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Section:
    """One column's part of the file."""

    count: int
    start: int
    directory_crc: int

    @property
    def blocks(self) -> int:
        return -(-self.count // _ENTRIES)

    @property
    def directory(self) -> int:
        return self.start + self.count * 8

    @property
    def end(self) -> int:
        return self.directory + self.blocks * _DIRECTORY.itemsize


@dataclass(frozen=True)
class HashFile:
    """A month's hashes, open to look some up."""

    _file: BinaryIO
    _sections: list[_Section]

    @classmethod
    @contextmanager
    def open(cls, path: Path, signature: str) -> Iterator[Self]:
        """Open the hashes of this version of a month; raise `ValueError` for another one's."""
        with path.open("rb", buffering=0) as file:
            yield cls(file, _read_tail(file, signature))

    def find(self, section: int, hashes: Hashes) -> Matches:
        """Return where these sorted hashes may be; raise `ValueError` at a damaged block."""
        of = self._sections[section]
        content = _read_at(self._file, of.directory, of.end - of.directory)
        if crc32(content) != of.directory_crc:
            raise ValueError(_DAMAGED)
        directory, places, groups, start = np.frombuffer(content, _DIRECTORY), [], set[int](), 0
        for part in _cut(hashes, directory["first"]):
            entries = find_entries(self._around(of, directory, part), part)
            places.append(entries.places + start)
            groups.update(entries.groups)
            start += len(part)
        return Matches(np.concatenate(places), sorted(groups))

    def _around(self, of: _Section, directory: Any, hashes: Hashes) -> Hashes:
        """Return the blocks that can hold entries of these hashes."""
        # The block before the first that begins with a hash may end with the same one.
        first = np.maximum(np.searchsorted(directory["first"], hashes & ~_GROUP) - 1, 0)
        last = np.searchsorted(directory["first"], hashes | _GROUP, "right")
        blocks = _spanned(first, last, of.blocks)
        if len(blocks) and len(blocks) * _MANY > blocks[-1] + 1 - blocks[0]:
            blocks = np.arange(blocks[0], blocks[-1] + 1)
        content = b"".join(self._read(of, blocks, directory["crc"]))
        return np.frombuffer(content, "<u8")

    def _read(self, of: _Section, blocks: Places, crcs: Hashes) -> Iterator[bytes]:
        size = _ENTRIES * 8
        for run in np.split(blocks, np.flatnonzero(np.diff(blocks) > 1) + 1):
            if not len(run):
                return
            start, end = of.start + int(run[0]) * size, of.start + (int(run[-1]) + 1) * size
            content = _read_at(self._file, start, min(end, of.directory) - start)
            view = memoryview(content)
            checksums = [
                crc32(view[place : place + size]) for place in range(0, len(content), size)
            ]
            if checksums != crcs[run].tolist():
                raise ValueError(_DAMAGED)
            yield content


def entries_of(hashes: Hashes, group: int) -> Hashes:
    """Return the entries of a row group's hashes."""
    return (hashes & ~_GROUP) | np.uint64(group)


def group_of(entries: Hashes) -> Hashes:
    """Return the row groups that entries name."""
    return entries & _GROUP


def find_entries(entries: Hashes, hashes: Hashes) -> Matches:
    """Return where these hashes may be; both are in order."""
    low = hashes & ~_GROUP
    starts = np.searchsorted(entries, low)
    begun = entries[np.minimum(starts, len(entries) - 1)] if len(entries) else ~low
    places = np.flatnonzero((begun & ~_GROUP == low) & (starts < len(entries)))
    if not len(places):
        return Matches()
    ends = np.searchsorted(entries, hashes[places] | _GROUP, "right")
    groups = np.unique(group_of(entries[_spanned(starts[places], ends, len(entries))]))
    return Matches(places, groups.tolist())


def write_hash_file(
    writing: AbstractContextManager[Path], signature: str, sections: Iterable[Iterable[Hashes]]
) -> None:
    """Replace a month's hashes by these entries, a section each: in order, in portions.

    `writing` is what `Storage.write` gives for their path. They need not survive a power cut: a
    file that did not is made again.
    """
    with writing as temporary, temporary.open("wb") as file:
        tail = [signature, *(_write_section(file, entries) for entries in sections)]
        file.write(_sealed(tail))


def _write_section(file: BinaryIO, portions: Iterable[Hashes]) -> str:
    count, parts = 0, []
    for entries in _whole_blocks(portions):
        file.write(entries.data)
        parts.append(_directory_of(entries))
        count += len(entries)
    directory = b"".join(parts)
    file.write(directory)
    return f"{count}:{crc32(directory):08x}"


def _whole_blocks(portions: Iterable[Hashes]) -> Iterator[Hashes]:
    """Cut entries where blocks end."""
    left = np.empty(0, np.uint64)
    for portion in portions:
        left = np.concatenate([left, portion])
        whole = len(left) - len(left) % _ENTRIES
        yield left[:whole]
        left = left[whole:]
    yield left


def _directory_of(entries: Hashes) -> bytes:
    starts = range(0, len(entries), _ENTRIES)
    directory = np.empty(len(starts), _DIRECTORY)
    directory["first"] = entries[::_ENTRIES]
    directory["crc"] = [crc32(entries[start : start + _ENTRIES].data) for start in starts]
    return directory.tobytes()


def _sealed(tail: list[str]) -> bytes:
    text = " ".join(["hashes-2", *tail]).ljust(_TAIL - 9).encode()
    return text + f"{crc32(text):08x}\n".encode()


def _read_tail(file: BinaryIO, signature: str) -> list[_Section]:
    size = file.seek(0, os.SEEK_END)
    tail = _read_at(file, max(size - _TAIL, 0), _TAIL)
    numbers = tail[:-9].decode("ascii", "replace").split()[1:]
    if tail != _sealed(numbers) or numbers[0] != signature:
        raise ValueError("the hashes are of another version of the month")
    sections: list[_Section] = []
    for section in numbers[1:]:
        count, _, crc = section.partition(":")
        start = sections[-1].end if sections else 0
        sections.append(_Section(int(count), start, int(crc, 16)))
    return sections


def _read_at(file: BinaryIO, start: int, size: int) -> bytes:
    file.seek(start)
    parts = []
    while size and (part := file.read(size)):  # a system may give less than it is asked for
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _cut(hashes: Hashes, blocks: Hashes) -> list[Hashes]:
    """Cut sorted hashes so that each part is found in so many blocks at most, as they begin."""
    return np.split(hashes, np.searchsorted(hashes, blocks[_READ::_READ]))


def _spanned(starts: Places, ends: Places, size: int) -> Places:
    """Return the places, of `size`, that lie within one of these spans."""
    borders = np.bincount(starts, minlength=size + 1) - np.bincount(ends, minlength=size + 1)
    return np.flatnonzero(np.cumsum(borders)[:-1])


# ---------- Piles of hashes
# More than memory is to hold, on disk, read in order a part at a time.
#
# A pile is a file without a name, so nothing of it is left behind, whatever ends the process.
# Where an open file must keep its name, the next writer removes it.


PORTION = 500_000  # hashes in memory at a time, about
BLOCK = 100_000  # hashes in memory before they are written, in order
RANGES = 256  # into which all hashes are divided, by their first bits
_SIZE = 8  # bytes of a hash
_EDGES = np.arange(1, RANGES, dtype=np.uint64) << np.uint64(56)

Span = tuple[int, int]  # of ranges
Bounds = npt.NDArray[np.int64]  # where each range begins, and the last one ends


class HashPile:
    """Hashes in any order, and each as often as it was added; few of them stay in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self._bounds: list[Bounds] = []  # in the file: of the ranges of each block
        self._loose: list[Hashes] = []

    def add(self, hashes: Hashes) -> None:
        """Add hashes."""
        self._loose.append(hashes)
        if sum(map(len, self._loose)) >= BLOCK:
            self._write()

    def portions(self) -> Iterator[Hashes]:
        """Yield all hashes in order, a portion at a time; equal ones are in one portion."""
        return (self.read(span) for span in spans([self]))

    def read(self, span: Span) -> Hashes:
        """Return the hashes of these ranges, in order."""
        first, end = span
        loose, within = self._in_order()
        pieces = [loose[within[first] : within[end]]]
        if self._file is not None:
            pieces += [_read(self._file, each[first], each[end]) for each in self._bounds]
        return join(pieces)

    def holds_any(self, hashes: Hashes) -> bool:
        """Whether one of these hashes is in the pile."""
        return any(bool(is_among(portion, hashes).any()) for portion in self.portions())

    def counts(self) -> Bounds:
        """Return how many hashes each range has."""
        counts: Bounds = np.diff([self._in_order()[1], *self._bounds]).sum(axis=0)
        return counts

    def _in_order(self) -> tuple[Hashes, Bounds]:
        """Return the hashes in memory, and where their ranges begin and end."""
        hashes = join(self._loose)
        self._loose = [hashes]
        return hashes, np.array([0, *np.searchsorted(hashes, _EDGES), len(hashes)], np.int64)

    def _write(self) -> None:
        if self._file is None:
            self._file = _nameless_file(self._folder)
            weakref.finalize(self, self._file.close)
        (hashes, bounds), start = self._in_order(), self._file.seek(0, os.SEEK_END)
        self._file.write(hashes.data)
        self._bounds.append(bounds + start // _SIZE)
        self._loose = []


def spans(piles: Sequence[HashPile]) -> Iterator[Span]:
    """Yield spans of ranges, in order, of which all piles together have about a portion."""
    ends = np.cumsum(sum((pile.counts() for pile in piles), np.zeros(RANGES, np.int64)))
    places = np.searchsorted(ends, np.arange(PORTION, int(ends[-1]) + PORTION, PORTION))
    yield from pairwise(sorted({0, *np.minimum(places + 1, RANGES).tolist()}))


def doubles(piles: Sequence[HashPile]) -> Hashes:
    """Return the hashes that occur more than once in all these piles, in order."""
    joined = (join(pile.read(span) for pile in piles) for span in spans(piles))
    return np.concatenate([np.empty(0, np.uint64), *map(repeated, joined)])


def share_any(one: HashPile, other: HashPile) -> bool:
    """Whether a hash is in both piles."""
    both = spans([one, other])
    return any(bool(is_among(one.read(span), other.read(span)).any()) for span in both)


def _read(file: BinaryIO, start: int, end: int) -> Hashes:
    file.seek(int(start) * _SIZE)
    return np.frombuffer(file.read(int(end - start) * _SIZE), np.uint64)


def _nameless_file(folder: Path) -> BinaryIO:
    # Where a file that is open must keep its name, the next writer removes this one.
    path = folder / f".{uuid4()}.hashes.writing"
    file = path.open("w+b")
    with suppress(OSError):
        path.unlink()
    return file
