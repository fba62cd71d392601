"""Seeded months: every entry balances, and totals tie to the cent with a second reckoning."""

import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from os import environ
from pathlib import Path

import pytest

from svc_analytics.books.accounts import NeutralAccounts
from svc_analytics.books.booked import Imports, Ledger, note_booked, read_booked
from svc_analytics.books.entries import Booking, make_entries
from svc_analytics.books.export import Books, make_books, preset_files, roll_forward
from svc_analytics.books.movements import SALES, WALLET, Movements, Sum, read_movements
from svc_analytics.books.presets import PRESETS
from svc_analytics.external_rates import ExternalRates
from svc_analytics.storage import Storage, open_storage
from tests.support.full_scan.values import share
from tests.support.importers import IMPORTERS
from tests.support.rings import rings, sample
from tests.support.seeded_books import RATES, Row, SeededMonth, accounts, chart_of, euro
from tests.support.seeded_lakes import make_seeded_lake, state

ACCOUNTS = {*(chart_of("beancount")).accounts.values(), *chart_of("beancount").wallet.values()}
FEW = range(12)
LEDGER = Ledger("csv", "books.toml")
Totals = dict[tuple[str, str], Fraction]


def exact_totals(rows: list[Row], *, is_euro: bool) -> Totals:
    """Add up a month's figures, each record's shares half up at 18 places, as fractions."""
    totals: Totals = defaultdict(Fraction)
    for row in rows:
        if row["usd_value"] is None:
            continue
        day = row["occurred_at_local"].date()
        rate = Fraction(RATES[day]) if is_euro else Fraction(1)
        rest = Fraction(0)
        for figure, units in coin_figures(row):
            value = Fraction(share(row["usd_value"], units, row["gross"].copy_abs()) or 0)
            totals[figure, ""] += value * rate
            rest += value
        totals["wallet", row["currency"]] -= rest * rate
    return totals


def coin_figures(row: Row) -> list[tuple[str, Decimal]]:
    """What a record moves besides the wallet, in its coin; plus is a debit."""
    if row["kind"] == "refund":
        return [("refunds", -row["gross"])]
    if row["kind"] == "payout":
        return [("payouts", -row["gross"]), ("payout_fees", -row["fee"])]
    name = "payment_fees" if row["fee_bearer"] == "merchant" else "unexplained"
    return [("sales", -row["gross"]), (name, -row["fee"])]


def once(exact: Fraction) -> int:
    """Round to whole cents, a half away from zero."""
    cents = int(abs(exact) * 100 + Fraction(1, 2))
    return cents if exact > 0 else -cents


def booked_totals(books: Books) -> dict[tuple[str, str], int]:
    totals: dict[tuple[str, str], int] = defaultdict(int)
    for _, line in books.journal.lines:
        totals[line.figure, line.coin] += line.cents
    return totals


def note(storage: Storage, made: SeededMonth, books: Books, seal: str) -> None:
    """Say that a month was imported."""
    entries = books.journal.entries
    note_booked(storage, LEDGER, books.booking, made.period, entries, seal * 64, {})


@pytest.mark.parametrize("seed", rings(FEW, range(1000)))
def test_a_seeded_month_ties_to_the_cent_and_every_system_takes_it(seed):
    """Against fractions over its records; the file made again is the same, byte for byte.

    By day and by month, in dollars and in euro.
    """
    made = SeededMonth(seed)
    rates: ExternalRates | None = euro() if seed % 3 == 0 else None
    books = make_books(made.source(), accounts(), ("day", "month")[seed % 2], rates)
    assert all(sum(line.cents for line in entry.lines) == 0 for entry in books.journal.entries)
    wanted = {
        place: once(value) for place, value in exact_totals(made.rows, is_euro=bool(rates)).items()
    }
    found = booked_totals(books)
    rounding = found.pop(("rounding", ""), 0)
    assert {place: cents for place, cents in found.items() if cents} == {
        place: cents for place, cents in wanted.items() if cents
    }
    assert rounding == -sum(wanted.values()) and abs(rounding) * 2 <= len(wanted)
    assert len(books.movements.unpriced) == sum(row["usd_value"] is None for row in made.rows)
    for name, preset in PRESETS.items():
        way = (chart_of(name), books.booking.by, rates)
        files = preset_files(make_books(made.source(), *way), preset)
        entries = [entry for file in files for entry in IMPORTERS[name](file)]
        assert sum(len(entry.lines) for entry in entries) == sum(1 for _ in books.journal.lines)
        assert preset_files(make_books(made.source(), *way), preset) == files


@pytest.mark.parametrize("seed", rings(FEW, range(1000)))
def test_a_restated_month_gives_the_difference(seed, tmp_path):
    """What was imported and its correction add up to the month as it is now.

    In dollars and in euro, and at 38 digits.
    """
    made = SeededMonth(seed, largest=10**20 if seed % 2 else 10**6)
    rates = euro() if seed % 3 == 0 else None
    make, storage = partial(make_books, accounts=accounts(), rates=rates), open_storage(tmp_path)
    first = make(made.source("a" * 64))
    note(storage, made, first, "a")
    made.restate()
    booked = read_booked(tmp_path / "books", LEDGER)
    second = make(made.source("b" * 64), booked=booked)
    whole = make(made.source("b" * 64))
    totals = booked_totals(first)
    for place, cents in booked_totals(second).items():
        totals[place] += cents
    now = booked_totals(whole)
    assert {place: cents for place, cents in totals.items() if cents} == {
        place: cents for place, cents in now.items() if cents
    }
    assert all(sum(line.cents for line in entry.lines) == 0 for entry in second.journal.entries)
    assert {entry.entry_id[-3:] for entry in second.journal.entries} <= {"-C1"}
    note(storage, made, second, "b")
    booked = read_booked(tmp_path / "books", LEDGER)
    for seal, books in (("a", first), ("b", second)):
        source = made.source(seal * 64)
        if seal == "b":
            assert make(source, booked=booked).journal == books.journal
    third = make(made.source("c" * 64), booked=booked)
    assert third.journal.entries == ()


LEDGERS = {
    "hledger": ["hledger", "check", "-s", "ordereddates", "-f"],
    "ledger": ["ledger", "--args-only", "--pedantic", "bal", "-f"],
}


@pytest.mark.parametrize("seed", rings(FEW[:2], FEW[:6]))
@pytest.mark.parametrize("program", LEDGERS)
def test_the_programs_take_their_text(program, seed, tmp_path):
    """Entries of two places and of none."""
    if not shutil.which(program) and environ.get("SVC_REQUIRE_LEDGERS") != "1":
        pytest.skip(f"{program} is not installed")
    rates = euro(0) if seed % 2 else None
    books = make_books(SeededMonth(seed).source(), accounts(), rates=rates)
    [content, *_] = preset_files(books, PRESETS[program])
    file = tmp_path / "month.journal"
    file.write_bytes(content)
    done = subprocess.run(
        [*LEDGERS[program], file],
        capture_output=True,
        text=True,
        check=False,
        env={"LANG": "C.UTF-8", "PATH": environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("seed", rings(FEW[:2], FEW[:4]))
def test_beancount_takes_the_entries_of_two_months_in_one_ledger(seed, tmp_path):
    """The ledger opens the accounts once; entries of a month and of its correction are included."""
    made, rates = SeededMonth(seed), euro(8) if seed % 2 else None
    booked: Imports = {}
    make = partial(make_books, accounts=chart_of("beancount"), rates=rates)
    ledger = [f"2025-01-01 open {name}" for name in ACCOUNTS]
    for number in (1, 2):
        books = make(made.source(f"{number}" * 64), booked=booked)
        note(open_storage(tmp_path), made, books, f"{number}")
        [content] = preset_files(books, PRESETS["beancount"])
        (tmp_path / f"{number}.beancount").write_bytes(content)
        ledger.append(f'include "{number}.beancount"')
        made.restate()
        booked = read_booked(tmp_path / "books", LEDGER)
    (tmp_path / "main.beancount").write_text("\n".join(ledger))
    check = Path(sys.executable).with_name("bean-check")
    done = subprocess.run(
        [check, tmp_path / "main.beancount"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# ---------- amounts of 38 digits


DAY = date(2026, 10, 9)
WHOLE, TEXT = 12345678901234567890123456789012345678, "12345678901234567890.123456789012345678"
MOVED = Movements(
    {(DAY, SALES, "xyz"): Sum(-WHOLE, -WHOLE, 1), (DAY, WALLET, "xyz"): Sum(WHOLE, WHOLE, 1)}
)


def test_a_roll_forward_keeps_38_digits():
    """In units and in US dollars, whose sign is that of the wallet."""
    summary = {"currency": "xyz", "opening_position": None, "closing_position": None}
    summary |= {"implied_rate": None, "implied_rate_at": None}
    [row] = roll_forward(MOVED, [summary], DAY, None)
    assert (row["additions_units"], row["additions_value"]) == (TEXT, TEXT)
    assert row["dispositions_units"] == "0"


def test_a_description_keeps_38_digits():
    """Sales are named without a sign."""
    [entry] = make_entries(MOVED, Booking("2026-10", date(2026, 10, 31), NeutralAccounts({})))
    assert entry.lines[0].description == f"Sales: 1 payment, {TEXT} xyz"


# ---------- books of seeded lakes tie to the figures that the statement's own SQL has


@pytest.mark.parametrize("seed", sample(range(40), 40))
def test_units_and_dollars_are_those_of_the_statement(seed, tmp_path):
    """Sales in dollars where each has a price, and what the wallet gained, coin by coin.

    Of a month in UTC, one of Tehran or a Jalali one: each seed has the next.
    """
    seeded = replace(make_seeded_lake(tmp_path / "lake", seed), as_of=None)
    made = state(seeded, seeded.asked[seed % 3])
    found = read_movements(made.tables["lines"])
    lacking = {each.coin for each in found.unpriced}
    for row in made.tables["summary"].to_pylist():
        coin = row["currency"]
        if row["rail_movement"] is not None:
            assert found.units(WALLET, coin) == row["rail_movement"]
        if row["usd_gross"] is not None and coin not in lacking:
            sold = [
                each.usd
                for (_, figure, of), each in found.sums.items()
                if figure == SALES and of == coin
            ]
            assert -sum(sold, Decimal(0)) == row["usd_gross"]
