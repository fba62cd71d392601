"""Figures of a statement to display: in groups, with units, and why one is unknown."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import Any

from svc_analytics.formatting.display import Cell, DisplayTable, cell_of, select_known
from svc_analytics.render.document import Document
from svc_analytics.warehouse.definitions import describe, grouped_figures, in_sentence
from svc_analytics.warehouse.definitions import label_of as label_of  # where renderers look for it
from svc_analytics.warehouse.figures import figure_groups, read_figures
from svc_analytics.warehouse.models import read_statement_macros

_KEYS = ("period", "currency")


def figures_table(
    statement: Document,
    title: str = "",
    only: Sequence[str] | None = None,
    coins: Sequence[str] | None = None,
) -> DisplayTable:
    """Return a statement's figures, a row per figure and a column per coin.

    They stand in groups, unless `only` some figures are named.
    """
    summary = statement.tables["summary"]
    rows = [row for row in summary.to_pylist() if coins is None or row["currency"] in coins]
    groups = summary_groups(summary.column_names) if rows else {}
    names = [name for group in groups.values() for name in group]
    starts = accumulate(map(len, groups.values()), initial=0)
    headings = dict(zip(starts, groups, strict=False))
    if only is not None:
        names, headings = select_known(only, names) if rows else [], {}
    return DisplayTable(
        title,
        ["figure", *(str(row["currency"]) for row in rows)],
        [
            [
                Cell(label_of(name), is_fixed=True),
                *(_coin_cell(statement, row, name) for row in rows),
            ]
            for name in names
        ],
        len(names),
        headings,
        {place: meaning("summary", name) for place, name in enumerate(names)},
    )


def _coin_cell(statement: Document, row: dict[str, Any], name: str) -> Cell:
    """Return a figure as a cell of its coin's column, whose header names the coin."""
    cell = figure_cell(statement, row, name)
    return replace(cell, unit=cell.unit.removesuffix(f" per {row['currency']}"))


def summary_groups(columns: Sequence[str]) -> dict[str, list[str]]:
    """Return the summary's figures by group; columns of no group come last."""
    known = figure_groups()
    grouped = {*_KEYS, *(name for names in known.values() for name in names)}
    groups = {title: [name for name in names if name in columns] for title, names in known.items()}
    groups["Other"] = [name for name in columns if name not in grouped]
    return {title: names for title, names in groups.items() if names}


def definition_groups() -> dict[str, list[dict[str, str]]]:
    """Return the rows of the glossary by group, both in the statement's order."""
    return {group: list(map(describe, found)) for group, found in grouped_figures().items()}


@cache
def _meanings() -> dict[tuple[str, str], str]:
    return {
        (macro.name.removeprefix("statement_"), name): text
        for macro in read_statement_macros()
        for name, text in macro.columns.items()
    }


def meaning(table: str, column: str) -> str:
    """Return what a column holds, as its SQL says; of a figure, how it is made too."""
    figure = read_figures().get(column)
    if table == "summary" and figure and figure.label:
        return figure.hint
    return _meanings().get((table, column), "")


def unknown_reason(statement: Document) -> str:
    """Say why figures of what was not read are unknown."""
    reasons = [reason.text for reason in statement.reasons if not reason.is_unfinished]
    reasons += [unknown.because for unknown in statement.unknown]
    return f"unknown: {'; '.join(reasons)}" if reasons else "unknown or undefined"


def figure_cell(statement: Document, row: dict[str, Any], name: str) -> Cell:
    """Return a figure of the summary as a cell; an unknown one says why."""
    field = statement.tables["summary"].schema.field(name)
    return cell_of(row[name], field, str(row["currency"]), _why(statement, row, name))


def _why(statement: Document, row: dict[str, Any], name: str) -> str:
    """Say why a figure of the summary has no value."""
    for unknown in statement.unknown:
        if name in unknown.figures and row["currency"] in unknown.coins:
            return f"unknown: {unknown.because}"
    figure = read_figures().get(name)
    is_read = figure is not None and figure.is_read(row)
    if figure and figure.unread and not is_read:
        return f"unknown: {figure.unread}"
    if figure and figure.denominator and row.get(figure.denominator) == 0:
        return f"undefined: {in_sentence(figure.denominator)} is zero"
    if figure and figure.unstated and is_read:
        return f"unknown: {figure.unstated}"
    return unknown_reason(statement)
