"""Which months may hold an id, without reading them.

Beside the month files lies, for each, the sorted hashes of its ids: eight bytes a row
instead of the ids themselves. It is no part of the lake's truth. One that is missing,
torn, or of other rows than the month now holds is made anew from the month.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.lake.partition import read_groups

Hashes = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)  # spreads what differs in a bit over all of them


@dataclass(frozen=True)
class IdLookup:
    """Ids to look for: their hashes in order, each with its month and its place among the ids."""

    ids: pa.ChunkedArray
    months: list[str]
    hashes: Hashes
    homes: npt.NDArray[np.intp]
    places: npt.NDArray[np.intp]

    def likely(self, known: Hashes, month: str) -> pa.Array:
        """Return the ids of other months than this whose hash is known."""
        home = self.months.index(month) if month in self.months else -1
        is_likely = _is_among(known, self.hashes) & (self.homes != home)
        if not is_likely.any():
            return pa.array([], pa.string())
        return self.ids.take(pa.array(self.places[is_likely])).combine_chunks()


class IdIndex:
    """The hashes of a stream's ids, a file a month, known by the digest of the ids."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._noted: list[Hashes] = []

    def note(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Pass on the tables that a month is written from, noting their ids."""
        self._noted = []
        for table in tables:
            self._noted.append(hash_ids(table["id"]))
            yield table

    def keep(self, month: str, digest: int) -> Hashes:
        """Keep the hashes noted as those of a month; return them sorted."""
        hashes = np.sort(np.concatenate([np.empty(0, np.uint64), *self._noted]))
        body = hashes.tobytes()
        temporary = self._folder / f".{month}.writing"
        with suppress(OSError):  # the next run makes it anew, or goes without
            self._folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(_head(digest, body) + body)
            temporary.replace(self._path(month))
        return hashes

    def seek(self, rows: dict[str, pa.Table]) -> "IdLookup":
        """Return the ids of rows by month, ready to be looked for in other months."""
        ids = pa.chunked_array(
            [chunk for table in rows.values() for chunk in table["id"].chunks], pa.string()
        )
        homes = np.repeat(np.arange(len(rows)), [len(table) for table in rows.values()])
        hashes = hash_ids(ids)
        order = np.argsort(hashes)  # sought in order, they are found several times as fast
        return IdLookup(ids, list(rows), hashes[order], homes[order], order)

    def held(self, path: Path, digest: int, sought: "IdLookup") -> pa.Array:
        """Return which of the ids of other months a month's file holds."""
        known = self._load(path.stem, digest)
        if known is None:
            for _ in self.note(read_groups(path, ["id"])):
                pass
            known = self.keep(path.stem, digest)
        ids = sought.likely(known, path.stem)
        if not len(ids):
            return ids
        # The same hash is not yet the same id.
        groups = read_groups(path, ["id"])
        return _join([rows["id"].filter(pc.is_in(rows["id"], value_set=ids)) for rows in groups])

    def _load(self, month: str, digest: int) -> Hashes | None:
        try:
            text = self._path(month).read_bytes()
        except OSError:
            return None
        head, _, body = text.partition(b"\n")
        is_whole = head + b"\n" == _head(digest, body)
        return np.frombuffer(body, np.uint64) if is_whole else None

    def _path(self, month: str) -> Path:
        return self._folder / f"{month}.hashes"


def hash_ids(ids: pa.ChunkedArray) -> Hashes:
    """Return a hash of each id, the same everywhere."""
    filled = (chunk for chunk in ids.chunks if len(chunk))  # an empty one may have no buffers
    return np.concatenate([np.empty(0, np.uint64), *map(_hash_texts, filled)])


def _hash_texts(texts: pa.Array) -> Hashes:
    _, bounds, content = texts.buffers()
    ends = np.frombuffer(bounds, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    starts, sizes = ends[:-1], np.diff(ends)
    letters = np.frombuffer(content or b"", np.uint8)
    hashes = np.empty(len(texts), np.uint64)
    for size in np.unique(sizes):  # nearly always one: all are UUIDs, and stand in a row
        is_such = sizes == size
        rows = (
            letters[ends[0] : ends[-1]].reshape(-1, size)
            if size and is_such.all()
            else letters[starts[is_such][:, None] + np.arange(size)]
        )
        hashes[is_such] = _mix(rows)
    return hashes


def _mix(rows: npt.NDArray[np.uint8]) -> Hashes:
    """Mix the letters of each row, eight at a time; rows are of one length."""
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


def _is_among(known: Hashes, wanted: Hashes) -> npt.NDArray[np.bool_]:
    if not len(known):
        return np.zeros(len(wanted), np.bool_)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.asarray(known[places] == wanted)


def _join(columns: Iterable[pa.ChunkedArray]) -> pa.Array:
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, pa.string()).combine_chunks()
