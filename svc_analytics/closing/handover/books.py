"""The books of a sealed or final month, for the merchant's accounting software."""

from pathlib import Path

from svc_analytics.arguments import PeriodOptions
from svc_analytics.books.accounts import FILE, Accounts, read_accounts
from svc_analytics.books.booked import FOLDER, Ledger, read_booked
from svc_analytics.books.entries import DAY
from svc_analytics.books.export import Books, BooksSource, Way, make_books
from svc_analytics.books.presets.preset import Preset
from svc_analytics.closing import seals
from svc_analytics.closing.states.stated import statement as make_statement
from svc_analytics.closing.verification.proof import require_same, require_unaltered
from svc_analytics.config import read_rates_path
from svc_analytics.errors import ConfigError, LakeError, PeriodNotClosed
from svc_analytics.external_rates import ExternalRates, read_rates
from svc_analytics.instants import now
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.periods import parse_period

USD = "USD"


def books_source(
    lake: Lake, month: str, at: PeriodOptions, *, may_be_provisional: bool = False
) -> BooksSource:
    """Return a month as its newest seal has it, or as the lake gives it where that is final.

    Raises `PeriodNotClosed` for a provisional month, unless it may be one, and for a seal that
    the lake no longer gives; `LakeError` for a sealed folder that was altered.
    """
    period = parse_period(month, now(), at.get("zone", "UTC"), at.get("calendar"))
    sealed = seals.versions(lake.path / seals.STATEMENTS / period.folder)
    if sealed:
        manifest = seals.read_manifest(sealed[-1])
        proof = require_unaltered(lake, sealed[-1], manifest)
        if proof.sealed is None:
            why = translated(proof.unproven[0])
            raise LakeError(Message("seal.no_tables", folder=sealed[-1], why=why))
        require_same(proof)
        statement = proof.sealed.statement
        return BooksSource(statement.period, statement.tables, statement.as_of, manifest["seal"])
    new = make_statement(lake, month, **at)
    if new.reasons and not may_be_provisional:
        reason = translated(new.reasons[0].text)
        raise PeriodNotClosed(Message("seal.provisional", label=period.folder, reason=reason))
    return BooksSource(new.period, new.tables, new.as_of, None, bool(new.reasons))


def way_of(
    lake: Lake, accounts: Accounts, preset: Preset, by: str = DAY, rate_file: str | None = None
) -> Way:
    """Return how books are made for a system: with the rate file and the imports of its lake."""
    path, is_usd = read_rates_path(lake.path, rate_file), accounts.currency == USD
    rates = None if is_usd else _rates_of(path, accounts)
    return Way(
        accounts, by, rates, read_booked(lake.path / FOLDER, ledger_of(lake, accounts, preset))
    )


def ledger_of(lake: Lake, accounts: Accounts, preset: Preset) -> Ledger:
    """Return the ledger that entries for a system are imported into."""
    return Ledger.of(lake.path, preset.name, accounts.file)


def _rates_of(path: Path, accounts: Accounts) -> ExternalRates:
    """Read the rates of the books' currency; an error says which line asks for it."""
    try:
        return read_rates(path, accounts.currency)
    except ConfigError as error:
        asks = f"{accounts.where('books', 'currency')} asks for {accounts.currency}"
        raise ConfigError(f"{error}; {asks}") from error


def books_of(lake: Lake, month: str, at: PeriodOptions, preset: Preset) -> Books:
    """Make the books of a sealed or final month for a system, by the chart of its lake."""
    accounts, source = read_accounts(lake.path / FILE), books_source(lake, month, at)
    return make_books(source, way_of(lake, accounts, preset))


def books_file(lake: Lake, books: Books, preset: Preset) -> Path:
    """Return the file of a month's entries for a system, in its lake."""
    return lake.path / FOLDER / books.file_name(preset)
