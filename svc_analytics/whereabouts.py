"""Which months may hold an id, without reading them.

Beside the month files lies, for each, the sorted hashes of its ids: eight bytes a row
instead of the ids themselves. It is no part of the lake's truth. One that is missing,
torn, or of other rows than the month now holds is made anew from the month.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.monthfile import read_groups
from svc_analytics.tally import Counter

Hashes = npt.NDArray[np.uint64]

IDS_FOLDER = ".ids"


class Whereabouts:
    """The hashes of a stream's ids, a file a month, known by the digest of the ids."""

    def __init__(self, folder: Path, counter: Counter) -> None:
        self._folder = folder
        self._counter = counter
        self._noted: list[Hashes] = []

    def note(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Pass on the tables that a month is written from, noting their ids."""
        self._noted = []
        for table in tables:
            self._noted.append(self._counter.hash_ids(table))
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

    def hashed(self, rows: pa.Table) -> pa.Table:
        """Return the ids of rows, each with its hash, in the order of these."""
        hashes = self._counter.hash_ids(rows)
        order = np.argsort(hashes)  # sought in order, they are found several times as fast
        ids = rows.select(["id"]).take(pa.array(order))
        return ids.append_column("hash", pa.array(hashes[order]))

    def held(self, path: Path, digest: int, wanted: Sequence[pa.Table]) -> pa.Array:
        """Return which of some hashed ids a month's file holds."""
        known = self._load(path.stem, digest)
        if known is None:
            for _ in self.note(read_groups(path, ["id"])):
                pass
            known = self.keep(path.stem, digest)
        likely = [rows.filter(_is_among(known, rows["hash"])) for rows in wanted]
        ids = _join([rows["id"] for rows in likely])
        # The same hash is not yet the same id.
        groups = read_groups(path, ["id"]) if len(ids) else ()
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


def _head(digest: int, body: bytes) -> bytes:
    # The engine's hash is its own affair, and may be another in its next version.
    return f"{digest:032x} duckdb-{duckdb.__version__} {crc32(body):08x}\n".encode()


def _is_among(known: Hashes, wanted: pa.ChunkedArray) -> pa.Array:
    hashes = np.asarray(wanted)
    if not len(known):
        return pa.array(np.zeros(len(hashes), np.bool_))
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return pa.array(known[places] == hashes)


def _join(columns: Iterable[pa.ChunkedArray]) -> pa.Array:
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, pa.string()).combine_chunks()
