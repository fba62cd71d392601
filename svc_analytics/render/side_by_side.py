"""A comparison to display: a block for each coin, its figures old, new, difference, per cent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.formatting.cells import Cell, number_cell, unknown_cell
from svc_analytics.formatting.display import lined_up
from svc_analytics.formatting.display_table import DisplayTable
from svc_analytics.formatting.numbers import (
    COUNT,
    RATE,
    RATIO,
    USD,
    kind_of_unit,
    unit_name,
)
from svc_analytics.formatting.standing import running, standing_of
from svc_analytics.instants import DAY
from svc_analytics.messages import KEPT, Message, kept
from svc_analytics.money import EXACT
from svc_analytics.render.comparison import Side, is_to_date
from svc_analytics.warehouse.figures import figure_groups, read_figures

_NOT_MEANINGFUL = "n/m"

Row = Mapping[str, Any]


def head_lines(old: Side, new: Side, *, has_percentage: bool = True) -> list[str]:
    """Head a comparison: which periods, how far each can be relied on, and the meaning of %."""
    unfinished = [
        Message("comparison.running", name=side.name, read_to=side.read_to, NOUN=side.noun)
        for side in (old, new)
        if side.is_running
    ]
    meaning = Message("comparison.meaning", old=old.name, new=new.name)
    standing = standings(old.standing, new.standing)
    return [*standing, *unfinished, *([meaning] if has_percentage else [])]


def standings(old: str, new: str) -> tuple[Message, Message]:
    """Say of which side each standing is."""
    return Message("comparison.old", STANDING=old), Message("comparison.new", STANDING=new)


def age_line(old: Side, new: Side, table: pa.Table) -> str:
    """Say up to when refunds to date were counted on the older side; "" if no figure tells."""
    aged = next((side for side in (old, new) if side.counted_to), None)
    names = [name for name, each in read_figures().items() if is_to_date(each)]
    if aged is None or not set(names) & set(table["figure"].to_pylist()):
        return ""
    days = (aged.age or 0) // DAY
    other = new if aged is old else old
    code = "comparison.one_day" if days == 1 else "comparison.days"
    values = {"name": aged.name, "until": aged.counted_to, "days": days, "other": other.name}
    return Message(code, **values)


def comparison_tables(
    table: pa.Table, old: Side, new: Side, *, is_narrowed: bool = False, is_exact: bool = False
) -> list[DisplayTable]:
    """Return a comparison to display, old, new, difference and percentage beside each other.

    A block for each coin, with the summary's figures in groups. Where it is narrowed to some
    figures, these stand in one table, every coin of one below the other. A table with causes
    holds what differs between two versions: it shows the cause in the place of the percentage.
    """
    rows, has_cause = table.to_pylist(), "cause" in table.column_names
    maker = _Maker(standing_of(table).scales, is_exact)
    heads = [*map(_head, (old, new)), "difference", "cause" if has_cause else "%"]
    if is_narrowed:
        cells = [[Cell(row["currency"], is_fixed=True), *maker.cells(row)] for row in rows]
        return [_table("", ["coin", *heads], cells, list(map(_titled, rows)), rows)]
    shown = rows if has_cause else [row for row in rows if read_figures()[row["figure"]].column]
    groups = list(figure_groups())
    shown.sort(key=lambda row: groups.index(row["group"]))
    return [
        _block(coin, heads, maker, [row for row in shown if row["currency"] == coin])
        for coin in sorted({row["currency"] for row in shown})
    ]


def _head(side: Side) -> str:
    return running(side.name) if side.is_running else side.name


def _block(coin: str, heads: list[str], maker: _Maker, rows: Sequence[Row]) -> DisplayTable:
    cells = [[Cell(_titled(row), is_fixed=True), *maker.cells(row)] for row in rows]
    return _table("", [coin, *heads], cells, [row["group"] for row in rows], rows)


def _table(
    title: str, header: list[str], cells: list[list[Cell]], groups: list[str], rows: Sequence[Row]
) -> DisplayTable:
    starts = [place for place, group in enumerate(groups) if group not in groups[:place][-1:]]
    return DisplayTable(
        title,
        header,
        lined_up(cells),
        len(cells),
        {place: groups[place] for place in starts},
        {place: read_figures()[row["figure"]].hint for place, row in enumerate(rows)},
    )


def _titled(row: Row) -> str:
    """Return a figure's label, with its unit where the coin is not it."""
    kind = kind_of_unit(row["unit"])
    unit = unit_name(kind, row["currency"]) if kind in (USD, RATE) else ""
    if unit in row["label"]:
        return str(row["label"])
    return Message("{COLUMN}, {UNIT}", COLUMN=row["label"], UNIT=unit)


class _Maker:
    """Makes the four cells of a figure: old, new, difference and percentage."""

    def __init__(self, scales: Mapping[str, int], is_exact: bool) -> None:
        self._scales = scales
        self._is_exact = is_exact

    def cells(self, row: Row) -> list[Cell]:
        """Return a figure's cells; a value that is not there is a dash with the reason."""
        kind = kind_of_unit(row["unit"])
        old, new, difference = (
            self._cell(row, row[name], kind) for name in ("old", "new", "difference")
        )
        last = Cell(row["cause"] or "") if "cause" in row else self._percent(row)
        return [old, new, _signed(difference, row["difference"], kind), last]

    def _cell(self, row: Row, value: Decimal | None, kind: str) -> Cell:
        if value is None:
            return unknown_cell(_note(row), is_number=True)
        number = int(value) if kind == COUNT else value
        scale = self._scales.get(row["currency"])
        return number_cell(number, kind, scale, is_exact=self._is_exact)

    def _percent(self, row: Row) -> Cell:
        value = row["percent"]
        if value is None and row["difference"] is not None:
            why = Message("comparison.not_meaningful")
            return Cell(_NOT_MEANINGFUL, note=why, is_number=True)
        if value is None:
            return unknown_cell(_note(row), is_number=True)
        found = number_cell(value.scaleb(-2, EXACT), RATIO, is_exact=self._is_exact)
        return _signed(found, value)


def _note(row: Row) -> str:
    return kept(row["note"], row.get(KEPT))


def _signed(cell: Cell, value: Decimal | None, kind: str = "") -> Cell:
    """Write a plus before what rose, and percentage points behind a difference of ratios."""
    if value is None:
        return cell
    texts = [cell.text, cell.exact]
    if value > 0:
        texts = [text and f"+{text}" for text in texts]
    if kind == RATIO:  # the difference of two percentages
        texts = [text and Message("{number} pp", number=text.rstrip("%")) for text in texts]
    return replace(cell, text=texts[0], exact=texts[1])
