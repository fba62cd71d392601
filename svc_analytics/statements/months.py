"""The months that a longer period is made of: what moved in each, and its positions.

Each source is read once for all months. The footing `months_add_up_to_the_period` compares their
sums with the figures of the period.
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from svc_analytics.periods import Period, known_until
from svc_analytics.schema import MONEY
from svc_analytics.statements.explain import fill, instant_literal
from svc_analytics.warehouse.figure_sql import KNOWN, count_figures, scans_of, select_figures
from svc_analytics.warehouse.figures import Figure, read_figures
from svc_analytics.warehouse.sql_text import quote
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
# The instant by which a record of each scan is of a month.
_INSTANTS = {
    "period_payments": "paid_at",
    "period_refunds": "settled_at",
    "period_payouts": "settled_at",
    "movements_summed": "occurred_at",
}
# A position is of all months up to its own, so movements are summed, and counted by the month. A
# month of the calendar need not be that of a file, so each of them is read.
_MOVEMENTS = "movements_summed"
_EACH_MOVEMENT = "int_movements_until(starts_at, ends_at)"
_SUMMED = "kind, max(occurred_at) as occurred_at, count(*) as movements, sum(net) as net"
_KNOWN = "known_months"


def keep_known(warehouse: Warehouse, period: Period, as_of: int, known_to: int) -> None:
    """Keep what is known of each month, before anything is kept of the whole period."""
    known = {
        month.label: fill(KNOWN, _places(month, as_of, known_to))
        for month in _begun(period, known_to)
    }
    parts = [f"select {quote(label)} as label, * from {call}" for label, call in known.items()]
    if parts:
        warehouse.keep(_KNOWN, " union all ".join(parts), {}, "")


def read_months(warehouse: Warehouse, period: Period, as_of: int, known_to: int) -> pa.Table:
    """Return a row per month that has begun and coin; none for a period that is a month.

    A figure is NULL where it is unknown. What is known of each must be kept before.
    """
    begun = _begun(period, known_to)
    for scan, figures in scans_of(_figures()).items() if begun else ():
        warehouse.keep(_kept(scan), _by_month(scan, figures, period), {}, "")
    found = [_month(warehouse, month, _places(month, as_of, known_to)) for month in begun]
    return pa.concat_tables([_schema().empty_table(), *found])


def _begun(period: Period, known_to: int) -> list[Period]:
    """Return the months of a longer period that have begun."""
    return [each for each in period.months if each.start < known_to] if period.is_longer else []


def _by_month(scan: str, figures: list[Figure], period: Period) -> str:
    """Return the SQL that counts figures of all months at once, by the label of the month."""
    instant = _INSTANTS[scan]
    cases = " ".join(
        f"when {instant} < {instant_literal(month.end)} then {quote(month.label)}"
        for month in period.months
    )
    label = f"case when {instant} >= {instant_literal(period.start)} then case {cases} end end"
    source = fill(_EACH_MOVEMENT if scan == _MOVEMENTS else figures[0].source, _bounds(period))
    dated = f"(select *, {label} as label from {source}) as dated"
    if scan == _MOVEMENTS:
        return f"select label, currency, {_SUMMED} from {dated} group by label, currency, kind"
    return count_figures(scan, figures, dated, by="label")


def _month(warehouse: Warehouse, month: Period, places: dict[str, str]) -> pa.Table:
    of_month = f"where label = {quote(month.label)}"
    query = select_figures(
        _figures(), known=f"{_KNOWN} {of_month}", scan=partial(_counted, of_month)
    )
    found = warehouse.query(f"{fill(query, places)} order by counted.currency")
    return found.add_column(0, "month", pa.repeat(month.label, len(found))).cast(_schema())


def _counted(of_month: str, scan: str, figures: list[Figure]) -> str:
    """Return the SQL of a month's figures, from what was kept of all months."""
    if scan == _MOVEMENTS:
        return count_figures(scan, figures, f"{_kept(scan)} where occurred_at < ends_at")
    names = ", ".join(figure.name for figure in figures)
    return f"select currency, {names} from {_kept(scan)} {of_month}"


def _kept(scan: str) -> str:
    """Return the name of the table of what a scan counted of all months."""
    return f"months_of_{scan}"


def _places(month: Period, as_of: int, known_to: int) -> dict[str, str]:
    """Return what stands in the SQL for the parameters of a month."""
    return _bounds(month) | {
        "known_to": instant_literal(known_until(month, as_of, known_to)),
        "as_of": instant_literal(as_of),
        "assertions": "null",
    }


def _bounds(period: Period) -> dict[str, str]:
    return {"starts_at": instant_literal(period.start), "ends_at": instant_literal(period.end)}


def _figures() -> list[Figure]:
    return [read_figures()[name] for name in (*FLOWS, *_POSITIONS)]


def _schema() -> pa.Schema:
    kinds = [MONEY if figure.unit in _AMOUNTS else pa.int64() for figure in _figures()]
    names = [figure.name for figure in _figures()]
    keys = [("month", pa.string()), ("currency", pa.string())]
    return pa.schema([*keys, *zip(names, kinds, strict=True)])
