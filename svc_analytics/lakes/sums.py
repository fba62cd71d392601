"""The figures of several merchants' statements: of each, and summed per coin, exactly.

A sum with an unknown part is unknown, and says whose part. A ratio is made of sums, never of
ratios. What is counted of single people or found among records is not summed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

from svc_analytics.money import EXACT, INTEGER_DIGITS, RATIO_SCALE, SCALE
from svc_analytics.render.compared.figures import Side, comparable_figures
from svc_analytics.warehouse.figures import Figure, read_figures

TOTAL = "all merchants"
# Parts of ratios that follow from two sums.
_REFUNDED = ("refunded_to_date", "charged_total", "open_refundable")
FIGURES = pa.schema(
    [
        *((name, pa.string()) for name in ("merchant_id", "currency", "figure", "label", "unit")),
        ("value", pa.decimal128(INTEGER_DIGITS + SCALE, SCALE)),
        ("note", pa.string()),  # why there is no value
    ]
)

_TOO_LARGE = "the sum reaches 1e20, and more digits cannot be held"

Row = dict[str, object]


def figures_of(sides: Mapping[str, Side]) -> pa.Table:
    """Return every figure of each merchant, and behind them those of all merchants together.

    `sides` are the statements by merchant.
    """
    coins = sorted({coin for side in sides.values() for coin in side.figures})
    rows = [
        _row(merchant, coin, figure, side.value(coin, figure), side.why(coin, figure))
        for merchant, side in sides.items()
        for coin in coins
        for figure in comparable_figures().values()
    ]
    rows += [row for coin in coins for row in _sums(sides, coin)]
    return pa.Table.from_pylist(rows, FIGURES)


def _sums(sides: Mapping[str, Side], coin: str) -> Iterator[Row]:
    """Yield the figures of one coin over all merchants: sums, then ratios of them."""
    sums: dict[str, Decimal | None] = {}
    for figure in comparable_figures().values():
        if "merchants" in figure.adds:
            parts = {merchant: side.value(coin, figure) for merchant, side in sides.items()}
            lacking = [merchant for merchant, part in parts.items() if part is None]
            sums[figure.name] = None if lacking else _sum(parts)
            why = f"unknown of {', '.join(lacking)}" if lacking else _TOO_LARGE
            yield _row(TOTAL, coin, figure, sums[figure.name], why)
    sums |= _refunded(sums)
    for figure in comparable_figures().values():
        if figure.denominator and sums.keys() >= set(figure.operands):
            part, whole = (sums[name] for name in figure.operands)
            yield _row(TOTAL, coin, figure, ratio(part, whole), _why_no_ratio(figure))


def _sum(parts: Mapping[str, Decimal | None]) -> Decimal | None:
    """Return the sum of what each merchant has; None where it has too many digits to be held.

    >>> _sum({"one": Decimal("99999999999999999999.999999999999999998"), "other": Decimal("1e-18")})
    Decimal('99999999999999999999.999999999999999999')
    """
    total = Decimal(0)
    for part in parts.values():
        total = EXACT.add(total, part or Decimal(0))
    return total if total.copy_abs() < Decimal(10) ** INTEGER_DIGITS else None


def _refunded(sums: Mapping[str, Decimal | None]) -> dict[str, Decimal | None]:
    name, *operands = _REFUNDED
    charged, left = (sums.get(each) for each in operands)
    return {name: None if charged is None or left is None else EXACT.subtract(charged, left)}


def ratio(part: Decimal | None, whole: Decimal | None) -> Decimal | None:
    """Return an exact quotient, rounded once, half up, to 8 places; None of zero or unknown.

    >>> ratio(Decimal(1), Decimal(3)), ratio(Decimal(2), Decimal(0))
    (Decimal('0.33333333'), None)
    """
    if part is None or not whole:
        return None
    exact = Fraction(part) / Fraction(whole)
    steps = int(abs(exact) * 10**RATIO_SCALE + Fraction(1, 2))
    return Decimal(-steps if exact < 0 else steps).scaleb(-RATIO_SCALE, EXACT)


def _why_no_ratio(figure: Figure) -> str:
    """Say in labels why a ratio has no value; its note says the same in both cases."""
    part, whole = (read_figures()[name].label or name for name in figure.operands)
    return f"{part} or {whole} is unknown, or {whole} is zero"


def _row(merchant: str, coin: str, figure: Figure, value: Decimal | None, why: str) -> Row:
    return {
        "merchant_id": merchant,
        "currency": coin,
        "figure": figure.name,
        "label": figure.label,
        "unit": figure.unit,
        "value": value,
        "note": why if value is None else None,
    }
