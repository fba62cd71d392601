"""What was imported once is not imported again: for each ledger, whoever asks and however.

A ledger is a system with the chart of accounts of a company in it.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

import svc_analytics as svc
from svc_analytics.books.accounts import starter
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.notebook.desk.panel import Judging, Panel
from tests.support.sealed_months import closer_at

SYSTEMS = '[odoo]\njournal = "M"\n[erpnext]\ncompany = "Acme"\n[tax]\ndefault = "Tax Exempt"\n'


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
    """Each gets the whole month, in its own way, and once."""
    write_chart(booked, starter().replace("4000", "4711"), "other.toml")
    others = [("qbo", "data/books.toml"), ("csv", "data/other.toml")]
    for preset, chart in others:
        words = ("books", "2026-10", "--preset", preset, "--accounts", chart, "--booked")
        assert run(*words, "--by", "month").code == 0
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
    monkeypatch.setattr(Judging, "start", lambda judging: None)
    panel = Panel(svc.desk(Lakehouse(changed))._months, lambda: None)
    panel.choose("2026-10")
    panel.books.look.click()
    assert "first restate it" in panel.books.said.value and panel.books.write.disabled


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
