"""`books`: a month as entries for the merchant's accounting software."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Unpack

import click

from svc_analytics.arguments import PeriodOptions
from svc_analytics.books import export
from svc_analytics.books.accounts import (
    FILE,
    Accounts,
    read_accounts,
    refusals,
    starter,
    unknown_coins,
)
from svc_analytics.books.booked import (
    FOLDER,
    Ledger,
    note_booked,
    other_accounts,
    require_imported,
)
from svc_analytics.books.entries import DAY, MONTH, places_of
from svc_analytics.books.export import Books, BooksSource, books_for
from svc_analytics.books.movements import ROUNDING, read_movements
from svc_analytics.books.presets import PRESETS
from svc_analytics.books.presets.preset import Preset
from svc_analytics.cli import shared_options
from svc_analytics.cli.console import echo_note, exit_if_attention
from svc_analytics.closing.handover.books import books_file, books_source
from svc_analytics.errors import ConfigError, system_refusals
from svc_analytics.formatting.tables import to_json
from svc_analytics.formatting.texts import counted, single_line
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.storage import merge_into

_COINS = "select distinct currency from ledger_entries order by currency"


@click.command()
@click.argument("month", metavar="[MONTH]", required=False)
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    help="The system that imports the entries; hledger, ledger and beancount are text.",
)
@click.option(
    "--accounts", metavar="FILE", help="The chart of accounts.  [default: books.toml of the lake]"
)
@click.option(
    "--by",
    type=click.Choice([DAY, MONTH]),
    default=DAY,
    show_default=True,
    help="One entry a day, or one for the month.",
)
@click.option("--out", metavar="FILE", help="The file to write.  [default: in books/ of the lake]")
@click.option(
    "--rates",
    metavar="FILE",
    help="Rates, where the books are not in USD.  [default: SVC_RATES or rates.csv of the lake]",
)
@click.option(
    "--provisional",
    "is_provisional",
    is_flag=True,
    help="Take a provisional month too; each entry says that it is.",
)
@click.option(
    "--booked",
    "is_booked",
    is_flag=True,
    help="Note that the entries of this seal were imported: a restatement then gives the "
    "difference.",
)
@click.option(
    "--init",
    "is_init",
    is_flag=True,
    help="Write a commented books.toml to begin with, with the coins of the lake.",
)
@click.option(
    "--check",
    "is_check",
    is_flag=True,
    help="Name what has no account, or what --preset would refuse.",
)
@shared_options.zone_options
@shared_options.shared_options
def books(
    *,
    month: str | None,
    preset: str | None,
    accounts: str | None,
    by: str,
    out: str | None,
    rates: str | None,
    is_provisional: bool,
    is_booked: bool,
    is_init: bool,
    is_check: bool,
    data_dir: str | None,
    as_json: bool,
    **at: Unpack[PeriodOptions],
) -> None:
    """Write a sealed month as entries for the accounting software.

    MONTH is a month that is sealed, or final. The accounts are those of books.toml; --init
    writes one to begin with, --check says what it lacks. Beside the file lie the records
    without a price, which no entry holds, the roll-forward of each coin, and the external
    rates where the books are not in USD.
    """
    if is_booked and (is_init or is_check):
        raise ConfigError("give --booked alone: --init and --check write no entries")
    lake = shared_options.open_lake(data_dir)
    path = Path(accounts or lake.path / FILE)
    if is_init:
        _begin(path, lake, as_json)
        return
    if month is None:
        raise ConfigError("no month given: svc-analytics books 2026-10 --preset xero")
    chart, system = read_accounts(path), PRESETS.get(preset or "")
    source = books_source(lake, month, at, may_be_provisional=is_provisional)

    def make(system: Preset) -> Books:
        return books_for(lake, source, chart, system.name, by, rates)

    if is_check:
        _check(source, chart, system, make, as_json)
        return
    if not system:
        raise ConfigError(f"give --preset: {', '.join(PRESETS)}")
    file = Path(out) if out else None
    _export(make(system), system, lake, source, file, is_booked, as_json)


def _export(
    month_books: Books,
    preset: Preset,
    lake: Lakehouse,
    source: BooksSource,
    out: Path | None,
    is_booked: bool,
    as_json: bool,
) -> None:
    """Write the entries, and note that they were imported if they were."""
    file, label = out or books_file(lake, month_books, preset), source.period.folder
    booking, entries = month_books.booking, month_books.journal.entries
    ledger = Ledger.of(lake.path, preset.name, booking.accounts.file)
    for other in other_accounts(lake.path / FOLDER, ledger, label):
        line = f"{label} was imported into {preset.title} with {other}: {ledger.accounts} is"
        echo_note(f"{line} another ledger, and gets the whole month", "other_ledger", "warning")
    if not is_booked:
        _write(month_books, preset, file, as_json)
        return
    if source.seal is None:
        raise ConfigError(f"{label} is not sealed: only a seal can be booked")
    files = export.files_of(month_books, preset, file)
    require_imported(lake.path / FOLDER, label, files)
    _write(month_books, preset, file, as_json)
    note_booked(lake.storage, ledger, booking, source.period, entries, source.seal, files)
    echo_note(f"{label} is noted as imported, in {lake.path / FOLDER}", "booked", period=label)


def _begin(path: Path, lake: Lakehouse, as_json: bool) -> None:
    """Write a file of accounts to begin with, with the coins of a lake; never over one."""
    if path.exists():
        raise ConfigError(f"{path} is there already: it stays as it is")
    coins = lake.sql(_COINS)["currency"].tolist()

    def write() -> None:
        with lake.storage.write(path) as temporary:
            temporary.write_text(starter(coins), encoding="utf-8", newline="\n")

    with system_refusals(ConfigError, f"cannot write {path}"):
        merge_into(lake.storage, write)
    unknown = unknown_coins(coins)
    if as_json:
        click.echo(to_json({"accounts": str(path), "unknown": unknown}))
        return
    click.echo(f"{path} is written: edit it")
    if unknown:
        names = single_line(", ".join(unknown))
        click.echo(f"fill in the class of {names} below [coins], and take the # away")


def _check(
    source: BooksSource,
    accounts: Accounts,
    preset: Preset | None,
    make: Callable[[Preset], Books],
    as_json: bool,
) -> None:
    """Print what a month's chart of accounts lacks, and what the system that was asked refuses.

    Where the chart has no mistake, the entries that are made by it are looked at.
    """
    places = [*places_of(read_movements(source.tables["lines"])), (ROUNDING, "")]
    missing = accounts.missing(places)
    refused = refusals(accounts, preset, places) if preset else []
    if preset and not missing and not refused:
        try:
            export.preset_files(make(preset), preset)
        except ConfigError as error:
            refused = [str(error)]
    if as_json:
        asked = {"preset": preset.name} if preset else {}
        click.echo(to_json({"missing": missing, "refused": refused} | asked))
    else:
        click.echo("\n".join(_checked(missing, refused, preset)))
    exit_if_attention(missing or refused)


def _checked(
    missing: Sequence[str], refused: Sequence[str], preset: Preset | None
) -> Iterator[str]:
    yield from (f"no account for {single_line(text)}" for text in missing)
    yield from map(single_line, refused)
    if not missing:
        yield "every figure and every coin has an account"
    if not preset:
        yield "no system was asked: give --preset too to check what it takes"
    elif not missing and not refused:
        yield f"{preset.title} takes the entries"


def _write(month_books: Books, preset: Preset, file: Path, as_json: bool) -> None:
    paths = export.write_books(month_books, preset, file)
    facts = export.figures_of(month_books)
    if as_json:
        click.echo(to_json({"files": [str(path) for path in paths], "preset": preset.name} | facts))
        return
    entries = counted(facts["entries"], "entry", "entries")
    click.echo(f"{paths[0]}: {entries}, {facts['debits']} {facts['currency']}")
    for path in paths[1:]:
        click.echo(f"{path}")
    click.echo(f"before the import into {preset.title}: {preset.before or 'nothing to do'}")
    click.echo(f"it arrives as: {preset.arrives}")
    click.echo(f"imported again: {preset.again}")
    if facts["unpriced"]:
        line = f"{counted(facts['unpriced'], 'record')} without a price: listed, and in no entry"
        echo_note(line, "unpriced_records", records=facts["unpriced"])
    accounts = month_books.booking.accounts
    if names := preset.left_out(accounts.tax, accounts.tracking):
        line = (
            f"a file for {preset.title} has no place for {', '.join(names)}: add it there by hand"
        )
        echo_note(line, "left_out", settings=names)
