"""The entries that a ledger should hold of a month: those that were imported, or are to be."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from hashlib import sha256

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
from svc_analytics.schema import MONEY

_LINE = pa.schema({"id": pa.string(), "day": pa.date32(), "account": pa.string(), "amount": MONEY})


def entry_tables(lake: Lake, asked: Asked, month: str, at: PeriodOptions) -> tuple[Asked, pa.Table]:
    """Return the question in the currency of the books, and the lines of their entries."""
    if (preset := asked.preset) not in PRESETS:
        raise ConfigError(f"say which ledger it is, with --preset: {', '.join(PRESETS)}")
    accounts = read_accounts(lake.path / FILE)
    source = books_source(lake, month, at, may_be_provisional=True)
    books = books_for(lake, source, accounts, PRESETS[preset])
    currency, places = books.journal.currency.lower(), books.journal.places
    rows = [
        (entry["id"], date.fromisoformat(entry["day"]), account, Decimal(cents).scaleb(-places))
        for entry in _imported(lake, books, Ledger.of(lake.path, preset, accounts.file))
        for _, _, account, cents in entry["lines"]
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(_LINE)
    arrays = [pa.array(column, each.type) for column, each in zip(columns, _LINE, strict=True)]
    lines = pa.Table.from_arrays(arrays, schema=_LINE)
    return replace(asked, currency=currency), lines


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
