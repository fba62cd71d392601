"""`accept`, `assert`: a finding is accepted, a balance written down; it is said what that does."""

import csv
import json
import re
from html import unescape

import openpyxl
import pytest
from openpyxl.worksheet.worksheet import Worksheet

from svc_analytics.closing.acceptances import Finding
from svc_analytics.closing.stated import statement
from svc_analytics.instants import in_words
from svc_analytics.language.catalogue import Language
from svc_analytics.warehouse.models import read_checks, read_footings
from tests.statements.test_statement import LEDGER
from tests.support.desks import Desk
from tests.support.fake_service import Record, payment, payout
from tests.support.prepared import extracted

HELD = "record_could_be_held"
PAID = payment(1, "2026-10-05T12:00:00Z", "20", "0")
ODD = payment(9, "2026-10-15T12:00:00Z", "5", "0")
NOT_COUNTED = "will not be counted. Accept only if it is not your money."


def lake_of(desk: Desk, *records: Record) -> Desk:
    """Read these records beside one that is well."""
    desk.service.payments = [PAID, *(each for each in records if "kind" not in each)]
    desk.service.payouts = [each for each in records if "kind" in each]
    return extracted(desk)


def written(desk: Desk) -> list[dict[str, str]]:
    path = desk.lake.path / "acknowledgements.csv"
    return list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []


def texts_of(sheet: Worksheet) -> list[str]:
    return [str(cell) for row in sheet.values for cell in row if cell is not None]


# By what is read: the rule that it breaks, and what is said of it before.
CASES: dict[str, tuple[Record, str, str]] = {
    "a text": (ODD | {"amount": "12.50x"}, HELD, "This payment of 12.50x usdt"),
    "a number": (ODD | {"amount": 12.5}, HELD, "This payment of 12.5 usdt"),
    "every digit": (
        ODD | {"amount": "1." + "0" * 20 + "1"},
        HELD,
        "This payment of 1.000000000000000000001 usdt",
    ),
    "another amount": (ODD | {"fee_amount": "NaN", "amount": "5.0"}, HELD, "payment of 5.0 usdt"),
    "no amount": (ODD | {"amount": None}, HELD, "This payment of an unknown amount of usdt"),
    "no coin": (ODD | {"currency": None}, HELD, "This payment of 5 (unknown coin)"),
    "a status": (ODD | {"status": "held"}, "status_is_known", "This payment of 5 usdt"),
    "a kind": (
        payout(9, "2026-10-15T12:00:00Z", "3.25", "0") | {"kind": "loan"},
        "kind_is_known",
        "This payout record of 3.25 usdt",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_said_what_accepting_does_to_the_money(desk, run, name):
    """With the amount as it was sent and its coin, as far as they are known."""
    record, rule, said = CASES[name]
    lake_of(desk, record)
    done = run("accept", rule, record["id"], "--reason", "a test", "--by", "Mina", "--yes")
    assert done.code == 0 and f"{said} {NOT_COUNTED}" in done.err
    [row] = written(desk)
    [found] = [r for r in json.loads(run("check", "--json").out)["findings"] if r["content"]]
    assert row["content"] == found["content"] and (row["reason"], row["by"]) == ("a test", "Mina")
    assert statement(desk.lake, "2026-10").status == "final"


def test_any_other_rule_changes_no_figure(desk, run):
    """And its finding no longer keeps the month from being final."""
    lake_of(desk, payout(9, "2026-10-15T12:00:00Z", "3", "0") | {"debited_amount": "4"})
    before = statement(desk.lake, "2026-10")
    rule = "payout_debited_equals_amount_plus_fee"
    done = run("accept", rule, before.checks["record_id"][0], "--reason", "so it is", "--yes")
    after = statement(desk.lake, "2026-10")
    assert "No figure changes by it" in done.err and NOT_COUNTED not in done.err
    assert (before.status, after.status) == ("provisional", "final")
    assert before.tables["summary"].equals(after.tables["summary"])


def test_nothing_is_accepted_where_nobody_can_be_asked(desk, run):
    """2, with what it would do and the option; nothing is written."""
    lake_of(desk, ODD | {"amount": "9."})
    done = run("accept", HELD, ODD["id"], "--reason", "a test")
    assert done.code == 2 and NOT_COUNTED in done.err and "with --yes" in done.lines[-1]
    assert written(desk) == []


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1), ("", 1)])
def test_a_person_is_asked_at_a_terminal(desk, run, monkeypatch, answer, code):
    """What is not a yes accepts nothing."""
    lake_of(desk, ODD | {"amount": "9."})
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda text: answer)
    done = run("accept", HELD, ODD["id"], "--reason", "a test")
    assert (done.code, len(written(desk))) == (code, 1 - code)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("record_could_be_hold", ODD["id"]), f"did you mean {HELD}?"),
        (("sealed_months_meet", "x"), "no finding of 'sealed_months_meet' can be accepted"),
        ((HELD, ODD["id"][:8]), f"did you mean {ODD['id']}?"),
        ((HELD, PAID["id"]), "finds nothing wrong with"),
        (("status_is_known", ODD["id"]), "finds nothing wrong with"),
        ((HELD, ODD["id"], "--by", " "), "write your name"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(desk, run, words, said):
    """In one line, and 2."""
    lake_of(desk, ODD | {"amount": "9."})
    done = run("accept", *words, "--reason", "a test", "--yes")
    assert done.code == 2 and said in done.lines[-1] and written(desk) == []


def test_what_was_accepted_says_by_whom_and_when(desk, run):
    """0; no second line is written. A payment is found by its receipt number too."""
    lake_of(desk, ODD | {"status": "held"})
    words = ("status_is_known", ODD["receipt_no"], "--reason", "a test", "--by", "Mina", "--yes")
    assert run("accept", *words).code == 0
    again = run("accept", *words)
    assert again.code == 0 and len(written(desk)) == 1
    day = written(desk)[0]["at"][:10]
    assert f"Accepted before: payment of 5 usdt: status held; it is not counted " \
        f"(accepted: Mina, {day}: a test)" in again.out  # fmt: skip


def test_every_door_names_an_accepted_record_as_not_counted(desk, run, tmp_path):
    """With its amount, its coin, who accepted it, when and why; none calls it blocking."""
    lake_of(desk, ODD | {"amount": "12.50x"})
    run("accept", HELD, ODD["id"], "--reason", "a test of ours", "--by", "Mina", "--yes")
    day = written(desk)[0]["at"][:10]
    said = (
        "payment of 12.50x usdt: amount: not a plain decimal amount: '12.50x'; it is not counted "
        f"(accepted: Mina, {day}: a test of ours)"
    )
    printed = run(
        "statement", "2026-10", "--out", str(tmp_path / "o"), "--format", "html,xlsx,json"
    )
    assert printed.code == 0
    page = unescape(re.sub("<[^>]+>", "", (tmp_path / "o" / "statement.html").read_text("utf-8")))
    book = openpyxl.load_workbook(tmp_path / "o" / "statement.xlsx")
    doors = {
        "page": page,
        "workbook": " ".join(texts_of(book["Statement"])),
        "findings": " ".join(texts_of(book["Checks"])),
        "json": (tmp_path / "o" / "statement.json").read_text("utf-8"),
        "terminal": printed.out,
        "check": run("check").out,
        "check --json": run("check", "--json").out,
        "status": run("status").out,
        "status --json": run("status", "--json").out,
        "notebook": statement(desk.lake, "2026-10")._repr_html_(),
    }
    assert [
        door
        for door, text in doors.items()
        if said not in unescape(text) and in_words(said) not in unescape(text)
    ] == []
    assert "blocking" not in doors["findings"] + doors["check"] and "accepted" in doors["findings"]
    assert run("check").code == 0 and "0 of them blocking" in run("check").err


def test_check_says_what_each_rule_is_without_a_lake(run):
    """By its title, its severity, its name, and what must hold."""
    text = run("check", "--rules").out
    assert "Receipts do not prove their payments (blocking, receipt_proves_its_payment)" in text
    rows = json.loads(run("check", "--rules", "--json").out)["rules"]
    assert len(rows) == len(read_checks()) + len(read_footings())
    assert {row["severity"] for row in rows} == {"blocking", "advisory"}


def test_what_a_person_accepted_stands_as_accepted_and_is_offered_to_nobody(desk, run):
    """With the name and the reason, though no money is left out by it."""
    lake_of(desk, payout(9, "2026-10-15T12:00:00Z", "3", "0") | {"debited_amount": "4"})
    rule = "payout_debited_equals_amount_plus_fee"
    assert f"svc-analytics accept {rule}" in run("check").out
    run("accept", rule, "--all", "--reason", "so it is", "--by", "Mina", "--yes")
    for text in (run("check").out, run("check", "--all").out):
        assert ". Accepted\n" in text and "Mina" in text and "so it is" in text
        assert f"svc-analytics accept {rule}" not in text


def test_check_and_close_name_a_line_that_lies_ahead(desk, run):
    """By its file and its number; it stops nothing."""
    lake_of(desk)
    path = desk.lake.path / "acknowledgements.csv"
    path.write_text("check,record_id,reason,by,at\n\nkind_is_known,x,old,Mina,2999-01-01\n")
    done = run("check")
    assert "acknowledgements.csv, line 3: its at, 2999-01-01T00:00:00Z, lies ahead" in done.out
    assert done.code == 0 and run("statement", "2026-10").code == 0


def test_the_words_are_persian_too():
    """Of a record that is left out, and of any other finding."""
    findings = [Finding(rule, "x", True, "") for rule in (HELD, "reference_is_unique")]
    effects = [Language("fa").translation(each.effect) for each in findings]
    assert all(effects) and len({*effects}) == 2


# ---------- `assert`: a balance is written down, and compared with the records at once


@pytest.fixture
def read(desk) -> Desk:
    """A lake into which a small ledger was read."""
    desk.serve(LEDGER)
    return extracted(desk)


def test_the_records_explain_a_part_and_the_rest_is_told(read, run):
    """3 btc were seen and 2.7 are the records': the statement gives the same 0.3."""
    assert run("assert", "2026-11-01", "btc", "3", "--note", "seen by Sara").out == (
        "asserted balance, 2026-11-01T00:00:00Z             3   btc\n"
        "explained by payments, refunds and payouts         2.7 btc\n"
        "not explained: deposits, withdrawals, conversions  0.3 btc\n"
    )
    written = (read.lake.path / "assertions.csv").read_text()
    assert written == "at,currency,balance,note\n2026-11-01T00:00:00Z,btc,3,seen by Sara\n"
    assert [f"{each:f}" for each in statement(read.lake, "2026-10").balances["explained"]] == [
        "2.700000000000000000"
    ]


def test_a_date_is_its_midnight_in_the_zone(read, run):
    """Tehran is three and a half hours before UTC."""
    done = run("assert", "2026-11-01", "btc", "3", "--zone", "Asia/Tehran", "--json")
    assert json.loads(done.out)["at"] == "2026-10-31T20:30:00Z"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("2026-11-01", "xrp", "1"), "is in 'xrp': it knows btc, eth, sol, usdt;"),
        (("2026-11-01", "btc", "31,907.35"), "write the balance as 31907.35, without separators"),
        (("0001-01-01", "btc", "1"), "0001-01-01T00:00:00Z is before 1970"),
        (("2999-01-01", "btc", "1"), "2999-01-01T00:00:00Z is still to come"),
    ],
)
def test_what_cannot_be_compared_is_not_written(read, run, words, told):
    """One line that names the fault, and no file."""
    done = run("assert", *words)
    assert done.code == 2 and len(done.lines) == 1 and told in done.err
    assert not (read.lake.path / "assertions.csv").exists()


def test_a_time_that_was_not_read_leaves_the_rest_unknown(read, run):
    """The balance is written all the same."""
    assert "what the records explain of it is unknown" in run("assert", "now", "btc", "3").out
    assert (read.lake.path / "assertions.csv").exists()
