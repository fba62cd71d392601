"""The command line as a person or a timer meets it: output, exit codes, one clear line."""

import csv
import io
import json
import os
import shlex
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

import svc_analytics as svc
from svc_analytics.api import rate_limiter
from svc_analytics.cli.app import cli
from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake, write_description
from svc_analytics.lake.layout import LAYOUT
from svc_analytics.sandbox import Clock, Scenario, Service, Store, seed
from svc_analytics.sandbox.server import serve
from svc_analytics.statements.reading import check_names
from svc_analytics.storage import LocalStorage
from svc_analytics.warehouse import warehouse
from svc_analytics.warehouse.view_builder import public_models
from tests.support.fake_service import CHECKOUT_KEY


def test_a_command_that_is_nearly_spelled_is_named(run):
    done = run("exract")
    assert done.code == 2 and "No such command 'exract': did you mean 'extract'?" in done.err


@pytest.mark.parametrize("year", [1900, 2262])
def test_a_clock_that_is_centuries_wrong_is_one_line(run, monkeypatch, year):
    """From 2262 on the nanoseconds since 1970 do not fit 64 bits, and Python gives up."""

    def clock() -> int:
        if year > 2261:
            raise OverflowError("timestamp too large to convert to C _PyTime_t")
        return (year - 1970) * 31_556_952 * 10**9

    monkeypatch.setattr(time, "time_ns", clock)
    done = run("status")
    assert (done.code, done.out) == (1, "")
    assert "error: this machine's clock says a year before 1970 or after 2262: set" in done.err


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*.parquet")}


def test_extract_reports_what_it_read(connected, run):
    """Rows per stream, files written, up to when; nothing on stderr that is no terminal.

    In one JSON document, which a timer can read, or for people.
    """
    document = json.loads(run("extract", "--json").out)
    assert document["rows"]["payments"] > 400 and document["read_to"] == "2026-11-20T12:00:00Z"
    done = run("extract")
    assert done.code == 0 and done.err == ""
    assert "payments: " in done.out and "read up to 20 Nov 2026 12:00Z" in done.out


def test_a_stream_without_its_key_is_3_unless_it_was_not_asked_for(connected, run, monkeypatch):
    """Done, but a person should look; asking for payments alone is simply done."""
    monkeypatch.delenv("SVC_PAYOUT_KEY")
    assert run("extract", "--stream", "payments").code == 0
    done = run("extract")
    assert done.code == 3 and "SVC_PAYOUT_KEY" in done.err
    made = run("statement", "--month", "2026-10")
    assert made.code == 3 and "payout records were never extracted" in made.out


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        ({"SVC_BASE_URL": ""}, (), "SVC_BASE_URL is not set"),
        ({"SVC_CHECKOUT_KEY": "", "SVC_PAYOUT_KEY": ""}, (), "no key is set"),
        ({"SVC_PAYOUT_KEY": ""}, ("--stream", "payout_records"), "set SVC_PAYOUT_KEY"),
        ({}, ("--from", "yesterday"), "'yesterday' is not a date"),
        ({}, ("--stream", "sessions"), "'sessions' is not one of"),
        ({"SVC_CHECKOUT_KEY": ""}, ("--sessions",), "set SVC_CHECKOUT_KEY"),
        ({}, ("--bindings", "nowhere.txt"), "nowhere.txt"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_settings_are_2_with_one_line_and_nothing_written(
    connected, run, monkeypatch, change, words, said
):
    """The line names the thing and the next step; the folder is not even begun."""
    for name, value in change.items():
        monkeypatch.setenv(name, value)
    done = run("extract", *words)
    assert done.code == 2 and said in done.lines[-1]
    assert not Path("data").exists()


def test_a_refused_key_is_1(connected, run, monkeypatch):
    """401 says nothing about why, and neither do we pretend to know."""
    monkeypatch.setenv("SVC_CHECKOUT_KEY", CHECKOUT_KEY)
    done = run("extract")
    assert done.code == 1 and len(done.lines) == 1 and "allowlist" in done.err
    assert not Path("data").exists()


NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def impatient(monkeypatch) -> None:
    """Give a service that never answered no second chance: others show how long it is waited."""
    monkeypatch.setattr(rate_limiter, "FIRST_CONTACT", 0.01)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("service", [{"service": NOWHERE}, {}], ids=["its own", "not known"])
def test_a_service_that_was_read_before_and_is_away_is_75(filled, run, monkeypatch, service):
    """Try again later: a timer can tell it from a failure. Lakes of before do not know whose."""
    merchant = {"id": Lake(filled).merchant_id}
    write_description(LocalStorage(filled), {"layout": LAYOUT, "merchant": merchant} | service)
    monkeypatch.setenv("SVC_BASE_URL", NOWHERE)
    done = run("extract")
    assert done.code == 75 and "try again later" in done.err and len(done.lines) == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("lake", ["none", "filled"])
def test_an_address_that_was_never_read_from_and_leads_nowhere_is_1(
    request, connected, run, monkeypatch, lake
):
    """A mistyped address would else be tried again for ever, and nobody told."""
    before = content(request.getfixturevalue("filled")) if lake == "filled" else None
    monkeypatch.setenv("SVC_BASE_URL", NOWHERE)
    done = run("extract")
    assert done.code == 1 and len(done.lines) == 1
    assert "nothing was ever read from this address: check the port of SVC_BASE_URL" in done.err
    assert (content(Path("data").absolute()) == before) if before else not Path("data").exists()


def test_a_lake_knows_the_address_that_it_was_read_from(filled, running):
    assert Lake(filled).service == running.base_url


EXPLAIN = "statement 2026-10 --explain net_sales --currency usdt"
TOGETHER, FORMS = "give --explain FIGURE and --currency C together", "--csv or --json, not both"
REFUSED = {
    "figures net_setlement": "no figure 'net_setlement': did you mean net_settlement",
    "compare --only profit": "",
    "compare --currency doge": "",
    "compare --lang fa": "--lang",
    "compare --why --lang fa": "--lang",
    "compare --digits fa --out both": "",
    "close --all-due --format html --in EUR": "--in goes with one period",
    "statement --month 2026-13": "'2026-13' is not a month",
    "statement --month 2026-10 --calendar jalali": "write 1405-07 or 1405-08",
    "statement --month 2026-10 --format docx": "docx': choose from csv, parquet",
    "statement --month 2026-10 --last-month": "give exactly one of PERIOD",
    "statement --last-month --this-month": "give exactly one of PERIOD",
    "statement": "give exactly one of PERIOD",
    "statement 2026-10 --explain net_sales": "is of one coin: give --currency btc",
    "statement 2026-10 --explain usd_fees --currency USD": "the USD of all coins is the sum",
    "statement 2026-10 --csv": TOGETHER,
    f"{EXPLAIN} --out x.txt": ".csv, .parquet",
    "statement 2026-10 --in EUR": "only xlsx, html, pdf show another currency",
    "statement 2026-10 --rates rates.csv": "name it too, with --in EUR",
    "receipts verify none.csv": "cannot read 'none.csv'",
    "webhooks verify nowhere.ndjson": "nowhere.ndjson",
    "receipts verify box.csv --out x.xlsx": ".csv, .parquet, .json",
    "receipts verify box.csv --column other": "no column 'other'",
    "receipts verify box.csv --month 2026-10": "for the lake",
    "receipts verify --keep box.csv": "--keep is for files: write their names before it",
    "receipts verify box.csv --keep x": "box.csv has no column 'x' to keep: it has receipt",
    "figures --csv --json": FORMS,
    "sql select --csv --json": FORMS,
    "compare 2026-09 2026-10 --csv --json": FORMS,
    f"{EXPLAIN} --csv --json": FORMS,
    "statement 2026-10 --data-dir here --data-dir there --csv --json": FORMS,
    "sql 'delete from payments'": 1,
    "sql 'select x from payments'": 1,
    "sql \"copy (select 1) to 'x'\"": 1,
}


@pytest.mark.parametrize(("words", "said"), REFUSED.items())
def test_what_is_refused_is_one_line_and_changes_nothing(filled, run, words, said):
    """It says what was wrong, and how to write it: 2, or 1 for a query that is not answered."""
    before, code = content(filled), 1 if said == 1 else 2
    Path("box.csv").write_text("receipt\nv1.e30.e30\n")
    done = run(*shlex.split(words))
    assert (done.code, done.out, len(done.lines)) == (code, "", 1)
    assert said == 1 or str(said) in done.err
    assert content(filled) == before and not (filled / "statements").exists()


def test_sql_speaks_table_csv_and_json(filled, run):
    """The same exact answer in three forms."""
    query = "select currency, amount, paid_at from payments where currency = 'eth' limit 1"
    row = json.loads(run("sql", query, "--json").out)[0]
    listed = next(csv.DictReader(io.StringIO(run("sql", query, "--csv").out)))
    assert listed == row and row["paid_at"].endswith("Z")
    assert len(Decimal(row["amount"]).as_tuple().digits) > 15
    assert run("sql", query).out.splitlines()[0].split() == ["currency", "amount", "paid_at"]


@pytest.mark.parametrize(
    ("is_terminal", "options", "is_whole"),
    [(False, [], True), (True, [], False), (True, ["--wide"], True)],
    ids=["pipe", "terminal", "wide terminal"],
)
def test_only_a_terminal_cuts_long_cells(filled, run, monkeypatch, is_terminal, options, is_whole):
    """A file or a program gets every letter."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    out = run("sql", f"select '{'a' * 60}' as text", *options).out
    assert ("a" * 60 in out, "…" in out) == (is_whole, not is_whole)


def test_sql_reads_a_query_from_stdin(filled, run, monkeypatch):
    """For pipes and editors."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("select 1 as one"))
    assert json.loads(run("sql", "--json").out) == [{"one": 1}]


def test_status_shows_coverage_freshness_and_the_months_with_their_states(filled, run):
    """What is there, how sure, how fresh; since when a month is due, and why it is blocked.

    A gap, which is told, blocks September: it is of its payments.
    """
    (filled / "payments" / "2026-09.parquet").unlink()
    text = run("status").out
    for words in ("payments", "payout_records", "proven", "freshness", "quarantine"):
        assert words in text
    assert "gap         1 Sep 2026 00:00Z .. 1 Oct 2026 00:00Z" in text
    assert "gaps        none" in text  # of payout records
    assert "2026-09     blocked: payments" in text
    assert "2026-11     running: can be closed from 2 Dec 2026" in text
    found = json.loads(run("status", "--json").out)
    assert [len(stream["gaps"]) for stream in found["streams"]] == [1, 0]
    due, states = found["due"], {each["label"]: each["kind"] for each in found["months"]}
    assert (states["2026-09"], states["2026-10"]) == ("blocked", "due")
    assert due[-2]["label"] == "2026-09" and "were not read" in due[-2]["reason"]
    assert due[-1] == {
        "label": "2026-10",
        "zone": "UTC",
        "calendar": "gregorian",
        "since": "2026-11-01T00:00:00Z",
        "reason": "over since 2026-11-01",
    }


def test_views_lists_grain_and_remakes_the_file(filled, run, monkeypatch):
    """For other tools, and for people who look for a name; here a view and a macro of all."""
    few = [each for each in public_models() if each[0].name in ("ledger_entries", "statement_fees")]
    monkeypatch.setattr(warehouse, "public_models", lambda: few)
    (filled / "analytics.duckdb").unlink()
    shown = run("views").out
    assert "ledger_entries" in shown and "statement_fees(starts_at, ends_at)" in shown
    assert (filled / "analytics.duckdb").exists()


def test_without_a_lake_the_next_step_is_named(run):
    """An empty folder is not an empty ledger."""
    for command in (("status",), ("views",), ("sql", "from payments")):
        done = run(*command)
        assert done.code == 1 and "svc-analytics demo" in done.err and len(done.lines) == 1


def test_demo_runs_the_whole_path(run):
    """Sandbox, extraction over HTTP, statement, and what to try next."""
    done = run("demo", "--months", "1", "--payments", "60", "--data-dir", "demo")
    assert done.code == 0 and "status: sealed, version 1" in done.out and "Try next:" in done.out
    for text in (". Compare it with the seal", "not signed or stamped", "the records of the lake"):
        assert text in done.out
    assert list(Path("demo/statements").glob("*/summary.parquet"))
    brief = "(sealed: held; proven: held)"
    assert f"sealed, version 1 {brief}" in run("status", "--data-dir", "demo").out
    [lines] = Path("demo/statements").glob("*/lines.csv")
    lines.write_bytes(lines.read_bytes().replace(b",usdt,", b",usdc,"))
    months = json.loads(run("status", "--data-dir", "demo", "--json").out)["months"]
    [found] = [month["statuses"] for month in months if month.get("statuses")]
    statuses = [(name, each["status"]) for name, each in found.items()]
    assert statuses[0] == ("sealed", "FAILED") and statuses[3] == ("proven", "held")
    assert {status for _, status in statuses[1:3]} == {"not checked"}


@pytest.mark.thorough
def test_the_demos_merchant_can_be_served_again(run, monkeypatch):
    """With the options that are printed: the same keys, secrets and records as in the lake."""
    out = run("demo", "--months", "2", "--payments", "300").out
    assert "svc-analytics sandbox serve --env-file .env --months 2 --payments 300\n" in out
    tokens = svc.open_lake("data").sql("select receipt from payments limit 3")["receipt"]
    Path("box.csv").write_text("receipt\n" + "\n".join(tokens) + "\n")
    assert run("receipts", "verify", "box.csv").code == 2
    clock = Clock()
    with Store() as store:
        seed(store, Scenario(7, 2, 300, until=clock.now()))
        with serve(Service(store, clock)) as running:
            for name, value in running.environment.items():
                monkeypatch.setenv(name, value)
            verified = run("receipts", "verify", "box.csv")
            assert verified.code == 0 and "3 of them proven" in verified.err
            assert run("extract").code == 0 and run("close", "--last-month").code in (0, 1)


def test_an_error_with_vv_shows_where(run, connected):
    """For whoever mends it."""
    done = run("extract", "--from", "never", "-vv")
    assert done.code == 2 and "Traceback" in done.err


LOADED = """
import contextlib, sys
from svc_analytics.cli.app import main

folder = sys.argv.pop()

def run(*words):
    sys.argv[1:] = words
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(None):
        main()

def loaded(*names):
    print(sorted({*names} & {*sys.modules}))

run("--help")
loaded("pandas", "pyarrow", "duckdb", "httpx", "numpy")
run("sql", "from payments limit 1", "--data-dir", folder)
run("views", "--data-dir", folder)
others = (".engines", ".closing", ".render", ".statements")
loaded("pandas", "sqlglot", *(name for name in sys.modules if any(each in name for each in others)))
import svc_analytics.cli.commands.statement, svc_analytics.cli.commands.compare
loaded("httpx", "matplotlib", "jinja2", "xlsxwriter")
run("extract", "--help")
loaded("httpx")
import pandas
"""


def test_a_command_loads_what_it_needs(filled):
    """Help needs no heavy module, a query neither engine nor statement, figures no client or page.

    Arrow would load Pandas with its first array: whoever wants it still gets it.
    """
    words = [sys.executable, "-c", LOADED, filled]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()) == (0, ["[]", "[]", "[]", "['httpx']"])


# ---------- behind Tab a shell offers what there is


def offered(*words: str, begun: str = "") -> list[str]:
    """What a shell offers behind these words of a command line."""
    complete = ShellComplete(cli, {}, "svc-analytics", "_SVC_ANALYTICS_COMPLETE")
    return [item.value for item in complete.get_completions(list(words), begun)]


def test_figures_are_offered_to_explain():
    """By how their names begin."""
    assert offered("statement", "--explain", begun="net_") == ["net_sales", "net_settlement"]


def test_months_of_the_lake_are_offered(desk):
    """Newest first; of a folder without a lake none, and no error."""
    desk.extract()
    lake = ["--data-dir", str(desk.lake.path)]
    assert offered("statement", *lake, "--month")[0] == "2026-11"
    assert offered("statement", "--data-dir", "none", "--month") == []


@pytest.mark.parametrize("begun", ["02", "02-st"])
def test_notebooks_are_offered(begun):
    """By number or name."""
    assert offered("notebook", begun=begun) == ["02-statement"]


# ---------- locales that cannot write every letter


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_word_that_the_locale_cannot_write_is_2_and_one_line(tmp_path):
    """A folder or a property would otherwise get another name, or none."""
    words = [sys.executable, "-m", "svc_analytics", "statement", "--metadata", "کارت"]
    done = subprocess.run(words, env=os.environ | ASCII, cwd=tmp_path, capture_output=True)
    [line] = done.stderr.decode().splitlines()
    assert done.returncode == 2 and line.endswith("a word is not ASCII: set PYTHONUTF8=1")


def test_a_path_that_is_not_utf8_is_no_lake():
    """The database would not find it."""
    with pytest.raises(ConfigError, match="DuckDB needs a path in UTF-8"):
        Lake("data\udcff")


def test_a_property_that_is_not_utf8_is_refused():
    """No file could hold its name."""
    with pytest.raises(ConfigError, match="is not UTF-8"):
        check_names(["cart\udcff"])
