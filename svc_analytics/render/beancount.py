"""A journal as a Beancount file, each period in a file that opens its own accounts.

Beancount lets an entry miss zero by half of its last digit. So all amounts of a coin are
written with the same number of digits, and balances have no tolerance.
"""

from collections.abc import Iterator
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.values import value_text
from svc_analytics.instants import to_micros
from svc_analytics.render.document import unknown_lines
from svc_analytics.render.journal import ACCOUNTS, WALLET, LedgerJournal, Transaction

BEANCOUNT_DIGITS = 28  # the precision of Beancount's arithmetic
USD = "USD"


def write_beancount(journal: LedgerJournal, facts: dict[str, Any], path: Path) -> None:
    """Write the journal as a file that `bean-check` accepts."""
    transactions = (line for entry in journal.entries for line in _transaction(journal, entry))
    ends = chain(_balances(journal), _prices(journal))
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in chain(_head(journal, facts), transactions, ends))


def quoted(text: str) -> str:
    r"""Return a text as a quoted string of Beancount, on one line.

    >>> print(quoted('a "b" \\ c'))
    "a \"b\" \\ c"
    """
    return '"' + single_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _head(journal: LedgerJournal, facts: dict[str, Any]) -> Iterator[str]:
    merchant = facts["merchant"]
    name = merchant.get("display_name") or merchant["id"]
    standing = "sealed" if facts["is_sealed"] else facts["status"]
    yield f"; Statement {single_line(facts['label'])}, {standing}, as of {facts['as_of']}"
    yield from (f"; because {single_line(reason)}" for reason in facts["reasons"])
    yield from (f"; {single_line(text)}" for text in unknown_lines(facts))
    yield f"; content digest {facts['content_digest']}"
    yield "; This file opens its own accounts. After an earlier period in one file, leave out"
    yield "; the opening entries, open and commodity lines: the earlier period has them."
    yield f'option "title" {quoted(name + " " + facts["label"])}'
    yield f'option "operating_currency" "{USD}"'
    yield ""
    for account in ACCOUNTS:
        yield f"{journal.first_day} open {account}"
    for currency, commodity in journal.commodities.items():
        yield f"{journal.first_day} commodity {commodity}"
        yield f"  slug: {quoted(currency)}"
    yield ""


def _too_long(journal: LedgerJournal) -> set[str]:
    """Return the currencies with amounts of more digits than Beancount computes with."""
    return {
        currency
        for currency, value in journal.amounts
        if len(journal.amount(value, currency).strip("-").replace(".", "").lstrip("0"))
        > BEANCOUNT_DIGITS
    }


def _transaction(journal: LedgerJournal, entry: Transaction) -> Iterator[str]:
    flag = "!" if entry.needs_review else "*"
    narration = f"{entry.kind} {entry.reference_id or entry.currency}"
    yield f"{entry.day} {flag} {quoted(narration)}"
    yield f"  entry_id: {quoted(entry.entry_id)}"
    for name in ("receipt_no", "comment"):
        if text := getattr(entry, name):
            yield f"  {name}: {quoted(text)}"
    commodity = journal.commodities[entry.currency]
    for account, value in entry.postings:
        yield f"  {account:<28} {journal.amount(value, entry.currency):>28} {commodity}"
    yield ""


def _balances(journal: LedgerJournal) -> Iterator[str]:
    """Yield a balance without tolerance for each known closing position."""
    too_long = _too_long(journal)
    if too_long:
        yield f"; Beancount uses {BEANCOUNT_DIGITS} digits. Where amounts are longer, the balance"
        yield "; is a comment; every amount is exact as written."
    for row in journal.summary:
        if (closing := row["closing_position"]) is not None:
            amount = journal.amount(closing, row["currency"])
            commodity = journal.commodities[row["currency"]]
            mark = "; " if row["currency"] in too_long else ""
            yield f"{mark}{journal.end_day} balance {WALLET}  {amount} ~ 0 {commodity}"


def _prices(journal: LedgerJournal) -> Iterator[str]:
    for row in journal.summary:
        commodity = journal.commodities.get(row["currency"])
        rate: Decimal | None = row["implied_rate"]
        if rate is not None and commodity not in (None, USD):
            day = journal.clock.local(to_micros(row["implied_rate_at"])).date()
            yield f"{day} price {commodity}  {value_text(rate)} {USD}"
