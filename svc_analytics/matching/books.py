"""The entries that a ledger should hold of a month: those that were imported, or are to be."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import partial
from hashlib import sha256
from typing import Any

import pyarrow as pa

from svc_analytics.arguments import PeriodOptions
from svc_analytics.books.accounts import FILE, read_accounts
from svc_analytics.books.booked import FOLDER, Facts, Ledger, facts_of, read_booked
from svc_analytics.books.export import Books
from svc_analytics.books.presets import PRESETS
from svc_analytics.closing.handover.books import books_for, books_source
from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake
from svc_analytics.matching.matcher import Asked

_LINE = pa.schema(
    [
        ("id", pa.string()),
        ("day", pa.date32()),
        ("account", pa.string()),
        ("amount", pa.decimal128(38, 18)),
        ("coin", pa.string()),
    ]
)


def entry_tables(
    lake: Lake, asked: Asked, month: str, at: PeriodOptions, preset: str | None
) -> tuple[Asked, dict[str, pa.Table]]:
    """Return the question in the currency of the books, and the lines of their entries."""
    if preset not in PRESETS:
        raise ConfigError(f"say which ledger it is, with --preset: {', '.join(PRESETS)}")
    accounts = read_accounts(lake.path / FILE)
    source = books_source(lake, month, at, may_be_provisional=True)
    books = books_for(lake, source, accounts, PRESETS[preset])
    currency = books.journal.currency.lower()
    as_amount = partial(_amount, places=books.journal.places)
    rows = [
        (entry["id"], date.fromisoformat(entry["day"]), account, as_amount(cents), currency)
        for entry in _imported(lake, books, Ledger.of(lake.path, preset, accounts.file))
        for _, _, account, cents in entry["lines"]
    ]
    return replace(asked, currency=currency), {"given_entry_lines": _table(rows)}


def _amount(cents: int, places: int) -> Decimal:
    return Decimal(cents).scaleb(-places)


def _table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(_LINE)
    arrays = [pa.array(column, each.type) for column, each in zip(columns, _LINE, strict=True)]
    return pa.Table.from_arrays(arrays, schema=_LINE)


def _imported(lake: Lake, books: Books, ledger: Ledger) -> Iterator[Facts]:
    """Yield the entries that were imported before these, which correct them, and these."""
    before = read_booked(lake.path / FOLDER, ledger).get(books.journal.label, ())
    for booked in before[: books.count]:
        yield from booked["entries"]
    for entry in books.journal.entries:
        yield facts_of(entry, books.count)


def is_own_file(lake: Lake, digest: str) -> bool:
    """Tell whether a list is a file that `books` wrote beside the lake."""
    folder = lake.path / FOLDER
    files = (path for path in folder.glob("*") if path.is_file())
    return any(sha256(path.read_bytes()).hexdigest() == digest for path in files)
