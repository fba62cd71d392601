"""What shows itself in a notebook: one value, written as HTML and as plain text alike.

Numbers are exact, to the right, thousands apart, their unit beside them. What is unknown
is a dash, and the reasons stand below. All text is escaped: it comes from payers too.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.errors import ConfigError
from svc_analytics.lake import describe_span
from svc_analytics.render.cells import one_line, rows_of
from svc_analytics.render.figures import Cell, cells_of, summary_groups
from svc_analytics.render.tables import align

if TYPE_CHECKING:
    from svc_analytics.coverage import Coverage
    from svc_analytics.statements import Statement
    from svc_analytics.verdicts import VerificationRun
    from svc_analytics.warehouse import AnalyticLake

MOST_ROWS = 50
_NUMBER = "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"
_TEXT = "text-align:left"


@dataclass(frozen=True)
class Grid:
    """A table as it is shown."""

    title: str
    header: list[str]
    rows: list[list[Cell]]
    total: int

    @property
    def rights(self) -> list[bool]:
        """Which columns hold numbers."""
        return [any(row[place].is_number for row in self.rows) for place in range(len(self.header))]


@dataclass(frozen=True)
class Sheet:
    """Lines and tables under a title; shows itself in notebooks, and prints as plain text."""

    title: str
    lines: list[str] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)

    def __repr__(self) -> str:
        parts = [*filter(None, [self.title]), *map(one_line, self.lines)]
        return "\n".join(parts + [_grid_text(grid) for grid in self.grids])

    def _repr_html_(self) -> str:
        title = f"<h4>{escape(self.title)}</h4>" if self.title else ""
        lines = "".join(f"<p>{escape(one_line(line))}</p>" for line in self.lines)
        return f"<div>{title}{lines}{''.join(map(_grid_html, self.grids))}</div>"


@dataclass(frozen=True)
class Picture:
    """A chart for each coin, as they stand in a statement's page."""

    title: str
    drawings: list[str]

    def __repr__(self) -> str:
        return self.title

    def _repr_html_(self) -> str:
        return f"<div>{''.join(self.drawings)}</div>"


def show(table: Any, title: str = "", *, why: str = "unknown", most: int = MOST_ROWS) -> Sheet:
    """Return a frame or an Arrow table as it is shown in a notebook: exact, with units.

    `why` is the reason given for what is NULL; `most` rows are shown, and how many there are.
    """
    arrow = _arrow(table)
    rows = [cells_of(arrow, row, why) for row in rows_of(arrow.slice(0, most))]
    return Sheet("", [], [Grid(title, arrow.column_names, rows, len(arrow))])


def search(table: Any, title: str = "") -> Any:
    """Return all rows as a table that can be searched, in a notebook with itables installed.

    Elsewhere it is what `show` returns. Texts are those of `show`: sorting is by text.
    What the table needs is set beside it: nothing is loaded from elsewhere.
    """
    try:
        from itables import init_notebook_mode, to_html_datatable
    except ModuleNotFoundError:
        return show(table, title)
    if getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)() is None:
        return show(table, title)
    init_notebook_mode(all_interactive=False, connected=False)
    import pandas as pd

    (grid,) = show(table, title, most=len(table)).grids
    texts = [[_cell_text(cell) for cell in row] for row in grid.rows]
    frame = pd.DataFrame(texts, columns=grid.header)
    return Found(title, to_html_datatable(frame, connected=False, caption=title or None), grid)


@dataclass(frozen=True)
class Found:
    """A table that can be searched."""

    title: str
    html: str
    grid: Grid

    def __repr__(self) -> str:
        return _grid_text(self.grid)

    def _repr_html_(self) -> str:
        return self.html


def draw(chart: Callable[..., None], table: Any, *names: str) -> Picture:
    """Draw a chart of `svc_analytics.charts`: for each coin of the table, or for those named.

    A chart of streams is drawn for each stream.
    """
    from svc_analytics.render.picture import draw_svg

    arrow = _arrow(table)
    kind = next((name for name in inspect.signature(chart).parameters if name in _KINDS), None)
    found = names or (sorted(set(arrow[kind].to_pylist())) if kind else ("",))
    title = chart.__name__.replace("_", " ")
    drawings = [
        draw_svg(
            f"{chart.__name__}-{number}",
            partial(chart, table=arrow, **({kind: name} if kind else {})),
            f"{title}, {name}" if name else title,
            (7.2, 3.0),
        )
        for number, name in enumerate(found)
    ]
    return Picture(", ".join([title, *filter(None, found)]), drawings)


_KINDS = ("currency", "stream")
_COVERAGE = """
    select
        stream,
        case when year(starts_at) = 1 then 'the beginning'
            else strftime(starts_at, '%Y-%m-%dT%H:%M:%SZ') end as starts_at,
        strftime(ends_at, '%Y-%m-%dT%H:%M:%SZ') as ends_at,
        state,
        rows,
        quarantined
    from coverage
    order by stream, ends_at
"""


def statement_sheet(statement: Statement) -> Sheet:
    """Return a statement: its status with reasons, then every figure of every coin."""
    period = statement.period
    lines = [f"{statement.status}; {len(statement.tables['lines']):,} movements; {period.zone}"]
    lines += [f"provisional: {reason.text}" for reason in statement.reasons]
    grids = [
        Grid(str(row["currency"]), ["figure", "value"], rows, len(rows))
        for row in statement.tables["summary"].to_pylist()
        if (rows := list(_figures(statement, row)))
    ]
    name = _merchant(statement.merchant)
    return Sheet(one_line(f"Statement {period.folder} of {name}"), lines, grids)


def lake_sheet(lake: AnalyticLake) -> Sheet:
    """Return what a lake holds; of one that was never filled, what to do."""
    if not lake.exists:
        hint = "nothing here yet: svc.extract(lake) fills it, or svc.demo_lake(path) with a demo"
        return Sheet(f"Lake {lake.path}", [hint])
    found = lake.sql(_COVERAGE)
    name = _merchant(lake.merchant)
    (grid,) = show(found, "coverage", why="never read").grids
    return Sheet(f"Lake {lake.path}", [f"of {name}"], [grid])


def coverage_sheet(coverage: Coverage) -> Sheet:
    """Return the time that was read of a stream."""
    spans = [(span, "complete") for span in coverage.complete]
    spans += [(span, "provisional") for span in coverage.provisional]
    rows = [[Cell(state), Cell(describe_span(span))] for span, state in sorted(spans)]
    lines = [] if rows else ["nothing was read"]
    return Sheet("Coverage", lines, [Grid("", ["state", "interval"], rows, len(rows))] * bool(rows))


def run_sheet(run: VerificationRun) -> Sheet:
    """Return what a verification of the lake's receipts did."""
    rows = [
        [Cell("checked now"), Cell(f"{run.checked:,}", is_number=True)],
        [Cell("unchanged since they were checked"), Cell(f"{run.unchanged:,}", is_number=True)],
    ]
    return Sheet("Verification of receipts", [], [Grid("", ["receipts", "count"], rows, 2)])


def _arrow(table: Any) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    if not hasattr(table, "columns"):
        raise ConfigError(f"a frame or an Arrow table can be shown, not a {type(table).__name__}")
    return pa.Table.from_pandas(table, preserve_index=False)


def _merchant(merchant: dict[str, Any]) -> str:
    return one_line(str(merchant.get("display_name") or merchant["id"]))


def _figures(statement: Statement, row: dict[str, Any]) -> Iterator[list[Cell]]:
    for _, figures in summary_groups(statement, row):
        for figure in figures:
            yield [Cell(figure.label), figure.cell]


def _cell_text(cell: Cell) -> str:
    text = cell.text if cell.is_number else one_line(cell.text)
    return f"{text} {cell.unit}".rstrip()


def _notes(grid: Grid) -> list[str]:
    """Return why cells are dashes, each reason once, and how many rows are not shown."""
    reasons = dict.fromkeys(cell.note for row in grid.rows for cell in row if cell.note)
    notes = [f"{next(iter(_dashes(grid)))} {reason}" for reason in reasons]
    if grid.total > len(grid.rows):
        notes.append(f"the first {len(grid.rows):,} of {grid.total:,} rows")
    return notes


def _dashes(grid: Grid) -> Sequence[str]:
    return [cell.text for row in grid.rows for cell in row if cell.note]


def _grid_text(grid: Grid) -> str:
    rows = [[_cell_text(cell) for cell in row] for row in grid.rows]
    body = align(grid.header, rows, grid.rights)
    return "\n".join([*filter(None, [grid.title]), body, *map(one_line, _notes(grid))])


def _grid_html(grid: Grid) -> str:
    looks = [_NUMBER if right else _TEXT for right in grid.rights]
    header = "".join(
        f'<th style="{look}">{escape(name)}</th>'
        for name, look in zip(grid.header, looks, strict=True)
    )
    rows = "".join(f"<tr>{''.join(map(_cell_html, row, looks))}</tr>" for row in grid.rows)
    caption = f"<caption>{escape(grid.title)}</caption>" if grid.title else ""
    notes = "".join(f"<p><small>{escape(one_line(note))}</small></p>" for note in _notes(grid))
    return f"<table>{caption}<thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>{notes}"


def _cell_html(cell: Cell, look: str) -> str:
    title = f' title="{escape(one_line(cell.note))}"' if cell.note else ""
    unit = f" <small>{escape(one_line(cell.unit))}</small>" if cell.unit else ""
    aside = ' dir="auto"' if cell.is_foreign else ""
    return f'<td style="{look}"{title}{aside}>{escape(one_line(cell.text))}{unit}</td>'
