"""A statement as a double-entry journal: every entry sums to zero in its currency.

Accounts (figures of a line are signed as the wallet sees them):

    payment   Wallet +net, Payment-Fees +fee when the merchant bears it, Sales -amount
    refund    Sales-Returns +amount, Wallet -debited
    payout    Customer-Payouts +amount, Payout-Fees +fee, Wallet -debited
    opening   Wallet +opening position, Opening -opening position

The remainder, such as a fee with another bearer, goes to Suspense until a person maps it. What a
payout pays for is not recorded, so it settles a liability that the books of the merchant hold.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property, reduce
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from svc_analytics.errors import LakeError
from svc_analytics.formatting.tables import csv_line
from svc_analytics.formatting.texts import escape_formula, single_line
from svc_analytics.formatting.values import value_text
from svc_analytics.instants import to_micros
from svc_analytics.money import EXACT
from svc_analytics.periods import ZoneClock
from svc_analytics.render.document import Document, unknown_lines

WALLET = "Assets:Wallet"
SALES = "Income:Sales"
SALES_RETURNS = "Income:Sales-Returns"
PAYMENT_FEES = "Expenses:Payment-Fees"
PAYOUT_FEES = "Expenses:Payout-Fees"
CUSTOMER_PAYOUTS = "Liabilities:Customer-Payouts"
SUSPENSE = "Equity:Suspense"
OPENING = "Equity:Opening"
ACCOUNTS = (
    *(WALLET, SALES, SALES_RETURNS, PAYMENT_FEES, PAYOUT_FEES, CUSTOMER_PAYOUTS),
    *(SUSPENSE, OPENING),
)
# The columns of `journal.csv`, with their meanings.
COLUMNS = {
    "entry_no": "number of the entry, from 1",
    "day": "day of the movement in the zone of the statement",
    "entry_id": "the movement, as in the table lines",
    "kind": "payment, refund, payout or opening",
    "line_no": "number of its line in the table lines; empty for an opening position",
    "needs_review": "whether a part of the entry is in Suspense, so that a person must map it",
    "account": "the neutral account of the posting",
    "amount": "what the posting adds to its account; those of an entry sum to zero",
    "currency": "coin slug",
    "commodity": "the coin's name in Beancount",
    "reference_id": "the merchant's own id of the order or payout",
    "receipt_no": "receipt number of the payment",
    "comment": "the merchant's comment on the payout",
}
_LINE = (
    *("line_no", "entry_id", "kind", "occurred_at_local", "currency", "gross", "fee", "net"),
    *("fee_bearer", "reference_id", "receipt_no", "comment"),
)
_COMMODITY = re.compile(r"[A-Z](?:[A-Z0-9._'-]{0,22}[A-Z0-9])?\Z")
_WORDS = {"TRUE", "FALSE", "NULL"}  # of Beancount's own language


@dataclass(frozen=True)
class Transaction:
    """One movement in one currency; its postings are pairs of account and amount."""

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
        """Whether a part of it is in Suspense."""
        return any(account == SUSPENSE for account, _ in self.postings)


@dataclass(frozen=True)
class LedgerJournal:
    """The entries of a period, with the name and the decimal places of each currency."""

    first_day: date
    end_day: date
    entries: tuple[Transaction, ...]
    summary: list[dict[str, Any]]
    clock: ZoneClock

    @cached_property
    def amounts(self) -> list[tuple[str, Decimal]]:
        """Every posting and every known closing position, with its currency."""
        amounts = [(entry.currency, value) for entry in self.entries for _, value in entry.postings]
        closings = ((row["currency"], row["closing_position"]) for row in self.summary)
        return amounts + [(currency, value) for currency, value in closings if value is not None]

    @cached_property
    def places(self) -> dict[str, int]:
        """The decimal places of each currency."""
        places: dict[str, int] = {}
        for currency, value in self.amounts:
            own = len(f"{value:f}".partition(".")[2].rstrip("0"))
            places[currency] = max(places.get(currency, 0), own)
        return places

    @cached_property
    def commodities(self) -> dict[str, str]:
        """The name of each currency in Beancount."""
        return commodity_names(self.places)

    def amount(self, value: Decimal, currency: str) -> str:
        """Write an amount with the decimal places of its currency."""
        return f"{value:.{self.places[currency]}f}"


def make_journal(statement: Document) -> LedgerJournal:
    """Return the journal of a statement: opening positions, then its movements."""
    period = statement.period
    first, end = period.days
    summary = statement.tables["summary"].to_pylist()
    batches = statement.tables["lines"].select(list(_LINE)).to_batches(max_chunksize=10_000)
    lines = (line for batch in batches for line in batch.to_pylist())
    entries = (*_openings(summary, first), *map(_entry, lines))
    return LedgerJournal(first, end, entries, summary, period.clock)


def check_balanced(journal: LedgerJournal) -> None:
    """Raise `LakeError` if an entry, as it will be written, does not sum to zero."""
    for entry in journal.entries:
        texts = (journal.amount(value, entry.currency) for _, value in entry.postings)
        total = reduce(EXACT.add, map(Decimal, texts), Decimal(0))
        if total:
            message = f"journal entry {entry.entry_id} is out of balance by {total}: not written"
            raise LakeError(message)


def write_postings(journal: LedgerJournal, path: Path) -> int:
    """Write the postings as CSV, one a row; return how many there are."""
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(csv_line(COLUMNS))
        for number, entry in enumerate(journal.entries, 1):
            file.writelines(_posting_lines(journal, number, entry))
            count += len(entry.postings)
    return count


def commodity_names(currencies: Iterable[str]) -> dict[str, str]:
    """Return the name of each coin as a commodity of Beancount.

    Slugs are upper-cased; characters other than letters, digits and . _ ' - become -; a
    name that does not begin with A-Z gets a C in front; longer names are cut to 24. Slugs
    that would share a name each get a part of their hash at the end.

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


def _openings(summary: list[dict[str, Any]], day: date) -> Iterator[Transaction]:
    for row in summary:
        if opening := row["opening_position"]:
            postings = ((WALLET, opening), (OPENING, opening.copy_negate()))
            entry_id = f"opening:{row['currency']}"
            yield Transaction(day, entry_id, "opening", row["currency"], postings)


def _entry(line: dict[str, Any]) -> Transaction:
    postings = [(account, value) for account, value in _known(line) if value]
    remainder = reduce(EXACT.subtract, (value for _, value in postings), Decimal(0))
    if remainder:
        postings.append((SUSPENSE, remainder))
    return Transaction(
        day=line["occurred_at_local"].date(),
        entry_id=line["entry_id"],
        kind=line["kind"],
        currency=line["currency"],
        postings=tuple(postings),
        line_no=line["line_no"],
        reference_id=line["reference_id"],
        receipt_no=line["receipt_no"],
        comment=line["comment"],
    )


def _known(line: dict[str, Any]) -> list[tuple[str, Decimal]]:
    """Return the postings that the contract's fields explain, without the remainder."""
    wallet = (WALLET, line["net"])
    gross, fee = line["gross"].copy_negate(), line["fee"].copy_negate()
    if line["kind"] == "refund":
        return [(SALES_RETURNS, gross), wallet]
    if line["kind"] == "payout":
        return [(CUSTOMER_PAYOUTS, gross), (PAYOUT_FEES, fee), wallet]
    fees = [(PAYMENT_FEES, fee)] if line["fee_bearer"] == "merchant" else []
    return [wallet, *fees, (SALES, gross)]


def _posting_lines(journal: LedgerJournal, number: int, entry: Transaction) -> Iterator[str]:
    line_no, review = value_text(entry.line_no), value_text(entry.needs_review)
    entry_id, day = escape_formula(entry.entry_id), entry.day.isoformat()
    coin = (escape_formula(entry.currency), journal.commodities[entry.currency])
    texts = (entry.reference_id, entry.receipt_no, entry.comment)
    ends = [*coin, *(escape_formula(text or "") for text in texts)]
    for account, value in entry.postings:
        amount = journal.amount(value, entry.currency)
        yield csv_line(
            [str(number), day, entry_id, entry.kind, line_no, review, account, amount, *ends]
        )


# ---------- A journal as a Beancount file, each period in a file that opens its own accounts
# Beancount lets an entry miss zero by half of its last digit. So all amounts of a coin are
# written with the same number of digits, and balances have no tolerance.


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
    status_line = "sealed" if facts["is_sealed"] else facts["status"]
    yield f"; Statement {single_line(facts['label'])}, {status_line}, as of {facts['as_of']}"
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
