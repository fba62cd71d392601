"""A table as CSV, as JSON, and as text for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.formatting.sanitize import escape_formula, single_line
from svc_analytics.formatting.values import display_text, is_ratio, rows_of, text_rows, value_text

if TYPE_CHECKING:
    import pandas as pd


LONGEST_CELL = 48


def to_csv(table: pa.Table) -> str:
    """Write a table as CSV: plain decimals, instants in UTC with Z, empty for NULL."""
    rows = [table.column_names, *text_rows(table)]
    return "".join(map(csv_line, rows))


def to_safe_csv(table: pa.Table) -> str:
    """Write a table as CSV for spreadsheets: texts that would be formulas are shielded."""
    is_text = [pa.types.is_string(field.type) for field in table.schema]
    rows = (
        [escape_formula(text) if flag else text for text, flag in zip(row, is_text, strict=True)]
        for row in text_rows(table)
    )
    return "".join(map(csv_line, [table.column_names, *rows]))


def csv_line(texts: Iterable[str]) -> str:
    """Write one line of CSV."""
    return f"{','.join(map(_quote, texts))}\n"


def _quote(text: str) -> str:
    # Python's own csv leaves a lone carriage return bare where lines end with \n alone.
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


def to_text(table: pa.Table) -> str:
    """Write a table for a terminal: numbers to the right, text to the left."""
    is_number = [_is_number(field.type) for field in table.schema]
    ratios = [is_ratio(field) for field in table.schema]
    rows = [
        [_cut(display_text(value, is_ratio=flag)) for value, flag in zip(row, ratios, strict=True)]
        for row in rows_of(table)
    ]
    columns = [
        align_decimal_points(list(column)) if number else list(column)
        for column, number in zip(zip(*rows, strict=True), is_number, strict=False)
    ]
    return align(table.column_names, list(map(list, zip(*columns, strict=True))), is_number)


def align(header: list[str], rows: list[list[str]], to_right: Iterable[bool]) -> str:
    """Set columns of text under their header."""
    header = list(map(single_line, header))
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rights = list(to_right)
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
    """Pad numbers on the right, so that set to the right their points stand in line.

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
    if isinstance(value, (Decimal, datetime, date, bytes)):
        return value_text(value, is_ratio=is_ratio)
    if isinstance(value, list):
        return [_plain(item, False) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item, False) for name, item in value.items()}
    return value


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_decimal(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)
    )


def _cut(text: str) -> str:
    line = single_line(text)
    return line if len(line) <= LONGEST_CELL else line[: LONGEST_CELL - 1] + "…"


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return a frame that keeps every digit: Arrow-backed, never float."""
    import pandas as pd

    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame
