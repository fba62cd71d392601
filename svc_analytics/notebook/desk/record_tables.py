"""The records behind a figure as a table: what each adds, and below them what they make."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from svc_analytics.formatting.cells import Cell, number_cell
from svc_analytics.formatting.display import display_table, label, lined_up
from svc_analytics.formatting.display_table import DisplayTable
from svc_analytics.formatting.numbers import RATE, RATIO, USD, kind_of_unit, unit_name
from svc_analytics.formatting.standing import Standing, attach
from svc_analytics.instants import readable_instant
from svc_analytics.language.catalogue import WORDED
from svc_analytics.messages import Message
from svc_analytics.notebook.desk.records import RecordPage, Wanted
from svc_analytics.statements.records import CONTRIBUTION, DENOMINATOR, NUMERATOR, record_columns
from svc_analytics.warehouse.definitions import find_figure, label_of
from svc_analytics.warehouse.figures import read_figures

# What a column of contributions is called for the eye, so that its numbers are of their kind.
_CALLED = {USD: "usd_contribution", RATE: "contribution_rate", RATIO: "contribution_rate"}


def value_text(value: Any, wanted: Wanted) -> str:
    """Return the value of a figure with its unit: every digit, but USD at two places."""
    kind = kind_of_unit(find_figure(wanted.figure).unit)
    if value is None:
        return "unknown"
    if isinstance(value, datetime):
        return readable_instant(value)
    number, unit = _number(value, kind).text, unit_name(kind, wanted.coin)
    return Message("{number} {UNIT}", number=number, UNIT=unit) if unit else number


def shown_columns(page: RecordPage) -> list[str]:
    """List the columns that a table of records shows: a long id stands in the record alone."""
    return [name for name in record_columns(page.table, page.figure) if name != "record_id"]


def record_table(page: RecordPage, standing: Standing) -> DisplayTable:
    """Return a page of records as a table; its last row is what all of them make."""
    columns, kind = shown_columns(page), kind_of_unit(page.figure.unit)
    called = [_CALLED.get(kind, name) if name == CONTRIBUTION else name for name in columns]
    chosen = attach(page.table.select(columns).rename_columns(called), standing)
    exact = display_table(chosen, exact=True, label_of=_label)
    both = exact.rows, display_table(chosen, label_of=_label).rows
    rows = [
        [_shown(name, short if name.startswith("usd_") else whole) for name, whole, short in row]
        for row in (zip(called, *cells, strict=True) for cells in zip(*both, strict=True))
    ]
    *rows, footer = lined_up([*rows, _footer(page, columns)])
    return replace(exact, rows=rows, footer=footer)


def _shown(name: str, cell: Cell) -> Cell:
    """Return a cell; one of words of ours is marked as such, to be translated."""
    return replace(cell, is_fixed=True) if name in WORDED else cell


def _number(value: Any, kind: str) -> Cell:
    return number_cell(value, kind, is_exact=kind != USD)


def _label(name: str) -> str:
    return label(CONTRIBUTION) if name in _CALLED.values() else label_of(name)


def _footer(page: RecordPage, columns: list[str]) -> list[Cell]:
    """Return the sums of what the records add; of a figure that is no sum, its value."""
    figure = page.figure
    totals = page.totals or ({} if page.view.text else {CONTRIBUTION: page.value})
    units = {CONTRIBUTION: figure.unit} | {
        part: read_figures()[name].unit
        for part, name in zip((NUMERATOR, DENOMINATOR), figure.operands, strict=False)
    }
    cells = [_value_cell(totals.get(column), units.get(column, "")) for column in columns]
    return [Cell(_footer_name(page), is_fixed=True), *cells[1:]]


def _footer_name(page: RecordPage) -> str:
    if not page.totals:
        return "" if page.view.text else page.figure.label
    if page.view.text:
        return "Total found"
    return "Total" if page.value is not None else "Total at hand"


def _value_cell(value: Any, unit: str) -> Cell:
    if value is None:
        return Cell("")
    if isinstance(value, datetime):
        return Cell(readable_instant(value))
    return _number(value, kind_of_unit(unit))
