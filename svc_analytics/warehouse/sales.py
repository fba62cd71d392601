"""Payments of month files that the bounds of a calendar's months cut.

What payers paid in a month of the calendar is the sum of the files that lie in it, which their
footers state, and of the payments of those that a bound cuts: of these four columns are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from svc_analytics.coverage import Span
from svc_analytics.errors import LakeError, QueryError
from svc_analytics.lake.footer import MonthFileFooter
from svc_analytics.lake.index.month_index import open_groups
from svc_analytics.schema import PAYMENTS
from svc_analytics.warehouse.sources import Sources

_COLUMNS = ["currency", "status", "charged_amount", PAYMENTS.instant]
_SCHEMA = pa.schema([PAYMENTS.schema.field(name) for name in _COLUMNS])


@contextmanager
def cut_payments(sources: Sources, months: Sequence[Span]) -> Iterator[pa.RecordBatchReader]:
    """Give the payments of files that lie in no single one of these months, part by part.

    A damaged file is named as everywhere else: DuckDB would wrap it in words of its own.
    """
    damage: list[LakeError] = []
    try:
        batches = _naming_damage(_batches(sources, months), damage)
        yield pa.RecordBatchReader.from_batches(_SCHEMA, batches)
    except QueryError as error:
        if damage:
            raise damage[0] from error
        raise


def _naming_damage(
    batches: Iterator[pa.RecordBatch], damage: list[LakeError]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches; note why no more come when a file is damaged."""
    try:
        yield from batches
    except LakeError as error:
        damage.append(error)
        raise


def _batches(sources: Sources, months: Sequence[Span]) -> Iterator[pa.RecordBatch]:
    for label, footer in sources.footers[PAYMENTS.name].items():
        if not _is_cut(footer, months):
            continue
        path = sources.folder / PAYMENTS.name / f"{label}.pq"
        with open_groups(path, sources.lake.month_path(PAYMENTS, label)) as (file, _):
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group, columns=_COLUMNS, use_threads=False)
                yield from rows.select(_COLUMNS).cast(_SCHEMA).to_batches()


def _is_cut(footer: MonthFileFooter, months: Sequence[Span]) -> bool:
    """Tell whether a file has payments of these months, and not of one of them alone."""
    if not footer.ends:
        return False
    first = min(each.first for each in footer.ends.values())
    last = max(each.last for each in footer.ends.values())
    is_whole = any(start <= first and last < end for start, end in months)
    return not is_whole and any(first < end and last >= start for start, end in months)
