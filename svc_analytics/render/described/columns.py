"""What each column of a statement's files means, and what its numbers are of."""

from functools import cache

import pyarrow as pa

from svc_analytics.books.presets import csv_file
from svc_analytics.formatting.numbers import COIN, COUNT, PLAIN, RATE, RATIO, USD, kind_of
from svc_analytics.formatting.values import is_exact_number
from svc_analytics.render import journal
from svc_analytics.render.figures import meaning
from svc_analytics.warehouse.definitions import GLOSSARY
from svc_analytics.warehouse.figures import read_figures
from svc_analytics.warehouse.view_builder import FINDINGS, public_models

OF_FIGURES = ("summary", "months", "trend")  # tables whose columns are figures
_STATEMENT = "statement_"
# Columns that no SQL makes: the statement adds them.
_ADDED = {
    "lines": {"flags": "the rules that the movement breaks, with spaces between"},
    "checks": {
        "acknowledged_reason": "why a person accepted the finding; empty where nobody did",
        "acknowledged_by": "who accepted it",
    },
    "restatement": {
        "subject": "what differs: a figure, a record or a finding",
        "table_name": "the table in which it differs",
        "name": "the figure, or the id of the record",
        "currency": "coin slug; empty where none applies",
        "change": "whether it was added, removed or changed",
        "cause": "what happened to the records since the version before",
        "old_value": "what the version before says",
        "new_value": "what this version says",
        "delta": "the new value less the old one, in the coin or unit of the figure",
        "detail": "what happened, in words",
    },
}
_OF_EACH = {"month": "the month, as text 2026-10", "currency": "coin slug"}
_METADATA = "metadata."
_UNITS = {COIN: "coin", USD: "USD", RATE: "USD per coin", RATIO: "ratio", COUNT: "count"}


@cache
def _known() -> dict[str, dict[str, str]]:
    """The columns of each file that is no table of figures, with their meanings."""
    findings = next(columns for model, columns in public_models() if model.name == FINDINGS.name)
    return {
        "checks": {**findings, **_ADDED["checks"]},
        "lines": _ADDED["lines"],
        "restatement": _ADDED["restatement"],
        "definitions": GLOSSARY,
        "journal": journal.COLUMNS,
        "books": csv_file.HEADER,
    }


def columns_of(name: str) -> list[str]:
    """Return the columns of a file that is no table of the statement."""
    return [*_known()[name]]


def column_meaning(table: str, column: str) -> str:
    """Return the meaning of a column of a statement's table, or of a file beside them."""
    if column.startswith(_METADATA):
        return f"the property {column.removeprefix(_METADATA)!a} of the payment's metadata"
    text = meaning(table, column) or _known().get(table, {}).get(column, "")
    return text or (_OF_EACH.get(column, "") if table in OF_FIGURES else "")


def table_meaning(table: str) -> str:
    """Return the meaning of a table and of its rows, as its SQL says; "" where none does."""
    named = {model.name: model for model, _ in public_models()}
    model = named.get(f"{_STATEMENT}{table}")
    return f"{model.meaning} Grain: {model.grain}." if model else ""


def unit_of(table: str, field: pa.Field) -> str:
    """Return the unit of a column's numbers; "" for what is no number."""
    if not is_exact_number(field):
        return ""
    figure = read_figures().get(field.name)
    if table in OF_FIGURES and figure:
        return figure.unit
    if field.name == "value":
        return "as the column unit says"
    kind = kind_of(field)
    return ("percent" if field.name.endswith("percent") else "") if kind == PLAIN else _UNITS[kind]
