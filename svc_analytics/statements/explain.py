"""Where a figure comes from: the SQL that yields it, and the records behind it.

The SQL stands on its own: pasted into `svc-analytics sql` it gives the same figure.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.engines.connect import count
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.money import EXACT
from svc_analytics.periods import Period, known_until, parse_period
from svc_analytics.proofs.sealed_zones import lake_zone
from svc_analytics.statements.balance_assertions import Assertion, Parameter, read_assertions
from svc_analytics.statements.records import (
    order_of,
    read_records,
    select_records,
    summed_columns,
)
from svc_analytics.warehouse.definitions import find_figure, in_sentence
from svc_analytics.warehouse.figures import Figure, read_figures, select_one
from svc_analytics.warehouse.sql_text import quote
from svc_analytics.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    import pandas as pd

_PLACE = re.compile(r"\b(?:starts_at|ends_at)\b|(?<=:= )\w+|\{currency\}")

_UNDEFINED = "undefined: what it is divided by is zero"
_TOO_LARGE = "unknown: it has more digits than can be held"


@dataclass(frozen=True)
class Explanation:
    """One figure of one coin: its value, the SQL that yields it, and the records it is made of.

    `value` is what the statement says, in the unit of the figure: None where it is unknown
    because not all of its records were read, whatever the records at hand add up to. Each record
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
    why_none: str = "unknown: not all of its records were read"
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
    places = _places_of(period, currency, assertions)
    value, records = select_one(figure, narrowed), select_records(figure, narrowed)
    return Origin(fill(value, places), fill(records, places), order_of(figure))


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
    now = time.time_ns() // 1000
    period = parse_period(month, now, lake_zone(lake, zone), calendar)
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
    definition, asserted = find_figure(figure), list(assertions)
    seen = [assertion.to_parameter() for assertion in asserted]
    value = _stated(warehouse, period, definition, _places(period, currency, ()), seen, now)
    origin = origin_of(period, currency, definition, asserted)
    rows = read_records(warehouse, f"from ({origin.records}) order by {origin.order}")
    why = Explanation.why_none
    if value is None:
        seen_of_coin = any(each["currency"] == currency for each in seen)
        if "assertions" in definition.source and not seen_of_coin:
            why = "nobody asserted a balance: write one into assertions.csv of the lake"
        elif definition.denominator:
            places = _places(period, currency, ())
            parts = {
                name: _stated(warehouse, period, read_figures()[name], places, seen, now)
                for name in definition.operands
                if read_figures()[name].is_stated
            }
            why = _why_no_ratio(definition, parts)
        elif definition.is_zero_when_empty and not _has_sum(warehouse, origin.value):
            why = _TOO_LARGE
    made_of = {} if value is None else _parts(warehouse, definition, period, currency, asserted)
    return Explanation(definition.name, currency, period, value, origin.value, rows, why, made_of)


def _parts(
    warehouse: Warehouse,
    figure: Figure,
    period: Period,
    currency: str,
    assertions: Iterable[Assertion],
) -> dict[str, Any]:
    """Return the figures that a figure is made of, each with its value."""
    places = _places_of(period, currency, assertions)
    queries = {name: fill(select_one(read_figures()[name]), places) for name in figure.operands}
    return {name: warehouse.query(query)[0][0].as_py() for name, query in queries.items()}


def _exact_sum(column: pa.ChunkedArray) -> Decimal:
    """Add up a column, exactly; a record without a value adds nothing."""
    values = (Decimal(value) for value in column.to_pylist() if value is not None)
    return reduce(EXACT.add, values, Decimal())


def _why_no_ratio(figure: Figure, parts: dict[str, Any]) -> str:
    """Say why a ratio of these two figures has no value."""
    lacking = [in_sentence(name) for name, value in parts.items() if value is None]
    if lacking:
        return f"unknown: {' and '.join(lacking)} of the period cannot be stated"
    if parts.get(figure.operands[1]) == 0:
        return _UNDEFINED
    return _TOO_LARGE


def _has_sum(warehouse: Warehouse, query: str) -> bool:
    """Tell whether the records at hand add up to what can be held."""
    return warehouse.query(query)[0][0].as_py() is not None


def fill(sql: str, places: dict[str, str]) -> str:
    """Put values in the places of a source's parameters."""
    return _PLACE.sub(lambda match: places[match[0].strip("{}")], sql)


def _places_of(period: Period, currency: str, assertions: Iterable[Assertion]) -> dict[str, str]:
    """Return the same with the coin's own balances among these."""
    seen = [each.to_parameter() for each in assertions if each.currency == currency]
    return _places(period, currency, seen)


def _places(period: Period, currency: str, seen: Iterable[Parameter]) -> dict[str, str]:
    """Return the SQL of the parameters that its sources take."""
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
    figure: Figure,
    places: dict[str, str],
    seen: list[Parameter],
    now: int,
) -> Any:
    """Return the stated value of a figure, unknown where the statement says so."""
    ends = [end for values in warehouse.coverage().values() for _, end in values.read]
    read_to = max(ends, default=period.end)
    known_to = instant_literal(known_until(period, read_to, max(now, read_to)))
    bounds = f"{places['starts_at']}, {places['ends_at']}, known_to := {known_to}"
    of_coin = f"where currency = {places['currency']}"
    if figure.column:
        values = warehouse.query(f"select {figure.name} from statement_summary({bounds}) {of_coin}")
    else:
        values = warehouse.query(
            f"select value from statement_figures({bounds}, assertions := $seen) {of_coin} "
            f"and name = '{figure.name}'",
            {"seen": seen or None},
        )
    if not len(values):
        there = warehouse.query(f"select currency from statement_summary({bounds}) order by all")
        known = ", ".join(there[0].to_pylist()) or "none"
        message = f"{period.folder} has no movement and no position in {places['currency']}"
        raise ConfigError(f"{message}; its coins: {known}")
    return values[0][0].as_py()


def instant_literal(micros: int) -> str:
    """Return an instant as a literal of SQL."""
    return f"timestamptz '{format_instant(micros)}'"
