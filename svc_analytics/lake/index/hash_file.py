"""The file of a month's hashes: which row groups may hold a text, told by a few of its blocks.

For each column that is looked up it has a section: 64-bit entries in order (44 bits of a hash,
20 of a row group), then a directory: the first entry and the checksum of every block of them.
Its last bytes say of which version of the month it is, and vouch for the rest.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Self
from zlib import crc32

import numpy as np
import numpy.typing as npt

from svc_analytics.lake.index.hashes import Hashes

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
