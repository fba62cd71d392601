"""The findings of a month: choose one, and accept it with a reason and a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from svc_analytics.errors import SvcError
from svc_analytics.notebook.desk import controls, looks
from svc_analytics.notebook.desk.book import Book
from svc_analytics.notebook.desk.findings import Finding, last_name
from svc_analytics.notebook.errors import one_line_of

MOST_FINDINGS = 500  # in the list; the statement has them all


class FindingBox:
    """A list of findings, and the box "accept, because …"."""

    def __init__(
        self, book: Book, show_record: Callable[[str], object], done: Callable[[], object]
    ) -> None:
        import ipywidgets  # an optional extra

        self._book, self._show_record, self._done = book, show_record, done
        self.head, self.answer = controls.html(), controls.html()
        wide = ipywidgets.Layout(width="100%")
        self.list = ipywidgets.Select(layout=wide)
        self.reason = ipywidgets.Text(placeholder="accept, because \N{HORIZONTAL ELLIPSIS}")
        self.name = ipywidgets.Text(placeholder="your name", value=last_name(book.lake))
        self.reason.layout = wide
        self.accept = controls.button("accept this finding", self._accept)
        self.record = controls.button("show its record", self._open)
        actions = controls.row(self.name, self.accept, self.record)
        self._parts = controls.column(self.list, self.reason, actions)
        self.box = controls.column(self.head, self._parts, self.answer)
        self.list.observe(self._choose, "value")
        self.show()

    def show(self) -> None:
        """List the findings of the month that is shown."""
        found = self._book.findings
        open_count = sum(each.is_blocking and not each.accepted for each in found)
        words = f"{len(found):,} findings, {open_count:,} of them block the close"
        self.head.value = looks.heading_html("Findings") + looks.line_html(
            words if found else "no finding: no record breaks a rule"
        )
        shown = found[:MOST_FINDINGS]
        self.list.options = [
            (f"{number}. {each.text}", each) for number, each in enumerate(shown, 1)
        ]
        self.list.index = 0 if shown else None  # those that block come first
        self.list.rows = min(max(len(shown), 2), 8)
        self._parts.layout.display = "" if found else "none"
        self._choose(None)

    @property
    def chosen(self) -> Finding | None:
        """The finding that is chosen in the list."""
        found: Finding | None = self.list.value
        return found

    def _choose(self, _: Any) -> None:
        found = self.chosen
        self.accept.disabled = found is None or bool(found.accepted)
        self.record.disabled = found is None or not found.record_id

    def _accept(self) -> None:
        if self.chosen is None:
            return
        finding = self.chosen
        try:
            self._book.accept(finding, self.reason.value, self.name.value)
        except SvcError as error:
            self.answer.value = looks.line_html(one_line_of(error), is_told=True)
            return
        self.reason.value = ""
        text = f"accepted: {finding.check} {finding.record_id}".strip()
        self.answer.value = looks.line_html(text, is_told=True)
        self._done()

    def _open(self) -> None:
        if self.chosen is not None:
            self._show_record(self.chosen.record_id)
