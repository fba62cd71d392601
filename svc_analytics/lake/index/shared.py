"""Values that stand in more than one month: receipt numbers and references of payments.

Of two rows with the same value in different month files, the file that was written later with
its row says so in its footer. What it says may be out of date, but nothing is missing: a
reader that counts such values need not read every month.
"""

from collections.abc import Collection, Iterable, Iterator

import pyarrow as pa

from svc_analytics.lake.footer import Shared
from svc_analytics.lake.index.month_index import MonthIndex, SoughtTexts
from svc_analytics.schema import PAYMENTS, Stream

MOST = 1_000  # values of a column; where there are more, every month is to be read
_BATCH = 1_000_000  # rows looked up at once: each look reads something of every month


def shared_columns(stream: Stream) -> list[str]:
    """Return the columns whose values no two rows of a stream should share."""
    return ["receipt_no", "reference_id"] if stream is PAYMENTS else []


def find_shared(
    index: MonthIndex,
    stream: Stream,
    others: Collection[str],
    known: Shared,
    incoming: Iterable[pa.Table],
) -> Shared:
    """Return the values that a month's footer is to list: its own, and incoming ones others hold.

    A column of which nothing is known stays so: its values were not all looked for.
    """
    columns = shared_columns(stream)
    values: dict[str, tuple[str, ...] | None] = {name: known.get(name, ()) for name in columns}
    wanted = [column for column in columns if values[column] is not None]
    narrow = (table.select(wanted) for table in incoming)
    for rows in joined(narrow, _BATCH) if wanted and others else ():
        for column in wanted:
            values[column] = _with_new(index, [*others], column, values[column], rows[column])
    return values


def joined(tables: Iterable[pa.Table], least: int) -> Iterator[pa.Table]:
    """Join tables of few rows until they have so many: what is done with each has its own cost."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= least:
            yield pa.concat_tables(waiting)
            waiting.clear()
    if waiting:
        yield pa.concat_tables(waiting)


def _with_new(
    index: MonthIndex,
    others: list[str],
    column: str,
    known: tuple[str, ...] | None,
    values: pa.ChunkedArray,
) -> tuple[str, ...] | None:
    """Add the values that other months hold to those known; nothing if too many."""
    if known is None:
        return None
    sought = pa.chunked_array([values.drop_null().unique()], pa.string())
    texts = SoughtTexts.of(sought).without(pa.chunked_array([known], pa.string()))
    shared = {*known}
    for label in index.may_hold(others, column, texts.hashes):
        held = index.held(label, column, texts)
        shared.update(held.to_pylist())
        texts = texts.without(pa.chunked_array([held])) if len(held) else texts
    return tuple(sorted(shared)) if len(shared) <= MOST else None
