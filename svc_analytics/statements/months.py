"""The months that a longer period is made of: what moved in each, and its positions.

Each source is read once for all months. The footing `months_add_up_to_the_period` compares their
sums with the figures of the period.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from svc_analytics.periods import Period, known_until
from svc_analytics.schema import MONEY
from svc_analytics.warehouse.figure_sql import KNOWN, count_figures, scans_of, select_figures
from svc_analytics.warehouse.figures import Figure, read_figures, summary_figures
from svc_analytics.warehouse.sql_text import fill_places, instant_literal, quote
from svc_analytics.warehouse.warehouse import Warehouse

MONTHS = "months"  # the table's name
_POSITIONS = ("opening_position", "closing_position")
_AMOUNTS = ("coin", "USD")
# The instant by which a record of each scan is of a month.
_INSTANTS = {
    "period_payments": "paid_at",
    "period_refunds": "settled_at",
    "period_payouts": "settled_at",
    "movements_summed": "occurred_at",
    "newest_priced": "occurred_at",
}
# A position is of all months up to its own, so movements are summed, and counted by the month. A
# month of the calendar need not be that of a file, so each of them is read.
_MOVEMENTS = "movements_summed"
_SUMMED = (
    "kind, max(occurred_at) as occurred_at, count(*) as movements, "
    "sum(net_small) as net_small, sum(net_large) as net_large"
)
# The newest one of a month is that of the months before where it has none of its own.
_NEWEST = "newest_priced"
_OF_HISTORY = {
    _MOVEMENTS: "int_movements_until(starts_at, ends_at)",
    _NEWEST: "int_priced_until(starts_at, ends_at)",
}
# Only the newest instants of each month and coin need an order among their records. Records are
# read twice, rather than held for it.
_NEWEST_OF_EACH = """
with newest as (
    select label, currency, max(occurred_at) as occurred_at from {dated} group by label, currency
)
select dated.*
from {dated}
inner join newest
    on newest.label = dated.label
    and newest.currency = dated.currency
    and newest.occurred_at = dated.occurred_at
"""
_NEWEST_OF_ALL = """(
    select *
    from (
        select
            *,
            row_number() over (
                partition by label, currency order by occurred_at desc, kind desc, record_id desc
            ) as place
        from {until}
    )
    where place = 1
)"""
_KNOWN = "known_months"
_KEYS = ("label", "currency")


def keep_known(warehouse: Warehouse, months: Sequence[Period], as_of: int, known_to: int) -> None:
    """Keep what is known of each month, before anything is kept of a longer period."""
    known = {month.label: fill_places(KNOWN, _places(month, as_of, known_to)) for month in months}
    parts = [f"select {quote(label)} as label, * from {call}" for label, call in known.items()]
    if parts:
        warehouse.keep(_KNOWN, " union all ".join(parts), {}, "")


def read_months(warehouse: Warehouse, period: Period, as_of: int, known_to: int) -> pa.Table:
    """Return a row per month that has begun and coin; none for a period that is a month.

    A figure is NULL where it is unknown. What is known of each must be kept before.
    """
    begun, schema = months_begun(period, known_to), schema_of(_figures())
    if not begun:
        return schema.empty_table()
    return count_months(warehouse, begun, _figures(), as_of, known_to).cast(schema)


def count_months(
    warehouse: Warehouse,
    months: Sequence[Period],
    figures: Sequence[Figure],
    as_of: int,
    known_to: int,
    *,
    every_coin: bool = False,
) -> pa.Table:
    """Return a row for each of consecutive months and each coin in it, with these figures.

    Each source is read once for all months, if its records have an instant that says of which
    they are. What is known of each month must be kept before.
    """
    places = [_places(month, as_of, known_to) for month in months]
    ask = partial(warehouse.query, is_short=True)
    tables = {
        _counted(scan): pa.concat_tables(map(ask, _counts(scan, counted, months, places)))
        for scan, counted in scans_of(figures).items()
    }
    query = select_figures(
        figures,
        every_coin=every_coin,
        known=_KNOWN,
        scan=partial(_of_months, months),
        keys=_KEYS,
    )
    order = "order by counted.label, counted.currency"
    table = warehouse.query(f"{query} {order}", tables=tables, is_short=True)
    return table.rename_columns(["month", *table.column_names[1:]])


def months_begun(period: Period, known_to: int) -> list[Period]:
    """List the months of a longer period that have begun, none longer than the period."""
    if not period.is_longer:
        return []
    begun = (each for each in period.months if each.start < known_to)
    return [replace(each, end=min(each.end, period.end)) for each in begun]


def _counts(
    scan: str, figures: list[Figure], months: Sequence[Period], places: list[dict[str, str]]
) -> list[str]:
    """Return the SQL that counts figures of a scan: of all months at once if it can be."""
    if scan in _INSTANTS:
        return [_at_once(scan, figures, months)]
    count = f"({count_figures(scan, figures)})"
    return [
        f"select {quote(month.label)} as label, * from {fill_places(count, place)}"
        for month, place in zip(months, places, strict=True)
    ]


def _at_once(scan: str, figures: list[Figure], months: Sequence[Period]) -> str:
    """Return the SQL that counts figures of all months at once, by the label of the month."""
    instant, first = _INSTANTS[scan], instant_literal(months[0].start)
    bounds = {"starts_at": first, "ends_at": instant_literal(months[-1].end)}
    source = fill_places(_OF_HISTORY.get(scan, figures[0].source), bounds)
    ends = [("", first), *((each.label, instant_literal(each.end)) for each in months)]
    label = _cases(f"when {instant} < {end} then {quote(text)}" for text, end in ends)
    starts = _cases(
        f"when label = {quote(each.label)} then {instant_literal(each.start)}" for each in months
    )
    dated = f"(select *, {label} as label from {source}) as dated"
    if scan == _MOVEMENTS:
        return f"select label, currency, {_SUMMED} from {dated} group by label, currency, kind"
    if scan == _NEWEST:
        return _NEWEST_OF_EACH.format(dated=dated)
    begun = f"(select *, {starts} as starts_at from {dated}) as begun"
    return count_figures(scan, figures, begun, keys=_KEYS)


def _of_months(months: Sequence[Period], scan: str, figures: list[Figure]) -> str:
    """Return the SQL of the figures of each month, from what was counted of a scan."""
    if scan not in _OF_HISTORY:
        return f"select * from {_counted(scan)}"
    bounds = ", ".join(
        f"({quote(each.label)}, {instant_literal(each.start)}, {instant_literal(each.end)})"
        for each in months
    )
    until = f"""(
    select months.label, starts_at, before.* exclude (label)
    from {_counted(scan)} as before
    inner join (values {bounds}) as months (label, starts_at, ends_at) on occurred_at < ends_at
)"""
    until = _NEWEST_OF_ALL.format(until=until) if scan == _NEWEST else until
    return count_figures(scan, figures, until, keys=_KEYS)


def _cases(cases: Iterable[str]) -> str:
    return f"case {' '.join(cases)} end"


def _counted(scan: str) -> str:
    """Return the name of the table of what was counted of a scan."""
    return f"months_of_{scan}"


def _places(month: Period, as_of: int, known_to: int) -> dict[str, str]:
    """Return the SQL of the parameters of a month."""
    return {
        "starts_at": instant_literal(month.start),
        "ends_at": instant_literal(month.end),
        "known_to": instant_literal(known_until(month, as_of, known_to)),
        "as_of": instant_literal(as_of),
        "assertions": "null",
    }


def flows() -> list[Figure]:
    """Return the figures that add up over months; a payer of two is one payer of the year."""
    return [figure for figure in summary_figures() if "months" in figure.adds]


def _figures() -> list[Figure]:
    return [*flows(), *(read_figures()[name] for name in _POSITIONS)]


def schema_of(figures: Iterable[Figure]) -> pa.Schema:
    """Return the columns of figures by month and coin."""
    kinds = [(each.name, MONEY if each.unit in _AMOUNTS else pa.int64()) for each in figures]
    return pa.schema([("month", pa.string()), ("currency", pa.string()), *kinds])
