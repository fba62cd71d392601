"""How a statement's figures are shown to people: groups, units, and why one is unknown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.legible import visible
from svc_analytics.models import read_statement_macros
from svc_analytics.money import EXACT
from svc_analytics.render.cells import is_ratio, shown

if TYPE_CHECKING:
    from svc_analytics.statements import Statement

DASH = "\N{EN DASH}"
GROUPS = {
    "Sales": (
        *("payments_count", "payers_count", "gross_sales", "charged_total"),
        *("payment_fees", "net_sales"),
    ),
    "Refunds": (
        *("refunds_count", "refunds_paid", "refunds_debited", "refunds_same_period"),
        *("refunds_prior_period", "refunds_unresolved", "fee_leakage", "open_refundable"),
    ),
    "Payouts": ("payouts_count", "payouts_sent", "payout_fees", "payouts_debited"),
    "Settlement": ("total_fees_borne", "net_settlement", "rail_movement"),
    "Position": ("opening_position", "closing_position"),
    "Ratios": (
        *("effective_fee_rate", "refund_ratio_period", "refund_ratio_cohort"),
        "refunded_payments_ratio",
    ),
    "USD": (
        *("usd_gross", "usd_net_sales", "usd_fees", "usd_refunds", "usd_payouts"),
        *("implied_rate", "implied_rate_at", "usd_exposure"),
    ),
    "Receipts": ("receipts_checked", "receipts_valid", "attested_ratio"),
}
_KEYS = ("period", "currency")
_DENOMINATORS = {
    "effective_fee_rate": "gross_sales",
    "refund_ratio_period": "charged_total",
    "refund_ratio_cohort": "charged_total",
    "refunded_payments_ratio": "payments_count",
    "attested_ratio": "charged_total",
}
_USD_RATES = ("implied_rate", "implied_usd_rate", "rate", "low", "median", "high")
_NOT_MONEY = ("line_no", "entry_no", "days_to_refund", "version")


@dataclass(frozen=True)
class Cell:
    """One value as it is shown: its text, its unit, and a note for who points at it."""

    text: str
    unit: str = ""
    note: str = ""
    is_number: bool = False
    is_fixed: bool = False  # never broken into two lines

    @property
    def look(self) -> str:
        """The classes of its place in a page."""
        kind = "n" if self.is_number else "fixed" if self.is_fixed else "text"
        return f"{kind} unknown" if self.note else kind

    @property
    def is_foreign(self) -> bool:
        """Whether its text may run from right to left and must be set apart."""
        return not self.text.isascii() and not self.note


@dataclass(frozen=True)
class Figure:
    """One named number of the summary."""

    name: str
    label: str
    meaning: str
    cell: Cell


def summary_groups(statement: Statement, row: dict[str, Any]) -> Iterator[tuple[str, list[Figure]]]:
    """Yield a currency's figures group by group; columns of no group come last."""
    fields = {field.name: field for field in statement.tables["summary"].schema}
    known = {name for names in GROUPS.values() for name in names}
    other = tuple(name for name in fields if name not in known and name not in _KEYS)
    for title, names in (GROUPS | {"Other": other}).items():
        figures = [
            Figure(
                name,
                label(name),
                meaning("summary", name),
                figure_cell(statement, row, fields[name]),
            )
            for name in names
            if name in fields
        ]
        if figures:
            yield title, figures


def cells_of(table: pa.Table, row: tuple[Any, ...], why: str = "unknown") -> list[Cell]:
    """Return a table's row as cells, with its own currency beside its amounts."""
    names = table.column_names
    currency = str(row[names.index("currency")] or "") if "currency" in names else ""
    return [
        cell_of(value, field, currency, why) for value, field in zip(row, table.schema, strict=True)
    ]


def cell_of(value: Any, field: pa.Field, currency: str, why: str = "unknown") -> Cell:
    """Show a value of a column; a NULL is a dash that says why."""
    is_number = bool(pa.types.is_decimal(field.type) or pa.types.is_integer(field.type))
    if value is None:
        return Cell(DASH, note=why if is_number else "none stated", is_number=is_number)
    if is_ratio(field):
        percentage = shown(value.scaleb(2, EXACT), is_ratio=True)
        return Cell(percentage, "%", is_number=True)
    if is_number:
        is_whole = field.name in _NOT_MONEY
        text = str(value) if is_whole else shown(value)
        return Cell(text, unit_of(field, currency), is_number=True)
    return Cell(_plain(value), is_fixed=isinstance(value, date))


def unit_of(field: pa.Field, currency: str) -> str:
    """Return what an amount of a column is counted in."""
    if not pa.types.is_decimal(field.type) or field.name == "fee_percent":
        return ""
    if field.name in _USD_RATES:
        return f"USD per {currency}"
    return "USD" if field.name.startswith("usd_") else currency


def label(name: str) -> str:
    """Write a column's name for people.

    >>> label("usd_net_sales"), label("gross_sales")
    ('USD net sales', 'Gross sales')
    """
    words = name.replace("_", " ")
    return "USD" + words[3:] if words.startswith("usd ") else words[:1].upper() + words[1:]


@cache
def _meanings() -> dict[tuple[str, str], str]:
    return {
        (macro.name.removeprefix("statement_"), name): text
        for macro in read_statement_macros()
        for name, text in macro.columns.items()
    }


def meaning(table: str, column: str) -> str:
    """Return what a column holds, as its SQL says."""
    return _meanings().get((table, column), "")


def unread(statement: Statement) -> str:
    """Say why figures of what was not read are unknown."""
    reasons = [reason.text for reason in statement.reasons if not reason.is_unfinished]
    return f"unknown: {'; '.join(reasons)}" if reasons else "unknown or undefined"


def figure_cell(statement: Statement, row: dict[str, Any], field: pa.Field) -> Cell:
    """Show a figure of the summary; an unknown one says why."""
    currency = str(row["currency"])
    value = row[field.name]
    return cell_of(value, field, currency, _why(statement, row, field.name))


def _why(statement: Statement, row: dict[str, Any], name: str) -> str:
    """Say why a figure of the summary has no value."""
    if name in GROUPS["Receipts"]:
        return "unknown: no receipt of the period was verified"
    denominator = _DENOMINATORS.get(name)
    if denominator and row.get(denominator) == 0:
        return f"undefined: {label(denominator).lower()} is zero"
    if name.endswith("_position"):
        return "unknown: the history was not read whole from its proven start"
    if name == "usd_exposure" and row.get("closing_position") is None:
        return "unknown: the closing position is"
    is_priced_figure = name.startswith(("usd_", "implied_"))
    stream = "refunds_count" if name in ("usd_refunds", "usd_payouts") else "payments_count"
    if is_priced_figure and row.get(stream) is not None:
        return "unknown: no record of it carries a USD value"
    return unread(statement)


def _plain(value: Any) -> str:
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.isoformat(sep=" ")
    return visible(shown(value))
