"""The statement of a month: its summed tables, each figure pressed to see its records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from svc_analytics.messages import Message
from svc_analytics.notebook.desk import controls
from svc_analytics.notebook.desk.desk_months import DeskMonths
from svc_analytics.notebook.desk.press_table import PressTable, content_of
from svc_analytics.notebook.desk.records import Wanted
from svc_analytics.notebook.desk.statement_tables import StatementTable, statement_tables
from svc_analytics.notebook.picked import heading

_CHANGED = "What changed from version {old} to version {new}"


class FigureBox:
    """The tables of a statement, one at a time; buttons choose which."""

    def __init__(self, desk: DeskMonths, drill: Callable[[Wanted], object]) -> None:
        import ipywidgets  # an optional extra

        self._desk, self._drill, self._looks = desk, drill, desk.looks
        self._tables: dict[str, StatementTable] = {}
        self.head, self.table = controls.html(), PressTable(self._press)
        self.table.box.add_class("svc-figures")
        self.which = ipywidgets.ToggleButtons(style={"button_width": "auto"})
        self.which.observe(lambda _: self._show_table(), "value")
        self.box = controls.column(self.head, self.which, self.table.box)
        self.show()

    def show(self) -> None:
        """Show the statement of the month that is shown; what is wrong is one line."""
        statement = self._desk.statement
        self._tables = (
            {} if statement is None else {one.title: one for one in statement_tables(statement)}
        )
        if statement is None:
            self.head.value = self._looks.line(self._desk.problem, is_told=True)
        else:
            texts = [*heading(statement).lines, self._desk.notes, self._desk.agreement]
            lines = "".join(map(self._looks.line, texts))
            self.head.value = f'<div class="svc-quiet">{lines}</div>{self._changes()}'
        chosen, titles = self.which.value, list(self._tables)
        if [title for _, title in self.which.options] != titles:
            self.which.options = [(self._looks.text(title), title) for title in titles]
            self.which.value = chosen if chosen in titles else next(iter(titles), None)
        self.which.layout.display = "" if titles else "none"
        self._show_table()

    @property
    def shown(self) -> StatementTable | None:
        """The table that is shown; None where there is no statement."""
        return self._tables.get(self.which.value or "")

    def _show_table(self) -> None:
        if self.shown is None:
            self.table.show()
            return
        self.table.show(
            content_of(self.shown.table, self.shown.title, self._looks, names=self.shown.name)
        )

    def _press(self, row: int, column: int) -> None:
        wanted = self.shown and self.shown.wanted(row, column)
        if self.shown and wanted:
            is_known = not self.shown.table.rows[row][column].note
            self._drill(replace(wanted, is_known=is_known))

    def _changes(self) -> str:
        """Return the changes from the version before, to open."""
        changes, count = self._desk.changes, len(self._desk.tile.versions)
        if changes is None:
            return ""
        title = Message(_CHANGED, old=count - 1, new=count)
        return self._looks.folded(title, self._looks.page(changes._display()))
