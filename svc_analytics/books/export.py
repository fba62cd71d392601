"""The books of a month: its entries for one system, and the lists that go with them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.books.accounts import Accounts, refusals
from svc_analytics.books.booked import (
    FOLDER,
    Facts,
    Imports,
    Ledger,
    count_before,
    facts_of,
    read_booked,
    require_apart,
    unbooked,
)
from svc_analytics.books.entries import DAY, Booking, make_entries
from svc_analytics.books.entry import Journal
from svc_analytics.books.movements import STEPS, WALLET, Movements, read_movements
from svc_analytics.books.presets.csv_files import csv_lines
from svc_analytics.books.presets.preset import Preset
from svc_analytics.config import read_rates_path
from svc_analytics.errors import ConfigError, system_refusals
from svc_analytics.external_rates import QUOTED, ExternalRates, read_rates
from svc_analytics.files import atomic_write, require_outside_lake
from svc_analytics.formatting.texts import escape_formula, single_line
from svc_analytics.lake.lake import Lake
from svc_analytics.money import as_decimal, format_amount
from svc_analytics.periods import Period


@dataclass(frozen=True)
class BooksSource:
    """The statement that books are made of."""

    period: Period
    tables: Mapping[str, pa.Table]
    as_of: int
    seal: str | None = None  # None where it is not sealed
    is_provisional: bool = False

    @property
    def days(self) -> tuple[date, date]:
        """The first and the last day, in the zone of the period."""
        first, behind = self.period.days
        return first, behind - timedelta(days=1)


@dataclass(frozen=True)
class Books:
    """The entries of a month, with what none of them holds and what they rest on."""

    journal: Journal
    booking: Booking
    movements: Movements
    roll: list[dict[str, str]]
    count: int = 0  # of the imports that these entries correct

    def file_name(self, preset: Preset) -> str:
        """Name the file for a system; a correction of what a program includes has its own."""
        correction = f"-C{self.count}" if self.count and preset.is_included else ""
        label = f"{preset.file_prefix}{self.journal.label}{correction}"
        return f"{label}.{preset.name}.{preset.ending}"

    def lists(self) -> dict[str, str]:
        """Return the lists that go with the entries, as CSV, by the ends of their names."""
        unpriced = [
            (
                each.entry_id,
                str(each.day),
                each.kind,
                each.coin,
                format_amount(each.units),
                each.why,
            )
            for each in self.movements.unpriced
        ]
        head = ("record", "day", "kind", "coin", "units", "why")
        lists = {
            "roll-forward.csv": _csv([COLUMNS, *(tuple(row.values()) for row in self.roll)]),
            "unpriced.csv": _csv([head, *unpriced]),
        }
        if rates := self.booking.rates:
            days = {day for day, _, _ in self.movements.sums}
            ends = (self.journal.last_day, _before(self.journal.first_day))
            days |= {day for day in ends if rates.find(day)}
            used = [line for each in rates.of(days) for line in each.lines]
            lists["rates.csv"] = _csv([QUOTED, *used])
        return lists


def _csv(lines: list[tuple[str, ...]]) -> str:
    return csv_lines(
        [[escape_formula(single_line(cell)) for cell in line] for line in lines], end="\n"
    )


def make_books(
    source: BooksSource,
    accounts: Accounts,
    by: str = DAY,
    rates: ExternalRates | None = None,
    booked: Imports | None = None,
) -> Books:
    """Make the entries of a month; of what was `booked` before, those that correct it.

    An entry is `by` the day or the month; `booked` are the imports into the ledger that they are
    for.
    """
    period = source.period
    if period.is_longer:
        raise ConfigError(f"{period.folder}: books are of a month; name one, such as 2026-10")
    first, last = source.days
    label = period.folder
    booking = Booking(label, last, accounts, by, rates, source.is_provisional)
    movements = read_movements(source.tables["lines"])
    if rates:
        rates.of({day for day, _, _ in movements.sums})  # all days that lack one are named
    require_apart(period, source.tables["lines"], booked or {})
    own = (booked or {}).get(label, ())
    entries = unbooked(make_entries(movements, booking), own, source.seal, booking)
    currency = rates.currency if rates else "USD"
    journal = Journal(label, first, last, source.as_of, tuple(entries), currency, booking.places)
    roll = roll_forward(movements, _positions(source, first, rates), last, rates)
    return Books(journal, booking, movements, roll, count_before(own, source.seal))


def _before(day: date) -> date:
    """Return the day before, which a position opened with."""
    return day - timedelta(days=1)


def _positions(
    source: BooksSource, first_day: date, rates: ExternalRates | None
) -> list[dict[str, Any]]:
    """Return the summary, with what each opening position was worth: the month before closed so."""
    before, day = source.period.shift(-1).label, _before(first_day)
    trend = source.tables["trend"].to_pylist() if "trend" in source.tables else []
    worth = {row["currency"]: row["usd_exposure"] for row in trend if row["month"] == before}
    rate = rates.find(day) if rates else None
    rows: list[dict[str, Any]] = source.tables["summary"].to_pylist()
    for row in rows:
        usd = Decimal(0) if row["opening_position"] == 0 else worth.get(row["currency"])
        value = None if usd is None else Fraction(usd)
        row["opening_value"] = rate and rate.convert(usd) if usd and rates else value
    return rows


def preset_files(books: Books, preset: Preset) -> list[bytes]:
    """Write the entries for one system: one file, or more where it takes no more lines in one."""
    accounts = books.booking.accounts
    places = {(line.figure, line.coin) for _, line in books.journal.lines}
    for refusal in refusals(accounts, preset, places):
        raise ConfigError(f"{preset.title} would refuse this: {refusal}")
    settings = accounts.settings.get(preset.name, {})
    return preset.files(replace(books.journal, settings=settings, tracking=accounts.tracking))


def files_of(books: Books, preset: Preset, out: Path) -> dict[Path, bytes]:
    """Make the files for one system: the content of each, by its path; nothing is written."""
    if why := preset.file.refusal(out.name):
        raise ConfigError(f"{preset.title} would refuse this: the file's name {why}")
    return {
        (out if place == 1 else out.with_name(f"{out.stem}-{place}{out.suffix}")): content
        for place, content in enumerate(preset_files(books, preset), 1)
    }


def write_books(books: Books, preset: Preset, out: Path) -> list[Path]:
    """Write the entries for one system, and beside them the lists; return the files."""
    require_outside_lake(out)
    contents = files_of(books, preset, out)
    for name, text in books.lists().items():
        contents[out.with_name(f"{out.stem}.{name}")] = text.encode()
    with system_refusals(ConfigError, f"cannot write {out}"):
        out.parent.mkdir(parents=True, exist_ok=True)
        for path, content in contents.items():
            with atomic_write(path) as temporary:
                temporary.write_bytes(content)
    return [*contents]


def figures_of(books: Books) -> dict[str, Any]:
    """Return the sums of the entries, for a report."""
    journal = books.journal
    debits = sum(line.cents for _, line in journal.lines if line.cents > 0)
    return {
        "entries": len(journal.entries),
        "lines": sum(1 for _ in journal.lines),
        "debits": journal.text(debits, 0),
        "currency": journal.currency,
        "unpriced": len(books.movements.unpriced),
    }


# ---------- The roll-forward of each coin, for the notes to the accounts
# Units, and their worth.
#
# Movements are worth what they were at the time of payment. What a position is worth at the end of
# the period rests on the newest price of a record, in another currency also on the external rate
# of the last day; what it was worth at the beginning is what the month before ended with. No cost
# basis and no tax lots: which unit was sold is not known.


COLUMNS = (
    *("coin", "currency", "opening_units", *(f"{name}_units" for name in STEPS), "closing_units"),
    *(f"{name}_value" for name in STEPS),
    *("unpriced_count", "closing_rate", "closing_rate_at", "closing_value"),
    *("unrealised_difference_of_movements", "opening_value", "unrealised_difference_of_position"),
    "rates",  # external, or those that the service recorded
)
_ZERO = Fraction(0)


def roll_forward(
    movements: Movements,
    summary: Iterable[Mapping[str, Any]],
    last_day: date,
    rates: ExternalRates | None,
) -> list[dict[str, str]]:
    """Return a row for each coin; what is unknown is empty.

    A row of `summary` may have `opening_value`, what its opening position was worth.
    `unrealised_difference_of_movements` is what the units that the period added net would be worth
    at its end, less what they were worth when they moved. That `of_position` is the worth of the
    closing position, less that of the opening one and of what moved: other prices alone made it.
    """
    return [_row(movements, each, last_day, rates) for each in summary]


def _row(
    movements: Movements, figures: Mapping[str, Any], last_day: date, rates: ExternalRates | None
) -> dict[str, str]:
    coin = figures["currency"]
    units = {name: _units(movements, names, coin) for name, names in STEPS.items()}
    values = {name: _value(movements, names, coin, rates) for name, names in STEPS.items()}
    price = _end_price(figures, last_day, rates)
    unpriced = sum(1 for each in movements.unpriced if each.coin == coin)
    closing = figures["closing_position"]
    moved = movements.units(WALLET, coin)
    all_moved = sum(values.values(), _ZERO)
    gained = None if price is None or unpriced else Fraction(moved) * price - all_moved
    closing_value = None if price is None or closing is None else Fraction(closing) * price
    opened = figures.get("opening_value")
    of_position = (
        None
        if closing_value is None or opened is None or unpriced
        else closing_value - opened - all_moved
    )
    at = figures["implied_rate_at"]
    cells = [
        *(figures["opening_position"], *units.values(), closing, *values.values()),
        *(unpriced, price, None, closing_value, gained, opened, of_position),
    ]
    texts = ["" if cell is None else format_amount(as_decimal(Fraction(cell))) for cell in cells]
    texts[COLUMNS.index("closing_rate_at") - 2] = at.isoformat() if at and price else ""
    currency, source = (rates.currency, "external") if rates else ("USD", "recorded")
    return dict(zip(COLUMNS, [coin, currency, *texts, source], strict=True))


def _units(movements: Movements, figures: Iterable[str], coin: str) -> Fraction:
    """Return the units that the wallet gained by some figures."""
    return -sum((Fraction(movements.units(figure, coin)) for figure in figures), _ZERO)


def _value(
    movements: Movements, figures: Iterable[str], coin: str, rates: ExternalRates | None
) -> Fraction:
    worths = (
        rates.on(day).convert(each.usd) if rates else Fraction(each.usd)
        for (day, figure, of), each in movements.sums.items()
        if of == coin and figure in figures
    )
    return -sum(worths, _ZERO)


def _end_price(
    figures: Mapping[str, Any], last_day: date, rates: ExternalRates | None
) -> Fraction | None:
    """Return the worth of one unit at the end; None where no record or no rate says."""
    usd: Decimal | None = figures["implied_rate"]
    if usd is None or rates is None:
        return None if usd is None else Fraction(usd)
    rate = rates.find(last_day)
    return rate.convert(usd) if rate else None


# ---------- The books of a month for one ledger, by the settings of its lake


def books_for(
    lake: Lake,
    source: BooksSource,
    accounts: Accounts,
    preset: str,
    by: str = DAY,
    rate_file: str | None = None,
) -> Books:
    """Make books for a system: at the rates of a file, behind what it imported of the lake."""
    path, is_usd = read_rates_path(lake.path, rate_file), accounts.currency == "USD"
    rates = None if is_usd else _rates_of(path, accounts)
    booked = read_booked(lake.path / FOLDER, Ledger.of(lake.path, preset, accounts.file))
    return make_books(source, accounts, by, rates, booked)


def entries_of_ledger(lake: Lake, books: Books, preset: str) -> Iterator[Facts]:
    """Yield the entries of a month that its ledger imported before, and those that are to come."""
    ledger = Ledger.of(lake.path, preset, books.booking.accounts.file)
    before = read_booked(lake.path / FOLDER, ledger).get(books.journal.label, ())
    for booked in before[: books.count]:
        yield from booked["entries"]
    for entry in books.journal.entries:
        yield facts_of(entry, books.count)


def _rates_of(path: Path, accounts: Accounts) -> ExternalRates:
    """Read the rates of the books' currency; an error says which line asks for it."""
    try:
        return read_rates(path, accounts.currency)
    except ConfigError as error:
        asks = f"{accounts.where('books', 'currency')} asks for {accounts.currency}"
        raise ConfigError(f"{error}; {asks}") from error
