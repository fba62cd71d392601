"""The records behind a figure, and one of them whole with its receipt's verdict."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from svc_analytics.errors import SvcError
from svc_analytics.formatting.display import display_table
from svc_analytics.formatting.display_html import table_html
from svc_analytics.formatting.display_table import DisplayTable
from svc_analytics.formatting.standing import Standing, attach, standing_of
from svc_analytics.formatting.values import display_text
from svc_analytics.notebook.desk import controls, looks
from svc_analytics.notebook.desk.desk_months import DeskMonths
from svc_analytics.notebook.desk.press_table import PressTable, content_of
from svc_analytics.notebook.desk.records import PAGE, Order, RecordPage, Wanted
from svc_analytics.notebook.desk.statement_tables import called
from svc_analytics.notebook.errors import one_line_of
from svc_analytics.warehouse.definitions import find_figure, label_of

HEAD, RECORD = "svc-records", "svc-record"  # looks of the heading and of the record


class RecordBox:
    """Records a page at a time: found and put in order by any column, over all of them."""

    def __init__(self, desk: DeskMonths) -> None:
        self._desk, self._is_quiet = desk, False
        self._wanted: Wanted | None = None
        self._page: RecordPage | None = None
        self._order = Order()
        self._chosen: int | None = None  # the place of a row
        self.leave: Any = lambda: None  # leads the keys back to where they came from
        self.head, self.record = controls.html("", HEAD), controls.html("", RECORD)
        self.find = controls.field("find", "an id, a day, an amount")
        self.find.observe(self._find, "value")
        self.back = controls.button("back", lambda: self._turn(-1), tip="the page before")
        self.on = controls.button("on", lambda: self._turn(1), tip="the next page")
        self._count = controls.html()
        self.table = PressTable(
            self._press, order=self._reorder, turn=self._turn, leave=lambda: self.leave()
        )
        turning = controls.row(self.find, self.back, self.on, self._count)
        self._parts = controls.column(turning, self.table.box)
        self.box = controls.column(self.head, self._parts, self.record)
        self.clear()

    def clear(self) -> None:
        """Show no record: another month is shown."""
        self._wanted, self._page = None, None
        self.head.value = self.record.value = ""
        self.table.show()
        self._parts.layout.display = "none"

    def drill(self, wanted: Wanted) -> None:
        """Show where a figure comes from: its meaning, its SQL, the first of its records."""
        self.clear()
        self._wanted, self._order, self._is_quiet = wanted, Order(), True
        self.find.value, self._is_quiet = "", False
        self._read(0)
        self.table.focus(f".{HEAD}")

    def show_record(self, record_id: str) -> None:
        """Show a record whole: all its values, and what its receipt proved."""
        try:
            found = self._desk.find(record_id)
        except SvcError as error:
            self.record.value = looks.line_html(one_line_of(error), is_told=True)
            return
        told = looks.line_html("" if found else f"the lake has no record {record_id}")
        tables = "".join(_record_html(form, table) for form, table in found.items())
        head = looks.heading_html(f"Record {record_id}{_verdict(found)}")
        self.record.value = f'{head}{told}<div class="svc-forms">{tables}</div>'
        self.table.reveal(f".{RECORD}")

    def _press(self, row: int, _: int) -> None:
        if self._page is None:
            return
        self._chosen = row
        self._show_table(self._page)
        self.show_record(self._page.ids[row])

    def _turn(self, pages: int) -> None:
        """Read the next page or the one before, if there is one."""
        skipped = self._page.skipped + pages * PAGE if self._page else 0
        if self._page and 0 <= skipped < self._page.count:
            self._read(skipped)

    def _find(self, _: Any) -> None:
        if not self._is_quiet:
            self._read(0)

    def _reorder(self, place: int) -> None:
        """Put all records in the order of a column; pressed again, the other way round."""
        if self._page is None:
            return
        chosen = looks.record_columns(self._page.table)[place]
        is_again = self._order_of(self._page)[place] == "ascending"
        self._order = Order(chosen, is_descending=is_again)
        self._read(0)

    def _read(self, skipped: int) -> None:
        """Read a page of the records, and show it."""
        if self._wanted is None:
            return
        try:
            found = self._desk.behind(self._wanted, self._order, skipped, self.find.value)
        except SvcError as error:
            self.head.value = looks.line_html(one_line_of(error), is_told=True)
            return
        self._page, self._chosen = found, None
        self._show(found, self._wanted)

    def _show(self, page: RecordPage, wanted: Wanted) -> None:
        figure = find_figure(wanted.figure)
        self.head.value = "".join(
            (
                looks.heading_html(called(wanted)),
                looks.line_html(figure.hint),
                looks.sql_html(page.sql),
            )
        )
        self._parts.layout.display = ""
        last = page.skipped + len(page.table)
        self.back.disabled, self.on.disabled = not page.skipped, last >= page.count
        span = f"{page.skipped + 1:,} to {last:,} of {page.count:,} records"
        self._count.value = looks.line_html(span if page.count else "no record", is_told=True)
        self._show_table(page)

    def _show_table(self, page: RecordPage) -> None:
        shown, orders = _table_of(page, self._standing), self._order_of(page)
        content = content_of(shown, "records", orders=orders, chosen=self._chosen)
        self.table.show(content | {"count": page.count})

    def _order_of(self, page: RecordPage) -> list[str]:
        """Return how each column is ordered; at first, they are in the order of their time."""
        columns = looks.record_columns(page.table)
        chosen = self._order.column or next(iter(columns), "")
        way = "descending" if self._order.is_descending else "ascending"
        return [way if name == chosen else "none" for name in columns]

    @property
    def _standing(self) -> Standing:
        made = self._desk.statement
        return Standing() if made is None else standing_of(made.tables["summary"])


def _table_of(page: RecordPage, standing: Standing) -> DisplayTable:
    """Return records as a table, every digit."""
    chosen = attach(page.table.select(looks.record_columns(page.table)), standing)
    return display_table(chosen, exact=True, label_of=label_of)


def _record_html(form: str, table: pa.Table) -> str:
    """Return a record as a table of its names and values, every digit."""
    (row,) = table.slice(0, 1).to_pylist()
    names, texts = map(label_of, row), (display_text(value) for value in row.values())
    pairs = pa.table({"name": [*names], "value": [*texts]})
    return f"<div>{table_html(display_table(pairs, f'its {form}', most=len(pairs)))}</div>"


def _verdict(found: dict[str, pa.Table]) -> str:
    """Return the verdict on its receipt, in a word, if it has one."""
    verdicts = found["receipt"]["verdict"].to_pylist() if "receipt" in found else []
    return "".join(f" \N{MIDDLE DOT} receipt {display_text(each)}" for each in verdicts[:1])
