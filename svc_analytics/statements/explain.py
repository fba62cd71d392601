"""Where a figure comes from: the SQL that yields it, and the records behind it.

The SQL stands on its own: pasted into `svc-analytics sql` it gives the same figure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import now as machine_clock
from svc_analytics.lake.index.month_index import read_rows_with
from svc_analytics.lake.lake import Lake
from svc_analytics.money import EXACT
from svc_analytics.periods import Period, known_until, parse_period
from svc_analytics.proofs.sealed_zones import lake_zone
from svc_analytics.schema import PAYMENTS
from svc_analytics.statements.balance_assertions import Assertion, read_assertions
from svc_analytics.warehouse.figures import (
    Figure,
    find_figure,
    in_sentence,
    read_figures,
    select_one,
)
from svc_analytics.warehouse.models import read_statement_macros
from svc_analytics.warehouse.sources import Sources
from svc_analytics.warehouse.sql_text import fill_places, instant_literal, quote
from svc_analytics.warehouse.warehouse import Warehouse, count

if TYPE_CHECKING:
    import pandas as pd


_UNDEFINED = "undefined: what it is divided by is zero"
_EMPTY = "undefined: there is no record that it is made of"
_INCOMPLETE = "unknown: one of its records lacks a value that it needs"
_NOT_ASSERTED = "nobody asserted a balance in the period: write one into assertions.csv of the lake"
_TOO_LARGE = "unknown: it has more digits than can be held"


@dataclass(frozen=True)
class Explanation:
    """One figure of one coin: its value, the SQL that yields it, and the records it is made of.

    `value` is what the statement says, in the unit of the figure: None where it is unknown,
    whatever the records at hand add up to; `why_none` says why. Each record
    says what it adds, in `contribution`, or, to a ratio, in `numerator` and `denominator`; `totals`
    are their sums, and `made_of` the figures that a derived figure is made of. `sql`
    stands on its own: `lake.sql` and `svc-analytics sql` run it.

    Examples:
        >>> found = lake.explain("2026-10", "btc", "net_settlement")  # doctest: +SKIP
        >>> found.value, len(found.rows)  # doctest: +SKIP
    """

    figure: str
    currency: str
    period: Period
    value: Any
    sql: str
    table: pa.Table
    why_none: str = "unknown: not all of its records were read, or one was not read exactly"
    made_of: Mapping[str, Any] = field(default_factory=dict)  # other figures, with their values

    @property
    def meaning(self) -> str:
        """The meaning of the figure, and how it is made."""
        return find_figure(self.figure).hint

    @property
    def totals(self) -> dict[str, Decimal]:
        """The sums of its records: of a ratio both of its parts; {} if it is no sum of them.

        Of a sum it is the figure itself. What is unknown has none: sums of what was read would
        look known. A ratio that is divided by zero has its parts.
        """
        if self.value is None and self.why_none != _UNDEFINED:
            return {}
        columns = {name: self.table[name] for name in summed_columns(find_figure(self.figure))}
        return {name: _exact_sum(column) for name, column in columns.items()}

    @property
    def rows(self) -> pd.DataFrame:
        """Return the records behind the figure: a frame with a row per record, oldest first."""
        return to_frame(self.table)


@dataclass(frozen=True)
class Origin:
    """The SQL of a figure of one coin: of its value, and of the records behind it, in order."""

    value: str
    records: str
    order: str


def origin_of(
    period: Period,
    currency: str,
    figure: Figure,
    assertions: Iterable[Assertion] = (),
    narrowed: str = "true",
) -> Origin:
    """Return the SQL that yields a figure of a period, and its records; the figure's stands alone.

    Both are of fewer records where a condition narrows them.
    """
    places = _places(period, currency, assertions)
    value, records = select_one(figure, narrowed), select_records(figure, narrowed)
    return Origin(fill_places(value, places), fill_places(records, places), order_of(figure))


def explain(
    lake: Lake,
    month: str,
    currency: str,
    figure: str,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
) -> Explanation:
    """Explain a figure of a month's statement: its formula, its SQL and its records.

    `figure` is its name, such as `net_settlement`, or its label.

    Raises `ConfigError` for a figure, a month or a coin that the statement does not have.
    """
    now = machine_clock()
    period = parse_period(month, now, lake_zone(lake, zone), calendar)
    check("currency", currency, str, 'the slug of a coin, such as "btc"')
    bounds = None if find_figure(figure).is_of_history else (period.start, period.end)

    def work(warehouse: Warehouse) -> Explanation:
        assertions = read_assertions(lake.path)
        return explain_period(warehouse, period, currency, figure, assertions, now)

    return count(lake, None, work, period=bounds)


def explain_period(
    warehouse: Warehouse,
    period: Period,
    currency: str,
    figure: str,
    assertions: Iterable[Assertion] = (),
    now: int = 0,
) -> Explanation:
    """Do the same for any period, over an open warehouse."""
    definition, asserted, figures = find_figure(figure), list(assertions), read_figures()
    stated = partial(_stated, warehouse, period, currency, asserted, now)
    value, origin = stated(definition), origin_of(period, currency, definition, asserted)
    rows = read_records(warehouse, f"from ({origin.records}) order by {origin.order}")
    why, made_of = Explanation.why_none, dict[str, Any]()
    if value is not None:
        places = _places(period, currency, asserted)
        parts = {
            each: fill_places(select_one(figures[each]), places) for each in definition.operands
        }
        made_of = {name: warehouse.query(part)[0][0].as_py() for name, part in parts.items()}
    else:
        at_hand = warehouse.query(origin.value)[0][0].as_py()
        why = _why_none(definition, rows, at_hand, stated)
    return Explanation(definition.name, currency, period, value, origin.value, rows, why, made_of)


def _exact_sum(column: pa.ChunkedArray) -> Decimal:
    """Add up a column, exactly; a record without a value adds nothing."""
    values = (Decimal(value) for value in column.to_pylist() if value is not None)
    return reduce(EXACT.add, values, Decimal())


def _why_none(figure: Figure, rows: pa.Table, at_hand: Any, stated: Callable[[Figure], Any]) -> str:
    """Say why a figure has no value; what the records at hand make may be `at_hand`."""
    known = read_figures()
    if "assertions" in figure.source and stated(known["asserted_balance"]) is None:
        return _NOT_ASSERTED
    parts = {name: stated(known[name]) for name in figure.operands if known[name].is_stated}
    if lacking := [in_sentence(name) for name, value in parts.items() if value is None]:
        return f"unknown: {' and '.join(lacking)} of the period cannot be stated"
    summary = {name: stated(known[name]) for name in figure.witnesses}
    if at_hand is not None or not figure.is_read(summary):
        unread = figure.why_unread(summary)
        return f"unknown: {unread}" if unread else Explanation.why_none
    return _why_unstated(figure, rows, parts)


def _why_unstated(figure: Figure, rows: pa.Table, parts: Mapping[str, Any]) -> str:
    """Say why a figure of which all was read has no value."""
    if figure.denominator:
        return _UNDEFINED if parts.get(figure.denominator) == 0 else _TOO_LARGE
    adding = rows[CONTRIBUTION] if CONTRIBUTION in rows.column_names else rows.columns[0]
    if figure.unstated and adding.null_count == len(rows):
        return f"unknown: {figure.unstated}"
    if figure.is_zero_when_empty or (not adding.null_count and len(rows)):
        return _TOO_LARGE
    return _INCOMPLETE if len(rows) else _EMPTY


def _places(period: Period, currency: str, assertions: Iterable[Assertion]) -> dict[str, str]:
    """Return the SQL of the parameters that its sources take; the balances are the coin's own."""
    seen = [each.to_parameter() for each in assertions if each.currency == currency]
    balances = [
        f"{{'asserted_at': {quote(each['asserted_at'])}, 'currency': {quote(currency)}, "
        f"'balance': {quote(each['balance'])}, "
        f"'replaced': {quote(each['replaced']) if each['replaced'] else 'null'}}}"
        for each in seen
    ]
    return {
        "starts_at": instant_literal(period.start),
        "ends_at": instant_literal(period.end),
        "currency": quote(currency),
        "as_of": "null",
        "assertions": f"[{', '.join(balances)}]" if balances else "null",
    }


def _stated(
    warehouse: Warehouse,
    period: Period,
    currency: str,
    assertions: Iterable[Assertion],
    now: int,
    figure: Figure,
) -> Any:
    """Return the stated value of a figure, unknown where the statement says so."""
    ends = [end for values in warehouse.coverage().values() for _, end in values.read]
    read_to = max(ends, default=period.end)
    known_to = known_until(period, read_to, max(now, read_to))
    start, end, until = map(instant_literal, (period.start, period.end, known_to))
    bounds, of_coin = f"{start}, {end}, known_to := {until}", f"where currency = {quote(currency)}"
    if figure.column:
        values = warehouse.query(f"select {figure.name} from statement_summary({bounds}) {of_coin}")
    else:
        values = warehouse.query(
            f"select value from statement_figures({bounds}, assertions := $seen) {of_coin} "
            f"and name = '{figure.name}'",
            {"seen": [each.to_parameter() for each in assertions] or None},
        )
    if not len(values):
        there = warehouse.query(f"select currency from statement_summary({bounds}) order by all")
        known = ", ".join(there[0].to_pylist()) or "none"
        message = f"{period.folder} has no movement and no position in {quote(currency)}"
        raise ConfigError(f"{message}; its coins: {known}")
    return values[0][0].as_py()


# ---------- The records behind a figure
# What each adds to it, and by what people know each.


CONTRIBUTION, NUMERATOR, DENOMINATOR = "contribution", "numerator", "denominator"
# The instants by which records stand in order, oldest first.
MOMENTS = ("paid_at", "settled_at", "incurred_at", "occurred_at", "asserted_at")
# The columns of records that fit a line, in order; a record itself shows them all.
_COLUMNS = (
    *(*MOMENTS, "kind", "order_reference", "receipt_no", "customer"),
    *(CONTRIBUTION, NUMERATOR, DENOMINATOR, "gross", "net", "base"),
    *("amount", "charged_amount", "fee", "fee_amount", "net_amount", "rate", "usd_value"),
    *("balance", "record_id"),
)
_NAMES = ("receipt_no", "metadata")  # of some sources, and of every record's names
_CUSTOMER = "customer_in(coalesce(names.metadata, elsewhere.metadata))"
ELSEWHERE = "refunded_elsewhere"  # a table that the records of a month are asked with
PARENTS = """
    select distinct parents.payment_id
    from stg_payout_parents as parents
    inner join payout_records using (payout_id)
    where parents.payment_id not in (select payment_id from payments)
"""


def select_records(figure: Figure, narrowed: str = "true") -> str:
    """Return the SQL of the records behind a figure of one coin, `{currency}`.

    Each has its kind and id, what it adds, and the order, receipt number and customer that it
    is of. It reads `refunded_elsewhere` too: see `read_records`.
    """
    columns = _columns(figure)
    conditions = " and ".join(filter(None, ["currency = {currency}", figure.rows, narrowed]))
    added = [*_added(figure), *_identity(columns)]
    listed = ", ".join(f"{sql} as {name}" for name, sql in added)
    steps = f"select *, {listed} from {figure.shown_records} where {conditions}"
    if not _ids(columns):
        return steps  # balances that people read off: no records of the service
    known = [name for name in _NAMES if name in columns]
    others = f" exclude ({', '.join(known)})" if known else ""
    return f"""\
select
    records.*{others},
    names.order_reference,
    names.receipt_no,
    {_CUSTOMER} as customer
from ({steps}) as records
left join int_named_records as names
    on names.kind = records.kind and names.record_id = records.record_id
left join {ELSEWHERE} as elsewhere on elsewhere.id = names.payment_id"""


def record_columns(table: pa.Table, figure: Figure) -> list[str]:
    """List the columns of records that are shown in a line: what each adds stands there once."""
    return [name for name in _COLUMNS if name in table.column_names and name != figure.each]


def order_of(figure: Figure) -> str:
    """Return the SQL that orders the records behind a figure, oldest first."""
    columns = _columns(figure)
    ids = ["kind", "record_id"] if _ids(columns) else []
    return ", ".join([*[name for name in MOMENTS if name in columns][:1], *ids])


def read_records(warehouse: Warehouse, query: str) -> pa.Table:
    """Answer a query on the SQL of `select_records`, which may rest on payments of other months."""
    tables = {ELSEWHERE: refunded_elsewhere(warehouse)}
    return warehouse.query(query, tables=tables, is_long=True)


def refunded_elsewhere(warehouse: Warehouse) -> pa.Table:
    """Return the metadata of the refunded payments that are of no month that is at hand."""
    sources = warehouse.sources
    named = warehouse.query(PARENTS)["payment_id"].to_pylist() if sources.whole_months else []
    return metadata_of(sources, named)


def metadata_of(sources: Sources, ids: Iterable[str]) -> pa.Table:
    """Return the metadata of payments, whenever they were paid."""
    columns = ["id", "metadata"]
    return read_rows_with(sources.lake, PAYMENTS, "id", ids, columns, sources.folder)


def summed_columns(figure: Figure) -> list[str]:
    """Return the columns of what records add whose sums make the figure."""
    return [name for name, _ in _added(figure)] if figure.is_sum or not figure.each else []


def has_movements(figure: Figure) -> bool:
    """Whether its records move the wallet each by its kind, and have their worth beside that."""
    is_of_rate = figure.shown_records.startswith("int_newest_priced")  # one record, by its size
    return {"kind", "usd_value"} <= {*_columns(figure)} and not is_of_rate


def _columns(figure: Figure) -> Collection[str]:
    models = {model.name: model for model in read_statement_macros()}
    return models[figure.shown_records.partition("(")[0]].columns


def _added(figure: Figure) -> list[tuple[str, str]]:
    """Return the columns of what records add, with their SQL: two where they are divided."""
    if figure.each:
        return [(CONTRIBUTION, figure.each)]
    parts = [read_figures()[name] for name in figure.operands]
    cases = (
        f"case when {part.rows} then {part.each} else 0 end" if part.rows else part.each
        for part in parts
    )
    return list(zip((NUMERATOR, DENOMINATOR), cases, strict=True))


def _identity(columns: Collection[str]) -> list[tuple[str, str]]:
    """Return the kind and the id of a record, where its source does not call them so."""
    kind, record_id = _ids(columns) or ("kind", "record_id")
    return [(n, sql) for n, sql in (("kind", kind), ("record_id", record_id)) if n != sql]


def _ids(columns: Collection[str]) -> tuple[str, str] | None:
    """Return the SQL of a record's kind and id, by the columns of its source, if it has any."""
    ids = [name for name in ("record_id", "payout_id", "payment_id") if name in columns]
    kinds = [name for name in ("kind", "incurred_by") if name in columns]
    return ((kinds or ["'payment'"])[0], ids[0]) if ids else None
