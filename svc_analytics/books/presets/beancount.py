"""Beancount: entries as text, to include in a ledger that opens the accounts."""

from collections.abc import Iterator

from svc_analytics.books.entry import Entry, Journal
from svc_analytics.books.presets.preset import CodeForm, Preset, harmless

_LONGEST = 200
_PLACES = 8  # with 20 digits before the point, as many as Beancount computes with
ACCOUNT = CodeForm(
    r"(Assets|Liabilities|Equity|Income|Expenses)(:[A-Z0-9][A-Za-z0-9-]*)+",
    "Assets, Liabilities, Equity, Income or Expenses, then a colon and a name of letters, digits "
    "and hyphens that begins with a capital or a digit",
    "Income:Sales",
)


def write(journal: Journal) -> str:
    """Write the entries; which accounts they need is a comment, for only one file may open each."""
    return "".join(f"{line}\n" for line in _lines(journal))


def _lines(journal: Journal) -> Iterator[str]:
    yield f"; Books of {harmless(journal.label, _LONGEST)}. Your ledger opens these accounts:"
    for account in sorted({line.account for _, line in journal.lines}):
        yield f"; {journal.first_day} open {account}"
    if journal.entries:  # an account is opened once: a copy of this file is an error
        yield f"{journal.first_day} open Equity:Booked:{journal.entries[0].entry_id}"
    for entry in journal.entries:
        yield ""
        yield from _entry(journal, entry)


def _entry(journal: Journal, entry: Entry) -> Iterator[str]:
    yield f"{entry.day} * {_quoted(entry.narration)}"
    yield f"  entry_id: {_quoted(entry.entry_id)}"
    for line in entry.lines:
        yield f"  {line.account:<40}  {journal.text(line.cents, 0):>24} {journal.currency}"
        yield f"    description: {_quoted(line.description)}"


def _quoted(text: str) -> str:
    return '"' + harmless(text, _LONGEST, '"\\') + '"'


PRESET = Preset(
    "beancount",
    "Beancount",
    "beancount",
    write,
    arrives="as the file is included",
    again="Beancount reads a file once, and names the second include as an error; a copy under "
    "another name it names too, by the account Equity:Booked that each file opens",
    before="open the accounts in your ledger, and include each month's file once",
    account=ACCOUNT,
    is_included=True,
    digits=20,
    places=_PLACES,
)
