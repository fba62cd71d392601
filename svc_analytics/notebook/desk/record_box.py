"""The records behind a figure, and one of them whole with its receipt's verdict."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from svc_analytics.errors import SvcError
from svc_analytics.formatting.display import display_table
from svc_analytics.formatting.display_html import table_html
from svc_analytics.formatting.standing import Standing, standing_of
from svc_analytics.formatting.values import display_text
from svc_analytics.notebook.desk import controls, looks
from svc_analytics.notebook.desk.book import Book
from svc_analytics.notebook.desk.records import PAGE, Order, Page
from svc_analytics.notebook.errors import one_line_of
from svc_analytics.warehouse.definitions import find_figure, label_of

BY_TIME = ("time", "")


class RecordBox:
    """Records a page at a time: in the order of any column, over all of them."""

    def __init__(self, book: Book) -> None:
        import ipywidgets  # an optional extra

        self._book, self._figure, self._coin, self._is_quiet = book, "", "", False
        self._page: Page | None = None
        self.head, self._names, self.record = controls.html(), controls.html(), controls.html()
        self._names.add_class("svc-head")
        self.by = ipywidgets.Dropdown(description="order by", options=[BY_TIME])
        self.falling = ipywidgets.ToggleButton(description="largest or latest first")
        self.falling.layout.width = "auto"
        self.back = controls.button("back", lambda: self._turn(-PAGE))
        self.on = controls.button("on", lambda: self._turn(PAGE))
        self.rows: list[Any] = []
        self._lines, self._count = controls.column(), controls.html()
        self._lines.layout.overflow = "auto"
        turning = controls.row(self.by, self.falling, self.back, self.on, self._count)
        self._table = controls.column(turning, self._lines)
        self.box = controls.column(self.head, self._table, self.record)
        self.by.observe(self._reorder, "value")
        self.falling.observe(self._reorder, "value")
        self.clear()

    def clear(self) -> None:
        """Show no record: another month is shown."""
        self._figure, self._page = "", None
        self.head.value = self.record.value = ""
        self._table.layout.display = "none"

    def drill(self, figure: str, coin: str) -> None:
        """Show where a figure comes from: its meaning, its SQL, the first of its records."""
        self.clear()
        self._figure, self._coin, self._is_quiet = figure, coin, True
        self.by.options, self.by.value, self.falling.value = [BY_TIME], "", False
        self._is_quiet = False
        self._read(0)
        self.by.focus()  # whoever uses keys goes on from there, and it comes into sight

    def show_record(self, record_id: str) -> None:
        """Show a record whole: all its values, and what its receipt proved."""
        try:
            found = self._book.records.find(record_id)
        except SvcError as error:
            self.record.value = looks.line_html(one_line_of(error), is_told=True)
            return
        told = looks.line_html("" if found else f"the lake has no record {record_id}")
        tables = "".join(_record_html(form, table) for form, table in found.items())
        self.record.value = looks.heading_html(f"Record {record_id}") + told + tables

    def _turn(self, step: int) -> None:
        self._read(max(self._page.skipped + step, 0) if self._page else 0)

    def _reorder(self, _: Any) -> None:
        if not self._is_quiet:
            self._read(0)

    def _read(self, skipped: int) -> None:
        """Read a page of the records, and show it."""
        order = Order(self.by.value or "", bool(self.falling.value))
        try:
            self._page = self._book.records.behind(self._figure, self._coin, order, skipped)
        except SvcError as error:
            self.head.value = looks.line_html(one_line_of(error), is_told=True)
            return
        self._show(self._page)

    def _show(self, page: Page) -> None:
        figure = find_figure(self._figure)
        self.head.value = "".join(
            (
                looks.heading_html(f"{figure.label}, {self._coin}"),
                looks.line_html(figure.hint),
                looks.sql_html(page.sql),
            )
        )
        self._offer(page)
        names, lines = looks.record_lines(page.table, self._standing)
        self._names.value = looks.escaped(names)
        self.rows = [
            controls.button(line, partial(self.show_record, each), "svc-row")
            for line, each in zip(lines, page.ids, strict=True)
        ]
        self._lines.children = (self._names, *self.rows)

    def _offer(self, page: Page) -> None:
        """Offer the columns to order by, and the pages there are."""
        self._table.layout.display = ""
        self._is_quiet, chosen = True, self.by.value
        columns = looks.record_columns(page.table)
        self.by.options = [BY_TIME, *((label_of(name), name) for name in columns)]
        self.by.value, self._is_quiet = chosen, False
        last = page.skipped + len(page.table)
        self.back.disabled, self.on.disabled = not page.skipped, last >= page.count
        span = f"{page.skipped + 1:,} to {last:,} of {page.count:,} records"
        self._count.value = looks.line_html(span if page.count else "no record", is_told=True)

    @property
    def _standing(self) -> Standing:
        made = self._book.statement
        return Standing() if made is None else standing_of(made.tables["summary"])


def _record_html(form: str, table: pa.Table) -> str:
    """Return a record as a table of its names and values, every digit."""
    (row,) = table.slice(0, 1).to_pylist()
    names, texts = map(label_of, row), (display_text(value) for value in row.values())
    pairs = pa.table({"value of": [*names], form: [*texts]})
    return table_html(display_table(pairs, f"its {form}", most=len(pairs)))
