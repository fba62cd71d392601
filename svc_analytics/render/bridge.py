"""What the year and the bridge of a statement are drawn of."""

from collections.abc import Mapping

import pyarrow as pa

from svc_analytics.periods import Period
from svc_analytics.schema import MONEY

TREND = "trend"  # the table of the months up to that of the statement
MONTHS = "months"  # that of the months of a longer period
_DEBITED = "usd_payouts_debited"
_PRICED = ("usd_gross_priced_count", "usd_refunds_priced_count", "usd_payouts_priced_count")


def year_name(tables: Mapping[str, pa.Table]) -> str:
    """Return the name of the table with the months in USD; an empty one where there is none."""
    return next((name for name in (TREND, MONTHS) if name in tables), "")


def month_before(period: Period) -> str:
    """Return the label of the month with whose closing a period opens."""
    return period.months[0].shift(-1).label


def bridge_table(
    tables: Mapping[str, pa.Table], period: Period, before: pa.Table | None = None
) -> pa.Table:
    """Return a statement's summary with what a bridge needs beside it.

    That is `usd_opening`, `usd_payouts_debited` and the counts of records with a USD value.

    The opening position is worth what the month before closed with: the summary of that month, if
    it is given, or the statement's own table of the months. Without either it is unknown.
    """
    summary, label = tables["summary"], month_before(period)
    months = tables[TREND].to_pylist() if TREND in tables else []
    rows = (
        before.to_pylist()
        if before is not None
        else [row for row in months if row["month"] == label]
    )
    worth = {row["currency"]: row["usd_exposure"] for row in rows}
    figures = {
        (row["name"], row["currency"]): row["value"] for row in tables["figures"].to_pylist()
    }
    coins = summary["currency"].to_pylist()
    columns = {"usd_opening": pa.array([worth.get(coin) for coin in coins], MONEY)}
    columns[_DEBITED] = pa.array([figures.get((_DEBITED, coin)) for coin in coins], MONEY)
    for name in _PRICED:
        counts = [figures.get((name, coin)) for coin in coins]
        counted = [None if count is None else int(count) for count in counts]
        columns[name] = pa.array(counted, pa.int64())
    for name, column in columns.items():
        summary = summary.append_column(name, column)
    return summary
