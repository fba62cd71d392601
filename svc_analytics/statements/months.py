"""The months that a longer period is made of: what moved in each, and its positions.

The footing `months_add_up_to_the_period` compares their sums with the figures of the period.
"""

from __future__ import annotations

import pyarrow as pa

from svc_analytics.periods import Period, known_until
from svc_analytics.schema import MONEY
from svc_analytics.statements.explain import fill, instant_literal
from svc_analytics.warehouse.figure_sql import select_figures
from svc_analytics.warehouse.figures import read_figures
from svc_analytics.warehouse.warehouse import Warehouse

MONTHS = "months"  # the table's name
# What adds up over months; a payer of two months is one payer of the year.
FLOWS = (
    *("payments_count", "gross_sales", "charged_total", "payment_fees", "net_sales"),
    *("refunds_count", "refunds_paid", "refunds_debited"),
    *("payouts_count", "payouts_sent", "payout_fees", "payouts_debited"),
    *("total_fees_borne", "net_settlement", "rail_movement"),
    *("usd_gross", "usd_net_sales", "usd_fees", "usd_refunds", "usd_payouts"),
)
_POSITIONS = ("opening_position", "closing_position")
_AMOUNTS = ("coin", "USD")


def read_months(warehouse: Warehouse, period: Period, as_of: int, known_to: int) -> pa.Table:
    """Return a row per month that has begun and coin; none for a period that is a month.

    A figure is NULL where it is unknown. Read it before what is kept of the whole period.
    """
    if not period.is_longer:
        return _schema().empty_table()
    query = select_figures(read_figures()[name] for name in (*FLOWS, *_POSITIONS))
    begun = [month for month in period.months if month.start < known_to]
    found = [_month(warehouse, query, month, as_of, known_to) for month in begun]
    return pa.concat_tables([_schema().empty_table(), *found])


def _month(warehouse: Warehouse, query: str, month: Period, as_of: int, known_to: int) -> pa.Table:
    places = {
        "starts_at": instant_literal(month.start),
        "ends_at": instant_literal(month.end),
        "known_to": instant_literal(known_until(month, as_of, known_to)),
        "as_of": instant_literal(as_of),
        "assertions": "null",
    }
    found = warehouse.query(f"{fill(query, places)} order by counted.currency")
    return found.add_column(0, "month", pa.repeat(month.label, len(found))).cast(_schema())


def _schema() -> pa.Schema:
    figures = [read_figures()[name] for name in (*FLOWS, *_POSITIONS)]
    kinds = [MONEY if figure.unit in _AMOUNTS else pa.int64() for figure in figures]
    names = [figure.name for figure in figures]
    keys = [("month", pa.string()), ("currency", pa.string())]
    return pa.schema([*keys, *zip(names, kinds, strict=True)])
