"""Does it agree? A month beside a list that is dropped here: its sums, and its open rows."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from svc_analytics.books.presets import PRESETS
from svc_analytics.closing.acceptances import last_name
from svc_analytics.formatting.display import DisplayTable
from svc_analytics.matching.headings import BOOKS, ORDERS, PAYOUTS
from svc_analytics.matching.match import Match
from svc_analytics.matching.tables import MEANING, OPEN_HEADS, open_cells, summary_table
from svc_analytics.messages import Message
from svc_analytics.notebook.desk import controls
from svc_analytics.notebook.desk.desk_months import DeskMonths
from svc_analytics.notebook.desk.records import PAGE

_ALL, _ONE, _OPEN = "Nothing is open: it agrees.", "1 row is open", "{count} rows are open"
_ROWS_OF = "rows {first} to {last} of {count}"


class MatchBox:
    """Takes a list, shows what agrees and what is open, and keeps a sentence beside a row."""

    def __init__(self, desk: DeskMonths, show_record: Callable[[str], object]) -> None:
        self._desk, self._show_record, self._looks = desk, show_record, desk.looks
        self._list: tuple[str, bytes] | None = None
        self._match: Match | None = None
        self._open: list[dict[str, Any]] = []
        self._first, self._place = 0, 0  # of the rows that are shown, and of the chosen one
        say = desk.looks.text
        self.file = controls.scripted("file_field.js")(content={"text": say("drop it here:")})
        self.file.on_msg(lambda _, facts, parts: self._receive(facts, parts))
        kinds = {say("orders of the shop"): ORDERS, say("payouts that arrived"): PAYOUTS}
        kinds |= {PRESETS[name].title: name for name in PRESETS}
        self.kind = controls.choice(say("their list"), kinds)
        self.kind.observe(lambda _: self._run(), "value")
        self.message, self.summary, self.count = (controls.html() for _ in range(3))
        self.table = controls.PressTable(
            lambda row, _: self._press(row), "svc-open", turn=self._turn
        )
        back, on = map(say, ("the page before", "the next page"))
        self.back = controls.button(say("Previous"), lambda: self._turn(-1), tip=back)
        self.on = controls.button(say("Next"), lambda: self._turn(1), tip=on)
        self.turning = controls.row(self.back, self.on, self.count)
        self.save = controls.button(say("Save as evidence"), self._save)
        self.form = self._form()
        listed = controls.column(self.table.box, self.turning, look="svc-listed")
        self.parts = controls.row(listed, self.form, look="svc-judged")
        head = controls.html(desk.looks.heading("Does it agree?"))
        top = controls.row(self.kind, self.file, self.save)
        self.box = controls.column(head, top, self.message, self.summary, self.parts)
        self.clear()

    def _form(self) -> Any:
        say = self._looks.text
        self.said, why = controls.html(), say("why this row is as it is")
        self.reason = controls.field(say("it is known, because"), why)
        self.name = controls.field(say("who says so"), "", last_name(self._desk.lake))
        self.know = controls.button(say("keep this sentence"), self._know)
        self.record = controls.button(say("show its record"), self._show_it)
        self.sent = controls.SentForm((self.reason, self.name), (self.know,))
        actions = controls.row(self.know, self.record)
        return controls.column(self.said, self.reason, self.name, actions, look="svc-form")

    def clear(self) -> None:
        """Show no match: another month is shown, or another list comes."""
        self._match, self._open, self._list = None, [], None
        self.file.send({})
        self.message.value = ""
        self._show()

    def _receive(self, facts: dict[str, Any], parts: Sequence[Any]) -> None:
        """Take a part of a file; match it when it is whole."""
        before = self._list[1] if self._list and facts["at"] else b""
        self._list = (facts["name"], before + b"".join(map(bytes, parts)))
        if len(self._list[1]) == facts["size"]:
            self._run()

    def _run(self) -> None:
        """Match the list with the month that is shown; what is wrong with it is one line."""
        if self._list is None:
            return
        self._match, self._open, self._first, self._place = None, [], 0, 0
        kind, (name, content) = self.kind.value, self._list
        self.message.value = self._looks.line(Message("matching"), is_announced=True)
        with TemporaryDirectory() as folder, self._looks.telling(self.message):
            path = Path(folder) / Path(name).name
            path.write_bytes(content)
            of = (BOOKS, kind) if kind in PRESETS else (kind, None)
            self._match = self._desk.match(path, *of)
            self._open = self._match.table.filter(self._match.table["is_open"]).to_pylist()
            count = self._match.open_count
            said = Message({0: _ALL, 1: _ONE}.get(count, _OPEN), count=f"{count:,}")
            self._tell(said, *self._match.notes)
        self._show()

    def _show(self) -> None:
        both, count = self._match, len(self._open)
        self.save.layout.display = "none" if both is None else ""
        self.parts.layout.display = "" if count else "none"
        summary = self._looks.table(summary_table(both.sums_by_code)) if both else ""
        scrolled = f'<div class="svc-matched" tabindex="0">{summary}</div>'
        self.summary.value = scrolled if both else ""
        shown = self._open[self._first : self._first + PAGE]
        last = self._first + len(shown)
        self.turning.layout.display = "" if count > PAGE else "none"
        self.back.disabled, self.on.disabled = not self._first, last >= count
        span = Message(_ROWS_OF, first=self._first + 1, last=last, count=f"{count:,}")
        self.count.value = self._looks.line(span, is_announced=True)
        rows = [[*open_cells(row)] for row in shown]
        table = DisplayTable("", OPEN_HEADS, rows, count=count)
        chosen = self._place - self._first
        content = controls.content_of(table, "open rows", self._looks, chosen=chosen)
        self.table.show(content | {"count": count} if count else {})
        self._show_form()

    def _show_form(self) -> None:
        if not self._open:
            return
        row = self._open[self._place]
        lines = Message("line {lines} of their list", lines=row["lines"]) if row["lines"] else ""
        could = Message("it could be {names}", names=row["candidates"]) if row["candidates"] else ""
        self.said.value = self._looks.line(MEANING[row["code"]], lines, could)
        self.record.disabled = not row["ours_key"] or self.kind.value in PRESETS

    def _press(self, place: int) -> None:
        self._place = self._first + place
        self._show()
        self.reason.focus()

    def _turn(self, pages: int) -> None:
        first = self._first + pages * PAGE
        if 0 <= first < len(self._open):
            self._first = self._place = first
            self._show()

    def _know(self) -> None:
        """Keep what a person says of the chosen row, and match again: it is open no more."""
        if self._match is None or not self._open:
            return
        row, place = self._open[self._place], (self._first, self._place)
        with self._looks.telling(self.message):
            key = row["theirs_key"] or row["ours_key"]
            self._match.know(key, self.reason.value, self.name.value)
            self.reason.value = ""
            self._run()
            last = max(len(self._open) - 1, 0)
            self._first, self._place = (min(each, last) for each in place)
            self._show()

    def _show_it(self) -> None:
        self._show_record(self._open[self._place]["record_ids"].partition(", ")[0])

    def _save(self) -> None:
        """Save it beside the lake, matched anew: the month may be sealed since."""
        self._run()
        if self._match is not None:
            with self._looks.telling(self.message):
                self._tell(Message("saved in {place}", place=self._match.save()))

    def _tell(self, *texts: str) -> None:
        self.message.value = self._looks.line(*texts, is_announced=True)
