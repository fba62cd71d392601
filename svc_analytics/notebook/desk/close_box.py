"""The button that closes a month, its progress, what became of it, and what else there is to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from svc_analytics.books.entry import Journal
from svc_analytics.books.export import Books, write_books
from svc_analytics.books.presets import PRESETS
from svc_analytics.closing.handover.books import books_file
from svc_analytics.closing.result import CloseResult
from svc_analytics.errors import SvcError
from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import DisplayTable
from svc_analytics.messages import Message, translated
from svc_analytics.notebook.desk import controls
from svc_analytics.notebook.desk.desk_months import CloseRun, DeskMonths
from svc_analytics.render.month_state import SIGNS, MonthState

_SEALED = (
    "{MONTH} is sealed, version {version}. "
    "Next: open its page, or make the zip for the auditor, with the buttons above."
)
_SEALED_OTHER = (
    "{MONTH} is sealed, version {version}. "
    "To open its page, or to make the zip for the auditor, choose it above."
)
_FIRST = "Close {MONTH} first: each seal names that of the month before."
_NOT_CLOSED = "{MONTH} was not closed; its figures so far are in {place}"
_CHECKED = "{MONTH} was checked: the records still give what was sealed."


class CloseBox:
    """Closes the month that is shown, or all that are due; `done` is called when it is over."""

    def __init__(
        self, desk: DeskMonths, handover: HandOver, books: BooksBox, done: Callable[[], object]
    ) -> None:
        self._desk, self._handover, self._done = desk, handover, done
        self._books, self._looks = books, desk.looks
        say = desk.looks.text
        self.run: CloseRun | None = None
        self.moved: Callable[[], object] = lambda: None  # is called when a month has an answer
        self._began = 0.0
        self._results: list[CloseResult] = []
        self._failure, self._is_of_all = "", False
        self.close = controls.button(say("Close"), self._close_one, "svc-main")
        self.before = controls.button("", self._close_before, "svc-main")
        self.stop = controls.button(say("Stop"), self._stop, tip=say("stop as Ctrl-C does"))
        self.check = controls.button("", self._close_one, "svc-link")
        every, again = say("Close every month that is due"), say("Read the lake again")
        self.all_due = controls.button(every, lambda: self._start(None), "svc-link")
        self.again = controls.button(again, self._read_again, "svc-link")
        self.head, self.progress, self.outcome, self.later = (controls.html() for _ in range(4))
        top = controls.row(self.head, controls.html("", "svc-space"), handover.box)
        main = controls.row(self.before, self.close, self.stop, self.progress)
        quiet = controls.row(self.check, self.all_due, self.again)
        lines = (self.later, self.outcome, handover.below, books.box)
        self.box = controls.column(top, main, *lines, quiet)
        self.run = desk.running(self._tell)
        self.show()

    @property
    def is_running(self) -> bool:
        """Whether a close runs now."""
        return self.run is not None

    def show(self) -> None:
        """Offer what can be done with the month that is shown."""
        tile, is_idle = self._desk.tile, not self.is_running
        is_done = tile.kind == "sealed"
        self.head.value = self._head(tile)
        say, name = self._looks.text, tile.period.month_name
        older, before = self._desk.left_between, self._desk.to_close_again
        close = "Close {MONTH} again" if tile.kind == "changed" else "Close {MONTH}"
        self.close.description = say(close, month=translated(name))
        if older and tile.kind != "changed":
            both = {"month": translated(name), "older": translated(older.period.month_name)}
            self.close.description = say("Close {MONTH} before {OLDER}", **both)
        self.before.layout.display = "" if before else "none"
        if before:
            named = translated(before.period.month_name)
            self.before.description = say("Close {MONTH} again", month=named)
        self.before.button_style, self.before.disabled = "primary", not is_idle
        self.close.button_style = "" if before or older else "primary"
        self.close.disabled = not (is_idle and tile.can_be_closed)
        self.close.layout.display = "none" if is_done else ""
        self.check.description = say("Check {MONTH} again", month=translated(name))
        self.check.layout.display = "" if is_done else "none"
        self.check.disabled = self.all_due.disabled = self.again.disabled = not is_idle
        self.stop.disabled = is_idle
        self.stop.layout.display = "none" if is_idle else ""
        self.later.value = self._looks.line(self._hint(), is_announced=True)
        self._handover.show(is_idle=is_idle)
        self._books.show(is_idle=is_idle)

    def _hint(self) -> str:
        """Say what comes after a close, or before one."""
        if later := self._desk.chosen_later:
            title = self._title(later)
            return Message("{MONTH} is shown when the close is over", month=translated(title))
        first = self._desk.first_open
        if first is None or self.is_running or self._desk.tile.is_sealed:
            return ""
        return Message(_FIRST, month=translated(first.period.title))

    def clear(self) -> None:
        """Take away the outcome of the last close."""
        self.outcome.value = ""

    def _close_one(self) -> None:
        self._start(self._desk.tile.label)

    def _close_before(self) -> None:
        if before := self._desk.to_close_again:
            self._start(before.label)

    def _start(self, label: str | None) -> None:
        self._results, self._began = [], monotonic()
        self._failure, self._is_of_all = "", label is None
        self.clear()
        self._handover.clear()
        self._books.clear()
        is_one = Message("closing {MONTH}", month=translated(self._title(label))) if label else ""
        self.note(is_one or "closing every month that is due")
        try:
            self.run = self._desk.close(label, self._tell)
            self.run.start()
        except SvcError as error:
            self.note("")
            self.outcome.value = self._looks.error(error)
        self.show()

    def _stop(self) -> None:
        if self.run:
            self.note("stopping")
            self.run.stop()

    def _read_again(self) -> None:
        self._desk.refresh()
        self._done()

    def _tell(self, kind: str, message: Any) -> None:
        """Show what the run tells; it is called in a thread."""
        if kind == "note":
            self.note(message)
        elif kind == "closed":
            self._results.append(message)
            self._desk.take(message)
            self.moved()
            self._show_outcome()
        elif kind == "failed":
            self._failure = self._looks.error(message)
            self._show_outcome()
        else:
            self._end()

    def _end(self) -> None:
        try:
            self._desk.refresh(is_next=self._is_of_all)
            self._show_outcome()
        finally:
            self.run = None
            self.note("")
            self.show()
        self._done()

    def note(self, text: str) -> None:
        """Word the running step, and for how long it runs; empty when it is done."""
        passed = Message("{seconds} s", seconds=f"{monotonic() - self._began:.0f}")
        is_timed = bool(text) and self.is_running
        self.progress.value = self._looks.line(text, passed if is_timed else "", is_announced=True)

    def _title(self, label: str) -> str:
        """Return the name of a month by its label, or by that of its folder."""
        return self._desk.month(label.partition("@")[0]).title

    def _show_outcome(self) -> None:
        self.outcome.value = "".join(map(self._outcome, self._results)) + self._failure

    def _outcome(self, result: CloseResult) -> str:
        """Return the result of a close in words, and what to do next."""
        first, *rest = result.lines()
        title = self._title(result.label)
        place = f"{result.folder.parent.name}/{result.folder.name}"
        if result.state == "unchanged":
            first = Message(_CHECKED, month=translated(title))
        elif result.seal and result.is_new:
            is_shown = result.label.partition("@")[0] == self._desk.tile.label
            sealed = _SEALED if is_shown else _SEALED_OTHER
            first = Message(sealed, month=translated(title), version=result.version)
        elif result.state == "provisional":
            first = Message(_NOT_CLOSED, month=translated(title), place=place)
        if result.seal:
            seal = Message("It is in {place}; its seal is {seal}", place=place, seal=result.seal)
            rest = [*rest, seal]
        lines = [self._looks.line(first, is_announced=True)]
        lines += [f'<div class="svc-quiet">{self._looks.line(text)}</div>' for text in rest]
        return f'<div class="svc-told svc-{result.state}">{"".join(lines)}</div>'

    def _head(self, tile: MonthState) -> str:
        """Return the month that is shown, its state, and what there is to know of it."""
        note = tile.over if tile.kind in ("due", "late") else tile.note
        title, word, note = map(self._looks.html, (tile.period.title, tile.word, note))
        state = f'<span class="svc-{tile.kind}">{SIGNS[tile.kind]} {word}</span>'
        note = f'<span class="svc-quiet">{note}</span>'
        return f'<div class="svc-title"><b>{title}</b> {state} {note}</div>'


_MOST = 300  # lines that are shown; the file holds all
_COUNTED = "entries: {count}; records without a price, which none holds: {unpriced}"
_WRITTEN = "{file}. It arrives as: {ARRIVES}"
_WRITTEN_FIRST = "{file}. Before the import: {BEFORE}. It arrives as: {ARRIVES}"
_HEAD = ["day", "entry", "account", "description", "debit", "credit"]


class BooksBox:
    """Offers the systems, shows the entries, and writes the file that the system imports."""

    def __init__(self, desk: DeskMonths) -> None:
        self._desk, self._looks, say = desk, desk.looks, desk.looks.text
        self._books: Books | None = None
        self.preset = controls.choice(
            say("Books for"), {PRESETS[name].title: name for name in PRESETS}
        )
        self.preset.observe(lambda _: self.clear(), "value")  # another ledger, other entries
        self.look = controls.button(say("Show entries"), self._look)
        tip = say("show the entries first")
        self.write = controls.button(say("Write the file"), self._write, tip=tip)
        self.message, self.entries = controls.html(), controls.html()
        offered = controls.row(self.preset, self.look, self.write)
        self.box = controls.column(offered, self.message, self.entries)
        self.show()

    def show(self, *, is_idle: bool = True) -> None:
        """Offer the books of a sealed month, and of no other."""
        self.box.layout.display = "" if self._desk.tile.is_sealed else "none"
        self.look.disabled = not is_idle
        self.write.disabled = not is_idle or self._books is None

    def clear(self) -> None:
        """Take away the entries of another month."""
        self._books = None
        self.message.value = self.entries.value = ""
        self.show()

    def _look(self) -> None:
        self.clear()
        with self._looks.telling(self.message):
            books = self._books = self._desk.books(PRESETS[self.preset.value])
            self.entries.value = self._looks.table(entries_table(books.journal))
            count, unpriced = len(books.journal.entries), len(books.movements.unpriced)
            self._tell(Message(_COUNTED, count=count, unpriced=unpriced))
            self.show()

    def _write(self) -> None:
        if self._books is None:
            return
        preset = PRESETS[self.preset.value]
        with self._looks.telling(self.message):
            place = books_file(self._desk.lake, self._books, preset)
            file, *_ = write_books(self._books, preset, place)
            texts = {
                "file": file,
                "before": translated(preset.before),
                "arrives": translated(preset.arrives),
            }
            self._tell(Message(_WRITTEN_FIRST if preset.before else _WRITTEN, **texts))

    def _tell(self, text: str) -> None:
        self.message.value = self._looks.line(text, is_announced=True)


def entries_table(journal: Journal) -> DisplayTable:
    """Return entries as a table: each with its debits, its credits, and a balance of zero."""
    rows, totals = list[list[Cell]](), []
    for entry in journal.entries:
        day = Cell(entry.day.isoformat(), is_fixed=True, at=entry.day)
        for line in entry.lines:
            texts = map(Cell, (entry.entry_id, line.account, line.description))
            rows.append(_cells([day, *texts], journal.debit(line), journal.credit(line)))
        debit = sum(line.cents for line in entry.lines if line.cents > 0)
        credit = sum(-line.cents for line in entry.lines if line.cents < 0)
        balance = Message("balance {number}", number=journal.text(debit - credit))
        totals.append(len(rows))
        texts = map(Cell, ("", "", "", balance))
        rows.append(_cells([*texts], journal.text(debit), journal.text(credit)))
    return DisplayTable("", _HEAD, rows[:_MOST], totals=frozenset(totals), count=len(rows))


def _cells(texts: list[Cell], *amounts: str) -> list[Cell]:
    return [*texts, *(Cell(amount, is_number=True) for amount in amounts)]


# For each button: what it says, and the type of its file.
_BUTTONS = {
    "html": ("Open page", "text/html"),
    "xlsx": ("Excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "pdf": ("PDF", "application/pdf"),
    "zip": ("Zip for the auditor", "application/zip"),
}
_UNSEALED = "of a sealed month: close it first"


class HandOver:
    """Writes what is asked for beside the seal, says where, and lets the browser have it."""

    def __init__(self, desk: DeskMonths) -> None:
        self._desk, self._looks = desk, desk.looks
        self.buttons = {
            name: controls.button(desk.looks.text(text), partial(self._make, name))
            for name, (text, _) in _BUTTONS.items()
        }
        self.message, self.link = controls.html(), controls.scripted("file_link.js")()
        self.month = controls.html("", "svc-quiet")
        self.box = controls.row(self.month, *self.buttons.values())
        self.below = controls.row(self.message, self.link)
        self.show()

    def show(self, *, is_idle: bool = True) -> None:
        """Offer what can be handed on of the month that is shown."""
        is_sealed = self._desk.tile.is_sealed
        self.month.value = self._looks.line(self._desk.tile.period.title)
        for name, button in self.buttons.items():
            button.disabled = not (is_sealed and is_idle)
            button.tooltip = self._looks.text(_BUTTONS[name][0] if is_sealed else _UNSEALED)

    def clear(self) -> None:
        """Take away what was said of another month."""
        self.message.value = ""
        self.link.send({"name": ""})

    def _make(self, name: str) -> None:
        text, kind = _BUTTONS[name]
        self.clear()
        self.message.value = self._looks.line(
            Message("{FORM}: being made", form=translated(text)), is_announced=True
        )
        with self._looks.telling(self.message):
            path = self._desk.hand_over(name)
            content = path.read_bytes()
            shown = Message("{FORM}: {path}", form=translated(text), path=path)
            self.message.value = self._looks.line(shown, is_announced=True)
            link = self._looks.text("open it" if name == "html" else "save a copy")
            is_named = name in ("html", "zip")  # by its place in the lake
            saved = path.name if is_named else f"{path.stem}-{self._desk.tile.label}{path.suffix}"
            opened = {"name": saved, "type": kind, "isPage": name == "html", "text": link}
            self.link.send(opened, [content])
