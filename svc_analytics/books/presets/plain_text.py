"""Journals as plain text, which hledger and ledger read alike."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from svc_analytics.books.entry import Entry, Journal
from svc_analytics.books.presets.preset import CodeForm, Preset, harmless

# Two blanks end an account's name; ; begins a comment, : and , a tag in it, | splits a payee.
_WITHOUT = ";:,|\t"
_LONGEST = 200
ACCOUNT = CodeForm(
    r"(?![(\[*!;~])(?!.*  )[^;\t]{1,200}",
    "at most 200 signs without ; and without two blanks (␣␣) side by side, "
    "begun by none of ( [ * ! ~",
    "income:sales",
)


@dataclass(frozen=True)
class Once:
    """How a program is told that an entry counts once: what is declared, and an entry's lines."""

    declared: Callable[[Journal], Iterable[str]]
    lines: Callable[[Journal, Entry], Iterable[str]]


def write(journal: Journal, once: Once) -> str:
    """Write the journal as text, each account and the currency declared."""
    return "".join(f"{line}\n" for line in _lines(journal, once))


def _lines(journal: Journal, once: Once) -> Iterator[str]:
    yield f"; Books of {harmless(journal.label, _LONGEST, _WITHOUT)}"
    sample = journal.text(10 ** (journal.places + 3), 0)  # hledger asks for its point
    yield f"commodity {sample if '.' in sample else sample + '.'} {journal.currency}"
    for account in sorted({line.account for _, line in journal.lines}):
        yield f"account {account}"
    yield from once.declared(journal)
    for entry in journal.entries:
        yield ""
        yield from _entry(journal, entry, once)


def _entry(journal: Journal, entry: Entry, once: Once) -> Iterator[str]:
    yield f"{entry.day} * ({entry.entry_id}) {harmless(entry.narration, _LONGEST, _WITHOUT)}"
    yield from once.lines(journal, entry)
    for line in entry.lines:
        amount = f"{journal.text(line.cents, 0)} {journal.currency}"
        text = harmless(line.fitted(_LONGEST), _LONGEST, _WITHOUT)
        yield f"    {line.account:<40}  {amount:>24}  ; {text}"


def preset(name: str, ending: str, once: Once, again: str) -> Preset:
    """Return the preset of a program that reads this text."""
    return Preset(
        name,
        name,
        ending,
        partial(write, once=once),
        arrives="as the file is included",
        again=again,
        before="include each month's file once",
        account=ACCOUNT,
        is_included=True,
        digits=40,
        places=18,
    )
