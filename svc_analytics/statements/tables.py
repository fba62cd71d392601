"""A statement's tables: which there are, and the table macro that each comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from svc_analytics.instants import format_instant
from svc_analytics.periods import Period, month_of
from svc_analytics.statements.balance_assertions import Assertion
from svc_analytics.warehouse.models import Check, read_footings
from svc_analytics.warehouse.warehouse import Warehouse

_BOUNDS = "make_timestamptz($start::bigint), make_timestamptz($end::bigint)"
_KNOWN = "known_to := make_timestamptz($known_to::bigint)"
_AS_OF = "as_of := make_timestamptz($as_of::bigint)"
_ZONE = "zone := $zone"
_CALLS = {
    "summary": f"statement_summary({_BOUNDS}, label := $label, {_KNOWN}, {_AS_OF})",
    "figures": f"statement_figures({_BOUNDS}, {_KNOWN}, {_AS_OF}, assertions := $assertions)",
    "lines": f"statement_lines({_BOUNDS}, {_ZONE}, label := $label, {_KNOWN})",
    "daily": f"statement_daily({_BOUNDS}, {_ZONE}, {_KNOWN})",
    "position": f"statement_position({_BOUNDS}, {_ZONE}, {_KNOWN})",
    "fees": f"statement_fees({_BOUNDS})",
    "refunds": f"statement_refunds({_BOUNDS})",
    "cohorts": f"statement_cohorts({_BOUNDS}, months := $months, {_KNOWN})",
    "payouts": f"statement_payouts({_BOUNDS})",
    "exposure": f"statement_exposure({_BOUNDS}, {_KNOWN})",
    "receipts": f"statement_receipts({_BOUNDS})",
    "reading": f"statement_reading({_BOUNDS}, {_KNOWN})",
}
TABLES = (*_CALLS, "checks")
_CHECKS = f"""
    select check_name, severity, record_id, month, currency, detail
    from statement_checks({_BOUNDS})
    order by severity desc, check_name, occurred_at, record_id
"""

# Joined here, for the checks cost too much to be made twice.
_FLAGGED = """
    with flagged as (
        select record_id, string_agg(distinct check_name, ' ' order by check_name) as flags
        from checks
        where record_id is not null
        group by record_id
    )

    select lines.*, flags
    from lines
    left join flagged on flagged.record_id = lines.record_id
    order by line_no
"""


def read_tables(
    warehouse: Warehouse,
    period: Period,
    as_of: int,
    known_to: int,
    assertions: Iterable[Assertion] = (),
) -> dict[str, pa.Table]:
    """Read every table of a period; findings about the tables themselves stand in `checks` too.

    `as_of` bounds what "to date" means, `known_to` how far time had come.
    """
    everything = {
        "known_to": known_to,
        "start": period.start,
        "end": period.end,
        "as_of": as_of,
        "zone": period.zone,
        "label": period.label,
        "assertions": [assertion.to_parameter() for assertion in assertions] or None,
        "months": _months_until(warehouse, period) or None,
    }
    queries = {name: f"from {call}" for name, call in _CALLS.items()} | {"checks": _CHECKS}
    tables = {
        name: warehouse.query(
            query, {key: value for key, value in everything.items() if f"${key}" in query}
        )
        for name, query in queries.items()
    }
    broken = [_foot(warehouse, rule, tables) for rule in read_footings()]
    tables["checks"] = pa.concat_tables([tables["checks"], *broken])
    return tables | {"lines": warehouse.query(_FLAGGED, tables=tables)}


def _foot(warehouse: Warehouse, rule: Check, tables: dict[str, pa.Table]) -> pa.Table:
    """Hold finished tables against one another."""
    query = (
        f"select '{rule.name}' as check_name, '{rule.severity}' as severity, record_id, "
        f"null::varchar as month, currency, detail from ({rule.sql})"
    )
    return warehouse.query(query, tables=tables).cast(tables["checks"].schema)


def _months_until(warehouse: Warehouse, period: Period) -> list[dict[str, Any]]:
    """List the calendar's months in the period's zone, from the first payment to its end."""
    first = warehouse.query("select epoch_us(min(paid_at)) as at from payments")["at"][0].as_py()
    if first is None or first >= period.end:
        return []
    found = month_of(first, period.zone, period.calendar)
    months = []
    while found.start < period.end:
        bounds = {"month_start": found.start, "month_end": found.end}
        texts = {name: format_instant(at) for name, at in bounds.items()}
        months.append({"label": found.label} | texts)
        found = found.shift(1)
    return months
