"""The books of a sealed or final month, for the merchant's accounting software."""

from pathlib import Path

from svc_analytics.arguments import PeriodOptions
from svc_analytics.books.accounts import FILE, read_accounts
from svc_analytics.books.booked import FOLDER
from svc_analytics.books.export import Books, BooksSource, books_for
from svc_analytics.books.presets.preset import Preset
from svc_analytics.closing import seals
from svc_analytics.closing.stated import statement as make_statement
from svc_analytics.closing.verification.proof import require_same, require_unaltered
from svc_analytics.errors import LakeError, PeriodNotClosed
from svc_analytics.instants import now
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.periods import parse_period


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
            why = translated(proof.findings.unproven[0])
            raise LakeError(Message("seal.no_tables", folder=sealed[-1], why=why))
        require_same(proof)
        statement = proof.sealed.statement
        return BooksSource(statement.period, statement.tables, statement.as_of, manifest["seal"])
    new = make_statement(lake, month, **at)
    if new.reasons and not may_be_provisional:
        reason = translated(new.reasons[0].text)
        raise PeriodNotClosed(Message("seal.provisional", label=period.folder, reason=reason))
    return BooksSource(new.period, new.tables, new.as_of, None, bool(new.reasons))


def books_of(lake: Lake, month: str, at: PeriodOptions, preset: Preset) -> Books:
    """Make the books of a sealed or final month for a system, by the chart of its lake."""
    accounts, source = read_accounts(lake.path / FILE), books_source(lake, month, at)
    return books_for(lake, source, accounts, preset.name)


def books_file(lake: Lake, books: Books, preset: Preset) -> Path:
    """Return the file of a month's entries for a system, in its lake."""
    return lake.path / FOLDER / books.file_name(preset)
