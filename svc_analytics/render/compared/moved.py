"""What moved, to display: from the old figure to the new one part by part, coins side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.cells import Cell, number_cell, unknown_cell
from svc_analytics.formatting.display import display_table, lined_up
from svc_analytics.formatting.display_table import DisplayTable
from svc_analytics.formatting.numbers import COIN, RATIO, USD
from svc_analytics.messages import Message
from svc_analytics.money import EXACT
from svc_analytics.warehouse.figures import in_sentence

_UNPRICED = "no USD value: not in the figure"
_MISSING = "to be written"
_HEAD = ["figure", "coin", "in", "change", "%", "why", "prepared by", "reviewed by"]
_NOTHING = Cell("", is_number=True)
_SHOWN = (
    *("currency", "unit", "part", "of", "place", "period", "kind", "occurred_at", "customer"),
    *("order_reference", "receipt_no", "amount", "effect", "record_id"),
)
_OURS = {"unit", "part", "of", "kind"}  # of these columns, those that hold words of ours

Row = Mapping[str, Any]


@dataclass(frozen=True)
class MovedTables:
    """What moved, to display: table by table, and the records that add most, to open."""

    line: str  # what holds of every table
    bridges: list[DisplayTable]
    sentences: list[DisplayTable]  # one at most: what people wrote, and what is to be written
    records: list[DisplayTable]


@dataclass(frozen=True)
class Bridges:
    """Makes the tables of what moved; `names` are those of the periods, old and new."""

    names: tuple[str, str]
    scales: Mapping[str, int]
    is_exact: bool = False

    def tables(self, changes: Sequence[Row], parts: Sequence[Row]) -> list[DisplayTable]:
        """Return a table for each figure and unit: the old figure, the parts, the new figure."""
        keys = dict.fromkeys((row["figure"], row["unit"]) for row in changes)
        return [self._table(_of(changes, *key), _of(parts, *key)) for key in keys]

    def sentences(self, changes: Sequence[Row]) -> DisplayTable:
        """Return the changes that need a sentence or have one, and who wrote and reviewed it."""
        cells = [
            [
                *(Cell(row[name], is_fixed=True) for name in ("label", "currency", "unit")),
                self._cell(row, "difference", "unknown"),
                self._percent(row),
                Cell(row["sentence"] or Message(_MISSING)),
                *(Cell(row[name] or "") for name in ("prepared_by", "reviewed_by")),
            ]
            for row in changes
        ]
        return DisplayTable("Sentences on what moved", _HEAD, lined_up(cells), len(cells))

    def _percent(self, row: Row) -> Cell:
        if row["percent"] is None:
            return Cell("n/m", is_number=True)
        return number_cell(row["percent"].scaleb(-2, EXACT), RATIO, is_exact=self.is_exact)

    def _table(self, changes: Sequence[Row], parts: Sequence[Row]) -> DisplayTable:
        coins = [row["currency"] for row in changes]
        amounts = {(row["part"], row["of"], row["currency"]): row for row in parts}
        rows = [self._stated("old", self.names[0], changes)]
        keys = dict.fromkeys((each["part"], each["of"], each["label"]) for each in parts)
        for part, of, text in keys:
            of_coins = [amounts.get((part, of, coin)) for coin in coins]
            cells = [self._cell(row, "amount", _UNPRICED) if row else _NOTHING for row in of_coins]
            rows.append([Cell(_behind(text, of)), *cells])
        rows.append(self._stated("new", self.names[1], changes))
        text, unit = changes[0]["label"], changes[0]["unit"]
        title = _behind(text, "" if unit == "coin" or unit in text else unit)
        whole = frozenset({len(rows) - 1})
        return DisplayTable(title, ["", *coins], lined_up(rows), len(rows), totals=whole)

    def _stated(self, side: str, name: str, changes: Sequence[Row]) -> list[Cell]:
        return [Cell(name, is_fixed=True), *(self._cell(row, side, "unknown") for row in changes)]

    def _cell(self, row: Row, name: str, why: str) -> Cell:
        if row[name] is None:
            return unknown_cell(why, is_number=True)
        kind = COIN if row["unit"] == "coin" else USD
        scale = self.scales.get(row["currency"])
        return number_cell(row[name], kind, scale, is_exact=self.is_exact)


def _of(rows: Sequence[Row], figure: str, unit: str) -> list[Row]:
    return [row for row in rows if (row["figure"], row["unit"]) == (figure, unit)]


def _behind(text: str, more: str) -> Message:
    return Message("{COLUMN}, {UNIT}", COLUMN=text, UNIT=more) if more else Message(text)


def records_tables(records: pa.Table, labels: Mapping[str, str]) -> list[DisplayTable]:
    """Return the largest records of each part, a table for each figure; parts by their labels."""
    tables = []
    for name in pc.unique(records["figure"]).to_pylist():
        own = records.filter(pc.equal(records["figure"], name))
        title = Message("The largest records of each part: {FIGURE}", FIGURE=in_sentence(name))
        table = display_table(own, title, most=len(own), only=_SHOWN)
        rows = [_worded(row, labels) for row in table.rows]
        tables.append(replace(table, rows=rows, caption=""))
    return tables


def _worded(row: Sequence[Cell], labels: Mapping[str, str]) -> list[Cell]:
    """Return a row of `_SHOWN` with the words of ours in it as such."""
    return [
        replace(cell, text=Message(labels.get(cell.text, cell.text))) if name in _OURS else cell
        for name, cell in zip(_SHOWN, row, strict=True)
    ]
