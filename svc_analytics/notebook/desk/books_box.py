"""The entries of a sealed month for a system: shown as a table before the file is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from svc_analytics.books.entry import Entry, EntryLine, Journal
from svc_analytics.books.export import Books, write_books
from svc_analytics.books.presets.registry import PRESETS
from svc_analytics.errors import SvcError
from svc_analytics.formatting.sanitize import escape_invisible
from svc_analytics.messages import Message
from svc_analytics.notebook.desk import controls
from svc_analytics.notebook.desk.desk_months import DeskMonths
from svc_analytics.notebook.desk.looks import Looks

_MOST = 300  # lines that are shown; the file holds all
_COUNTED = "entries: {count}; records without a price, which none holds: {unpriced}"
_WRITTEN = "{file}. It arrives as: {ARRIVES}"
_WRITTEN_FIRST = "{file}. Before the import: {BEFORE}. It arrives as: {ARRIVES}"
_HEAD = ("day", "entry", "account", "description", "debit", "credit")


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
        self.said, self.entries = controls.html(), controls.html()
        offered = controls.row(self.preset, self.look, self.write)
        self.box = controls.column(offered, self.said, self.entries)
        self.show()

    def show(self, *, is_idle: bool = True) -> None:
        """Offer the books of a sealed month, and of no other."""
        self.box.layout.display = "" if self._desk.tile.is_sealed else "none"
        self.look.disabled = not is_idle
        self.write.disabled = not is_idle or self._books is None

    def clear(self) -> None:
        """Take away the entries of another month."""
        self._books = None
        self.said.value = self.entries.value = ""
        self.show()

    def _look(self) -> None:
        self.clear()
        try:
            books = self._books = self._desk.books(PRESETS[self.preset.value])
        except SvcError as error:
            self.said.value = self._looks.error(error)
            return
        self.entries.value = entries_html(books.journal, self._looks)
        count, unpriced = len(books.journal.entries), len(books.movements.unpriced)
        self._tell(Message(_COUNTED, count=count, unpriced=unpriced))
        self.show()

    def _write(self) -> None:
        if self._books is None:
            return
        preset = PRESETS[self.preset.value]
        try:
            file, *_ = write_books(self._books, preset, self._desk.books_file(self._books, preset))
        except SvcError as error:
            self.said.value = self._looks.error(error)
            return
        texts = {"file": file, "BEFORE": preset.before, "ARRIVES": preset.arrives}
        self._tell(Message(_WRITTEN_FIRST if preset.before else _WRITTEN, **texts))

    def _tell(self, text: str) -> None:
        self.said.value = self._looks.line(text, is_told=True)


def entries_html(journal: Journal, looks: Looks) -> str:
    """Return entries as a table: each with its debits, its credits, and a balance of zero."""
    head = _row("th", tuple(map(looks.text, _HEAD)))
    rows = [head, *(row for each in journal.entries for row in _rows(journal, each, looks))]
    count = len(rows) - 1 - _MOST
    more = Message("{count} lines more are in the file", count=f"{count:,}") if count > 0 else ""
    return f'<table class="svc-entries">{"".join(rows[: _MOST + 1])}</table>{looks.line(more)}'


def _rows(journal: Journal, entry: Entry, looks: Looks) -> Iterator[str]:
    for line in entry.lines:
        yield _row("td", map(escape_invisible, _cells(journal, entry, line)))
    debit = sum(line.cents for line in entry.lines if line.cents > 0)
    credit = sum(-line.cents for line in entry.lines if line.cents < 0)
    balance = looks.text("balance {number}", number=journal.text(debit - credit))
    yield _row("th", ("", "", "", balance, journal.text(debit), journal.text(credit)))


def _cells(journal: Journal, entry: Entry, line: EntryLine) -> tuple[str, ...]:
    amounts = (journal.debit(line), journal.credit(line))
    return (entry.day.isoformat(), entry.entry_id, line.account, line.description, *amounts)


def _row(kind: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(_cell(kind, place, text) for place, text in enumerate(cells))}</tr>"


def _cell(kind: str, place: int, text: str) -> str:
    side = "right" if _HEAD[place] in ("debit", "credit") else "start"
    return f'<{kind} style="text-align:{side}">{escape(text)}</{kind}>'
