"""Tables as CSV, as JSON, as text for a terminal, and as pandas frames."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.formatting.sanitize import escape_formula, single_line
from svc_analytics.formatting.standing import frame_attributes
from svc_analytics.formatting.values import (
    display_text,
    is_exact_number,
    is_ratio,
    rows_of,
    text_rows,
    value_text,
)

if TYPE_CHECKING:
    import pandas as pd


LONGEST_CELL = 48


def to_csv(table: pa.Table) -> str:
    """Write a table as CSV: plain decimals, instants in UTC with Z, empty for NULL."""
    return "".join(map(csv_line, [table.column_names, *text_rows(table)]))


def to_safe_csv(table: pa.Table) -> str:
    """Write a table as CSV for spreadsheets: texts like formulas are escaped."""
    texts = [place for place, field in enumerate(table.schema) if pa.types.is_string(field.type)]
    rows = list(text_rows(table))
    for row in rows:
        for place in texts:
            row[place] = escape_formula(row[place])
    return "".join(map(csv_line, [table.column_names, *rows]))


def csv_line(texts: Iterable[str]) -> str:
    """Write one line of CSV."""
    return f"{','.join(map(_quote, texts))}\n"


def _quote(text: str) -> str:
    # Python's own csv does not quote a lone carriage return where lines end with \n.
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in '",\r\n') else text


def to_objects(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as objects for JSON: decimals and instants as text, NULL as null."""
    ratios = [is_ratio(field) for field in table.schema]
    return [
        {
            name: _plain(value, flag)
            for name, value, flag in zip(table.column_names, row, ratios, strict=True)
        }
        for row in rows_of(table)
    ]


def to_json(document: Any) -> str:
    """Write one JSON document."""
    return json.dumps(document, ensure_ascii=False, indent=2, default=value_text)


def to_text(table: pa.Table, longest: int | None = LONGEST_CELL) -> str:
    """Write a table for a terminal: numbers to the right, text to the left.

    Cells longer than `longest` letters are cut; with None, none is.
    """
    rights = [is_exact_number(field) or pa.types.is_floating(field.type) for field in table.schema]
    cut = partial(_cut, longest=longest)
    rows = [list(map(cut, row)) for row in text_rows(table, display_text)]
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


def _plain(value: Any, is_ratio: bool) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON has no such numbers
    if isinstance(value, (Decimal, datetime, date, bytes)):
        return value_text(value, is_ratio=is_ratio)
    if isinstance(value, list):
        return [_plain(item, False) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item, False) for name, item in value.items()}
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
