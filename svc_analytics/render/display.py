"""Tables and pictures that show themselves: one value, as HTML and as plain text alike.

Numbers are exact, to the right, thousands apart, their unit beside them. What is unknown
is a dash, and the reasons stand below. All text is escaped: it comes from payers too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.errors import ConfigError
from svc_analytics.legible import one_line, visible
from svc_analytics.render.cells import rows_of
from svc_analytics.render.figures import Cell, Figure, cells_of, summary_groups
from svc_analytics.render.tables import align

if TYPE_CHECKING:
    from svc_analytics.statements import Statement

MOST_ROWS = 50
_NUMBER = "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"
_TEXT = "text-align:left"
_HEADING = "text-align:left;padding-top:1em"


@dataclass(frozen=True)
class Grid:
    """A table as it is shown.

    `headings` stand above the rows of these numbers, `hints` are told of a row when
    it is pointed at.
    """

    title: str
    header: list[str]
    rows: list[list[Cell]]
    total: int
    headings: dict[int, str] = field(default_factory=dict)
    hints: dict[int, str] = field(default_factory=dict)

    @property
    def rights(self) -> list[bool]:
        """Which columns hold numbers."""
        return [any(row[place].is_number for row in self.rows) for place in range(len(self.header))]

    @property
    def notes(self) -> list[str]:
        """Why cells are dashes, each reason once, and how many rows are not shown."""
        dashes = {cell.note: cell.text for row in self.rows for cell in row if cell.note}
        notes = [one_line(f"{dash} {reason}") for reason, dash in dashes.items()]
        if self.total > len(self.rows):
            notes.append(f"the first {len(self.rows):,} of {self.total:,} rows")
        return notes if self.rows else ["no row"]


@dataclass(frozen=True)
class Sheet:
    """Lines and tables under a title; shows itself in notebooks, and prints as plain text."""

    title: str
    lines: list[str] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)

    def __repr__(self) -> str:
        parts = [*filter(None, [self.title]), *map(one_line, self.lines)]
        return visible("\n".join(parts + [_grid_text(grid) for grid in self.grids]))

    def _repr_html_(self) -> str:
        title = f'<h4 dir="auto">{escape(self.title)}</h4>' if self.title else ""
        lines = "".join(f'<p dir="auto">{escape(one_line(line))}</p>' for line in self.lines)
        return visible(f"<div>{title}{lines}{''.join(map(_grid_html, self.grids))}</div>")


def show(
    table: Any,
    title: str = "",
    *,
    why: str = "unknown",
    most: int = MOST_ROWS,
    only: Sequence[str] | None = None,
    coins: Sequence[str] | None = None,
) -> Sheet:
    """Return a frame or an Arrow table as it is shown in a notebook: exact, with units.

    `why` is the reason given for what is NULL; `most` rows are shown, and how many there
    are. `only` names some columns. Of a statement, figures are shown, a coin a column;
    `only` names some figures, `coins` some coins.
    """
    if hasattr(table, "tables"):
        return Sheet("", [], [figures_grid(table, title, only, coins)])
    arrow = arrow_of(table)
    if only is not None:
        arrow = arrow.select(_known(only, arrow.column_names))
    rows = [cells_of(arrow, row, why) for row in rows_of(arrow.slice(0, most))]
    return Sheet("", [], [Grid(title, arrow.column_names, rows, len(arrow))])


def figures_grid(
    statement: Statement,
    title: str = "",
    only: Sequence[str] | None = None,
    coins: Sequence[str] | None = None,
) -> Grid:
    """Return figures of a statement, one a row and one coin a column, in groups unless named."""
    summary = statement.tables["summary"]
    wanted = [row for row in summary.to_pylist() if coins is None or row["currency"] in coins]
    groups = [list(summary_groups(statement, row)) for row in wanted]
    found = [{each.name: each for _, figures in own for each in figures} for own in groups]
    names = list(found[0] if only is None else _known(only, list(found[0]))) if found else []
    heads = [str(row["currency"]) for row in wanted]
    return Grid(
        title,
        ["figure", *heads],
        [_figure_row(heads, [own[name] for own in found]) for name in names],
        len(names),
        _headings(groups[0]) if found and only is None else {},
        {place: found[0][name].meaning for place, name in enumerate(names)},
    )


def arrow_of(table: Any) -> pa.Table:
    """Return a table or a frame as an Arrow table."""
    if isinstance(table, pa.Table):
        return table
    if not hasattr(table, "columns"):
        raise ConfigError(f"a frame or an Arrow table can be shown, not a {type(table).__name__}")
    return pa.Table.from_pandas(table, preserve_index=False)


def cell_text(cell: Cell) -> str:
    """Write a cell as plain text, its unit behind it."""
    text = cell.text if cell.is_number else one_line(cell.text)
    return f"{text} {cell.unit}".rstrip()


def framed(grid: Grid, table: str) -> str:
    """Set a table between its title and its notes; too wide for the page, it can be moved."""
    title = f'<div style="font-weight:bold">{escape(grid.title)}</div>' if grid.title else ""
    notes = "".join(f"<div><small>{escape(note)}</small></div>" for note in grid.notes)
    return f'{title}<div style="overflow-x:auto">{table}</div>{notes}'


def _known(names: Sequence[str], there: Sequence[str]) -> list[str]:
    for name in names:
        if name not in there:
            raise ConfigError(f"there is no {name!r} to show; there are {', '.join(there)}")
    return list(names)


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


def _grid_text(grid: Grid) -> str:
    rows = [[cell_text(cell) for cell in row] for row in grid.rows]
    header, rule, *body = align(grid.header, rows, grid.rights).splitlines()
    for place in sorted(grid.headings, reverse=True):
        body.insert(place, grid.headings[place])
    return "\n".join([*filter(None, [grid.title]), header, rule, *body, *grid.notes])


def _grid_html(grid: Grid) -> str:
    looks = [_NUMBER if right else _TEXT for right in grid.rights]
    header = "".join(
        f'<th style="{look}">{escape(name)}</th>'
        for name, look in zip(grid.header, looks, strict=True)
    )
    rows = "".join(_rows_html(grid, looks))
    return framed(grid, f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>")


def _rows_html(grid: Grid, looks: list[str]) -> Iterator[str]:
    for number, row in enumerate(grid.rows):
        if heading := grid.headings.get(number):
            yield f'<tr><th colspan="{len(row)}" style="{_HEADING}">{escape(heading)}</th></tr>'
        hint = f' title="{escape(grid.hints[number])}"' if grid.hints.get(number) else ""
        yield f"<tr{hint}>{''.join(map(_cell_html, row, looks))}</tr>"


def _cell_html(cell: Cell, look: str) -> str:
    title = f' title="{escape(one_line(cell.note))}"' if cell.note else ""
    unit = f" <small>{escape(one_line(cell.unit))}</small>" if cell.unit else ""
    aside = ' dir="auto"' if cell.is_foreign else ""
    look += ";white-space:nowrap" * (cell.is_fixed and not cell.is_number)
    return f'<td style="{look}"{title}{aside}>{escape(one_line(cell.text))}{unit}</td>'
