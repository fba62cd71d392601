"""The records behind a figure: what each adds to it, and by what people know each."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa

from svc_analytics.lake.index.month_index import read_rows_with
from svc_analytics.schema import PAYMENTS
from svc_analytics.warehouse.figures import Figure, read_figures
from svc_analytics.warehouse.models import read_statement_macros
from svc_analytics.warehouse.warehouse import Warehouse

CONTRIBUTION, NUMERATOR, DENOMINATOR = "contribution", "numerator", "denominator"
# The instants by which records stand in order, oldest first.
MOMENTS = ("paid_at", "settled_at", "incurred_at", "occurred_at", "asserted_at")
# The columns of records that fit a line, in order; a record itself shows them all.
_COLUMNS = (
    *(*MOMENTS, "kind", "order_reference", "receipt_no", "customer"),
    *(CONTRIBUTION, NUMERATOR, DENOMINATOR, "gross", "net", "base"),
    *("amount", "charged_amount", "fee", "fee_amount", "net_amount", "rate", "usd_value"),
    *("balance", "record_id"),
)
_NAMES = ("receipt_no", "metadata")  # of some sources, and of every record's names
_CUSTOMER = "customer_in(coalesce(names.metadata, elsewhere.metadata))"
ELSEWHERE = "refunded_elsewhere"  # a table that the records of a month are asked with
PARENTS = """
    select distinct parents.payment_id
    from stg_payout_parents as parents
    inner join payout_records using (payout_id)
    where parents.payment_id not in (select payment_id from payments)
"""


def select_records(figure: Figure, narrowed: str = "true") -> str:
    """Return the SQL of the records behind a figure of one coin, `{currency}`.

    Each has its kind and id, what it adds, and the order, receipt number and customer that it
    is of. It reads `refunded_elsewhere` too: see `read_records`.
    """
    columns = _columns(figure)
    conditions = " and ".join(filter(None, ["currency = {currency}", figure.rows, narrowed]))
    added = [*_added(figure), *_identity(columns)]
    listed = ", ".join(f"{sql} as {name}" for name, sql in added)
    steps = f"select *, {listed} from {figure.shown_records} where {conditions}"
    if not _ids(columns):
        return steps  # balances that people read off: no records of the service
    known = [name for name in _NAMES if name in columns]
    others = f" exclude ({', '.join(known)})" if known else ""
    return f"""\
select
    records.*{others},
    names.order_reference,
    names.receipt_no,
    {_CUSTOMER} as customer
from ({steps}) as records
left join int_named_records as names
    on names.kind = records.kind and names.record_id = records.record_id
left join {ELSEWHERE} as elsewhere on elsewhere.id = names.payment_id"""


def record_columns(table: pa.Table, figure: Figure) -> list[str]:
    """List the columns of records that are shown in a line: what each adds stands there once."""
    return [name for name in _COLUMNS if name in table.column_names and name != figure.each]


def order_of(figure: Figure) -> str:
    """Return the SQL that orders the records behind a figure, oldest first."""
    columns = _columns(figure)
    ids = ["kind", "record_id"] if _ids(columns) else []
    return ", ".join([*[name for name in MOMENTS if name in columns][:1], *ids])


def read_records(
    warehouse: Warehouse, query: str, values: Mapping[str, object] | None = None
) -> pa.Table:
    """Answer a query on the SQL of `select_records`, which may rest on payments of other months."""
    tables = {ELSEWHERE: refunded_elsewhere(warehouse)}
    return warehouse.query(query, values, tables, is_long=True)


def refunded_elsewhere(warehouse: Warehouse) -> pa.Table:
    """Return the metadata of the refunded payments that are of no month that is at hand."""
    sources = warehouse.sources
    named = warehouse.query(PARENTS)["payment_id"].to_pylist() if sources.whole_months else []
    return read_rows_with(
        sources.lake, PAYMENTS, "id", named, columns=["id", "metadata"], snapshot=sources.folder
    )


def summed_columns(figure: Figure) -> list[str]:
    """Return the columns of what records add whose sums make the figure."""
    return [name for name, _ in _added(figure)] if figure.is_sum or not figure.each else []


def _columns(figure: Figure) -> Collection[str]:
    models = {model.name: model for model in read_statement_macros()}
    return models[figure.shown_records.partition("(")[0]].columns


def _added(figure: Figure) -> list[tuple[str, str]]:
    """Return the columns of what records add, with their SQL: two where they are divided."""
    if figure.each:
        return [(CONTRIBUTION, figure.each)]
    parts = [read_figures()[name] for name in figure.operands]
    return list(zip((NUMERATOR, DENOMINATOR), map(_part, parts), strict=True))


def _part(figure: Figure) -> str:
    return f"case when {figure.rows} then {figure.each} else 0 end" if figure.rows else figure.each


def _identity(columns: Collection[str]) -> list[tuple[str, str]]:
    """Return the kind and the id of a record, where its source does not call them so."""
    kind, record_id = _ids(columns) or ("kind", "record_id")
    return [(n, sql) for n, sql in (("kind", kind), ("record_id", record_id)) if n != sql]


def _ids(columns: Collection[str]) -> tuple[str, str] | None:
    """Return the SQL of a record's kind and id, by the columns of its source, if it has any."""
    ids = [name for name in ("record_id", "payout_id", "payment_id") if name in columns]
    kinds = [name for name in ("kind", "incurred_by") if name in columns]
    return ((kinds or ["'payment'"])[0], ids[0]) if ids else None
