"""Journals as plain text, which hledger and ledger read alike."""

from collections.abc import Iterator

from svc_analytics.books.entry import Entry, Journal
from svc_analytics.books.presets.form import CodeForm
from svc_analytics.books.presets.preset import Preset, harmless

# Two blanks end an account's name; ; begins a comment, : and , a tag in it, | splits a payee.
_WITHOUT = ";:,|\t"
_LONGEST = 200
ACCOUNT = CodeForm(
    r"(?![(\[*!;~])(?!.*  )[^;\t]{1,200}",
    "at most 200 signs without ; and without two blanks (␣␣) side by side, "
    "begun by none of ( [ * ! ~",
    "income:sales",
)


def write(journal: Journal) -> str:
    """Write the journal as text, each account and the currency declared."""
    return "".join(f"{line}\n" for line in _lines(journal))


def _lines(journal: Journal) -> Iterator[str]:
    yield f"; Books of {harmless(journal.label, _LONGEST, _WITHOUT)}"
    sample = journal.text(10 ** (journal.places + 3), 0)  # hledger asks for its point
    yield f"commodity {sample if '.' in sample else sample + '.'} {journal.currency}"
    for account in sorted({line.account for _, line in journal.lines}):
        yield f"account {account}"
    for entry in journal.entries:
        yield ""
        yield from _entry(journal, entry)


def _entry(journal: Journal, entry: Entry) -> Iterator[str]:
    yield f"{entry.day} * ({entry.entry_id}) {harmless(entry.narration, _LONGEST, _WITHOUT)}"
    for line in entry.lines:
        amount = f"{journal.text(line.cents, 0)} {journal.currency}"
        text = harmless(line.fitted(_LONGEST), _LONGEST, _WITHOUT)
        yield f"    {line.account:<40}  {amount:>24}  ; {text}"


def preset(name: str, ending: str) -> Preset:
    """Return the preset of a program that reads this text."""
    return Preset(
        name,
        name,
        ending,
        write,
        arrives="as the file is included",
        before="include each month's file once",
        account=ACCOUNT,
        digits=40,
        places=18,
    )
