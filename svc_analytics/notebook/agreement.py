"""Whether the figures of a statement are what its tables add up to, to the last digit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

from svc_analytics.messages import Message

if TYPE_CHECKING:
    import pyarrow as pa

    from svc_analytics.statements.statement import Statement

Claim = str | Sequence[str] | Callable[["Statement"], "pa.Table"]
_DIGITS = 76  # enough for every sum of money; Python's decimals keep 28 unless told


def compared(statement: Statement, claims: Mapping[str, Claim]) -> Message:
    """Return how many figures agree with what they are claimed to be made of.

    Raises `AssertionError` that names the first figure that does not.
    """
    rows = statement.tables["summary"].to_pylist()
    count = 0
    for figure, claim in claims.items():
        for row in rows:
            stated, claimed = row[figure], _claimed(statement, claim, row)
            if stated is None or claimed is None:
                continue
            count += 1
            if stated != claimed:
                raise AssertionError(_difference(figure, claim, row, claimed))
    unknown = len(claims) * len(rows) - count
    agree = Message("agreement.agree", count=count)
    return Message("agreement.skipped", agree=agree, count=unknown) if unknown else agree


def _difference(figure: str, claim: Claim, row: dict[str, Any], claimed: Decimal | int) -> Message:
    facts = {"figure": figure, "coin": row["currency"], "stated": row[figure], "claimed": claimed}
    if callable(claim):
        return Message("agreement.rows_differ", **facts)
    parts = claim if isinstance(claim, str) else " + ".join(claim)
    return Message("agreement.sum_differs", parts=parts, **facts)


def _claimed(statement: Statement, claim: Claim, row: dict[str, Any]) -> Decimal | int | None:
    """Reckon a claim for the coin of a row; None where a part is unknown."""
    coin = row["currency"]
    if callable(claim):
        return len(list(_values(claim(statement), "currency", coin)))
    if not isinstance(claim, str):
        return _sum([row[name] for name in claim])
    name, _, column = claim.partition(".")
    values = list(_values(statement.tables[name], column or "currency", coin))
    return _sum(values) if column else len(values)


def _values(table: pa.Table, column: str, coin: str) -> Iterator[Any]:
    pairs = zip(table["currency"].to_pylist(), table[column].to_pylist(), strict=True)
    return (value for currency, value in pairs if currency == coin)


def _sum(values: Sequence[Any]) -> Decimal | None:
    with localcontext(prec=_DIGITS):
        return None if None in values else sum(values, Decimal())
