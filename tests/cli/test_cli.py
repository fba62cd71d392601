"""The command line as a person or a timer meets it: output, exit codes, one clear line."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from svc_analytics.api import rate_limiter
from svc_analytics.cli import app
from svc_analytics.cli.app import cli
from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake, write_description
from svc_analytics.lake.layout import LAYOUT
from svc_analytics.sandbox import Running
from svc_analytics.statements.metadata import check_names
from svc_analytics.storage import LocalStorage
from svc_analytics.warehouse import warehouse
from svc_analytics.warehouse.view_builder import public_models
from tests.support.fake_service import CHECKOUT_KEY
from tests.support.sandboxes import sandbox


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with sandbox(3, 3, 400) as running:
        yield running


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


@pytest.fixture
def connected(running, monkeypatch) -> Running:
    """Settings in the environment that point at the sandbox."""
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    return running


@pytest.fixture(scope="module")
def extracted(running, tmp_path_factory) -> Path:
    """A lake that the command brought up to date, to be copied."""
    folder = tmp_path_factory.mktemp("extracted") / "data"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        app.cli.main(["extract", "--data-dir", str(folder)], standalone_mode=False)
    return folder


@pytest.fixture
def filled(connected, extracted) -> Path:
    """A lake in ./data, brought up to date."""
    return shutil.copytree(extracted, Path("data").absolute())


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
    assert "payments: " in done.out and "read up to 2026-11-20T12:00:00Z" in done.out


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--month", "2026-13"), "'2026-13' is not a month"),
        (("--month", "2026-10", "--calendar", "jalali"), "write 1405-07 or 1405-08"),
        (("--month", "2026-10", "--format", "docx"), "docx': choose from csv, parquet"),
        (("--month", "2026-10", "--last-month"), "give exactly one of PERIOD"),
        (("--last-month", "--this-month"), "give exactly one of PERIOD"),
        ((), "give exactly one of PERIOD"),
    ],
)
def test_a_bad_month_is_2(filled, run, words, said):
    """What was wrong, and how to write it."""
    done = run("statement", *words)
    assert done.code == 2 and said in done.err and len(done.lines) == 1


def test_a_statement_is_printed_and_written(filled, run):
    """One figure a line, one currency a column; files where the last line says."""
    done = run("statement", "--month", "2026-10")
    assert done.code == 0 and "status: due" in done.out
    assert "Sales less fees and refunds" in done.out
    assert (filled / "statements" / "2026-10" / "summary.csv").exists()


def test_the_calendar_may_stand_in_the_environment(filled, run, monkeypatch):
    """`SVC_STATEMENT_CALENDAR`, as any other option."""
    monkeypatch.setenv("SVC_STATEMENT_CALENDAR", "jalali")
    assert "write 1405-07 or 1405-08" in run("statement", "--month", "2026-10").err


def test_named_metadata_is_written_and_a_misspelt_name_is_told(filled, run):
    """Whoever misspells a property sees so, before the empty column is passed on.

    In JSON, beside the manifest, decimals are text, so that no reader turns them into floats.
    """
    words = ("--metadata", "cart, crat", "--format", "csv, json", "--json")
    done = run("statement", "--month", "2026-10", *words)
    head = (filled / "statements" / "2026-10" / "lines.csv").read_text().splitlines()[0]
    assert "comment,metadata.cart,metadata.crat,receipt_verdict" in head
    assert "metadata.crat is empty in every line" in done.err and "metadata.cart " not in done.err
    assert (filled / "statements" / "2026-10" / "statement.json").exists()
    document = json.loads(done.out)
    assert document["label"] == "2026-10" and document["status"] == "final"
    assert isinstance(document["summary"][0]["net_sales"], str)


def test_out_must_be_a_folder_of_its_own(filled, run, tmp_path):
    """A folder with somebody's files is refused, and kept."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    done = run("statement", "--month", "2026-10", "--out", str(tmp_path / "mine"))
    assert done.code == 1 and "not a statement" in done.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


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


@pytest.mark.parametrize(
    "query", ["delete from payments", "select x from payments", "copy (select 1) to 'x'"]
)
def test_a_query_that_is_not_answered_is_1(filled, run, query):
    """One line, and the lake as it was."""
    before = content(filled)
    done = run("sql", query)
    assert done.code == 1 and len(done.lines) == 1 and content(filled) == before


def test_status_shows_coverage_freshness_and_the_months_with_their_states(filled, run):
    """What is there, how sure, how fresh; since when a month is due, and why it is blocked.

    A gap, which is told, blocks September: it is of its payments.
    """
    (filled / "payments" / "2026-09.parquet").unlink()
    text = run("status").out
    for words in ("payments", "payout_records", "proven", "freshness", "quarantine"):
        assert words in text
    assert "gap         2026-09-01T00:00:00Z .. 2026-10-01T00:00:00Z" in text
    assert "gaps        none" in text  # of payout records
    assert "2026-09     blocked: payments" in text
    assert "2026-11     running: can be closed from 2026-12-02" in text
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
        "reason": "over since 2026-11-01, and not closed yet",
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
    for text in (": compare it with the one", "not signed", "no stamp", "the records of the lake"):
        assert text in done.out
    assert list(Path("demo/statements").glob("*/summary.parquet"))
    brief = "(sealed: held; signed: not signed; stamped: no stamp; proven: held)"
    assert f"sealed, version 1 {brief}" in run("status", "--data-dir", "demo").out
    [lines] = Path("demo/statements").glob("*/lines.csv")
    lines.write_bytes(lines.read_bytes().replace(b",usdt,", b",usdc,"))
    months = json.loads(run("status", "--data-dir", "demo", "--json").out)["months"]
    [found] = [month["statuses"] for month in months if month.get("statuses")]
    statuses = [(name, each["status"]) for name, each in found.items()]
    assert statuses[0] == ("sealed", "FAILED") and statuses[3] == ("proven", "held")
    assert {status for _, status in statuses[1:3]} == {"not checked"}


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
loaded("pandas")
import svc_analytics.cli.commands.statement, svc_analytics.cli.commands.compare
loaded("httpx", "matplotlib", "jinja2", "xlsxwriter")
run("extract", "--help")
loaded("httpx", "rich")
import pandas, rich
"""


def test_a_command_loads_what_it_needs(filled):
    """Help needs no heavy module, and figures in the terminal no client, picture or page.

    The client would print with `rich`, and Arrow load Pandas with its first array: whoever wants
    them still gets them.
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


@pytest.mark.parametrize(
    "words",
    [
        "figures",
        "sql select",
        "compare 2026-09 2026-10",
        "statement 2026-10 --explain gross_sales --currency btc",
        "statement 2026-10 --data-dir here --data-dir there",
    ],
)
def test_two_forms_at_once_are_refused(run, words):
    """What is printed has one form: neither is chosen for whoever asks for both."""
    refused = run(*words.split(), "--csv", "--json")
    assert (refused.code, refused.out) == (2, "") and "--csv or --json, not both" in refused.err
