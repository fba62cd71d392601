"""One month file: rows sorted by instant and id, and a footer that vouches for them.

The footer is JSON under the Parquet key `svc_analytics`. Rows, coverage and control
totals change in one atomic replacement, so they can never disagree (design 2 and 3).
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.coverage import Span
from svc_analytics.errors import LakeError
from svc_analytics.instants import format_instant
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.files import damaged_file, sync_folder
from svc_analytics.lake.footer import PartitionFooter, sign_footer
from svc_analytics.lake.layout import FOOTER_KEY
from svc_analytics.schema import Stream

ROW_GROUP = 12_000  # what is in memory at a time while a month is rewritten
_WRITTEN_AT_ONCE = 1 << 20  # bytes

_CATEGORIES = ["status", "currency", "kind", "fee_bearer", "extracted_at"]


def read_groups(
    path: Path,
    columns: list[str] | None = None,
    where: Callable[[pa.ChunkedArray], pa.ChunkedArray] | None = None,
) -> Iterator[pa.Table]:
    """Yield a file's row groups in order, every page held against its checksum.

    `where` tells by the ids of a group which rows are wanted; groups without any
    are not read further.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file:
            for group in range(file.num_row_groups):
                # Threads of Arrow's own would each keep a heap of what they once held.
                read = partial(file.read_row_group, group, use_threads=False)
                if where is None:
                    yield read(columns=columns)
                    continue
                mask = where(read(columns=["id"])["id"])
                if pc.any(mask).as_py():
                    yield read(columns=columns).filter(mask)
    except (pa.ArrowException, OSError) as error:
        raise damaged_file(path, error) from error


def write_partition(
    path: Path,
    stream: Stream,
    tables: Iterable[pa.Table],
    describe: Callable[[ControlTotals], PartitionFooter],
    expected: ControlTotals | None = None,
) -> PartitionFooter:
    """Replace a month file in one step by these rows, already in order.

    The new file is synced, read back and held against its own footer, and against
    what it is `expected` to hold, before it takes the name; until then, and after any
    failure, the old file stands untouched.
    """
    temporary = path.with_name(f".{path.stem}.writing")
    try:
        footer = _write(temporary, stream, tables, describe)
        _check(temporary, stream, footer, expected)
        os.replace(temporary, path)  # noqa: PTH105  (fault tests count on this one call)
        sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return footer


def _write(
    path: Path,
    stream: Stream,
    tables: Iterable[pa.Table],
    describe: Callable[[ControlTotals], PartitionFooter],
) -> PartitionFooter:
    tally = ControlTotals()
    names = stream.schema.names
    with (
        path.open("w+b") as file,
        # Each write to a file of Python's waits for the interpreter, which workers hold.
        pa.BufferedOutputStream(pa.PythonFile(file, "w"), _WRITTEN_AT_ONCE) as sink,
        pq.ParquetWriter(
            sink,
            stream.schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[name for name in _CATEGORIES if name in names],
            write_page_checksum=True,
        ) as writer,
    ):
        for table in _regroup(tables):
            tally += control_totals(stream, table)
            writer.write_table(table, row_group_size=ROW_GROUP)
        footer = describe(tally)
        writer.add_key_value_metadata({FOOTER_KEY: footer.to_json()})
        writer.close()
        sink.detach()
        sign_footer(file)
        file.flush()
        os.fsync(file.fileno())
    return footer


def _regroup(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Cut a stream of tables into full row groups, so that rewriting never frays a file."""
    carried: pa.Table | None = None
    for table in tables:
        carried = table if carried is None else pa.concat_tables([carried, table])
        while len(carried) >= ROW_GROUP:
            yield carried.slice(0, ROW_GROUP).combine_chunks()
            carried = carried.slice(ROW_GROUP)
    if carried is not None and len(carried):
        yield carried.combine_chunks()


def _check(
    path: Path, stream: Stream, footer: PartitionFooter, expected: ControlTotals | None
) -> None:
    """Read back what was written, and hold it against all that must be true of it."""
    name = f"{stream.name} {path.name.removeprefix('.').partition('.')[0]}"
    columns = ["id", "currency", stream.instant, *stream.money]
    found, order = ControlTotals(), SortedCheck(name, footer.owns)
    for table in read_groups(path, columns):
        found += control_totals(stream, table)
        order.see(table[stream.instant])
    check_totals(name, "its footer", found, footer.tally)
    if expected is not None:
        check_totals(name, "what it held and what came", found, expected)


def check_totals(name: str, of: str, found: ControlTotals, expected: ControlTotals) -> None:
    """Refuse a month whose rows are not those it should hold: count, ids and sums."""
    if found.is_same(expected):
        return
    amounts = [
        f"{column} of {currency} off by {value:f}"
        for currency, sums in (found - expected).totals.items()
        for column, value in sums.items()
        if value
    ]
    seen = "; ".join([f"{found}, by {of} {expected}", *amounts])
    raise LakeError(f"{name}: the rows written are not those to be kept ({seen}); not published")


class SortedCheck:
    """Watches the instants of a month's rows, group by group: its own, and never falling."""

    def __init__(self, name: str, owns: Span) -> None:
        self._name = name
        self._owns = owns
        self._last: int | None = None

    def see(self, column: pa.ChunkedArray) -> None:
        """Refuse a row of another month, or one before the row it follows."""
        instants = np.asarray(column.cast(pa.int64()))
        if not len(instants):
            return
        last = instants[0] if self._last is None else self._last
        falls = np.flatnonzero(np.diff(instants, prepend=last) < 0)
        foreign = np.flatnonzero((instants < self._owns[0]) | (instants >= self._owns[1]))
        for places, what in ((foreign, "of another month"), (falls, "out of order")):
            if len(places):
                at = format_instant(int(instants[places[0]]))
                raise LakeError(f"{self._name}: a row of {at} is {what}; not published")
        self._last = int(instants[-1])
