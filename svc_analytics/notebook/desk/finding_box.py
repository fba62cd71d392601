"""The findings of a month: choose one, and accept it with a reason and a name."""

from __future__ import annotations

from collections.abc import Callable

from svc_analytics.closing.acceptances import COLUMNS_SHOWN, Finding, last_name
from svc_analytics.formatting.display import text_table
from svc_analytics.messages import Message, translated
from svc_analytics.notebook.desk import controls
from svc_analytics.notebook.desk.controls import PressTable, content_of
from svc_analytics.notebook.desk.desk_months import DeskMonths
from svc_analytics.warehouse.acknowledgements import LEFT_OUT

MOST_FINDINGS = 500  # in the table; the statement has them all
# What the reason of an acceptance is: of a record that is then left out, and of any other.
_WHY = {True: "why this may be left out of the figures", False: "why nothing is wrong with it"}
_NONE = "No findings. Every record passed every check."
_BLOCKING = {0: "none blocks the close", 1: "1 blocks the close"}
_COUNTED = "{FOUND}, {WEIGHT}"
_CUT = "{FOUND}; the first {count} are shown"


class FindingBox:
    """A table of findings, and the box "accept, because …"."""

    def __init__(
        self, desk: DeskMonths, show_record: Callable[[str], object], done: Callable[[], object]
    ) -> None:
        self._desk, self._show_record, self._done = desk, show_record, done
        self._findings: list[Finding] = []
        self._place = 0  # of the chosen one
        self.head, self.effect, self.answer = (controls.html() for _ in range(3))
        self.table = PressTable(lambda row, _: self._choose(row))
        self.table.box.add_class("svc-findings")
        self._looks, say = desk.looks, desk.looks.text
        self.reason = controls.field(say("accept, because"), say(_WHY[False]))
        printed = say("the statement prints it")
        self.name = controls.field(say("your name"), printed, last_name(desk.lake))
        self.reason.layout.flex, self.reason.layout.min_width = "1 1 24em", "16em"
        self.accept = controls.button(say("accept this finding"), self._accept)
        self.record = controls.button(say("show its record"), self._open)
        actions = controls.row(self.reason, self.name, self.accept, self.record)
        self._parts = controls.column(self.table.box, self.effect, actions)
        self.box = controls.column(self.head, self._parts, self.answer)
        self.show()

    def show(self) -> None:
        """List the findings of the month that is shown; those that block it come first."""
        findings = self._desk.findings
        self._findings, self._place = findings[:MOST_FINDINGS], 0
        title = self._looks.heading("Findings") if findings else ""
        self.head.value = title + self._looks.line(_count_text(findings))
        self._parts.layout.display = "" if findings else "none"
        self._show_table()

    def clear(self) -> None:
        """Take away what was said of the last acceptance."""
        self.answer.value = ""

    @property
    def chosen(self) -> Finding | None:
        """The finding that is chosen in the table."""
        return self._findings[self._place] if self._findings else None

    def _show_table(self) -> None:
        shown = text_table("", COLUMNS_SHOWN, (each.cells for each in self._findings))
        self.table.show(content_of(shown, "findings", self._looks, chosen=self._place))
        chosen = self.chosen
        effect = chosen.effect if chosen and not chosen.accepted else ""
        self.accept.disabled, self.effect.value = not effect, self._looks.line(effect)
        self.record.disabled = chosen is None or not chosen.record_id
        self.reason.placeholder = self._looks.text(_WHY[bool(chosen and chosen.check in LEFT_OUT)])

    def _choose(self, row: int) -> None:
        """Choose a finding, and lead the keys to the reason."""
        self._place = row
        self._show_table()
        self.answer.value = ""
        if not self.accept.disabled:
            self.reason.focus()

    def _accept(self) -> None:
        if self.chosen is None:
            return
        finding = self.chosen
        with self._looks.telling(self.answer):
            self._desk.accept(finding, self.reason.value, self.name.value)
            self.reason.value = ""
            text = Message("accepted: {why}", why=f"{finding.check} {finding.record_id}".strip())
            self.answer.value = self._looks.line(text, is_announced=True)
            self._done()

    def _open(self) -> None:
        if self.chosen is not None:
            self._show_record(self.chosen.record_id)


def _count_text(findings: list[Finding]) -> str:
    """Return how many findings there are, and how many of them block the close."""
    if not findings:
        return Message(
            "{MARK} {COLUMN}", mark=translated("\N{CHECK MARK}"), column=translated(_NONE)
        )
    count, blocking = len(findings), sum(each.is_open_block for each in findings)
    total = Message("{count} finding" if count == 1 else "{count} findings", count=f"{count:,}")
    weight = _BLOCKING.get(blocking, "{count} block the close")
    text = Message(_COUNTED, found=total, weight=Message(weight, count=f"{blocking:,}"))
    return Message(_CUT, found=text, count=f"{MOST_FINDINGS:,}") if count > MOST_FINDINGS else text
