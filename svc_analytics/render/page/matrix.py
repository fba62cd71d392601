"""Refund cohorts as a matrix: months of payment down, months of refund across."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.formatting.cells import Cell, number_cell, unknown_cell
from svc_analytics.formatting.display import lined_up
from svc_analytics.formatting.numbers import COIN, RATIO, scale_of
from svc_analytics.formatting.standing import NOWHERE, Standing, running

MOST_MONTHS = 12  # on a page; older ones are in the table itself
MOST_PLACES = 8  # of an amount below a share, so that twelve months fit the paper
STEPS = 5  # shades
_NO_RATIO = "undefined: nothing was charged"
_NO_AMOUNT = "unknown"
_NOTHING = Cell("")


@dataclass(frozen=True)
class CohortCell:
    """The refunds in one month of the payments of one month."""

    ratio: Cell = _NOTHING
    amount: Cell = _NOTHING
    shade: int = 0  # from 0, nothing, to STEPS, the highest ratio of the matrix

    @property
    def hover(self) -> str:
        """Every digit of both, or why one is unknown."""
        if not self.ratio.hover and not self.amount.hover:
            return ""
        return ", ".join(each.hover or each.text for each in (self.ratio, self.amount))


@dataclass(frozen=True)
class Matrix:
    """The refunds of one coin in its newest months."""

    currency: str
    months: list[str]  # of refunds
    rows: list[tuple[str, Cell, list[CohortCell]]]  # month of payment, its charged total, cells
    is_cut: bool

    @property
    def hides_digits(self) -> bool:
        """Whether it shows a rounded number."""
        crossings = [crossing for *_, row in self.rows for crossing in row]
        return any(each.ratio.exact or each.amount.exact for each in crossings) or any(
            charged.exact for _, charged, _ in self.rows
        )


def matrices(cohorts: pa.Table, standing: Standing = NOWHERE) -> Iterator[Matrix]:
    """Yield a matrix for each coin that has refunds of known payments."""
    rows = cohorts.to_pylist()
    for currency in sorted({row["currency"] for row in rows}):
        own = [row for row in rows if row["currency"] == currency]
        yield _matrix(currency, own, standing)


def _matrix(currency: str, rows: list[dict[str, Any]], standing: Standing) -> Matrix:
    across = sorted({row["refund_month"] for row in rows})
    down = sorted({row["payment_month"] for row in rows})
    shown_across, shown_down = across[-MOST_MONTHS:], down[-MOST_MONTHS:]
    scale = scale_of(standing.scales, currency)
    by_months = {(row["payment_month"], row["refund_month"]): row for row in rows}
    charged = {row["payment_month"]: row["charged_total"] for row in rows}
    most = max((row["ratio"] or Decimal() for row in rows), default=Decimal())
    totals = lined_up([[_amount(charged[paid], scale)] for paid in shown_down])
    shown_rows = [
        (
            _month(paid, standing),
            total,
            [_cell(by_months.get((paid, back)), most, scale) for back in shown_across],
        )
        for paid, [total] in zip(shown_down, totals, strict=True)
    ]
    months = [_month(back, standing) for back in shown_across]
    is_cut = len(across) > len(shown_across) or len(down) > len(shown_down)
    return Matrix(currency, months, shown_rows, is_cut)


def _month(month: str, standing: Standing) -> str:
    return running(month) if standing.is_running(month) else month


def _cell(row: dict[str, Any] | None, most: Decimal, scale: int | None) -> CohortCell:
    if row is None:
        return CohortCell()
    ratio: Decimal | None = row["ratio"]
    if ratio is None:
        percent = unknown_cell(_NO_RATIO, is_number=True)
    else:
        percent = number_cell(ratio, RATIO)
    places = None if scale is None else min(scale, MOST_PLACES)
    shade = -(-STEPS * ratio // most) if ratio and most else Decimal()
    return CohortCell(percent, _amount(row["refunds_paid"], places), int(shade))


def _amount(value: Decimal | None, scale: int | None) -> Cell:
    if value is None:
        return unknown_cell(_NO_AMOUNT, is_number=True)
    return number_cell(value, COIN, scale)
