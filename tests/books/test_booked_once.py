"""What was imported once is not imported again: for each ledger, whoever asks and however.

A ledger is a system with the chart of accounts of a company in it.

A file that is imported twice does no harm, or its preset says what to do against it.

Each system by its own rule, as its source or its vendor's page has it; programs that are here run.
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from filelock import FileLock

import svc_analytics as svc
from svc_analytics.books.accounts import starter
from svc_analytics.books.export import make_books, preset_files
from svc_analytics.books.presets import PRESETS
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.notebook.desk.panel import Judging, Panel
from tests.support.ledgers import read_ledger
from tests.support.sealed_months import closer_at
from tests.support.seeded_books import SeededMonth, chart_of


@pytest.fixture
def booked(run, books_lake) -> Path:
    """October was imported by a plain CSV, an entry a day."""
    assert run("books", "2026-10", "--preset", "csv", "--booked").code == 0
    return books_lake


def noted(lake: Path) -> dict:
    return json.loads((lake / "books" / "booked.json").read_text(encoding="utf-8"))


def write_chart(lake: Path, text: str, name: str = "books.toml") -> None:
    (lake / name).write_text(text, encoding="utf-8")


def test_another_system_and_another_company_are_ledgers_of_their_own(run, booked):
    """Each gets the whole month, in its own way, and once; a chart may only have been renamed."""
    write_chart(booked, starter().replace("4000", "4711"), "other.toml")
    others = [("qbo", "data/books.toml"), ("csv", "data/other.toml")]
    for preset, chart in others:
        words = ("books", "2026-10", "--preset", preset, "--accounts", chart, "--booked")
        done = run(*words, "--by", "month")
        assert done.code == 0 and ("is another ledger" in done.err) == (chart == "data/other.toml")
        assert run(*words).code == 2
    ledgers = [(one["preset"], one["accounts"]) for one in noted(booked)["2026-10"]]
    assert ledgers == [("csv", "books.toml"), ("qbo", "books.toml"), ("csv", "other.toml")]


def test_a_chart_by_another_path_is_the_same_ledger(run, booked, monkeypatch):
    """As a lake is that was moved with it."""
    link = booked.parent / "chart.toml"
    link.symlink_to(booked / "books.toml")
    before = noted(booked)
    for chart in (link, booked / "books.toml"):
        done = run("books", "2026-10", "--preset", "csv", "--accounts", str(chart), "--booked")
        assert done.code == 0 and noted(booked) == before
    booked.rename(booked.parent / "moved")
    words = ("books", "2026-10", "--preset", "csv", "--by", "month", "--data-dir", "moved")
    assert run(*words).code == 2


WAYS = {
    "by": (("--by", "month"), "", "", "2026-10 was imported with by day, and this is month"),
    "prefix": ((), '"SVC"', '"ABC"', "was imported with prefix SVC, and this is ABC"),
    "account": (
        (),
        '"4000"',
        '"4711"',
        "had -16000.00 on 4000 for sales, and now has -16000.00 on",
    ),
    "wallet": ((), '"1510"', '"1520"', "on 1510 for wallet btc, and now has 15840.00 on 1520"),
    "class": ((), 'btc = "intang', 'btc = "cash"#', "for wallet btc, and now has 15840.00 on 1010"),
    "currency": ((), '"USD"', '"EUR"', "imported with currency USD, and this is EUR"),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_booked_seal_in_another_way_is_refused(run, booked, name):
    """Noted or not, and nothing is written: who imports it books the month twice."""
    words, old, new, told = WAYS[name]
    write_chart(booked, starter().replace(old, new) if old else starter())
    days = "".join(f"2026-10-{day:02},EUR,0.92,ECB\n" for day in (1, 7, 8, 9))
    (booked / "rates.csv").write_text(f"date,currency,rate,source\n{days}", encoding="utf-8")
    file, before = booked / "books" / "2026-10.csv.csv", noted(booked)
    file.unlink()
    for more in ((), ("--booked",)):
        done = run("books", "2026-10", "--preset", "csv", *words, *more)
        assert done.code == 2 and told in done.err and done.err.count("\n") == 1, done.err
    assert not file.exists() and noted(booked) == before


def test_other_rates_are_another_way(run, books_lake):
    """The same seal would give other amounts."""
    write_chart(books_lake, starter().replace('"USD"', '"EUR"'))
    for rate, code in (("0.92", 0), ("0.93", 2)):
        days = "".join(f"2026-10-{day:02},EUR,{rate},ECB\n" for day in (1, 7, 8, 9))
        text = f"date,currency,rate,source\n{days}"
        (books_lake / "rates.csv").write_text(text, encoding="utf-8")
        done = run("books", "2026-10", "--preset", "csv", "--booked")
        assert done.code == code
    assert "had -14720.00 on 4000 for sales, and now has -14880.00 on 4000" in done.err


def test_what_was_noted_before_ledgers_were_counts_for_each(run, booked):
    """An earlier release did not say into which system."""
    file = booked / "books" / "booked.json"
    old = noted(booked)
    for name in ("preset", "accounts", "zone", "calendar"):
        del old["2026-10"][0][name]
    file.write_text(json.dumps(old), encoding="utf-8")
    for preset in ("csv", "qbo"):
        assert run("books", "2026-10", "--preset", preset).code == 0
        done = run("books", "2026-10", "--preset", preset, "--by", "month")
        assert done.code == 2 and "imported with by day" in done.err


# ---------- days of two periods


@pytest.fixture
def jalali(books_lake) -> Path:
    """Mehr 1405 is sealed too: 23 September to 22 October, in Tehran."""
    closer = closer_at(books_lake)
    done = closer.close("1405-07", calendar="jalali", zone="Asia/Tehran", formats=("csv",))
    assert done.state == "sealed", done.reasons
    return books_lake


MEHR = ("books", "1405-07", "--calendar", "jalali", "--zone", "Asia/Tehran", "--preset", "csv")


def test_days_that_another_booked_period_holds_are_refused(run, jalali):
    """By the period and the days, whichever comes first; another ledger takes them."""
    assert run("books", "2026-10", "--preset", "csv", "--booked").code == 0
    done = run(*MEHR)
    told = "1405-07@Asia-Tehran has days that 2026-10 holds, which was imported: 2026-10-01 to "
    assert done.code == 2 and f"{told}2026-10-22" in done.err and done.err.count("\n") == 1
    assert not (jalali / "books" / "1405-07@Asia-Tehran.csv.csv").exists()
    assert run(*MEHR[:-1], "qbo", "--booked").code == 0
    for month, days in (("2026-09", "2026-09-23 to 2026-09-30"), ("2026-10", "to 2026-10-22")):
        done = run("books", month, "--preset", "qbo", "--booked")
        assert done.code == 2 and days in done.err


def test_a_record_at_the_end_of_a_month_is_not_booked_in_the_next_of_another_zone(run, books_lake):
    """23:59 of 30 September in UTC is 1 October in Tehran."""
    closer = closer_at(books_lake)
    assert closer.close("2026-10", zone="Asia/Tehran", formats=("csv",)).state == "sealed"
    assert run("books", "2026-09", "--preset", "csv", "--booked").code == 0
    words = ("books", "2026-10", "--preset", "csv")
    done = run(*words, "--zone", "Asia/Tehran")
    assert done.code == 2 and "2026-10@Asia-Tehran has records that 2026-09 holds" in done.err
    assert run(*words).code == 0


# ---------- a seal that the lake no longer gives


@pytest.fixture
def changed(books_lake) -> Path:
    """A payment of October has another value since it was sealed."""
    closer = closer_at(books_lake)
    payment = next(each for each in closer.desk.service.payments if each["usd_value"] == "16000")
    payment["usd_value"] = "17000"
    closer.desk.extract(rereads=True)
    return books_lake


def test_a_month_that_changed_since_its_seal_is_refused(run, changed):
    """By the command that restates it; nothing is written, and the other month is not held up."""
    for more in ((), ("--booked",), ("--check",)):
        done = run("books", "2026-10", "--preset", "csv", *more)
        assert done.code == 1 and "first restate it with svc-analytics close" in done.err
        assert done.err.count("\n") == 1
    assert not (changed / "books").exists()
    assert run("books", "2026-09", "--preset", "csv").code == 0


def test_the_desk_refuses_it_too(changed, monkeypatch):
    """Of the other month it shows the entries, their days as people say them."""
    monkeypatch.setattr(Judging, "start", lambda judging: None)
    panel = Panel(svc.desk(Lakehouse(changed))._months, lambda: None)
    panel.choose("2026-10")
    panel.books.look.click()
    assert "first restate it" in panel.books.message.value and panel.books.write.disabled
    panel.choose("2026-09")
    panel.books.look.click()
    assert " Sep 2026<" in panel.books.entries.value


def test_only_a_seal_can_be_booked(run, books_lake, monkeypatch):
    """It is said before a file is written."""
    done = run("books", "2026-11", "--preset", "csv", "--provisional", "--booked")
    assert done.code == 2 and "only a seal can be booked" in done.err
    assert not (books_lake / "books").exists()


def test_two_who_note_at_once_lose_nothing(run, books_lake, monkeypatch):
    """The second waits, and is told to come again if it takes long."""
    monkeypatch.setattr("svc_analytics.files.LOCK_PATIENCE", 0)
    assert run("books", "2026-09", "--preset", "csv", "--booked").code == 0
    with FileLock(books_lake / "books" / ".booked.lock"):
        done = run("books", "2026-10", "--preset", "csv", "--booked")
    assert done.code == 75 and "try again later" in done.err and done.err.count("error") == 1
    assert [*noted(books_lake)] == ["2026-09"]


# ---------- a damaged note


def changed_note(lake: Path, change: Callable[[dict], object]) -> None:
    note = noted(lake)
    change(note["2026-10"][0])
    (lake / "books" / "booked.json").write_text(json.dumps(note), encoding="utf-8")


DAMAGES = {
    "no such day": lambda one: one["entries"][0].update(day="2026-10-32"),
    "a day of another type": lambda one: one["entries"][0].update(day=20261001),
    "a line of two cells": lambda one: one["entries"][0]["lines"][0].__delitem__(slice(2)),
    "a line of five": lambda one: one["entries"][0]["lines"][0].append(1),
    "a truth": lambda one: one["entries"][0]["lines"].extend([["sales", "", "1", True]] * 2),
    "a broken number": lambda one: one["entries"][0]["lines"][0].__setitem__(3, 1.5),
    "out of balance": lambda one: one["entries"][0]["lines"].pop(),
    "a list for an account": lambda one: one["entries"][0]["lines"][0].__setitem__(2, ["4000"]),
    "half a letter": lambda one: one["entries"][0]["lines"][0].__setitem__(2, "\ud800"),
    "no id": lambda one: one["entries"][0].pop("of"),
    "entries of another type": lambda one: one.update(entries="none"),
    "no seal": lambda one: one.pop("seal"),
    "a seal of another type": lambda one: one.update(seal=["a"]),
    "no such zone": lambda one: one.update(zone="Mars/Phobos"),
    "no such calendar": lambda one: one.update(calendar=5),
    "places of a text": lambda one: one.update(places="2"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_note_is_told_in_one_line(run, booked, name):
    """It names the file and what to do; the file stays as it is."""
    changed_note(booked, DAMAGES[name])
    require_told(run, booked)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "5", "null", '{"2026-10": 5}', '{"2026-10": [5]}', '{"x": [{}]}', "[" * 10**5],
    ids=lambda text: text[:9],
)
def test_what_is_no_note_is_told_in_one_line(run, booked, text):
    """Nested deep, cut, or of another type."""
    (booked / "books" / "booked.json").write_text(text, encoding="utf-8")
    require_told(run, booked)


def test_a_note_of_no_period_is_told_in_one_line(run, booked):
    note = noted(booked)
    (booked / "books" / "booked.json").write_text(json.dumps({"2026-13": note["2026-10"]}))
    require_told(run, booked)


def require_told(run, lake: Path) -> None:
    before = (lake / "books" / "booked.json").read_bytes()
    for more in ((), ("--booked",)):
        done = run("books", "2026-10", "--preset", "csv", *more)
        assert done.code == 1 and done.err.count("\n") == 1, done.err
        assert "booked.json cannot be read: restore it from a backup" in done.err
    assert (lake / "books" / "booked.json").read_bytes() == before


PAGE = Path(__file__).parents[2] / "docs" / "pages" / "how-to" / "into-the-books.md"
Row = dict[str, str]


def written(preset: str, seed: int = 3) -> bytes:
    books = make_books(SeededMonth(seed).source(), chart_of(preset))
    return preset_files(books, PRESETS[preset])[0]


def rows_of(content: bytes) -> list[Row]:
    return [*csv.DictReader(StringIO(content.decode(), newline=""))]


@pytest.mark.parametrize("name", PRESETS)
def test_the_page_says_what_a_second_import_does(name):
    """In the words of the preset, which the command prints."""
    table = PAGE.read_text(encoding="utf-8").partition("## A second import")[2]
    assert PRESETS[name].again in table and name in table


# ---------- systems that know entries by an id


class Odoo:
    """Records by external id, as `_str_to_one2many` has them: without one, it is a new one."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Row]] = {}

    def load(self, content: bytes) -> None:
        entry: dict[str, Row] = {}
        for row in rows_of(content):
            if row["id"]:
                entry = self.entries.setdefault(row["id"], {})
            entry[row["line_ids/id"] or f"new {len(entry)}"] = row

    @property
    def debits(self) -> Decimal:
        lines = [line for entry in self.entries.values() for line in entry.values()]
        return sum((Decimal(line["line_ids/debit"] or 0) for line in lines), Decimal(0))


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_odoo_updates_the_entries_and_their_lines(seed):
    """No entry, no line and no debit more; no two coins share an id."""
    odoo, content = Odoo(), written("odoo", seed)
    odoo.load(content)
    first = odoo.debits, {name: len(entry) for name, entry in odoo.entries.items()}
    lines = sum(first[1].values())
    odoo.load(content)
    assert (odoo.debits, {name: len(entry) for name, entry in odoo.entries.items()}) == first
    assert lines == len(rows_of(content)) and first[0] > 0


def test_a_line_keeps_its_id_in_odoo_whatever_its_account_is(run, books_lake):
    """A chart that is mended moves the line, and adds none."""
    odoo = Odoo()
    for account in ("4000", "4711"):
        chart = f'{starter().replace("4000", account)}\n[odoo]\njournal = "M"\n'
        (books_lake / "books.toml").write_text(chart, encoding="utf-8")
        assert run("books", "2026-10", "--preset", "odoo").code == 0
        odoo.load((books_lake / "books" / "2026-10.odoo.csv").read_bytes())
        count = sum(map(len, odoo.entries.values()))
    assert count == len(rows_of((books_lake / "books" / "2026-10.odoo.csv").read_bytes()))


KEYS = {"erpnext": "name", "netsuite": "External ID", "qbo": "JournalNo"}


@pytest.mark.parametrize("name", KEYS)
def test_a_system_refuses_an_entry_whose_key_is_there(name):
    """ERPNext by its name, NetSuite that is to add, QuickBooks with its warning on."""
    there: set[str] = set()
    keys = {row[KEYS[name]] for row in rows_of(written(name))} - {""}
    for is_first in (True, False):
        assert is_first == (not keys & there)
        there |= keys
    again = make_books(SeededMonth(3).source(), chart_of(name))
    assert keys == {entry.entry_id for entry in again.journal.entries}


def test_each_entry_of_xero_ends_with_its_id():
    """It is how a person finds the draft that is there already."""
    for row in rows_of(written("xero")):
        assert re.search(r" SVC-\d{4}-\d\d(-\d\d|-R)$", row["*Narration"])


# ---------- programs that read files


def read_twice(folder: Path, ending: str, content: bytes, *, is_copy: bool) -> Path:
    """Return a file that includes the month twice, or the month and a copy of it."""
    (folder / f"month.{ending}").write_bytes(content)
    (folder / f"copy.{ending}").write_bytes(content)
    main, quote = folder / f"main.{ending}", '"' if ending == "beancount" else ""
    names = ("month", "copy" if is_copy else "month")
    chart = chart_of("beancount")
    opened = [*chart.accounts.values(), *chart.wallet.values()] if quote else []
    lines = [f"2025-01-01 open {each}" for each in sorted({*opened})]
    lines += [f"include {quote}{name}.{ending}{quote}" for name in names]
    main.write_text("\n".join([*lines, ""]))
    return main


def ran(*words: str | Path) -> subprocess.CompletedProcess[str]:
    if not shutil.which(words[0]) and os.environ.get("SVC_REQUIRE_LEDGERS") != "1":
        pytest.skip(f"{words[0]} is not installed")
    env = {"LANG": "C.UTF-8", "PATH": os.environ["PATH"]}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env)


@pytest.mark.parametrize("is_copy", [True, False])
def test_ledger_counts_an_entry_once(tmp_path, is_copy):
    """Its UUID is there already."""
    main = read_twice(tmp_path, "ledger", written("ledger"), is_copy=is_copy)
    once = ran("ledger", "bal", "-f", tmp_path / "month.ledger")
    twice = ran("ledger", "bal", "-f", main)
    assert once.returncode == twice.returncode == 0 and once.stdout == twice.stdout


@pytest.mark.parametrize("is_copy", [True, False])
def test_hledger_refuses_a_file_that_is_read_twice(tmp_path, is_copy):
    """Once it is taken, and its mark is no part of the reports on real postings."""
    main = read_twice(tmp_path, "journal", written("hledger"), is_copy=is_copy)
    assert ran("hledger", "check", "-s", "-f", tmp_path / "month.journal").returncode == 0
    real = ran("hledger", "bal", "-R", "-f", tmp_path / "month.journal")
    assert real.returncode == 0 and "booked" not in real.stdout
    twice = ran("hledger", "bal", "-f", main)
    assert twice.returncode == 1 and "booked:SVC-" in twice.stderr


@pytest.mark.parametrize(
    ("is_copy", "told"), [(True, "Duplicate open directive"), (False, "Duplicate filename parsed")]
)
def test_beancount_names_a_file_that_is_read_twice(tmp_path, is_copy, told):
    main = read_twice(tmp_path, "beancount", written("beancount"), is_copy=is_copy)
    check = Path(sys.executable).with_name("bean-check")
    done = subprocess.run([check, main], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and told in done.stderr


LATE = """
 kind    currency amount fee at               of usd_value fee_bearer
 payment usdt     40     0   2026-10-06T09:00    40        merchant
"""


def restate(lake: Path) -> None:
    """Close October again, in which a payment comes late."""
    closer = closer_at(lake)
    closer.desk.service.payments += read_ledger(LATE, first=50)[0]
    done = closer.close("2026-10", formats=("csv",))
    assert done.state == "restated", done.reasons


# ---------- a correction does not take the place of what it corrects


@pytest.mark.parametrize("name", ["hledger", "ledger", "csv"])
def test_a_file_that_is_included_stays_when_its_month_is_corrected(run, books_lake, name):
    """The difference is a file beside it; where a file is uploaded, there is one name."""
    words, ending = ("books", "2026-10", "--preset", name, "--booked"), PRESETS[name].ending
    assert run(*words).code == 0
    file = books_lake / "books" / f"2026-10.{name}.{ending}"
    first = file.read_bytes()
    restate(books_lake)
    for _ in range(2):
        assert run(*words).code == 0
    corrected = books_lake / "books" / f"2026-10-C1.{name}.{ending}"
    assert corrected.exists() == PRESETS[name].is_included
    assert (file.read_bytes() == first) == PRESETS[name].is_included
    made = (corrected if corrected.exists() else file).read_text(encoding="utf-8")
    assert "SVC-2026-10-06-C1" in made and "40.00" in made and "16000" not in made


def test_a_file_that_was_written_before_its_month_was_restated_is_not_noted(run, books_lake):
    """Its 40.00 would never be booked: first what the month gives now is written, and imported."""
    words = ("books", "2026-10", "--preset", "csv")
    assert run(*words).code == 0
    restate(books_lake)
    file = books_lake / "books" / "2026-10.csv.csv"
    imported = file.read_bytes()
    done = run(*words, "--booked")
    assert done.code == 2 and f"{file} holds other entries" in done.err
    assert file.read_bytes() == imported and not (file.parent / "booked.json").exists()
    assert [run(*words).code, run(*words, "--booked").code] == [0, 0]
    assert b"40.00" in file.read_bytes() and len(noted(books_lake)["2026-10"]) == 1


@pytest.mark.parametrize("other", ["--check", "--init"])
def test_what_writes_no_entries_notes_none(run, books_lake, other):
    done = run("books", "2026-10", "--preset", "csv", "--booked", other)
    assert done.code == 2 and "write no entries" in done.err


def test_a_ledger_that_holds_a_month_and_its_correction_agrees(run, books_lake):
    """What it should hold are the entries that were imported first, and those of the difference."""
    words = ("books", "2026-10", "--preset", "csv", "--booked")
    file = books_lake / "books" / "2026-10.csv.csv"
    assert run(*words).code == 0
    ledger = file.read_text(encoding="utf-8")
    restate(books_lake)
    assert run(*words).code == 0
    ledger += file.read_text(encoding="utf-8").partition("\n")[2]
    count = len({row["entry_id"] for row in csv.DictReader(StringIO(ledger))})
    path = books_lake.parent / "ledger.csv"
    path.write_text(ledger, encoding="utf-8")
    both = svc.match(Lakehouse(books_lake), "books", path, month="2026-10", preset="csv")
    assert {code: each["count"] for code, each in both.by.items()} == {"agreed": count}
    assert count > 1 and both.total("ours")
