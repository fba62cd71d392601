"""The statement of a month, each figure a button that leads to its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from svc_analytics.formatting.display import Display, names_of
from svc_analytics.formatting.display_table import cell_text
from svc_analytics.formatting.standing import standing_of
from svc_analytics.notebook.desk import controls, looks
from svc_analytics.notebook.desk.book import Book
from svc_analytics.notebook.picked import heading
from svc_analytics.render.figures import FigureCells, meaning, summary_groups
from svc_analytics.render.standing import status_note
from svc_analytics.statements.statement import Statement


class FigureBox:
    """The summary as a grid: a row per figure, a button per coin."""

    def __init__(self, book: Book, drill: Callable[[str, str], object]) -> None:
        self._book, self._drill = book, drill
        self.head, self._grid = controls.html(), controls.column()
        self.figures: dict[tuple[str, str], Any] = {}  # buttons by figure and coin
        self._grid.add_class("svc-figures")
        self.box = controls.column(self.head, self._grid)
        self.show()

    def show(self) -> None:
        """Show the statement of the month that is shown; what is wrong is one line."""
        self.figures, made = {}, self._book.statement
        if made is None:
            self.head.value = looks.line_html(self._book.problem, is_told=True)
            self._grid.children = ()
            return
        standing = looks.line_html(self._book.standing) + self._changes()
        self.head.value = self._heading(made)._repr_html_() + standing
        coins = made.tables["summary"]["currency"].to_pylist()
        parts = list(self._parts(made, coins))
        self._grid.children = (controls.grid(len(coins) + 1, parts),) if coins else ()

    def _changes(self) -> str:
        """Return what changed from the version before, to open."""
        changes, count = self._book.changes, len(self._book.tile.versions)
        if changes is None:
            return ""
        title = f"What changed from version {count - 1} to version {count}"
        return f"<details><summary>{title}</summary>{changes._repr_html_()}</details>"

    def _heading(self, made: Statement) -> Display:
        """Return merchant, month, local bounds and status; a sealed month is called so."""
        if not self._book.is_as_sealed:
            return heading(made)
        title = f"{made.period.title} \N{MIDDLE DOT} {names_of(made.merchant)}"
        unknown = [each.text for each in made.unknown]
        note = status_note(made, is_sealed=True)
        return Display(title, [made.period.local_bounds, note, *unknown])

    def _parts(self, made: Statement, coins: list[str]) -> Iterator[Any]:
        """Yield the grid's cells, row by row."""
        cells = FigureCells(made, standing_of(made.tables["summary"]).scales)
        yield from map(controls.html, ["", *(_head(coin) for coin in coins)])
        for group, names in summary_groups(made.tables["summary"].column_names).items():
            yield from map(controls.html, [f"<b>{group}</b>", *([""] * len(coins))])
            for name in names:
                yield controls.html(looks.line_html(cell_text(cells.head(name))))
                for row in cells.rows:
                    yield self._figure(name, row["currency"], cells.cell(row, name))

    def _figure(self, name: str, coin: str, cell: Any) -> Any:
        text = cell_text(cell).rstrip()
        tip = cell.hover or meaning("summary", name)
        made = controls.button(text, lambda: self._drill(name, coin), "svc-figure", tip=tip)
        self.figures[name, coin] = made
        return made


def _head(coin: str) -> str:
    return f'<div style="text-align:right;font-weight:bold">{looks.escaped(coin)}</div>'
