"""Tables as CSV, as JSON, as text for a terminal, and as pandas frames."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.sanitize import FORMULA, escape_formula, single_line
from svc_analytics.formatting.standing import frame_attributes
from svc_analytics.formatting.values import (
    BATCH,
    changed_where,
    column_texts,
    display_text,
    is_exact_number,
    is_ratio,
    python_values,
    rows_of,
    text_columns,
    value_text,
)

if TYPE_CHECKING:
    import pandas as pd


LONGEST_CELL = 48
_MARKS = '[",\r\n]'  # a text with one of these is quoted
_MARKED = re.compile(_MARKS)


def to_csv(table: pa.Table) -> str:
    """Write a table as CSV: plain decimals, instants in UTC with Z, empty for NULL."""
    return "".join(csv_parts(table))


def to_safe_csv(table: pa.Table) -> str:
    """Write a table as CSV for spreadsheets: texts like formulas are escaped."""
    return "".join(safe for _, safe in csv_pairs(table))


def csv_parts(table: pa.Table) -> Iterator[str]:
    """Yield a table as CSV: its head, then some rows at a time."""
    yield csv_line(table.column_names)
    for columns in text_columns(table):
        yield _csv_lines(columns, table.schema)


def csv_pairs(table: pa.Table) -> Iterator[tuple[str, str]]:
    """Yield a table as CSV as `csv_parts` does, and beside each part what spreadsheets may open."""
    head = csv_line(table.column_names)
    yield head, head
    for columns in text_columns(table):
        lines, safe = _csv_lines(columns, table.schema), _without_formulas(columns, table.schema)
        is_safe = all(map(operator.is_, columns, safe))
        yield lines, lines if is_safe else _csv_lines(safe, table.schema)


def _without_formulas(columns: list[pa.Array], schema: pa.Schema) -> list[pa.Array]:
    """Return columns of texts with those escaped that are like formulas, if any is."""
    return [
        changed_where(column, FORMULA, escape_formula) if pa.types.is_string(field.type) else column
        for column, field in zip(columns, schema, strict=True)
    ]


def _csv_lines(columns: list[pa.Array], schema: pa.Schema) -> str:
    quoted = [
        column if is_exact_number(field) else changed_where(column, _MARKS, _quote)
        for column, field in zip(columns, schema, strict=True)
    ]
    return "\n".join([*pc.binary_join_element_wise(*quoted, ",").to_pylist(), ""])


def csv_line(texts: Iterable[str]) -> str:
    """Write one line of CSV."""
    cells = (_quote(text) if _MARKED.search(text) else text for text in texts)
    return f"{','.join(cells)}\n"


def _quote(text: str) -> str:
    # Python's own csv does not quote a lone carriage return where lines end with \n.
    return '"' + text.replace('"', '""') + '"'


def to_objects(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as objects for JSON: decimals and instants as text, NULL as null."""
    names = table.column_names
    return [
        dict(zip(names, row, strict=True))
        for batch in table.to_batches(max_chunksize=BATCH)
        for row in zip(*map(_plain_column, batch.columns, table.schema), strict=True)
    ]


def _plain_column(column: pa.Array, field: pa.Field) -> list[Any]:
    """Return a column's values for JSON, exact numbers and instants as text."""
    is_text = pa.types.is_decimal(field.type) or pa.types.is_temporal(field.type)
    if is_text or pa.types.is_string(field.type):
        return list(column_texts(column, field).to_pylist())
    return [_plain(value) for value in python_values(column, field.name)]


def to_json(document: Any) -> str:
    """Write one JSON document."""
    return json.dumps(document, ensure_ascii=False, indent=2, default=value_text)


def to_text(table: pa.Table, longest: int | None = LONGEST_CELL) -> str:
    """Write a table for a terminal: numbers to the right, text to the left.

    Cells longer than `longest` letters are cut; with None, none is.
    """
    rights = [is_exact_number(field) or pa.types.is_floating(field.type) for field in table.schema]
    cut = partial(_cut, longest=longest)
    ratios = [is_ratio(field) for field in table.schema]
    rows = [
        [cut(display_text(value, is_ratio=flag)) for value, flag in zip(row, ratios, strict=True)]
        for row in rows_of(table)
    ]
    columns = [
        align_decimal_points(list(column)) if right else list(column)
        for column, right in zip(zip(*rows, strict=True), rights, strict=False)
    ]
    return align(table.column_names, list(map(list, zip(*columns, strict=True))), rights)


def align(header: list[str], rows: list[list[str]], rights: list[bool]) -> str:
    """Write rows in columns under their header, some columns aligned to the right."""
    header = list(map(single_line, header))
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, rights, strict=True)
        ).rstrip()
        for row in [header, rule, *rows]
    ]
    return "\n".join(lines)


def align_decimal_points(cells: list[str]) -> list[str]:
    """Pad numbers on the right, so that right-aligned points are below one another.

    >>> align_decimal_points(["1.25", "3", "-"])
    ['1.25', '3   ', '-   ']
    """
    fractions = [len(cell) - cell.find(".") if _has_point(cell) else 0 for cell in cells]
    longest = max(fractions, default=0)
    return [
        cell if ":" in cell else cell + " " * (longest - fraction)
        for cell, fraction in zip(cells, fractions, strict=True)
    ]


def _has_point(cell: str) -> bool:
    return "." in cell and ":" not in cell


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON has no such numbers
    if isinstance(value, (Decimal, datetime, date, bytes)):
        return value_text(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def _cut(text: str, longest: int | None) -> str:
    line = single_line(text)
    return line if longest is None or len(line) <= longest else line[: longest - 1] + "…"


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return a frame that keeps every digit, Arrow-backed, and its table's standing."""
    import pandas as pd  # takes long to load

    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    frame.attrs.update(frame_attributes(table))
    return frame
