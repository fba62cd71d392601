"""Hashes of texts, the same on every machine: what tells where a text may be."""

from collections.abc import Iterable

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
