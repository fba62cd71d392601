"""Control figures of a set of rows: how many, which ids, and what their amounts add up to."""

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
    """Control figures of a set of rows; adding tallies gives the tally of all their rows."""

    rows: int = 0
    ids_digest: int = 0  # exclusive or of the MD5 of every id: the order does not matter
    totals: dict[str, dict[str, Decimal]] = field(default_factory=dict)

    def __add__(self, other: "ControlTotals") -> "ControlTotals":
        totals = {currency: dict(sums) for currency, sums in self.totals.items()}
        for currency, sums in other.totals.items():
            mine = totals.setdefault(currency, {})
            for name, value in sums.items():
                mine[name] = EXACT.add(mine.get(name, Decimal()), value)
        return ControlTotals(self.rows + other.rows, self.ids_digest ^ other.ids_digest, totals)

    def __sub__(self, other: "ControlTotals") -> "ControlTotals":
        totals = {
            currency: {name: EXACT.minus(value) for name, value in sums.items()}
            for currency, sums in other.totals.items()
        }
        return self + ControlTotals(-other.rows, other.ids_digest, totals)

    def is_same(self, other: "ControlTotals") -> bool:
        """Tell whether both are of the same rows; a currency of nothing but zeros says nothing."""
        left = self - other
        sums = (value for sums in left.totals.values() for value in sums.values())
        return not (left.rows or left.ids_digest or any(sums))

    def __str__(self) -> str:
        return f"{self.rows:,} rows, ids {self.ids_digest:032x}"


@interruptible()
def control_totals(stream: Stream, table: pa.Table) -> ControlTotals:
    """Return the control figures of a table of the stream's rows; their sums are exact."""
    with _engine().cursor() as cursor:
        # Only what is asked for: registering a column takes longer than summing a hundred.
        cursor.register("t", table.select(["currency", "id", *stream.money]))
        try:
            rows = _sum(cursor, stream, "sum({0})")
        except duckdb.OutOfRangeException:
            # Past 38 digits: whole and fractional parts fit when summed apart.
            rows = _sum(cursor, stream, "sum(trunc({0})::hugeint)", "sum({0} % 1)")
    digest = 0
    for row in rows:
        digest ^= row[1]
    return ControlTotals(len(table), digest, {row[0]: _total(stream, row[2:]) for row in rows})


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    """One for the process: it holds nothing, and takes longer to start than to count."""
    return duckdb.connect(config={"threads": 1})


def _sum(cursor: duckdb.DuckDBPyConnection, stream: Stream, *forms: str) -> list[tuple[Any, ...]]:
    """Sum each form of all amounts, form by form."""
    sums = ", ".join(form.format(name) for form in forms for name in stream.money)
    query = f"select currency, bit_xor(md5_number(id)), {sums} from t group by currency"
    return cursor.execute(query).fetchall()


def _total(stream: Stream, sums: tuple[Any, ...]) -> dict[str, Decimal]:
    """Add up the parts of each amount's sum."""
    totals = dict.fromkeys(stream.money, Decimal())
    for name, part in zip(cycle(stream.money), sums, strict=False):
        totals[name] = EXACT.add(totals[name], Decimal(part or 0))
    return totals
