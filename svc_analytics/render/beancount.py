"""A journal in the language of Beancount, one period complete in itself.

Beancount allows an entry to miss zero by half of its last digit, so all amounts of a
coin are padded to the same, full number of digits, and balances allow nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.values import value_text
from svc_analytics.periods import load_zone
from svc_analytics.render.journal import ACCOUNTS, WALLET, Entry, Journal

if TYPE_CHECKING:
    from svc_analytics.render.document import Document

BEANCOUNT_DIGITS = 28  # the precision of its arithmetic
USD = "USD"


def write_beancount(
    journal: Journal, statement: Document, facts: dict[str, Any], path: Path
) -> None:
    """Write the journal as a file that `bean-check` accepts."""
    summary = statement.tables["summary"].to_pylist()
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in _head(journal, facts))
        for entry in journal.entries:
            file.writelines(f"{line}\n" for line in _transaction(journal, entry))
        file.writelines(f"{line}\n" for line in _balances(journal, summary))
        file.writelines(f"{line}\n" for line in _prices(journal, summary, statement.period.zone))


def quoted(text: str) -> str:
    r"""Write a text as a string of Beancount, on one line.

    >>> print(quoted('a "b" \\ c'))
    "a \"b\" \\ c"
    """
    return '"' + single_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _head(journal: Journal, facts: dict[str, Any]) -> Iterator[str]:
    merchant = facts["merchant"]
    name = merchant.get("display_name") or merchant["id"]
    standing = "sealed" if facts["is_sealed"] else facts["status"]
    yield f"; Statement {single_line(facts['label'])}, {standing}, as of {facts['as_of']}"
    yield from (f"; because {single_line(reason)}" for reason in facts["reasons"])
    yield f"; content digest {facts['content_digest']}"
    yield "; This month is complete on its own. After another month in one file, leave out"
    yield "; the opening entries, open and commodity lines: the earlier month has them."
    yield f'option "title" {quoted(name + " " + facts["label"])}'
    yield f'option "operating_currency" "{USD}"'
    yield ""
    for account in ACCOUNTS:
        yield f"{journal.first_day} open {account}"
    for currency, commodity in journal.commodities.items():
        yield f"{journal.first_day} commodity {commodity}"
        yield f"  slug: {quoted(currency)}"
    yield ""


def _beyond(journal: Journal, summary: list[dict[str, Any]]) -> set[str]:
    """Return the currencies with amounts of more digits than Beancount reckons with."""
    amounts = [(entry.currency, value) for entry in journal.entries for _, value in entry.postings]
    amounts += [
        (row["currency"], row["closing_position"])
        for row in summary
        if row["closing_position"] is not None
    ]
    return {
        currency
        for currency, value in amounts
        if len(journal.amount(value, currency).strip("-").replace(".", "").lstrip("0"))
        > BEANCOUNT_DIGITS
    }


def _transaction(journal: Journal, entry: Entry) -> Iterator[str]:
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


def _balances(journal: Journal, summary: list[dict[str, Any]]) -> Iterator[str]:
    """Assert each known closing position, with no tolerance, as the next day begins."""
    beyond = _beyond(journal, summary)
    if beyond:
        yield f"; Beancount uses {BEANCOUNT_DIGITS} digits. Where amounts are longer, the balance"
        yield "; is a comment; every amount is exact as written."
    for row in summary:
        if (closing := row["closing_position"]) is not None:
            amount = journal.amount(closing, row["currency"])
            commodity = journal.commodities[row["currency"]]
            mark = "; " if row["currency"] in beyond else ""
            yield f"{mark}{journal.end_day} balance {WALLET}  {amount} ~ 0 {commodity}"


def _prices(journal: Journal, summary: list[dict[str, Any]], zone: str) -> Iterator[str]:
    for row in summary:
        commodity = journal.commodities.get(row["currency"])
        rate: Decimal | None = row["implied_rate"]
        if rate is not None and commodity not in (None, USD):
            day = row["implied_rate_at"].astimezone(load_zone(zone)).date()
            yield f"{day} price {commodity}  {value_text(rate)} {USD}"
