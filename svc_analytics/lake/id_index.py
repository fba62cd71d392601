"""An index of ids: tells which months may hold an id without reading their files.

Each month file has a file of its ids' hashes, sorted: a cache, rebuilt where it is missing,
damaged, or of an older version of the month.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.files import atomic_write
from svc_analytics.lake.partition import read_groups

Hashes = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)  # multiplying by it spreads a changed bit over all bits


@dataclass(frozen=True)
class IdLookup:
    """Ids to look for: sorted hashes, each with its month and position in `ids`."""

    ids: pa.ChunkedArray
    months: list[str]
    hashes: Hashes
    homes: npt.NDArray[np.intp]  # positions in `months`
    positions: npt.NDArray[np.intp]

    def candidates(self, hashes: Hashes, month: str) -> pa.Array:
        """Return the ids of other months whose hash is among those of `month`."""
        home = self.months.index(month) if month in self.months else -1
        is_candidate = _is_among(hashes, self.hashes) & (self.homes != home)
        if not is_candidate.any():
            return pa.array([], pa.string())
        return self.ids.take(pa.array(self.positions[is_candidate])).combine_chunks()


class IdIndex:
    """The hashes of a stream's ids, one file per month, valid for one id digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._observed: list[Hashes] = []

    def observe(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Pass on the tables that a month is written from, hashing their ids."""
        self._observed = []
        for table in tables:
            self._observed.append(hash_ids(table["id"]))
            yield table

    def save(self, month: str, digest: int) -> Hashes:
        """Save the observed hashes as this month's index; return them sorted."""
        hashes = np.sort(np.concatenate([np.empty(0, np.uint64), *self._observed]))
        body = hashes.tobytes()
        with suppress(OSError):  # the next run rebuilds it, so it need not be durable either
            self._folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(self._path(month), is_durable=False) as temporary:
                temporary.write_bytes(_head(digest, body) + body)
        return hashes

    def lookup(self, rows: dict[str, pa.Table]) -> "IdLookup":
        """Return the ids of rows by month, ready to be looked for in other months."""
        ids = pa.chunked_array(
            [chunk for table in rows.values() for chunk in table["id"].chunks], pa.string()
        )
        homes = np.repeat(np.arange(len(rows)), [len(table) for table in rows.values()])
        hashes = hash_ids(ids)
        order = np.argsort(hashes)  # searching for sorted hashes is several times as fast
        return IdLookup(ids, list(rows), hashes[order], homes[order], order)

    def find_in(self, path: Path, digest: int, lookup: "IdLookup") -> pa.Array:
        """Return the ids of other months that this month's file holds."""
        hashes = self._load(path.stem, digest)
        if hashes is None:
            for _ in self.observe(read_groups(path, ["id"])):
                pass
            hashes = self.save(path.stem, digest)
        ids = lookup.candidates(hashes, path.stem)
        if not len(ids):
            return ids
        # Two ids may have the same hash: compare the ids themselves.
        columns = (rows["id"] for rows in read_groups(path, ["id"]))
        same = (column.filter(pc.is_in(column, value_set=ids)).chunks for column in columns)
        return pa.chunked_array(list(chain.from_iterable(same)), pa.string()).combine_chunks()

    def _load(self, month: str, digest: int) -> Hashes | None:
        try:
            content = self._path(month).read_bytes()
        except OSError:
            return None
        head, _, body = content.partition(b"\n")
        is_valid = head + b"\n" == _head(digest, body)
        return np.frombuffer(body, np.uint64) if is_valid else None

    def _path(self, month: str) -> Path:
        return self._folder / f"{month}.hashes"


def hash_ids(ids: pa.ChunkedArray) -> Hashes:
    """Return a hash of each id, the same on every machine."""
    filled = (chunk for chunk in ids.chunks if len(chunk))  # an empty one may have no buffers
    return np.concatenate([np.empty(0, np.uint64), *map(_hash_texts, filled)])


def _hash_texts(texts: pa.Array) -> Hashes:
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


def _head(digest: int, body: bytes) -> bytes:
    return f"{digest:032x} ids-1 {crc32(body):08x}\n".encode()


def _is_among(sorted_hashes: Hashes, wanted: Hashes) -> npt.NDArray[np.bool_]:
    if not len(sorted_hashes):
        return np.zeros(len(wanted), np.bool_)
    places = np.minimum(np.searchsorted(sorted_hashes, wanted), len(sorted_hashes) - 1)
    return np.asarray(sorted_hashes[places] == wanted)
