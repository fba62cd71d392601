"""Control totals of a set of rows: count, digest of ids, sums of amounts."""

from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from itertools import cycle
from typing import Any

import duckdb
import pyarrow as pa

from svc_analytics.interrupts import interruptible
from svc_analytics.money import EXACT
from svc_analytics.schema import Stream


@dataclass(frozen=True)
class ControlTotals:
    """Control totals of a set of rows; those of parts add up to those of the whole."""

    rows: int = 0
    ids_digest: int = 0  # exclusive or of the MD5 of every id: the order does not matter
    sums: dict[str, dict[str, Decimal]] = field(default_factory=dict)  # by currency and column

    def __add__(self, other: "ControlTotals") -> "ControlTotals":
        sums = {currency: dict(amounts) for currency, amounts in self.sums.items()}
        for currency, amounts in other.sums.items():
            total = sums.setdefault(currency, {})
            for name, value in amounts.items():
                total[name] = EXACT.add(total.get(name, Decimal()), value)
        return ControlTotals(self.rows + other.rows, self.ids_digest ^ other.ids_digest, sums)

    def __sub__(self, other: "ControlTotals") -> "ControlTotals":
        negated = {
            currency: {name: EXACT.minus(value) for name, value in amounts.items()}
            for currency, amounts in other.sums.items()
        }
        return self + ControlTotals(-other.rows, other.ids_digest, negated)

    def is_same(self, other: "ControlTotals") -> bool:
        """Tell whether both are of the same rows, whatever currencies add up to zero."""
        rest = self - other
        amounts = (value for amounts in rest.sums.values() for value in amounts.values())
        return not (rest.rows or rest.ids_digest or any(amounts))

    def __str__(self) -> str:
        return f"{self.rows:,} rows, ids {self.ids_digest:032x}"


@interruptible()
def control_totals(stream: Stream, table: pa.Table) -> ControlTotals:
    """Return the control totals of a table of a stream's rows; sums are exact."""
    if not len(table):
        return ControlTotals()
    with _connection().cursor() as cursor:
        # Only the columns needed: registering one takes longer than summing a hundred rows.
        cursor.register("t", table.select(["currency", "id", *stream.money]))
        try:
            rows = _sum(cursor, stream, "sum({0})")
        except duckdb.OutOfRangeException:
            # More than 38 digits: whole and fractional parts fit when summed separately.
            rows = _sum(cursor, stream, "sum(trunc({0})::hugeint)", "sum({0} % 1)")
    digest = 0
    for row in rows:
        digest ^= row[1]
    return ControlTotals(len(table), digest, {row[0]: _total(stream, row[2:]) for row in rows})


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """Return the process's one connection: starting DuckDB costs more than a count."""
    return duckdb.connect(config={"threads": 1})


def _sum(cursor: duckdb.DuckDBPyConnection, stream: Stream, *forms: str) -> list[tuple[Any, ...]]:
    """Return per currency a digest of its ids, and the sums of all its amounts."""
    sums = ", ".join(form.format(name) for form in forms for name in stream.money)
    query = f"select currency, bit_xor(md5_number(id)), {sums} from t group by currency"
    return cursor.execute(query).fetchall()


def _total(stream: Stream, sums: tuple[Any, ...]) -> dict[str, Decimal]:
    totals = dict.fromkeys(stream.money, Decimal())
    for name, part in zip(cycle(stream.money), sums, strict=False):
        totals[name] = EXACT.add(totals[name], Decimal(part or 0))
    return totals
