"""Records that wait in two versions of different instants: which of them are to be dropped.

Two versions of one instant meet in one slice of a merge. Of others only the hashes of all ids
tell, so they are looked for beforehand: nearly always there are none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.lake.index.hashes import Hashes, hash_texts, is_among, join, repeated
from svc_analytics.lake.merge import deduplicate
from svc_analytics.lake.runs.run_file import RowGroup
from svc_analytics.lake.runs.slices import HELD, SortedFile, slices
from svc_analytics.schema import Stream


@dataclass
class Dropped:
    """Versions of records that give way to later ones of another instant."""

    versions: pa.Table  # sorted
    last: pa.Table  # the versions that stay, sorted
    _orders: Mapping[str, int] = field(default_factory=dict)  # of the last, by id
    _rows: Mapping[int, pa.Table] = field(default_factory=dict)  # that are dropped, by source

    def of(self, order: int) -> pa.Table:
        """Return the rows of a source that are dropped."""
        return self._rows.get(order, self.versions.slice(0, 0))

    def keep(self, order: int, rows: pa.Table) -> pa.Table:
        """Return the rows of a source that stay."""
        stays = self._stays(order, rows["id"])
        return rows if stays is None else rows.filter(stays)

    def _stays(self, order: int, ids: pa.ChunkedArray) -> pa.Array | None:
        known = pa.array(self._orders, pa.string())
        if not len(known) or not pc.any(pc.is_in(ids, value_set=known)).as_py():
            return None
        return pa.array([self._orders.get(each, order) == order for each in ids.to_pylist()])


@dataclass(frozen=True)
class Remaining:
    """A source without the rows that are dropped."""

    source: SortedFile
    dropped: Dropped

    @property
    def order(self) -> int:
        """Its place among the observations."""
        return self.source.order

    @property
    def groups(self) -> Sequence[RowGroup]:
        """Its row groups as they are in the file."""
        return self.source.groups

    def read(self, group: int, columns: list[str] | None = None) -> pa.Table:
        """Read what remains of a row group; the columns hold the ids."""
        return self.dropped.keep(self.order, self.source.read(group, columns))


def find_dropped(
    stream: Stream, months: Sequence[Sequence[SortedFile]], suspects: Hashes
) -> Dropped:
    """Return which rows of these months, given by their sources, give way to later ones.

    `suspects`, sorted, are the hashes of all ids that may stand in them twice.
    """
    moved = _moved(stream, months, suspects) if len(suspects) else suspects
    if not len(moved):
        return Dropped(stream.no_rows, stream.no_rows)
    sources = sorted((each for month in months for each in month), key=lambda each: each.order)
    tables: list[pa.Table] = []
    orders: dict[str, int] = {}
    for source in sources:
        rows = read_among(stream, source, moved)
        tables.append(rows)
        orders.update(dict.fromkeys(rows["id"].to_pylist(), source.order))
    gone = {
        source.order: rows.filter(_is_not_last(orders, source.order, rows["id"]))
        for source, rows in zip(sources, tables, strict=True)
        if source.order != HELD
    }
    last, versions = deduplicate(stream, tables)
    return Dropped(versions, last, orders, gone)


def read_among(stream: Stream, source: SortedFile, sorted_hashes: Hashes) -> pa.Table:
    """Return the records of a source whose ids may have one of these hashes."""
    columns = stream.record_schema.names
    groups = (source.read(group, columns) for group in range(len(source.groups)))
    among = (rows.filter(_are_among(sorted_hashes, rows["id"])) for rows in groups)
    return pa.concat_tables([stream.no_rows, *among])


def _moved(stream: Stream, months: Sequence[Sequence[SortedFile]], suspects: Hashes) -> Hashes:
    """Return the hashes of ids that have versions of more than one instant."""
    hashes: list[Hashes] = []
    for month in months:
        for parts in slices(stream, month, ["id", stream.instant]):
            rows = pa.concat_tables([part for _, part in parts])
            rows = rows.filter(_are_among(suspects, rows["id"]))
            # Twice at one instant is once: the slice itself tells which is the last.
            pairs = np.rec.fromarrays([hash_texts(rows["id"]), stream.instants(rows)])
            hashes.append(np.unique(pairs)["f0"] if len(rows) else np.empty(0, np.uint64))
    return repeated(join(hashes))


def _is_not_last(orders: Mapping[str, int], order: int, ids: pa.ChunkedArray) -> pa.Array:
    return pa.array([orders[each] != order for each in ids.to_pylist()], pa.bool_())


def _are_among(sorted_hashes: Hashes, ids: pa.ChunkedArray) -> pa.Array:
    return pa.array(is_among(sorted_hashes, hash_texts(ids)))
