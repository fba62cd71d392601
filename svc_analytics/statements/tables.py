"""A statement's tables: which there are, the table macro that each comes from, and its digest.

Control totals are rows, sums of money by coin, and a hash over the rows in order, as the texts of
their CSV. It is the same in every form, and any tool can compute it from `<table>.csv`.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.coverage import Span
from svc_analytics.formatting.tables import csv_digest
from svc_analytics.formatting.values import drop_pages, is_ratio
from svc_analytics.instants import SECOND, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.money import format_amount
from svc_analytics.periods import Period, month_of
from svc_analytics.periods.zones import Change
from svc_analytics.render.bridge import TREND
from svc_analytics.schema import PAYMENTS
from svc_analytics.statements.balance_assertions import Assertion, unplaced_balances
from svc_analytics.statements.months import MONTHS, keep_known, months_begun, read_months
from svc_analytics.statements.rules import keep_findings
from svc_analytics.warehouse.figure_sql import counted_apart, select_others, select_summary
from svc_analytics.warehouse.models import Check, models_used_by, read_all_models, read_footings
from svc_analytics.warehouse.sources import cut_payments
from svc_analytics.warehouse.sql_text import english_of, instant_literal, message_of
from svc_analytics.warehouse.warehouse import Warehouse, count

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
_MATERIALIZED_IF_SMALL = (
    *("payments", "payout_records", "ledger_entries", "int_payment_entries"),
    *("int_payout_entries", "int_entries_since", "int_movements_until"),
    *("stg_receipt_verdicts", "stg_changes", "int_period_fees", "int_period_payouts"),
)
# What several tables read, or what is long to plan, is read once and kept, each behind what it
# is made of. Records that only a scan or two need are not: they would be held in memory.
_MATERIALIZED = (
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
READ_ONCE = (*_MATERIALIZED_IF_SMALL, *_MATERIALIZED, _CUT_SALES)
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
TableDigest = dict[str, Any]
_WIDEST = 76  # digits of the widest decimal
_RATES = ("implied_rate", "implied_usd_rate", "fee_percent", "value")  # not summed


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


def materialize_accepted(warehouse: Warehouse, accepted: pa.Table) -> None:
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
    names = (*(_MATERIALIZED_IF_SMALL if warehouse.is_small else ()), *_MATERIALIZED)
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


def table_digests(
    tables: Mapping[str, pa.Table], names: Iterable[str], hashes: Mapping[str, str] | None = None
) -> dict[str, TableDigest]:
    """Return the control totals of each table; some `hashes` may be known."""
    known = hashes or {}
    return {name: table_digest(tables[name], known.get(name)) for name in names}


def table_digest(table: pa.Table, sha256: str | None = None) -> TableDigest:
    """Return the control totals of one table: `rows`, `sha256`, and `totals` by coin.

    Whoever has just written it as CSV knows its `sha256`.
    """
    sha256 = sha256 or csv_digest(table)
    return {"rows": table.num_rows, "sha256": sha256, "totals": _totals(table)}


def _totals(table: pa.Table) -> dict[str, dict[str, str]]:
    """Return the sum of each amount by coin; of a coin that has none of it there is no sum."""
    if "currency" not in table.column_names:
        return {}
    names = [field.name for field in table.schema if _is_money(field)]
    coins = pc.fill_null(table["currency"], "")
    return {
        coin: _sums(table.select(names), pc.equal(coins, coin))
        for coin in sorted(pc.unique(coins).to_pylist())
    }


def _sums(amounts: pa.Table, mask: pa.ChunkedArray) -> dict[str, str]:
    """Return the sum of each column with a value, in the order in which rows first have one.

    The rows are those of the mask, of one column at a time: all would be a copy of the table.
    """
    places, sums = {}, {}
    for name in amounts.column_names:
        column = amounts[name].filter(mask)
        places[name] = pc.index(pc.is_valid(column), True).as_py()
        sums[name] = pc.sum(column.cast(_wide(column.type))).as_py()
        drop_pages()
    known = [name for name in sums if places[name] >= 0]
    return {name: format_amount(sums[name]) for name in sorted(known, key=places.__getitem__)}


def _wide(kind: pa.DataType) -> pa.DataType:
    """Return a type that holds any sum of a column: Arrow's own wraps around without a word."""
    return pa.decimal256(_WIDEST, kind.scale)


def combined_digest(controls: Mapping[str, TableDigest]) -> str:
    """Return one hash over every table's hash."""
    hashes = {name: digest["sha256"] for name, digest in controls.items()}
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()


def _is_money(field: pa.Field) -> bool:
    is_amount = pa.types.is_decimal(field.type) and not is_ratio(field)
    return bool(is_amount and field.name not in _RATES)
