"""A statement's tables: which there are, and the table macro that each comes from."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.engines.connect import count
from svc_analytics.instants import format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period, month_of
from svc_analytics.schema import PAYMENTS
from svc_analytics.statements.balance_assertions import Assertion, unplaced_balances
from svc_analytics.statements.months import MONTHS, keep_known, read_months
from svc_analytics.warehouse.figure_sql import counted_apart, select_others, select_summary
from svc_analytics.warehouse.models import models_used_by, read_all_models, read_footings
from svc_analytics.warehouse.sales import cut_payments
from svc_analytics.warehouse.warehouse import Warehouse

_BOUNDS = "make_timestamptz($start::bigint), make_timestamptz($end::bigint)"
_KNOWN = "known_to := make_timestamptz($known_to::bigint)"
_T = TypeVar("_T")
_AS_OF = "as_of := make_timestamptz($as_of::bigint)"
_ZONE = "zone := $zone"
# The records of a small lake, and what takes a division each: read once, not once for each use.
_KEPT_IF_SMALL = {
    "payments": "payments",
    "payout_records": "payout_records",
    "ledger_entries": "ledger_entries",
    "int_payment_entries": "int_payment_entries",
    "int_payout_entries": "int_payout_entries",
    "int_entries_since": f"int_entries_since({_BOUNDS})",
    "int_movements_until": f"int_movements_until({_BOUNDS})",
    "stg_receipt_verdicts": "stg_receipt_verdicts",
    "stg_changes": "stg_changes",
    "int_period_fees": f"int_period_fees({_BOUNDS})",
}
# What several tables read, or what is long to plan, is read once and kept, each behind what it
# is made of. Records that only a scan or two need are not: they would be held in memory.
_KEPT = {
    "stg_files": "stg_files",
    "stg_contents": "stg_contents",
    "stg_totals": "stg_totals",
    "stg_parents": "stg_parents",
    "stg_spans": "stg_spans",
    "stg_quarantine": "stg_quarantine",
    "stg_kept_files": "stg_kept_files",
    "stg_accepted": "stg_accepted",
    "int_lake": "int_lake",
    "int_coverage_gaps": "int_coverage_gaps",
    "int_omissions": "int_omissions",
    "int_period_omissions": f"int_period_omissions({_BOUNDS}, {_AS_OF}, {_KNOWN})",
    "int_period_known": f"int_period_known({_BOUNDS}, {_AS_OF}, {_KNOWN})",
    "int_settled_refunds": f"int_settled_refunds({_BOUNDS})",
    "int_period_refunds": f"int_period_refunds({_BOUNDS})",
    "int_refunded": f"int_refunded({_BOUNDS})",
    "int_fee_rates_within": f"int_fee_rates_within({_BOUNDS})",
    **{
        name: f"{name}({_BOUNDS}{', ' + _AS_OF if 'as_of' in signature else ''})"
        for name, signature in counted_apart().items()
    },
    "int_figures": f"int_figures({_BOUNDS}, {_KNOWN}, {_AS_OF}, assertions := $assertions)",
    "int_worth": f"int_figures({_BOUNDS})",
}
# The same as footers state, summed from the rows of a warehouse that has them all.
_TOTALS_OF_ROWS = """(
    select
        stream, month, currency, kind, status, rows,
        first_booked_at as first_at,
        last_booked_at as last_at,
        case when stream = 'payments' then third_amount else -second_amount end as net,
        case when stream = 'payments' then second_amount end as charged_amount,
        newest_priced.id as newest_id,
        newest_priced.booked_at as newest_at,
        newest_priced.amount as newest_amount,
        newest_priced.usd_value as newest_usd_value,
        newest_priced.usd_rate as newest_usd_rate
    from stg_contents
)"""
_QUERIES = {
    "summary": select_summary(f"int_figures({_BOUNDS})", "$label"),
    "figures": select_others(f"int_figures({_BOUNDS})"),
    "lines": f"from statement_lines({_BOUNDS}, {_ZONE}, label := $label, {_KNOWN})",
    "daily": f"from statement_daily({_BOUNDS}, {_ZONE}, {_KNOWN})",
    "position": f"from statement_position({_BOUNDS}, {_ZONE}, {_KNOWN})",
    "fees": f"from statement_fees({_BOUNDS})",
    "refunds": f"from statement_refunds({_BOUNDS}, {_KNOWN})",
    "cohorts": f"from statement_cohorts({_BOUNDS}, months := $months, {_KNOWN})",
    "payouts": f"from statement_payouts({_BOUNDS})",
    "exposure": f"from statement_exposure({_BOUNDS}, {_KNOWN})",
    "receipts": f"from statement_receipts({_BOUNDS})",
    "reading": f"from statement_reading({_BOUNDS}, {_KNOWN})",
    "checks": f"""
        select check_name, severity, record_id, month, currency, detail
        from statement_checks({_BOUNDS})
        order by severity desc, check_name, occurred_at, record_id
    """,
}
TABLES = tuple(_QUERIES)  # of every statement; that of a longer period has its months too
_LONG = {"lines", "fees", "receipts"}  # tables of a row for each record
# Tables in the order of time, which are read one stretch of it after another: DuckDB's sort of ten
# million rows finds no memory now and then, and of a million it spills nothing.
_IN_PARTS = {"fees", "receipts"}
PART = 1_000_000  # records, about, in each of these stretches

# Of earlier months these are read part by part: a warehouse of one period does not have them.
_CUT_SALES = """
    select label, currency, sum(charged_amount) as charged_total
    from cut
    inner join int_calendar(make_timestamptz($end::bigint), months := $months)
        on paid_at >= month_start and paid_at < month_end
    where status = 'completed'
    group by label, currency
"""

_FLAGS = """
    select record_id, string_agg(distinct check_name, ' ' order by check_name) as flags
    from checks
    where record_id is not null
    group by record_id
"""
# What finished tables say of one another.
_FOOTING = (
    "select '{0.name}' as check_name, '{0.severity}' as severity, record_id, "
    "null::varchar as month, currency, detail from ({0.sql})"
)


def read_tables(
    warehouse: Warehouse,
    period: Period,
    as_of: int,
    known_to: int,
    assertions: Collection[Assertion] = (),
    *,
    sums_rows: bool = False,
) -> dict[str, pa.Table]:
    """Read every table of a period; findings about the tables themselves stand in `checks` too.

    `as_of` bounds what "to date" means, `known_to` how far time had come. With `sums_rows` no
    total is taken from a footer: the warehouse must have all rows.
    """
    everything = {
        "known_to": known_to,
        "start": period.start,
        "end": period.end,
        "as_of": as_of,
        "zone": period.zone,
        "label": period.label,
        "assertions": [assertion.to_parameter() for assertion in assertions] or None,
    }
    _keep_all(warehouse, period, everything, {"stg_totals": _TOTALS_OF_ROWS} if sums_rows else {})
    months = read_months(warehouse, period, as_of, known_to)
    tables = _answers(warehouse, everything)
    tables |= {MONTHS: months} if period.is_longer else {}
    found = warehouse.query(_footings(tables), tables=tables, is_short=True)
    checks, coins = tables["checks"], tables["summary"]["currency"].to_pylist()
    unplaced = pa.Table.from_pylist(unplaced_balances(assertions, period, coins), checks.schema)
    tables["checks"] = pa.concat_tables([checks, found.cast(checks.schema), unplaced])
    tables["lines"] = _flagged(warehouse, tables["lines"], tables["checks"])
    return tables


def _answers(warehouse: Warehouse, everything: dict[str, Any]) -> dict[str, pa.Table]:
    return {
        name: _in_parts(warehouse, query, everything)
        if name in _IN_PARTS
        else warehouse.query(
            query, _used(everything, query), is_short=name not in _LONG, is_long=name in _LONG
        )
        for name, query in _QUERIES.items()
    }


def _in_parts(warehouse: Warehouse, query: str, everything: dict[str, Any]) -> pa.Table:
    """Return a table of the period that is read one stretch of time after another."""
    start, end, count = everything["start"], everything["end"], warehouse.sources.rows // PART + 1
    bounds = [start + (end - start) * place // count for place in range(count + 1)]
    parts = (
        warehouse.query(query, _used(everything | {"start": a, "end": b}, query), is_long=True)
        for a, b in pairwise(bounds)
    )
    return pa.concat_tables(parts)


def _footings(tables: Collection[str]) -> str:
    """Return the SQL of what these tables say of one another; that of months is long to plan."""
    has_months = MONTHS in tables
    rules = (rule for rule in read_footings() if has_months or f"from {MONTHS}\n" not in rule.sql)
    return " union all ".join(map(_FOOTING.format, rules))


def _flagged(warehouse: Warehouse, lines: pa.Table, checks: pa.Table) -> pa.Table:
    """Add to each line the checks that it breaks; the other columns, which may be large, stay."""
    flags = warehouse.query(_FLAGS, tables={"checks": checks})
    places = pc.index_in(lines["record_id"], value_set=flags["record_id"])
    return lines.append_column("flags", flags["flags"].combine_chunks().take(places))


def tables_of(period: Period) -> tuple[str, ...]:
    """Return the names of the tables that a statement has."""
    return (*TABLES, MONTHS) if period.is_longer else TABLES


def count_period(lake: Lake, period: Period, work: Callable[[Warehouse], _T]) -> _T:
    """Return what `work` makes of the views of a statement, over what a period rests on."""
    return count(lake, _models(), work, as_written=True, period=(period.start, period.end))


@cache
def _models() -> frozenset[str] | None:
    # These two read what is kept; their texts name much that is no model.
    queries = [query for name, query in _QUERIES.items() if name not in ("summary", "figures")]
    return models_used_by(*queries, *_KEPT_IF_SMALL.values(), *_KEPT.values(), _CUT_SALES)


def _keep_all(
    warehouse: Warehouse, period: Period, everything: dict[str, Any], instead: dict[str, str]
) -> None:
    """Read once what several tables read; what is known of each month before the whole period."""
    small = _KEPT_IF_SMALL if warehouse.is_small else {}
    # Few records fit the memory in one query, which is planned sooner than several.
    apart = counted_apart() if warehouse.is_small else {}
    kept = {name: call for name, call in _KEPT.items() if name not in apart}
    calls = instead | small | kept | instead  # these first: others are made of them
    _keep(warehouse, calls, everything, is_of_period=False)
    keep_known(warehouse, period, everything["as_of"], everything["known_to"])
    _keep(warehouse, calls, everything, is_of_period=True)
    _keep_calendar(warehouse, period, everything)


def _keep(
    warehouse: Warehouse, calls: dict[str, str], everything: dict[str, Any], *, is_of_period: bool
) -> None:
    """Read once what these calls yield: those of the lake, or those of the period."""
    for name, call in calls.items():
        if bool(_signatures()[name]) == is_of_period:
            warehouse.keep(name, f"from {call}", _used(everything, call), _signatures()[name])


def _keep_calendar(warehouse: Warehouse, period: Period, everything: dict[str, Any]) -> None:
    """Add the calendar's months to the parameters; read once what was sold in them."""
    months = _months_until(warehouse, period)
    everything["months"] = [_as_parameter(month) for month in months] or None
    if warehouse.sources.near:
        used, name = _used(everything, _CUT_SALES), "int_cut_sales"
        bounds = [(month.start, month.end) for month in months]
        with cut_payments(warehouse.sources, bounds) as cut:
            warehouse.keep(name, _CUT_SALES, used, _signatures()[name], {"cut": cut})


@cache
def _signatures() -> dict[str, str]:
    return {model.name: model.signature for model in read_all_models()}


def read_omissions(warehouse: Warehouse, period: Period) -> list[dict[str, Any]]:
    """Read what figures of the period may lack, behind `read_tables`, which keeps it."""
    bounds = {"start": period.start, "end": period.end}
    found = warehouse.query(f"from int_period_omissions({_BOUNDS})", bounds)
    return list(found.to_pylist())


def _used(parameters: dict[str, Any], query: str) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if f"${name}" in query}


def _months_until(warehouse: Warehouse, period: Period) -> list[Period]:
    """List the calendar's months in the period's zone, from the first payment to its end."""
    first = warehouse.sources.first_at(PAYMENTS)
    if first is None or first >= period.end:
        return []
    found = month_of(first, period.zone, period.calendar)
    months = []
    while found.start < period.end:
        months.append(found)
        found = found.shift(1)
    return months


def _as_parameter(month: Period) -> dict[str, str]:
    bounds = {"month_start": month.start, "month_end": month.end}
    return {"label": month.label} | {name: format_instant(at) for name, at in bounds.items()}
