"""The findings of a month, a line for each rule: open one, accept one of them, or a kind."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from svc_analytics.closing.acceptances import ONE_BY_ONE, Finding, last_name
from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import DisplayTable
from svc_analytics.messages import Message, translated
from svc_analytics.notebook.desk import controls
from svc_analytics.notebook.desk.desk_months import DeskMonths
from svc_analytics.render.differences import known_names
from svc_analytics.render.findings import rule_text
from svc_analytics.warehouse.acknowledgements import LEFT_OUT

FIRST, MOST = 5, 500  # findings of a kind that are listed: at first, and at most
COLUMNS = ["finding", "coins", "holds up"]
# What the reason of an acceptance is: of a record that is then left out, and of any other.
_WHY = {True: "why this may be left out of the figures", False: "why nothing is wrong with it"}
_YOURS = (
    "If it is your money, do not accept it: ask the service to send it again so that it can be "
    "read, then close the month."
)
_YOURS_LATER = (
    "If it may become your money, do not accept it: wait until the service has completed it, then "
    "close the month, which reads it again."
)
_NONE = "No findings. Every record passed every check."
_BLOCKING = {0: "none blocks the close", 1: "1 blocks the close"}
_COUNTED = "{FOUND}, {WEIGHT}"
_UNVERIFIED = {1: "1 receipt is not verified yet: the close verifies it"}
_ELSE = "what else blocks the close: {REASON}"
# Beside a kind: whether its findings are listed.
_OPEN = "\N{BLACK DOWN-POINTING SMALL TRIANGLE}"
_CLOSED = "\N{BLACK RIGHT-POINTING SMALL TRIANGLE}"


@dataclass
class Kind:
    """The findings of a rule that weigh the same, and how many of them are listed."""

    findings: list[Finding] = field(default_factory=list)
    listed: int = 0

    @property
    def is_together(self) -> bool:
        """Whether one reason may accept all: some findings are looked at one by one."""
        one, *others = self.findings
        return bool(others) and not one.accepted and one.check not in LEFT_OUT | ONE_BY_ONE

    @property
    def cells(self) -> list[str]:
        """What they mean and how many they are, of which coins, and what they hold up."""
        one = self.findings[0]
        coins = ", ".join(sorted({each.coin for each in self.findings} - {""}))
        weight = "the close" if one.is_open_block else "accepted" if one.accepted else "nothing"
        return [rule_text(one.check, len(self.findings)), coins, Message(weight)]


def kinds_of(findings: Sequence[Finding]) -> list[Kind]:
    """Return findings by their rule and weight, in their order; those that block are open."""
    kinds: dict[tuple[str, bool, bool], Kind] = {}
    for each in findings:
        key = (each.check, each.is_blocking, bool(each.accepted))
        kinds.setdefault(key, Kind()).findings.append(each)
    for kind in kinds.values():
        kind.listed = FIRST if kind.findings[0].is_open_block else 0
    return [*kinds.values()]


@dataclass(frozen=True)
class _FindingLine:
    """A line of the table: of a kind, of one finding of it, or of those that are not listed."""

    kind: Kind
    finding: Finding | None = None
    is_more: bool = False


class FindingBox:
    """The findings by kind, and beside them the form "accept, because …"."""

    def __init__(
        self, desk: DeskMonths, show_record: Callable[[str], object], done: Callable[[], object]
    ) -> None:
        self._desk, self._show_record, self._done = desk, show_record, done
        self._kinds: list[Kind] = []
        self._names: dict[str, Message] = {}  # of the records of notes, by their ids
        self._lines: list[_FindingLine] = []
        self._place: int | None = None  # of the line of the chosen finding
        self.head, self.effect, self.answer = (controls.html() for _ in range(3))
        self.fault = controls.html("", "svc-fault")
        self.table = controls.PressTable(lambda row, _: self._press(row), "svc-findings")
        self._looks, say = desk.looks, desk.looks.text
        self.reason = controls.field(say("accept, because"), say(_WHY[False]))
        printed = say("the statement prints it")
        self.name = controls.field(say("your name"), printed, last_name(desk.lake))
        self.accept = controls.button(say("accept this finding"), self._accept_one)
        self.all = controls.button("", self._accept_kind)
        self.record = controls.button(say("show its record"), self._open)
        self.sent = controls.SentForm((self.reason, self.name), (self.accept, self.all))
        actions = controls.row(self.accept, self.all, self.record)
        form = (self.effect, self.reason, self.name, self.fault, actions)
        self.form = controls.column(*form, look="svc-form")
        self._parts = controls.row(self.table.box, self.form, look="svc-judged")
        self.box = controls.column(self.head, self._parts, self.answer)
        self.show()

    def show(self) -> None:
        """List the findings of the month that is shown; those that block it come first, open."""
        findings, statement = self._desk.findings, self._desk.statement
        notes = (each.record_id for each in findings if not each.is_blocking)
        self._names = known_names(notes, statement.tables["lines"] if statement else None)
        self._kinds = kinds_of(findings)
        title = self._looks.heading("Findings") if findings else ""
        counts = self._looks.line(_count_text(findings), _unverified_text(self._desk.unverified))
        others = (Message(_ELSE, reason=translated(each)) for each in self._desk.other_reasons)
        self.head.value = title + counts + "".join(map(self._looks.line, others))
        self._parts.layout.display = "" if findings else "none"
        self._list()
        blocks = (n for n, one in enumerate(self._lines) if one.finding and one.kind is self._first)
        self._place = next(blocks, None) if self._first else None
        self._show()

    def clear(self) -> None:
        """Take away what was said of the last acceptance."""
        self.answer.value = self.fault.value = ""

    @property
    def chosen(self) -> Finding | None:
        """The finding that is chosen in the table."""
        return None if self._place is None else self._lines[self._place].finding

    @property
    def _first(self) -> Kind | None:
        """The first kind, where it blocks the close."""
        return next((each for each in self._kinds if each.findings[0].is_open_block), None)

    def _list(self) -> None:
        self._lines = [line for kind in self._kinds for line in _lines_of(kind)]

    def _show(self) -> None:
        rows = [[*map(Cell, self._texts(line))] for line in self._lines]
        shown = controls.content_of(
            DisplayTable("", COLUMNS, rows), "findings", self._looks, chosen=self._place
        )
        for row, line in zip(shown["rows"], self._lines, strict=True):
            is_rule = line.finding is None and not line.is_more
            row |= {"look": "svc-rule", "isOpen": bool(line.kind.listed)} if is_rule else {}
        self.table.show(shown)
        self._show_form()

    def _texts(self, line: _FindingLine) -> list[str]:
        """Return the cells of a line: of a kind what it means, of a finding what is wrong."""
        kind, finding = line.kind, line.finding
        if line.is_more:
            count = f"{len(kind.findings) - kind.listed:,}"
            return [Message("{count} more of this kind", count=count), "", ""]
        if finding is not None:
            return [self._detail(finding), finding.coin, ""]
        meaning, *others = kind.cells
        sign = _OPEN if kind.listed else _CLOSED
        return [Message("{sign} {TEXT}", sign=sign, text=translated(meaning)), *others]

    def _detail(self, finding: Finding) -> str:
        """Word a finding, behind the name of its record where its words have none."""
        record = self._names.get(finding.record_id)
        if record is None:
            return finding.detail
        parts = {"record": record, "detail": translated(finding.detail)}
        return Message("{RECORD}: {DETAIL}", **parts)

    def _show_form(self) -> None:
        chosen = self.chosen
        self.form.layout.display = "none" if chosen is None or chosen.accepted else ""
        if chosen is None:
            return
        kind, looks = self._lines[self._place or 0].kind, self._looks
        is_left_out = chosen.check in LEFT_OUT
        effect = looks.line(chosen.effect)
        if is_left_out:
            is_read = chosen.check == "status_is_known"
            effect = f"<b>{effect}</b>{looks.line(_YOURS_LATER if is_read else _YOURS)}"
        self.effect.value = looks.line(self._detail(chosen)) + effect
        self.all.layout.display = "" if kind.is_together else "none"
        count = f"{len(kind.findings):,}"
        self.all.description = looks.text("accept all {count} of this kind", count=count)
        self.record.disabled = not chosen.record_id
        self.reason.placeholder = looks.text(_WHY[is_left_out])

    def _press(self, place: int) -> None:
        """Open or close a kind, list all of it, or choose a finding and lead the keys on."""
        line = self._lines[place]
        if line.finding is not None:
            self._place = place
            self._show()
            if self.form.layout.display != "none":
                self.reason.focus()
            return
        line.kind.listed = MOST if line.is_more else 0 if line.kind.listed else FIRST
        self._list()
        first = next(n for n, each in enumerate(self._lines) if each.kind is line.kind) + 1
        self._place = first if line.kind.listed else None
        self._show()

    def _accept_one(self) -> None:
        if self.chosen is not None:
            self._accept([self.chosen])

    def _accept_kind(self) -> None:
        if self._place is not None:
            self._accept(self._lines[self._place].kind.findings)

    def _accept(self, findings: Sequence[Finding]) -> None:
        self.clear()
        with self._looks.telling(self.fault):
            self._desk.accept(findings, self.reason.value, self.name.value)
            self.reason.value = ""
            self.answer.value = self._looks.line(_accepted(findings), is_announced=True)
            self._done()

    def _open(self) -> None:
        if self.chosen is not None:
            self._show_record(self.chosen.record_id)


def _lines_of(kind: Kind) -> Iterator[_FindingLine]:
    yield _FindingLine(kind)
    yield from (_FindingLine(kind, each) for each in kind.findings[: kind.listed])
    if 0 < kind.listed < min(len(kind.findings), MOST):
        yield _FindingLine(kind, is_more=True)


def _accepted(findings: Sequence[Finding]) -> Message:
    """Say what was accepted, and of a record that no figure counts that it is left out."""
    one = findings[0]
    if one.check in LEFT_OUT:
        return one.outcome
    return Message("accepted: {WHAT}", what=rule_text(one.check, len(findings)))


def summary_table(findings: Sequence[Finding]) -> DisplayTable:
    """Return the findings as the page without a kernel lists them: a line for each kind."""
    rows = [[*map(Cell, kind.cells)] for kind in kinds_of(findings)]
    return DisplayTable("findings", COLUMNS, rows)


def _count_text(findings: Sequence[Finding]) -> str:
    """Return how many findings there are, and how many of them block the close."""
    if not findings:
        return Message(
            "{MARK} {COLUMN}", mark=translated("\N{CHECK MARK}"), column=translated(_NONE)
        )
    count, blocking = len(findings), sum(each.is_open_block for each in findings)
    total = Message("{count} finding" if count == 1 else "{count} findings", count=f"{count:,}")
    weight = _BLOCKING.get(blocking, "{count} block the close")
    return Message(_COUNTED, found=total, weight=Message(weight, count=f"{blocking:,}"))


def _unverified_text(count: int) -> str:
    """Return how many receipts may yet be findings."""
    many = "{count} receipts are not verified yet: the close verifies them"
    return Message(_UNVERIFIED.get(count, many), count=f"{count:,}") if count else ""
