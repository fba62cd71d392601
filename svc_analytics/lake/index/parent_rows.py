"""The rows of kept parents: a payout record, the payment that it names, and what follows."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.lake.derived import with_returned
from svc_analytics.schema import MONEY, PAYMENTS

COLUMNS = [
    *("id", "receipt_no", "reference_id", "status", "currency"),
    *("amount", "charged_amount", "fee_amount", "usd_value", "paid_at"),
]
_FIELDS = [PAYMENTS.schema.field(name) for name in COLUMNS]
PAYMENT = pa.schema([_FIELDS[0].with_name("payment_id"), *_FIELDS[1:]])
# Which payment a record names, and how much it returns; a rejected record has no id and no amount.
NAMED = pa.schema(
    [("payout_id", pa.string()), PAYMENT.field("payment_id"), ("returned_amount", MONEY)]
)
PARENTS = pa.schema([*NAMED, *[*PAYMENT][1:], ("fee_kept", MONEY), ("usd_when_paid", MONEY)])


def with_payments(named: pa.Table, payments: pa.Table) -> pa.Table:
    """Return the parents: of each record whose payment is among these, the payment beside it."""
    ids = payments["payment_id"].combine_chunks()
    places = pc.index_in(named["payment_id"].combine_chunks(), value_set=ids)
    named, rows = named.filter(places.is_valid()), payments.take(places.drop_null())
    names = [*named.column_names, *rows.column_names[1:]]
    both = pa.table([*named.columns, *rows.columns[1:]], names=names)
    return with_returned(both).cast(PARENTS).combine_chunks()


def payments_among(file: pq.ParquetFile | None, wanted: pa.Array) -> pa.Table:
    """Return which of these payments were kept, each once."""
    if file is None:
        return PAYMENT.empty_table()
    tables = [PAYMENT.empty_table()]
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group, PAYMENT.names, use_threads=False).select(PAYMENT.names)
        tables.append(rows.filter(pc.is_in(rows["payment_id"], value_set=wanted)))
    payments = pa.concat_tables(tables)
    _, places = np.unique(payments["payment_id"].to_numpy(zero_copy_only=False), return_index=True)
    return payments.take(pa.array(places))
