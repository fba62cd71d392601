"""Control totals of a set of rows: count, digest of ids, sums of amounts, all by group.

A group is a currency, kind and status; the kind of a payment is `payment`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from itertools import chain, cycle
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.interrupts import interruptible
from svc_analytics.money import EXACT
from svc_analytics.schema import Stream

if TYPE_CHECKING:
    import duckdb

Group = tuple[str, ...]  # as `GROUP` names its parts
GROUP = ("currency", "kind", "status")
_FIXED = len(GROUP) + 2  # columns of each group's row before its sums: also a count and a digest


@dataclass(frozen=True)
class ControlTotals:
    """Control totals of a set of rows; those of parts add up to those of the whole."""

    rows: int = 0
    ids_digest: int = 0  # exclusive or of the MD5 of every id: the order does not matter
    sums: Mapping[Group, Mapping[str, Decimal]] = field(default_factory=dict)  # by column
    counts: Mapping[Group, int] = field(default_factory=dict)

    def __add__(self, other: ControlTotals) -> ControlTotals:
        sums = {group: dict(amounts) for group, amounts in self.sums.items()}
        for group, amounts in other.sums.items():
            total = sums.setdefault(group, {})
            for name, value in amounts.items():
                total[name] = EXACT.add(total.get(name, Decimal()), value)
        counts = {
            group: self.counts.get(group, 0) + other.counts.get(group, 0)
            for group in {**self.counts, **other.counts}
        }
        rows, digest = self.rows + other.rows, self.ids_digest ^ other.ids_digest
        return ControlTotals(rows, digest, sums, counts)

    def __sub__(self, other: ControlTotals) -> ControlTotals:
        negated = {
            group: {name: EXACT.minus(value) for name, value in amounts.items()}
            for group, amounts in other.sums.items()
        }
        counts = {group: -count for group, count in other.counts.items()}
        return self + ControlTotals(-other.rows, other.ids_digest, negated, counts)

    def is_same(self, other: ControlTotals) -> bool:
        """Tell whether both are of the same rows, whatever groups add up to zero.

        An amount that only one of them knows, as of another release, does not count.
        """
        rest = self - other
        own, others = ({*chain(*totals.sums.values())} for totals in (self, other))
        amounts = (own & others) or (own | others)
        sums = (each.get(name) for each in rest.sums.values() for name in amounts)
        return not (rest.rows or rest.ids_digest or any(sums) or any(rest.counts.values()))

    def __str__(self) -> str:
        return f"{self.rows:,} rows, ids {self.ids_digest:032x}"


@dataclass(frozen=True)
class PricedRow:
    """A row that has a value in USD and an amount other than zero."""

    at: int  # when figures book it, in UTC microseconds
    id: str
    amount: Decimal
    usd_value: Decimal
    usd_rate: Decimal | None


@dataclass(frozen=True)
class GroupEnds:
    """When the first and the last row of a group are booked, and the newest that is priced."""

    first: int
    last: int
    newest_priced: PricedRow | None = None

    def join(self, other: GroupEnds) -> GroupEnds:
        """Return the ends of both sets of rows together."""
        priced = [each for each in (self.newest_priced, other.newest_priced) if each]
        newest = max(priced, key=lambda row: (row.at, row.id.encode()), default=None)
        return GroupEnds(min(self.first, other.first), max(self.last, other.last), newest)


def totalled_columns(stream: Stream) -> list[str]:
    """Return the columns of which rows have control totals."""
    return [*(name for name in GROUP if name in stream.names), "id", *stream.money]


def control_totals(stream: Stream, table: pa.Table) -> ControlTotals:
    """Return the control totals of a table of a stream's rows; sums are exact."""
    return _totals(stream, table, _rows(stream, table))


def totals_and_ends(
    stream: Stream, table: pa.Table
) -> tuple[ControlTotals, dict[Group, GroupEnds]]:
    """Return the control totals of rows as a month file holds them, and the ends of each group.

    One query finds both: to plan another takes as long as it does to sum a thousand rows.
    """
    moment = f"epoch_us({stream.booked})"
    row = f'{{"at": {moment}, id: id, a: amount, v: usd_value, r: usd_rate}}'
    newest = f"max({row}) filter (where usd_value is not null and amount <> 0)"
    rows = _rows(stream, table, f"min({moment})", f"max({moment})", newest)
    ends = {}
    for *group, _, _, first, last, priced in (row[: _FIXED + 3] for row in rows):
        ends[tuple(group)] = GroupEnds(first, last, PricedRow(*priced.values()) if priced else None)
    return _totals(stream, table, [(*row[:_FIXED], *row[_FIXED + 3 :]) for row in rows]), ends


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """Return the process's one connection: starting DuckDB costs more than a count."""
    import duckdb

    return duckdb.connect(config={"threads": 1})


@interruptible()
def _rows(stream: Stream, table: pa.Table, *more: str) -> list[tuple[Any, ...]]:
    """Return per group its key, a count, a digest of its ids, `more`, and its sums."""
    import duckdb  # here, for a process that only reads totals needs none of it

    if not len(table):
        return []
    # Only the columns needed: registering one takes longer than summing a hundred rows.
    columns = [*totalled_columns(stream), *([stream.booked, "usd_rate"] if more else [])]
    with _connection().cursor() as cursor:
        cursor.register("t", table.select(columns))
        try:
            return _select(cursor, stream, *more, *_sums(stream, "sum({0})"))
        except duckdb.OutOfRangeException:
            # More than 38 digits: whole and fractional parts fit when summed separately.
            parts = _sums(stream, "sum(trunc({0})::hugeint)", "sum({0} % 1)")
            return _select(cursor, stream, *more, *parts)


def _sums(stream: Stream, *forms: str) -> list[str]:
    return [form.format(name) for form in forms for name in stream.money]


def _select(
    cursor: duckdb.DuckDBPyConnection, stream: Stream, *values: str
) -> list[tuple[Any, ...]]:
    group = [name if name in stream.names else f"'payment' as {name}" for name in GROUP]
    columns = ", ".join([*group, "count(*)", "bit_xor(md5_number(id))", *values])
    return cursor.execute(f"select {columns} from t group by all").fetchall()


def _totals(stream: Stream, table: pa.Table, rows: list[tuple[Any, ...]]) -> ControlTotals:
    digest = 0
    for row in rows:
        digest ^= row[4]
    sums = {row[:3]: _total(stream, row[_FIXED:]) for row in rows}
    return ControlTotals(len(table), digest, sums, {row[:3]: row[3] for row in rows})


def _total(stream: Stream, sums: tuple[Any, ...]) -> dict[str, Decimal]:
    totals = dict.fromkeys(stream.money, Decimal())
    for name, part in zip(cycle(stream.money), sums, strict=False):
        totals[name] = EXACT.add(totals[name], Decimal(part or 0))
    return totals
