"""A period's movements as a journal of double entry: every entry sums to zero per currency.

Accounts (figures of a line are signed as the wallet sees them):

    payment   Wallet +net, Payment-Fees +fee when the merchant bears it, Sales -amount
    refund    Sales-Returns +amount, Wallet -debited
    payout    Customer-Payouts +amount, Payout-Fees +fee, Wallet -debited
    opening   Wallet +opening position, Opening -opening position

What is left, such as a fee with another bearer, goes to Suspense until a person maps it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svc_analytics.errors import LakeError
from svc_analytics.formatting.sanitize import escape_formula
from svc_analytics.formatting.tables import csv_line
from svc_analytics.formatting.values import rows_of
from svc_analytics.instants import from_micros
from svc_analytics.money import EXACT
from svc_analytics.periods import load_zone

if TYPE_CHECKING:
    from svc_analytics.render.document import Document

WALLET = "Assets:Wallet"
SALES = "Income:Sales"
SALES_RETURNS = "Income:Sales-Returns"
PAYMENT_FEES = "Expenses:Payment-Fees"
PAYOUT_FEES = "Expenses:Payout-Fees"
CUSTOMER_PAYOUTS = "Expenses:Customer-Payouts"
SUSPENSE = "Equity:Suspense"
OPENING = "Equity:Opening"
ACCOUNTS = (
    *(WALLET, SALES, SALES_RETURNS, PAYMENT_FEES, PAYOUT_FEES, CUSTOMER_PAYOUTS),
    *(SUSPENSE, OPENING),
)
COLUMNS = (
    *("entry_no", "day", "entry_id", "kind", "line_no", "needs_review"),
    *("account", "amount", "currency", "commodity", "reference_id", "receipt_no", "comment"),
)
_LINE = (
    *("line_no", "entry_id", "kind", "occurred_at_local", "currency", "gross", "fee", "net"),
    *("fee_bearer", "reference_id", "receipt_no", "comment"),
)
_COMMODITY = re.compile(r"[A-Z](?:[A-Z0-9._'-]{0,22}[A-Z0-9])?\Z")
_WORDS = {"TRUE", "FALSE", "NULL"}  # of Beancount's own language


@dataclass(frozen=True)
class Entry:
    """One movement: its postings are pairs of account and amount, in one currency."""

    day: date
    entry_id: str
    kind: str
    currency: str
    postings: tuple[tuple[str, Decimal], ...]
    line_no: int | None = None
    reference_id: str | None = None
    receipt_no: str | None = None
    comment: str | None = None

    @property
    def needs_review(self) -> bool:
        """Whether a part of it is in suspense."""
        return any(account == SUSPENSE for account, _ in self.postings)


@dataclass(frozen=True)
class Journal:
    """The entries of a period, and how each currency is named and written in them."""

    first_day: date
    end_day: date
    entries: tuple[Entry, ...]
    commodities: dict[str, str]
    places: dict[str, int]

    def amount(self, value: Decimal, currency: str) -> str:
        """Write an amount with as many digits as every amount of its currency has."""
        return f"{value:.{self.places[currency]}f}"


def make_journal(statement: Document) -> Journal:
    """Return the journal of a statement: opening positions, then a movement a line."""
    zone = load_zone(statement.period.zone)
    first, end = (
        from_micros(at).astimezone(zone).date()
        for at in (statement.period.start, statement.period.end)
    )
    summary = statement.tables["summary"].to_pylist()
    entries = (*_openings(summary, first), *map(_entry, _lines(statement)))
    amounts = [(entry.currency, value) for entry in entries for _, value in entry.postings]
    amounts += [
        (row["currency"], row["closing_position"])
        for row in summary
        if row["closing_position"] is not None
    ]
    places: dict[str, int] = {}
    for currency, value in amounts:
        places[currency] = max(places.get(currency, 0), _places(value))
    return Journal(first, end, entries, commodity_names(places), places)


def check_balanced(journal: Journal) -> None:
    """Refuse a journal in which an entry, as it will be written, is not zero-sum."""
    for entry in journal.entries:
        total = Decimal(0)
        for _, value in entry.postings:
            total = EXACT.add(total, Decimal(journal.amount(value, entry.currency)))
        if total:
            message = f"journal entry {entry.entry_id} is out of balance by {total}: not written"
            raise LakeError(message)


def write_postings(journal: Journal, path: Path) -> int:
    """Write a row per posting as CSV and return how many there are."""
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(csv_line(COLUMNS))
        for number, entry in enumerate(journal.entries, 1):
            file.writelines(_posting_lines(journal, number, entry))
            count += len(entry.postings)
    return count


def commodity_names(currencies: Iterable[str]) -> dict[str, str]:
    """Name coins as Beancount can read them.

    A slug is upper-cased; what is no letter, digit or . _ ' - becomes -; a name that
    begins with none of A-Z gets a C in front; longer names are cut to 24. Two slugs
    that would share a name get a part of their hash behind it.

    >>> commodity_names(["usdt", "1inch", "tether/trc20"])
    {'usdt': 'USDT', '1inch': 'C1INCH', 'tether/trc20': 'TETHER-TRC20'}
    """
    names = {currency: _commodity(currency) for currency in currencies}
    uses = Counter(names.values())
    return {
        currency: name if uses[name] == 1 else _distinct(name, currency)
        for currency, name in names.items()
    }


def _commodity(currency: str) -> str:
    name = re.sub(r"[^A-Z0-9._'-]", "-", currency.upper())
    if not re.match("[A-Z]", name) or name in _WORDS:
        name = f"C{name}"
    name = name[:24].rstrip("._'-")
    return name if _COMMODITY.match(name) else _distinct("C", currency)


def _distinct(name: str, currency: str) -> str:
    return f"{name[:15]}-{sha256(currency.encode()).hexdigest()[:8].upper()}"


def _openings(summary: list[dict[str, Any]], day: date) -> Iterator[Entry]:
    for row in summary:
        if opening := row["opening_position"]:
            postings = ((WALLET, opening), (OPENING, -opening))
            entry_id = f"opening:{row['currency']}"
            yield Entry(day, entry_id, "opening", row["currency"], postings)


def _lines(statement: Document) -> Iterator[dict[str, Any]]:
    for row in rows_of(statement.tables["lines"].select(list(_LINE))):
        yield dict(zip(_LINE, row, strict=True))


def _entry(line: dict[str, Any]) -> Entry:
    postings = [(account, value) for account, value in _known(line) if value]
    left = Decimal(0)
    for _, value in postings:
        left = EXACT.subtract(left, value)
    if left:
        postings.append((SUSPENSE, left))
    return Entry(
        line["occurred_at_local"].date(),
        *(line["entry_id"], line["kind"], line["currency"], tuple(postings)),
        *(line["line_no"], line["reference_id"], line["receipt_no"], line["comment"]),
    )


def _known(line: dict[str, Any]) -> list[tuple[str, Decimal]]:
    """Return the postings that the contract's fields explain, before what is left."""
    wallet = (WALLET, line["net"])
    if line["kind"] == "refund":
        return [(SALES_RETURNS, -line["gross"]), wallet]
    if line["kind"] == "payout":
        return [(CUSTOMER_PAYOUTS, -line["gross"]), (PAYOUT_FEES, -line["fee"]), wallet]
    fees = [(PAYMENT_FEES, -line["fee"])] if line["fee_bearer"] == "merchant" else []
    return [wallet, *fees, (SALES, -line["gross"])]


def _places(value: Decimal) -> int:
    text = f"{value:f}"
    return len(text.partition(".")[2].rstrip("0"))


def _posting_lines(journal: Journal, number: int, entry: Entry) -> Iterator[str]:
    known = (entry.reference_id, entry.receipt_no, entry.comment)
    texts = [escape_formula(text or "") for text in known]
    for account, value in entry.postings:
        yield csv_line(
            (
                *(str(number), entry.day.isoformat(), escape_formula(entry.entry_id), entry.kind),
                *("" if entry.line_no is None else str(entry.line_no),),
                *("true" if entry.needs_review else "false", account),
                *(journal.amount(value, entry.currency), escape_formula(entry.currency)),
                *(journal.commodities[entry.currency], *texts),
            )
        )
