"""hledger: a journal as text.

hledger has no ids of entries. So each file posts one `file` to an account of its own, and asserts
that the account has no more: a file that is read twice is an error.
"""

from collections.abc import Iterator

from svc_analytics.books.entry import Entry, Journal
from svc_analytics.books.presets.plain_text import Once, preset


def _declared(journal: Journal) -> Iterator[str]:
    if journal.entries:
        yield "commodity 1. file"
        yield f"account {_account(journal)}"


def _lines(journal: Journal, entry: Entry) -> Iterator[str]:
    if entry == journal.entries[0]:
        yield f"    ({_account(journal)})  1 file = 1 file"


def _account(journal: Journal) -> str:
    return f"booked:{journal.entries[0].entry_id}"


PRESET = preset(
    "hledger",
    "journal",
    Once(_declared, _lines),
    again="hledger refuses a file that is read twice, also a copy of it, by the balance of the "
    "account booked that each file asserts; -R leaves that account out of reports",
)
