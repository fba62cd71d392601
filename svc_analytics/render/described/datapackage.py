"""`datapackage.json`: the tables of a statement as a Data Package (https://datapackage.org).

Any tool that knows this standard finds each column's type, unit and meaning. An amount is a
text there, held to a pattern of digits: many tools read its type number as binary floats.
"""

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.render.described.columns import (
    column_meaning,
    columns_of,
    table_meaning,
    unit_of,
)
from svc_analytics.render.document import Document
from svc_analytics.schema import MONEY
from svc_analytics.warehouse.definitions import label_of

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
    known: dict[str, set[str]] = {}
    for stem, _, suffix in (file.rpartition(".") for file in files):
        if suffix in _FORMS:
            known.setdefault(stem, set()).add(suffix)
    for stem, suffixes in known.items():
        yield stem, "csv" if "csv" in suffixes else "parquet"


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
    return pa.schema([(column, _TYPED.get(column, pa.string())) for column in columns_of(name)])


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
