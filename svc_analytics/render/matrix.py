"""Refunds as a matrix: the month of the payment down, the month of the refund across."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.formatting.display import DASH
from svc_analytics.formatting.values import display_text
from svc_analytics.money import EXACT

MOST_MONTHS = 12  # across the paper; older ones are in the table itself
STEPS = 5  # shades


@dataclass(frozen=True)
class CohortCell:
    """What came back in one month of one month's payments."""

    ratio: str = ""
    amount: str = ""
    shade: int = 0  # from 0, nothing, to STEPS, the most of the matrix


@dataclass(frozen=True)
class Matrix:
    """The refunds of one coin, the newest months of them."""

    currency: str
    months: list[str]  # of refunds
    rows: list[tuple[str, str, list[CohortCell]]]  # month of payment, its charged total, crossings
    is_cut: bool


def matrices(cohorts: pa.Table) -> Iterator[Matrix]:
    """Yield a matrix for each coin with refunds whose payments are known."""
    rows = cohorts.to_pylist()
    for currency in sorted({row["currency"] for row in rows}):
        yield _matrix(currency, [row for row in rows if row["currency"] == currency])


def _matrix(currency: str, rows: list[dict[str, Any]]) -> Matrix:
    across = sorted({row["refund_month"] for row in rows})
    down = sorted({row["payment_month"] for row in rows})
    shown_across, shown_down = across[-MOST_MONTHS:], down[-MOST_MONTHS:]
    found = {(row["payment_month"], row["refund_month"]): row for row in rows}
    charged = {row["payment_month"]: row["charged_total"] for row in rows}
    most = max((row["ratio"] or Decimal() for row in rows), default=Decimal())
    return Matrix(
        currency,
        shown_across,
        [
            (
                paid,
                _text(charged[paid]),
                [_crossing(found.get((paid, back)), most) for back in shown_across],
            )
            for paid in shown_down
        ],
        len(across) > len(shown_across) or len(down) > len(shown_down),
    )


def _crossing(row: dict[str, Any] | None, most: Decimal) -> CohortCell:
    if row is None:
        return CohortCell()
    ratio: Decimal | None = row["ratio"]
    percent = DASH if ratio is None else f"{display_text(ratio.scaleb(2, EXACT), is_ratio=True)}%"
    shade = -(-STEPS * ratio // most) if ratio and most else Decimal()
    return CohortCell(percent, _text(row["refunds_paid"]), int(shade))


def _text(value: Decimal | None) -> str:
    return DASH if value is None else display_text(value)
