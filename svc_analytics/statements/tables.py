"""A statement's tables: which there are, and the table macro that each comes from."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.coverage import Span
from svc_analytics.engines.connect import count
from svc_analytics.formatting.mapped_tables import drop_pages
from svc_analytics.instants import SECOND
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period
from svc_analytics.periods.zones import Change
from svc_analytics.render.bridge import TREND
from svc_analytics.statements.balance_assertions import Assertion, unplaced_balances
from svc_analytics.statements.kept_models import BOUNDS, READ_ONCE, call_of, keep_all, used_in
from svc_analytics.statements.months import MONTHS, read_months
from svc_analytics.warehouse.figure_sql import select_others, select_summary
from svc_analytics.warehouse.message_sql import english_of, message_of
from svc_analytics.warehouse.models import Check, models_used_by, read_footings
from svc_analytics.warehouse.warehouse import Warehouse

_T = TypeVar("_T")
_CHECKS = f"""
    select check_name, severity, record_id, month, currency, detail, content, seen_at, message
    from statement_checks({BOUNDS})
    order by severity desc, check_name, occurred_at, record_id, content
"""
# Of every statement; that of a month has a trend too, and that of a longer period its months.
TABLES = (
    *("summary", "figures", "lines", "daily", "position", "fees", "refunds", "cohorts"),
    *("payouts", "exposure", "receipts", "reading", "checks"),
)
# Tables of a row for each record, in the order of time. They are read some days after others:
# DuckDB's sort of ten million rows finds no memory now and then, and one of a part spills nothing.
_LONG = {"lines", "fees", "receipts"}
PART = 200_000  # lines, at least, in each part but the last
_DAYS = f"""
    select epoch_us(day) as starts_at, min(lines_before) as lines_before
    from int_line_days({BOUNDS})
    group by day
    order by day
"""

_FLAGS = """
    select record_id, string_agg(distinct check_name, ' ' order by check_name) as flags
    from checks
    where record_id is not null
    group by record_id
"""


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
        "zone": clock_text(period.changes),
        "label": period.label,
        "assertions": [assertion.to_parameter() for assertion in assertions] or None,
    }
    keep_all(warehouse, period, everything, sums_rows=sums_rows)
    months = read_months(warehouse, period, as_of, known_to)
    tables = _answers(warehouse, everything)
    tables |= {MONTHS: months} if period.is_longer else {}
    known = tables | {"period_days": days_of(period)}
    footings = warehouse.query(_footings(tables), tables=known, is_short=True)
    drop_pages()
    checks, coins = tables["checks"], tables["summary"]["currency"].to_pylist()
    unplaced = pa.Table.from_pylist(unplaced_balances(assertions, period, coins), checks.schema)
    tables["checks"] = pa.concat_tables([checks, footings.cast(checks.schema), unplaced])
    tables["lines"] = _flagged(warehouse, tables["lines"], tables["checks"])
    drop_pages()
    return tables


def days_of(period: Period) -> pa.Table:
    """Return the first and the last local day of a period, for the rule that lines lie in it."""
    first, behind = period.days
    return pa.table({"first_day": [first], "last_day": [behind - timedelta(days=1)]})


def clock_text(changes: Iterable[Change]) -> str:
    """Write what clocks show as the macro `local_time` reads it; the first span holds before it."""
    spans = [{"since": since, "ahead": ahead * SECOND} for since, ahead in changes]
    return json.dumps([spans[0] | {"since": 0}, *spans[1:]])


def _answers(warehouse: Warehouse, everything: dict[str, Any]) -> dict[str, pa.Table]:
    spans = _spans(warehouse, everything)
    return {
        name: _in_parts(warehouse, query, everything, spans)
        if name in _LONG
        else warehouse.query(query, used_in(query, everything), is_short=True)
        for name, query in _queries().items()
    }


@cache
def _queries() -> dict[str, str]:
    """Return the query of each table: its model, if it is not made of figures or findings."""
    own = {
        "summary": select_summary(f"int_figures({BOUNDS})", "$label"),
        "figures": select_others(f"int_figures({BOUNDS})"),
        "checks": _CHECKS,
    }
    return {name: own.get(name) or f"from {call_of(f'statement_{name}')}" for name in TABLES}


def _spans(warehouse: Warehouse, everything: dict[str, Any]) -> list[Span]:
    """Cut a period that has many lines at midnights; the lines of a day are counted together."""
    cuts, begun = [everything["start"]], 0
    if warehouse.sources.rows > PART:
        for day in warehouse.query(_DAYS, used_in(_DAYS, everything)).to_pylist():
            if day["lines_before"] - begun >= PART:
                cuts.append(day["starts_at"])
                begun = day["lines_before"]
    return list(pairwise([*cuts, everything["end"]]))


def _in_parts(
    warehouse: Warehouse, query: str, everything: dict[str, Any], spans: list[Span]
) -> pa.Table:
    """Return a table of the period that is read one span of it after another."""
    parts = (
        warehouse.query(query, used_in(query, everything | {"start": a, "end": b}), is_long=True)
        for a, b in spans
    )
    return pa.concat_tables(parts)


def _footings(tables: Collection[str]) -> str:
    """Return the SQL of what these tables say of one another; that of months is long to plan."""
    has_months = MONTHS in tables
    rules = (rule for rule in read_footings() if has_months or f"from {MONTHS}\n" not in rule.sql)
    return " union all ".join(map(_footing, rules))


def _footing(rule: Check) -> str:
    """Return the SQL of what finished tables say of one another."""
    return (
        f"select '{rule.name}' as check_name, '{rule.severity}' as severity, record_id, "
        f"null::varchar as month, currency, {english_of(rule.sql)} as detail, content, "
        f"null::timestamptz as seen_at, {message_of(rule.sql)} as message from ({rule.sql})"
    )


def _flagged(warehouse: Warehouse, lines: pa.Table, checks: pa.Table) -> pa.Table:
    """Add to each line the checks that it breaks; the other columns, which may be large, stay."""
    flags = warehouse.query(_FLAGS, tables={"checks": checks})
    places = pc.index_in(lines["record_id"], value_set=flags["record_id"])
    return lines.append_column("flags", flags["flags"].combine_chunks().take(places))


def tables_of(period: Period) -> tuple[str, ...]:
    """Return the names of the tables that a statement has."""
    return (*TABLES, *([MONTHS] if period.is_longer else []), TREND)


def count_period(
    lake: Lake, period: Period, work: Callable[[Warehouse], _T], wider: Span | None = None
) -> _T:
    """Return the result of `work` on the views of a statement, over what a period rests on.

    Where the records of a `wider` one are few, it may ask for its figures too.
    """
    bounds = (period.start, period.end)
    return count(lake, _models(), work, as_written=True, period=bounds, wider=wider)


@cache
def _models() -> frozenset[str] | None:
    # These two read what is kept; their texts name much that is no model.
    queries = [query for name, query in _queries().items() if name not in ("summary", "figures")]
    return models_used_by(*queries, *READ_ONCE)


def read_omissions(warehouse: Warehouse, period: Period) -> list[dict[str, Any]]:
    """Read what figures of the period may lack, behind `read_tables`, which keeps it."""
    bounds = {"start": period.start, "end": period.end}
    omissions = warehouse.query(f"from int_period_omissions({BOUNDS})", bounds)
    return list(omissions.to_pylist())
