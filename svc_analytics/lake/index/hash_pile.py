"""Piles of hashes: more than memory is to hold, on disk, read in order a part at a time.

A pile is a file without a name, so nothing of it is left behind, whatever ends the process.
Where an open file must keep its name, the next writer removes it.
"""

import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from svc_analytics.lake.index.hashes import Hashes, is_among, join, repeated

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
    return np.concatenate([np.empty(0, np.uint64), *map(repeated, _joined(piles))])


def share_any(one: HashPile, other: HashPile) -> bool:
    """Whether a hash is in both piles."""
    both = spans([one, other])
    return any(bool(is_among(one.read(span), other.read(span)).any()) for span in both)


def _joined(piles: Sequence[HashPile]) -> Iterator[Hashes]:
    return (join(pile.read(span) for pile in piles) for span in spans(piles))


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
