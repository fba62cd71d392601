"""Journals as plain text: beancount, hledger and ledger."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from svc_analytics.books.entry import Entry, Journal
from svc_analytics.books.presets.preset import CodeForm, Preset, harmless

_LONGEST = 200

# ---------- hledger and ledger, which read one text alike

# Two blanks end an account's name; ; begins a comment, : and , a tag in it, | splits a payee.
_WITHOUT = ";:,|\t"
_ACCOUNT = CodeForm(
    r"(?![(\[<*!;~])(?!.*  )[^;\t]{1,200}",
    "at most 200 signs without ; and without two blanks (␣␣) side by side, "
    "begun by none of ( [ < * ! ~",
    "income:sales",
)
Lines = Iterable[str]


def _write(
    journal: Journal,
    declared: Callable[[Journal], Lines],
    once: Callable[[Journal, Entry], Lines],
) -> str:
    """Write a journal, its accounts declared as all else, and how an entry counts once."""
    lines = [f"; Books of {harmless(journal.label, _LONGEST, _WITHOUT)}"]
    lines += declared(journal)
    lines += [f"account {account}" for account in journal.accounts]
    for entry in journal.entries:
        narration = harmless(entry.narration, _LONGEST, _WITHOUT)
        lines += ["", f"{entry.day} * ({entry.entry_id}) {narration}", *once(journal, entry)]
        for line in entry.lines:
            amount = f"{journal.text(line.cents, 0)} {journal.currency}"
            text = harmless(line.fitted(_LONGEST), _LONGEST, _WITHOUT)
            lines.append(f"    {line.account:<40}  {amount:>24}  ; {text}")
    return "".join(f"{line}\n" for line in lines)


def _file_declared(journal: Journal) -> Lines:
    """Declare the currency, and what each file posts one of to an account of its own.

    hledger has no ids of entries: the account is asserted to have no more, and a file that is
    read twice is an error.
    """
    sample = journal.text(10 ** (journal.places + 3), 0)  # hledger asks for its point
    yield f"commodity {sample if '.' in sample else sample + '.'} {journal.currency}"
    if journal.entries:
        yield from ("commodity 1. file", f"account {_own_account(journal)}")


def _file_posted(journal: Journal, entry: Entry) -> Lines:
    is_first = entry == journal.entries[0]
    return [f"    ({_own_account(journal)})  1 file = 1 file"] if is_first else ()


def _own_account(journal: Journal) -> str:
    return f"booked:{journal.entries[0].entry_id}"


HLEDGER = Preset(
    "hledger",
    "hledger",
    "journal",
    partial(_write, declared=_file_declared, once=_file_posted),
    arrives="as the file is included",
    again="hledger refuses a file that is read twice, also a copy of it, by the balance of the "
    "account booked that each file asserts; -R leaves that account out of reports",
    before="include each month's file once",
    account=_ACCOUNT,
    is_included=True,
    digits=40,
    places=18,
)
LEDGER = Preset(
    "ledger",
    "ledger",
    "ledger",
    partial(
        _write,
        # What is not declared, a tag too, is an error where ledger is run as --pedantic.
        declared=lambda journal: (f"commodity {journal.currency}", "tag UUID"),
        once=lambda journal, entry: [f"    ; UUID: {entry.entry_id}"],
    ),
    arrives="as the file is included",
    again="each entry counts once, by its UUID",
    before="include each month's file once",
    account=_ACCOUNT,
    is_included=True,
    digits=40,
    places=18,
)

# ---------- Beancount: entries to include in a ledger that opens the accounts


def _beancount_lines(journal: Journal) -> Iterator[str]:
    """Yield the entries; the accounts are named in comments: only one file may open each."""
    yield f"; Books of {harmless(journal.label, _LONGEST)}. Your ledger opens these accounts:"
    for account in journal.accounts:
        yield f"; {journal.first_day} open {account}"
    if journal.entries:  # an account is opened once: a copy of this file is an error
        yield f"{journal.first_day} open Equity:Booked:{journal.entries[0].entry_id}"
    for entry in journal.entries:
        yield ""
        yield f"{entry.day} * {_quoted(entry.narration)}"
        yield f"  entry_id: {_quoted(entry.entry_id)}"
        for line in entry.lines:
            yield f"  {line.account:<40}  {journal.text(line.cents, 0):>24} {journal.currency}"
            yield f"    description: {_quoted(line.description)}"


def _quoted(text: str) -> str:
    return '"' + harmless(text, _LONGEST, '"\\') + '"'


BEANCOUNT = Preset(
    "beancount",
    "Beancount",
    "beancount",
    lambda journal: "".join(f"{line}\n" for line in _beancount_lines(journal)),
    arrives="as the file is included",
    again="Beancount reads a file once, and names the second include as an error; a copy under "
    "another name it names too, by the account Equity:Booked that each file opens",
    before="open the accounts in your ledger, and include each month's file once",
    account=CodeForm(
        r"(Assets|Liabilities|Equity|Income|Expenses)(:[A-Z0-9][A-Za-z0-9-]*)+",
        "Assets, Liabilities, Equity, Income or Expenses, then a colon and a name of letters, "
        "digits and hyphens that begins with a capital or a digit",
        "Income:Sales",
    ),
    is_included=True,
    digits=20,
    places=8,  # with 20 digits before the point, as many as Beancount computes with
)
