"""The statements of several merchants over one period, beside each other and summed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa

from svc_analytics.formatting.display import Display, names_of, text_table
from svc_analytics.formatting.display_table import DisplayTable
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.tables import to_frame
from svc_analytics.money import (
    EXACT,
    INTEGER_DIGITS,
    RATIO_SCALE,
    SCALE,
    format_amount,
    group_digits,
)
from svc_analytics.periods import Period
from svc_analytics.render.compared.figures import Side, comparable_figures
from svc_analytics.render.standing import standing_text
from svc_analytics.statements.statement import Statement
from svc_analytics.warehouse.figures import Figure, read_figures

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class GroupStatement(Displayable):
    """The figures of several merchants: of each, and summed per coin.

    `statements` has each merchant's own statement, by the merchant's id.
    """

    period: Period
    statements: dict[str, Statement] = field(repr=False)
    table: pa.Table = field(repr=False)

    @property
    def figures(self) -> pd.DataFrame:
        """One row per merchant, coin and figure; those of `all merchants` come last."""
        return to_frame(self.table)

    @property
    def status(self) -> str:
        """`final` when each merchant's statement is, else `provisional`."""
        is_final = all(statement.status == "final" for statement in self.statements.values())
        return "final" if is_final else "provisional"

    @property
    def needs_attention(self) -> bool:
        """Whether anything but a running month keeps one of them from being final."""
        return any(statement.needs_attention for statement in self.statements.values())

    def to_html(self) -> str:
        """Return the same as a page that stands alone."""
        from svc_analytics.render.compared.page import comparison_page  # loads matplotlib

        names = "; ".join(names_of(statement.merchant) for statement in self.statements.values())
        return comparison_page(self._display(), names)

    def _display(self) -> Display:
        own = list(self.statements.items())
        lines = [f"{self.period.title}: {self.period.local_bounds}", f"status: {self.status}"]
        for place, (merchant, statement) in enumerate(own, 1):
            name = single_line(f"{merchant}, {names_of(statement.merchant)}")
            lines.append(f"merchant {place}: {standing_text(statement)} · {name}")
        unknown = [row for row in self._rows(TOTAL) if row["value"] is None]
        names: dict[str, list[str]] = {str(row["note"]): [] for row in unknown}
        for row in unknown:
            names[str(row["note"])].append(f"{row['label']} of {row['currency']}")
        lines += [f"no sum: {', '.join(figures)}: {why}" for why, figures in names.items()]
        title = single_line(f"Statement {self.period.folder} of {len(own)} merchants")
        return Display(title, lines, [self._coin(coin) for coin in self._coins()])

    def _rows(self, merchant: str) -> list[dict[str, object]]:
        return [row for row in self.table.to_pylist() if row["merchant_id"] == merchant]

    def _coins(self) -> list[str]:
        return sorted(set(self.table["currency"].to_pylist()))

    def _coin(self, coin: str) -> DisplayTable:
        """Return a coin's figures: figures down, merchants and their sum across."""
        columns = [*self.statements, TOTAL]
        cells = {
            (row["figure"], row["merchant_id"]): _text(row["value"])
            for row in self.table.to_pylist()
            if row["currency"] == coin
        }
        labels = {row["figure"]: str(row["label"]) for row in self.table.to_pylist()}
        heads = [f"merchant {place}" for place in range(1, len(columns))]
        rows = [
            [labels[name], *(cells.get((name, merchant), "") for merchant in columns)]
            for name in labels
            if any((name, merchant) in cells for merchant in columns)
        ]
        return text_table(coin, [coin, *heads, TOTAL], rows)


def _text(value: object) -> str:
    """Write a figure with every digit; what has no value is a dash."""
    return "–" if value is None else group_digits(format_amount(value))  # type: ignore[arg-type]


# ---------- The figures of several merchants' statements
# Of each, and summed per coin, exactly.
#
# A sum with an unknown part is unknown, and says whose part. A ratio is made of sums, never of
# ratios. What is counted of single people or found among records is not summed.


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
