"""What several tables of a statement read: read once, and kept under the models' own names."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa

from svc_analytics.instants import format_instant
from svc_analytics.periods import Period, month_of
from svc_analytics.schema import PAYMENTS
from svc_analytics.statements.explain import instant_literal
from svc_analytics.statements.months import keep_known, months_begun
from svc_analytics.statements.rules import keep_findings
from svc_analytics.warehouse.figure_sql import counted_apart
from svc_analytics.warehouse.models import read_all_models
from svc_analytics.warehouse.sales import cut_payments
from svc_analytics.warehouse.warehouse import Warehouse

# What a model is given for each of its parameters.
_GIVEN = {
    "starts_at": "make_timestamptz($start::bigint)",
    "ends_at": "make_timestamptz($end::bigint)",
    "known_to": "make_timestamptz($known_to::bigint)",
    "as_of": "make_timestamptz($as_of::bigint)",
    **{name: f"${name}" for name in ("zone", "label", "months", "assertions")},
}
# Those that count by the statement's own clock, in place of those that do now.
_ACCEPTED = 'select "check" as check_name, * exclude ("check") from accepted'
BOUNDS = f"{_GIVEN['starts_at']}, {_GIVEN['ends_at']}"
# The records of a small lake, and what takes a division each: read once, not once for each use.
_KEPT_IF_SMALL = (
    *("payments", "payout_records", "ledger_entries", "int_payment_entries"),
    *("int_payout_entries", "int_entries_since", "int_movements_until"),
    *("stg_receipt_verdicts", "stg_changes", "int_period_fees", "int_period_payouts"),
)
# What several tables read, or what is long to plan, is read once and kept, each behind what it
# is made of. Records that only a scan or two need are not: they would be held in memory.
_KEPT = (
    *("stg_files", "stg_contents", "stg_totals", "stg_parents", "stg_spans", "stg_quarantine"),
    *("stg_kept_files", "stg_accepted", "int_lake", "int_coverage_gaps", "int_omissions"),
    *("int_too_large", "int_period_omissions", "int_period_known", "int_line_days"),
    *("int_settled_refunds", "int_period_refunds", "int_refunded", "int_fee_rates_within"),
    *(*counted_apart(), "int_figures", "int_worth"),
)
_WORTH = f"int_figures({BOUNDS})"  # what was just kept
# The same as footers state, summed from the rows of a warehouse that has them all.
_TOTALS_OF_ROWS = """(
    select
        stream, month, currency, kind, status, rows,
        first_booked_at as first_at,
        last_booked_at as last_at,
        net_small, net_large,
        case when stream = 'payments' then second_amount end as charged_amount,
        newest_priced.id as newest_id,
        newest_priced.booked_at as newest_at,
        newest_priced.amount as newest_amount,
        newest_priced.usd_value as newest_usd_value,
        newest_priced.usd_rate as newest_usd_rate
    from stg_contents
)"""
# Of earlier months these are read part by part: a warehouse of one period does not have them.
_CUT_SALES = """
    select label, currency, total(charged_amount) as charged_total
    from cut
    inner join int_calendar(make_timestamptz($end::bigint), months := $months)
        on paid_at >= month_start and paid_at < month_end
    where status = 'completed'
    group by label, currency
"""
READ_ONCE = (*_KEPT_IF_SMALL, *_KEPT, _CUT_SALES)


def call_of(name: str) -> str:
    """Return the SQL that calls a model with all that it takes.

    >>> call_of("stg_files"), call_of("int_refunded") == f"int_refunded({BOUNDS})"
    ('stg_files', True)
    """
    takes = filter(None, _signatures()[name].strip("()").split(", "))
    parts = (each.partition(" := ") for each in takes)
    values = [f"{each} := {_GIVEN[each]}" if named else _GIVEN[each] for each, named, _ in parts]
    return f"{name}({', '.join(values)})" if values else name


def used_in(query: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that a query names."""
    return {name: value for name, value in parameters.items() if f"${name}" in query}


def keep_accepted(warehouse: Warehouse, accepted: pa.Table) -> None:
    """Let the lines that count for a statement be those that all its views read."""
    warehouse.keep("stg_accepted", _ACCEPTED, {}, "", {"accepted": accepted})


def keep_all(
    warehouse: Warehouse, period: Period, everything: dict[str, Any], *, sums_rows: bool
) -> None:
    """Read once what several tables read; what is known of each month before the whole period.

    With `sums_rows` no total is taken from a footer.
    """
    instead = {"stg_totals": _TOTALS_OF_ROWS} if sums_rows else {}
    # Few records fit the memory in one query, which is planned sooner than several.
    apart = counted_apart() if warehouse.is_small else ()
    names = (*(_KEPT_IF_SMALL if warehouse.is_small else ()), *_KEPT)
    calls = {name: call_of(name) for name in names if name not in apart}
    # What stands instead is kept first: others are made of it.
    calls = instead | calls | {"int_worth": _WORTH} | instead
    _keep(warehouse, calls, everything, is_of_period=False)
    known_to = everything["known_to"]
    keep_known(warehouse, months_begun(period, known_to), everything["as_of"], known_to)
    _keep(warehouse, calls, everything, is_of_period=True)
    if warehouse.is_large:
        keep_findings(warehouse, [instant_literal(at) for at in (period.start, period.end)])
    _keep_calendar(warehouse, period, everything)


def _keep(
    warehouse: Warehouse, calls: dict[str, str], everything: dict[str, Any], *, is_of_period: bool
) -> None:
    """Read once what these calls yield: those of the lake, or those of the period."""
    for name, call in calls.items():
        if bool(_signatures()[name]) == is_of_period:
            warehouse.keep(name, f"from {call}", used_in(call, everything), _signatures()[name])


def _keep_calendar(warehouse: Warehouse, period: Period, everything: dict[str, Any]) -> None:
    """Add the calendar's months to the parameters; read once what was sold in them."""
    months = _months_until(warehouse, period)
    everything["months"] = [_as_parameter(month) for month in months] or None
    if warehouse.sources.whole_months:
        used, name = used_in(_CUT_SALES, everything), "int_cut_sales"
        bounds = [(month.start, month.end) for month in months]
        with cut_payments(warehouse.sources, bounds) as cut:
            warehouse.keep(name, _CUT_SALES, used, _signatures()[name], {"cut": cut})


@cache
def _signatures() -> dict[str, str]:
    return {model.name: model.signature for model in read_all_models()}


def _months_until(warehouse: Warehouse, period: Period) -> list[Period]:
    """List the calendar's months in the period's zone, from the first payment to its end.

    The last one ends with the period, which may be stated as of an earlier instant.
    """
    first = warehouse.sources.first_at(PAYMENTS)
    if first is None or first >= period.end:
        return []
    month = month_of(first, period.zone, period.calendar)
    months = []
    while month.start < period.end:
        months.append(replace(month, end=min(month.end, period.end)))
        month = month.shift(1)
    return months


def _as_parameter(month: Period) -> dict[str, str]:
    bounds = {"month_start": month.start, "month_end": month.end}
    return {"label": month.label} | {name: format_instant(at) for name, at in bounds.items()}
