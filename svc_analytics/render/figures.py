"""How a statement's figures are shown to people: groups, units, and why one is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.formatting.display import Cell, DisplayTable, cell_of, label, select_known
from svc_analytics.warehouse.figures import figure_groups, read_figures
from svc_analytics.warehouse.models import read_statement_macros

if TYPE_CHECKING:
    from svc_analytics.render.document import Document


def figures_grid(
    statement: Document,
    title: str = "",
    only: Sequence[str] | None = None,
    coins: Sequence[str] | None = None,
) -> DisplayTable:
    """Return figures of a statement, one a row and one coin a column, in groups unless named."""
    summary = statement.tables["summary"]
    wanted = [row for row in summary.to_pylist() if coins is None or row["currency"] in coins]
    groups = [list(summary_groups(statement, row)) for row in wanted]
    found = [{each.name: each for _, figures in own for each in figures} for own in groups]
    names = list(found[0] if only is None else select_known(only, list(found[0]))) if found else []
    heads = [str(row["currency"]) for row in wanted]
    return DisplayTable(
        title,
        ["figure", *heads],
        [_figure_row(heads, [own[name] for own in found]) for name in names],
        len(names),
        _headings(groups[0]) if found and only is None else {},
        {place: found[0][name].meaning for place, name in enumerate(names)},
    )


def _figure_row(coins: list[str], figures: list[Figure]) -> list[Cell]:
    """Return a figure of every coin; the column's head already names the coin of a rate."""
    cells = [
        replace(each.cell, unit=each.cell.unit.removesuffix(f" per {coin}"))
        for coin, each in zip(coins, figures, strict=True)
    ]
    return [Cell(figures[0].label, is_fixed=True), *cells]


def _headings(groups: list[tuple[str, list[Figure]]]) -> dict[int, str]:
    """Return each group's title at the row that it begins with."""
    starts = accumulate((len(figures) for _, figures in groups), initial=0)
    return dict(zip(starts, (title for title, _ in groups), strict=False))


_KEYS = ("period", "currency")


@dataclass(frozen=True)
class Figure:
    """One named number of the summary."""

    name: str
    label: str
    meaning: str
    cell: Cell


def summary_groups(statement: Document, row: dict[str, Any]) -> Iterator[tuple[str, list[Figure]]]:
    """Yield a currency's figures group by group; columns of no group come last."""
    fields = {field.name: field for field in statement.tables["summary"].schema}
    groups = figure_groups()
    known = {name for names in groups.values() for name in names}
    other = tuple(name for name in fields if name not in known and name not in _KEYS)
    for title, names in (groups | {"Other": other}).items():
        figures = [
            Figure(
                name,
                label(name),
                meaning("summary", name),
                figure_cell(statement, row, fields[name]),
            )
            for name in names
            if name in fields
        ]
        if figures:
            yield title, figures


@cache
def _meanings() -> dict[tuple[str, str], str]:
    return {
        (macro.name.removeprefix("statement_"), name): text
        for macro in read_statement_macros()
        for name, text in macro.columns.items()
    }


def meaning(table: str, column: str) -> str:
    """Return what a column holds, as its SQL says."""
    return _meanings().get((table, column), "")


def unknown_reason(statement: Document) -> str:
    """Say why figures of what was not read are unknown."""
    reasons = [reason.text for reason in statement.reasons if not reason.is_unfinished]
    return f"unknown: {'; '.join(reasons)}" if reasons else "unknown or undefined"


def figure_cell(statement: Document, row: dict[str, Any], field: pa.Field) -> Cell:
    """Show a figure of the summary; an unknown one says why."""
    currency = str(row["currency"])
    value = row[field.name]
    return cell_of(value, field, currency, _why(statement, row, field.name))


def _why(statement: Document, row: dict[str, Any], name: str) -> str:
    """Say why a figure of the summary has no value."""
    figure = read_figures().get(name)
    is_read = figure is not None and figure.is_read(row)
    if figure and figure.unread and not is_read:
        return f"unknown: {figure.unread}"
    if figure and figure.denominator and row.get(figure.denominator) == 0:
        return f"undefined: {label(figure.denominator).lower()} is zero"
    if figure and figure.unstated and is_read:
        return f"unknown: {figure.unstated}"
    return unknown_reason(statement)
