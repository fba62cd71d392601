"""`datapackage.json`: the tables of a statement as a Data Package (https://datapackage.org).

Any tool that knows this standard finds each column's type, unit and meaning. An amount is a
text there, held to a pattern of digits: many tools read its type number as binary floats.
"""

import json
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.books.presets.csv_files import PLAIN_MEANINGS
from svc_analytics.formatting.cells import COIN, COUNT, PLAIN, RATE, RATIO, USD, kind_of
from svc_analytics.formatting.values import is_exact_number
from svc_analytics.render import journal
from svc_analytics.render.document import Document
from svc_analytics.render.figures import meaning
from svc_analytics.schema import MONEY
from svc_analytics.warehouse.figures import GLOSSARY, label_of, read_figures
from svc_analytics.warehouse.view_builder import FINDINGS, public_models

DATA_PACKAGE = "datapackage.json"
_PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
_DESCRIPTION = (
    "The tables of a statement. An amount is a decimal number written as text, in the coin of its "
    "row unless its unit says otherwise: read it with a decimal type of 38 digits, since binary "
    "floating point loses digits. An empty cell is unknown or undefined, never zero. A text that a "
    "spreadsheet would take for a formula has an apostrophe before it."
)
_OF_AMOUNTS = "An exact decimal, written as text."
_DECIMAL = {
    "constraints": {"pattern": r"-?[0-9]+(\.[0-9]+)?"},
    "rdfType": "http://www.w3.org/2001/XMLSchema#decimal",
}
_FORMS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
# Files that are no tables of the statement, and are tables all the same.
_OTHERS = {
    "definitions": "what each figure means. Grain: one row per figure.",
    "journal": "the movements as entries that sum to zero. Grain: one row per posting.",
    "books": "the entries of the books in USD. Grain: one row per line of an entry.",
    "restatement": "what differs from the version before, and why. Grain: one row per difference.",
    "months": "the months of the period. Grain: one row per month and coin.",
    "trend": "the months up to the statement's own. Grain: one row per month and coin.",
}
_TYPED = {
    **dict.fromkeys(("amount", "debit", "credit"), MONEY),
    **dict.fromkeys(("entry_no", "line_no"), pa.int64()),
    "day": pa.date32(),
    "needs_review": pa.bool_(),
}


def write_datapackage(statement: Document, folder: Path, files: Collection[str]) -> dict[str, int]:
    """Describe those of a statement's files that are tables; return how many there are.

    Nothing is written where none is. Of a table in both forms the CSV is described.
    """
    resources = [_resource(statement, *each) for each in _tables(files)]
    if not resources:
        return {}
    label = statement.period.folder
    package = {
        "$schema": _PROFILE,
        "name": re.sub("[^a-z0-9._-]", "-", f"statement-{label.lower()}"),
        "title": f"Statement {label}",
        "description": _DESCRIPTION,
        "resources": resources,
    }
    text = json.dumps(package, ensure_ascii=False, indent=2)
    (folder / DATA_PACKAGE).write_text(f"{text}\n", encoding="utf-8", newline="\n")
    return {DATA_PACKAGE: len(resources)}


def _tables(files: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the names of tables with the form that is described, in the order of their files."""
    parts = (file.rpartition(".") for file in files)
    for stem in dict.fromkeys(stem for stem, _, suffix in parts if suffix in _FORMS):
        yield stem, "csv" if f"{stem}.csv" in files else "parquet"


def _resource(statement: Document, name: str, form: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "table",
        "path": f"{name}.{form}",
        "format": form,
        "mediatype": _FORMS[form],
        **({"encoding": "utf-8"} if form == "csv" else {}),
        "description": table_meaning(name) or _OTHERS[name],
        "schema": {
            "fields": [_field(name, field) for field in _schema(statement, name)],
            "missingValues": [""],
        },
    }


def _schema(statement: Document, name: str) -> pa.Schema:
    if name in statement.tables:
        return statement.tables[name].schema
    return pa.schema([(column, _TYPED.get(column, pa.string())) for column in _known()[name]])


def _field(table: str, field: pa.Field) -> dict[str, Any]:
    is_decimal, unit = pa.types.is_decimal(field.type), unit_of(table, field)
    text = column_meaning(table, field.name)
    said = f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""
    return {
        "name": field.name,
        "title": label_of(field.name),
        "type": _type(field.type),
        "description": f"{said} {_OF_AMOUNTS}" if is_decimal else said,
        **({"unit": unit} if unit else {}),
        **(_DECIMAL if is_decimal else {}),
    }


def _type(kind: pa.DataType) -> str:
    """Return the type of a column in a Data Package; of an amount, that of a text."""
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_timestamp(kind):
        return "datetime"
    if pa.types.is_date(kind):
        return "date"
    return "boolean" if pa.types.is_boolean(kind) else "string"


# ---------- What each column of a statement's files means, and what its numbers are of


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
        "books": PLAIN_MEANINGS,
    }


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
