"""What the year and the bridge of a statement are drawn of."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.periods import Period
from svc_analytics.schema import MONEY
from svc_analytics.warehouse.figures import PRICED

TREND = "trend"  # the table of the months up to that of the statement
MONTHS = "months"  # that of the months of a longer period
_ADDED = {
    "usd_opening": MONEY,
    "usd_payouts_debited": MONEY,
    **dict.fromkeys(PRICED.values(), pa.int64()),
}


def year_name(tables: Mapping[str, pa.Table]) -> str:
    """Return the name of the table with the months in USD; an empty one where there is none."""
    return next((name for name in (TREND, MONTHS) if name in tables), "")


def month_before(period: Period) -> str:
    """Return the label of the month with whose closing a period opens."""
    return period.months[0].shift(-1).label


def stated_rows(tables: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
    """Return the rows of a summary, with the sums in USD and the counts that it has no column of.

    The counts are those of the records with a USD value.
    """
    rows: list[dict[str, Any]] = tables["summary"].to_pylist()
    by_coin = {row["currency"]: row for row in rows}
    for row in tables["figures"].to_pylist():
        name, value = row["name"], row["value"]
        if row["currency"] in by_coin and name.startswith("usd_"):
            is_count = name in PRICED.values() and value is not None
            by_coin[row["currency"]][name] = int(value) if is_count else value
    return rows


def opening_worth(tables: Mapping[str, pa.Table], period: Period) -> dict[str, Decimal | None]:
    """Return the worth of each coin as a period opened: that with which the month before closed.

    That is the statement's own table of the months, where it has that month.
    """
    months = tables[TREND].to_pylist() if TREND in tables else []
    before = [row for row in months if row["month"] == month_before(period)]
    return {row["currency"]: row["usd_exposure"] for row in before}


def bridge_table(
    tables: Mapping[str, pa.Table], period: Period, before: pa.Table | None = None
) -> pa.Table:
    """Return a statement's summary with what a bridge needs beside it.

    That is `usd_opening`, `usd_payouts_debited` and the counts of records with a USD value.

    The opening position is worth what the month before closed with: the summary of that month, if
    it is given, or the statement's own table of the months. Without either it is unknown.
    """
    worth = opening_worth(tables, period)
    if before is not None:
        worth = {row["currency"]: row["usd_exposure"] for row in before.to_pylist()}
    rows = [row | {"usd_opening": worth.get(row["currency"])} for row in stated_rows(tables)]
    schema = tables["summary"].schema
    fields = [*schema, *(pa.field(*each) for each in _ADDED.items())]
    return pa.Table.from_pylist(rows, pa.schema(fields, schema.metadata))
