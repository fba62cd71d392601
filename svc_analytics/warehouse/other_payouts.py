"""Payout records of other months than a period's: the few columns that its figures rest on.

What was returned of a payment so far, what each month returned of earlier ones, and whether two
records share a reference is told by the payout records of all time. Of months in which nothing
of the period was booked only the columns for that are read, and their pages' checksums checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.lake.index.parent_rows import PARENTS
from svc_analytics.lake.index.parents import Parents
from svc_analytics.lake.index.shared import joined
from svc_analytics.schema import PAYOUT_RECORDS
from svc_analytics.warehouse.other_months import COMPLETED, KINDS, OtherMonths

_COLUMNS = [
    *("kind", "payment_id", "reference_id", "currency", "amount", "settled_at", "extracted_at"),
]
_OF_PAYMENT = ["currency", "paid_at"]
OTHER_PAYOUTS = pa.schema(
    [PAYOUT_RECORDS.schema.field(name) for name in _COLUMNS]
    + [PARENTS.field(name).with_name(f"payment_{name}") for name in _OF_PAYMENT]
).remove_metadata()
_REPEATED = ["kind", "currency", "payment_currency"]
_KNOWN_KINDS = pa.array(KINDS)
_BATCH = 10_000  # rows written at once: each group costs every query that reads it


@dataclass(frozen=True)
class OtherPayouts(OtherMonths):
    """The payout records of other months: some columns, or the whole record of unknown nature."""

    def write(self, path: Path, unclassified: Path) -> int:
        """Write both files; return how many whole records there are."""
        count = 0
        with (
            pq.ParquetWriter(path, OTHER_PAYOUTS, use_dictionary=_REPEATED) as narrow,
            pq.ParquetWriter(unclassified, PAYOUT_RECORDS.schema) as wide,
        ):
            classified = chain.from_iterable(map(self._classified, self.months))
            for rows in joined(classified, _BATCH):
                narrow.write_table(rows)
            for rows in chain.from_iterable(map(self._unclassified, self.months)):
                wide.write_table(rows)
                count += len(rows)
        return count

    def _classified(self, month: str) -> Iterator[pa.Table]:
        """Yield the columns of a month, with the coin and instant of each refunded payment."""
        parents = self._parents.columns(month, ["payment_id", *_OF_PAYMENT]).combine_chunks()
        with self.open(month) as (file, _):
            for group in range(file.num_row_groups):
                names = [*_COLUMNS, "status"]
                rows = file.read_row_group(group, columns=names, use_threads=False)
                rows = rows.filter(_is_classified(rows))
                places = pc.index_in(rows["payment_id"], value_set=parents["payment_id"])
                of_payment = [parents[name].take(places) for name in _OF_PAYMENT]
                columns = [*rows.select(_COLUMNS).columns, *of_payment]
                yield pa.table(columns, schema=OTHER_PAYOUTS)

    def _unclassified(self, month: str) -> Iterator[pa.Table]:
        """Yield the records of a month whose status or kind is not known."""
        if not self.has_unclassified(month):
            return
        with self.open(month) as (file, _):
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group, use_threads=False)
                yield rows.filter(pc.invert(_is_classified(rows)))

    @cached_property
    def _parents(self) -> Parents:
        return Parents(self.lake, self.folder.parent)


def _is_classified(rows: pa.Table) -> pa.ChunkedArray:
    """Mark the records of a known status and kind."""
    is_of_known_kind = pc.is_in(rows["kind"], value_set=_KNOWN_KINDS)
    return pc.and_(pc.equal(rows["status"], COMPLETED), is_of_known_kind)
