"""What moved, to display: from the old figure to the new one part by part, coins side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from svc_analytics.formatting.cells import Cell, number_cell, unknown_cell
from svc_analytics.formatting.display import display_table, lined_up
from svc_analytics.formatting.display_table import DisplayTable
from svc_analytics.formatting.numbers import COIN, RATIO, USD
from svc_analytics.money import EXACT

_UNPRICED = "no USD value: not in the figure"
_MISSING = "to be written"
_MOST = 200  # records on a page; the tables have them all
_SHOWN = (
    *("figure", "currency", "unit", "part", "of", "period", "kind", "occurred_at", "customer"),
    *("order_reference", "receipt_no", "amount", "effect", "record_id"),
)

Row = Mapping[str, Any]
Scales = Mapping[str, int]


def bridges(
    changes: Sequence[Row], parts: Sequence[Row], names: tuple[str, str], scales: Scales
) -> list[DisplayTable]:
    """Return a table for each figure and unit: the old figure, the parts, the new figure."""
    keys = dict.fromkeys((row["figure"], row["unit"]) for row in changes)
    return [
        _bridge(
            [row for row in changes if (row["figure"], row["unit"]) == key],
            [row for row in parts if (row["figure"], row["unit"]) == key],
            names,
            scales,
        )
        for key in keys
    ]


def _bridge(
    changes: Sequence[Row], parts: Sequence[Row], names: tuple[str, str], scales: Scales
) -> DisplayTable:
    coins = [row["currency"] for row in changes]
    amounts = {(row["part"], row["of"], row["currency"]): row for row in parts}
    labels = dict.fromkeys((row["part"], row["of"], row["label"]) for row in parts)
    unit = changes[0]["unit"]
    rows = [[Cell(names[0]), *(_stated(row, "old", scales) for row in changes)]]
    for part, of, label in labels:
        found = [amounts.get((part, of, coin)) for coin in coins]
        cells = [_amount(row, scales) if row else Cell("", is_number=True) for row in found]
        rows.append([Cell(", ".join(filter(None, [label, of]))), *cells])
    rows.append([Cell(names[1]), *(_stated(row, "new", scales) for row in changes)])
    label = changes[0]["label"]
    title = label if unit == "coin" or unit in label else f"{label}, {unit}"
    return DisplayTable(title, ["", *coins], lined_up(rows), len(rows))


def _stated(row: Row, name: str, scales: Scales) -> Cell:
    if row[name] is None:
        return unknown_cell("unknown", is_number=True)
    return number_cell(row[name], _kind(row), scales.get(row["currency"]))


def _amount(row: Row, scales: Scales) -> Cell:
    if row["amount"] is None:
        return unknown_cell(_UNPRICED, is_number=True)
    return number_cell(row["amount"], _kind(row), scales.get(row["currency"]))


def _kind(row: Row) -> str:
    return COIN if row["unit"] == "coin" else USD


def sentences_table(rows: Sequence[Row], scales: Scales) -> DisplayTable:
    """Return the changes that need a sentence or have one, and who wrote and reviewed it."""
    cells = [
        [
            Cell(row["label"], is_fixed=True),
            Cell(row["currency"], is_fixed=True),
            Cell(row["unit"], is_fixed=True),
            number_cell(row["difference"], _kind(row), scales.get(row["currency"]))
            if row["difference"] is not None
            else unknown_cell("unknown", is_number=True),
            _percent(row),
            Cell(row["sentence"] or _MISSING),
            Cell(row["prepared_by"] or ""),
            Cell(row["reviewed_by"] or ""),
        ]
        for row in rows
    ]
    head = [
        "figure",
        "coin",
        "in",
        "change",
        "%",
        "why, in a sentence",
        "prepared by",
        "reviewed by",
    ]
    return DisplayTable("What needs a sentence", head, lined_up(cells), len(cells))


def _percent(row: Row) -> Cell:
    if row["percent"] is None:
        return Cell("n/m", is_number=True)
    return number_cell(row["percent"].scaleb(-2, EXACT), RATIO)


def records_table(records: pa.Table) -> DisplayTable:
    """Return the largest records of each part."""
    return display_table(records, "The largest records of each part", most=_MOST, only=_SHOWN)
