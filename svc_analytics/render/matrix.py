"""Refund cohorts as a matrix: months of payment down, months of refund across."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.formatting.cells import DASH
from svc_analytics.formatting.values import display_text
from svc_analytics.money import EXACT

MOST_MONTHS = 12  # on a page; older ones are in the table itself
STEPS = 5  # shades


@dataclass(frozen=True)
class CohortCell:
    """The refunds in one month of the payments of one month."""

    ratio: str = ""
    amount: str = ""
    shade: int = 0  # from 0, nothing, to STEPS, the highest ratio of the matrix


@dataclass(frozen=True)
class Matrix:
    """The refunds of one coin in its newest months."""

    currency: str
    months: list[str]  # of refunds
    rows: list[tuple[str, str, list[CohortCell]]]  # month of payment, its charged total, cells
    is_cut: bool


def matrices(cohorts: pa.Table) -> Iterator[Matrix]:
    """Yield a matrix for each coin that has refunds of known payments."""
    rows = cohorts.to_pylist()
    for currency in sorted({row["currency"] for row in rows}):
        yield _matrix(currency, [row for row in rows if row["currency"] == currency])


def _matrix(currency: str, rows: list[dict[str, Any]]) -> Matrix:
    across = sorted({row["refund_month"] for row in rows})
    down = sorted({row["payment_month"] for row in rows})
    shown_across, shown_down = across[-MOST_MONTHS:], down[-MOST_MONTHS:]
    by_months = {(row["payment_month"], row["refund_month"]): row for row in rows}
    charged = {row["payment_month"]: row["charged_total"] for row in rows}
    most = max((row["ratio"] or Decimal() for row in rows), default=Decimal())
    shown_rows = [
        (
            paid,
            _text(charged[paid]),
            [_cell(by_months.get((paid, back)), most) for back in shown_across],
        )
        for paid in shown_down
    ]
    is_cut = len(across) > len(shown_across) or len(down) > len(shown_down)
    return Matrix(currency, shown_across, shown_rows, is_cut)


def _cell(row: dict[str, Any] | None, most: Decimal) -> CohortCell:
    if row is None:
        return CohortCell()
    ratio: Decimal | None = row["ratio"]
    percent = DASH if ratio is None else f"{display_text(ratio.scaleb(2, EXACT), is_ratio=True)}%"
    shade = -(-STEPS * ratio // most) if ratio and most else Decimal()
    return CohortCell(percent, _text(row["refunds_paid"]), int(shade))


def _text(value: Decimal | None) -> str:
    return DASH if value is None else display_text(value)
