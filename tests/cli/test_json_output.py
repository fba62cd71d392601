"""What programs read: documents of `--json` and lines of `--log json`, as their schema says."""

import base64
import json
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

import svc_analytics as svc
from svc_analytics.cli import app
from svc_analytics.errors import Unavailable
from svc_analytics.sandbox import Clock, Scenario, Service, Store, seed, serve, write_env_file
from tests.support.desks import Outcome
from tests.support.documents import ROOT
from tests.support.rings import rings
from tests.support.signers import make_key
from tests.test_guards import commands

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

GROUPS = ("receipts", "schedule", "webhooks")
SCHEMA = json.loads(
    (ROOT / "docs" / "pages" / "reference" / "json-output.schema.json").read_text(encoding="utf-8")
)
DEMO = ["demo", "--months", "1", "--payments", "40", "--data-dir", "demo"]
USUAL = (
    *("extract", "doctor", "status", "statement {month}", "check", "close --all-due"),
    *("statement-verify data/statements/{month}", "receipts verify tokens.txt"),
    "sql select net_sales, net_settlement from net_settlement_monthly",
)
CALLS = [
    ["extract"],
    ["extract", "--dry-run"],
    ["close", "--all-due", "--dry-run"],
    ["extract", "--sessions"],
    ["doctor"],
    ["status"],
    ["status", "--data-dir", "data", "--data-dir", "demo"],
    ["statement", "{month}"],
    ["statement", "{month}", "--explain", "net_sales", "--currency", "usdt"],
    ["statement", "{month}", "--data-dir", "data", "--data-dir", "demo"],
    ["figures"],
    ["assert", "{month}-15", "usdt", "0.31"],
    ["check"],
    ["accept", "{rule}", "{found}", "--reason", "a test", "--yes"],
    ["close", "--all-due"],
    ["close", "{month}"],
    ["statement-verify", "data/statements/{month}"],
    ["statement-diff", "data/statements/{month}", "data/statements/{month}"],
    ["package", "{month}"],
    ["prove", "{month}", "{record}", "--out", "p.json"],
    ["prove", "--check", "p.json"],
    ["sign", "{month}", "--key", "key"],
    ["sign", "--all", "--key", "key"],
    ["bundle", "lake.duckdb"],
    ["backup", "backups"],
    ["backup", "backups", "--verify"],
    ["restore", "backups", "--data-dir", "restored"],
    ["books", "--init"],
    ["books", "{month}", "--check"],
    ["match", "orders", "orders.csv", "--month", "{month}"],
    ["compare", "{month}", "this month"],
    ["compare", "--why"],
    ["compare", "{month}", "this month", "--data-dir", "data", "--data-dir", "demo"],
    ["receipts", "verify"],
    ["receipts", "verify", "tokens.txt"],
    ["webhooks", "verify", "log.ndjson"],
    ["schedule", "install", "--dry-run"],
    ["schedule", "status"],
    ["schedule", "remove", "--dry-run"],
    ["sql", "select net_sales, net_settlement from net_settlement_monthly"],
    ["views"],
    ["notebook", "02", "--month", "{month}", "--out", "02.html"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[Path]:
    """A working folder with two lakes, tokens and a log, and the settings of a sandbox."""
    folder, clock = tmp_path_factory.mktemp("json"), Clock()
    with Store() as store, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        seed(store, Scenario(8, 1, 40, until=clock.now()))
        with serve(Service(store, clock)) as running:
            write_env_file(Path(".env"), running.environment)
            svc.extract(svc.open_lake("data"))
            Path("tokens.txt").write_text("v1.e30.e30\n", encoding="utf-8")
            Path("log.ndjson").write_text(json.dumps(DELIVERY) + "\n", encoding="utf-8")
            yield folder


DELIVERY = {
    "received_at": "2026-10-01T00:00:00Z",
    "signature": "t=1,v1=00",
    "body_base64": base64.b64encode(b"{}").decode(),
}


@pytest.fixture
def other_lake(folder, request) -> None:
    """The lake of another merchant, for what is asked of both; the key that signs."""
    call = request.node.callspec.params["call"]
    if call[0] == "sign" and not (folder / "key").exists():
        make_key(folder, "key")
    if call[0] == "match":
        query = "select reference_id as ref, paid_on as day, currency, amount from payments"
        svc.open_lake(folder / "data").sql(query).to_csv(folder / "orders.csv", index=False)
    if "demo" in call[1:]:
        svc.demo_lake(folder / "demo", months=1, payments=40)


def validator(name: str) -> "Draft202012Validator":
    from jsonschema import Draft202012Validator  # it takes seconds to load

    return Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})


def words_of(call: list[str]) -> str:
    return "-".join(call[:2]) if call[0] in GROUPS else call[0]


@pytest.mark.usefixtures("other_lake")
@pytest.mark.parametrize(
    "call", rings((call for call in CALLS if " ".join(call) in USUAL), [*CALLS, DEMO]), ids=" ".join
)
def test_a_document_is_as_its_schema_says(call, folder, run, monkeypatch):
    """Every key of the schema is there, with a value of its type."""
    monkeypatch.chdir(folder)
    lake = svc.open_lake("data")
    month = svc.last_full_month(lake)
    record = lake.sql(f"select first(record_id) as id from ledger_entries where month = '{month}'")
    values = {"month": month, "record": record["id"][0]}
    if call[0] == "accept":
        [values["rule"], values["found"]] = of_finding(lake)
    words = [word.format(**values) for word in call]
    done = run(*words, "--json")
    assert done.code in (0, 3), done.err
    errors = [each.message for each in validator(words_of(call)).iter_errors(json.loads(done.out))]
    assert errors == []


def of_finding(lake: svc.Lakehouse) -> list[str]:
    """Return the rule and the record of a finding."""
    query = "select check_name, record_id from exceptions where record_id is not null limit 1"
    return list(lake.sql(query).iloc[0])


def test_every_command_that_prints_json_has_a_schema():
    """And is called above; the schema itself is one of the draft that it names."""
    named = {
        name.replace(" ", "-")
        for name, command in commands()
        if any(isinstance(each, click.Option) and "--json" in each.opts for each in command.params)
    }
    assert named == {words_of(call) for call in [*CALLS, DEMO]} and named <= {*SCHEMA["$defs"]}
    validator("status").check_schema(SCHEMA)


@pytest.mark.parametrize("wrong", ["1e3", "0,5", "NaN", "+1", ".5", 0.5])
def test_a_number_that_is_no_plain_decimal_breaks_the_schema(wrong):
    """The schema can fail: a balance as a program must never read one."""
    right = {"at": "2026-11-01T00:00:00Z", "currency": "btc", "explained": None}
    right |= {"asserted_balance": "0.5", "outside_movement": None}
    check = validator("assert")
    assert check.is_valid(right) and not check.is_valid(right | {"asserted_balance": wrong})


# ---------- `--log json`: each line of stderr is one event, in the words that a person reads


KEY = "svc_live_" + "0a" * 32


def events(done: Outcome) -> list[dict[str, Any]]:
    """Every line, which must be an event."""
    return [json.loads(line) for line in done.err.splitlines()]


def as_text(event: dict[str, Any]) -> str:
    """The line or lines that stand for an event without `--log json`."""
    is_bare = event["event"] == "other" or event["values"].get("class") == "UsageError"
    return f"{'' if is_bare else 'svc-analytics: '}{event['text']}\n"


@pytest.fixture
def noise(monkeypatch) -> None:
    """What a library may do during a command."""

    def now() -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("a library\nwarns", stacklevel=1)
        for part in ("a stray", " ", "line\n"):
            sys.stderr.write(part)
        return 0

    monkeypatch.setattr(app, "now", now)


@pytest.mark.usefixtures("noise")
@pytest.mark.parametrize(
    "words",
    [
        ["status", "--data-dir", "nowhere"],
        ["figures", "net_sales"],
        ["figures", "no_such_figure"],
        ["webhooks", "verify", "log.ndjson", "--json"],
        ["receipts", "verify", "tokens.txt"],
        ["statement", "2026-09", "--zone", "Mars/Olympus"],
        ["close", "--bogus"],
        ["exract"],
    ],
    ids=" ".join,
)
def test_each_line_is_an_event_in_the_same_words(words, run):
    """Exit code and stdout are the same; values and words are as the schema says."""
    Path("tokens.txt").write_text("v1.e30.e30\nv1.e30.e30\n")
    Path("log.ndjson").write_text("")
    text, with_json = run(*words), run("--log", "json", *words)
    found = events(with_json)
    assert "".join(map(as_text, found)) == text.err and len(found) >= 2
    assert (with_json.code, with_json.out) == (text.code, text.out)
    assert all(validator("log-line").is_valid(event) for event in found)
    assert [event["event"] for event in found[:2]] == ["warning", "other"]
    if text.code not in (0, 3):
        assert found[-1]["values"]["exit_code"] == text.code


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted; all records written so far are kept"),
        (Unavailable(f"away: {KEY}", codes=("RATE_LIMITED",)), 75, "away: "),
        (OSError(28, "No space left", KEY), 1, "No space left"),
        (ZeroDivisionError(KEY), 1, "internal error: ZeroDivisionError"),
    ],
)
def test_the_last_line_says_how_a_command_ended_and_holds_no_key(
    error, code, said, run, monkeypatch
):
    """Also with the frames of `-vv`, which are one of its values."""

    def fail() -> int:
        raise error

    monkeypatch.setattr(app, "now", fail)
    done = run("--log", "json", "status", "-vv")
    [event] = events(done)
    assert done.code == event["values"]["exit_code"] == code and event["level"] == "error"
    assert event["values"]["class"] == type(error).__name__ and said in event["text"]
    assert "in fail" in event["values"]["traceback"]
    assert event["values"]["codes"] == [*getattr(error, "codes", ())]
    assert KEY not in done.err


@pytest.mark.parametrize(
    ("words", "environ", "dotenv", "is_json"),
    [
        ([], "json", "", True),
        ([], "", "SVC_LOG=json", True),
        (["--log=text"], "json", "SVC_LOG=json", False),
        (["--log", "text", "--log", "json"], "text", "", True),
        ([], "", "SVC_LOG=json\nSVC_STATMENT_ZONE=UTC", True),
        ([], "xml", "", False),
        (["--log", "xml"], "json", "", False),
    ],
)
def test_the_form_comes_from_the_option_else_from_the_settings(
    words, environ, dotenv, is_json, run, monkeypatch
):
    """Also where a line of `.env` is refused; a form that there is not is refused itself."""
    monkeypatch.setenv("SVC_LOG", environ)
    Path(".env").write_text(dotenv)
    done = run(*words, "status")
    assert done.code in (1, 2) and done.err.startswith("{") == is_json
    assert ("SVC_LOG is text or json" in done.err) == (environ == "xml")


def test_a_logger_that_nobody_hears_is_heard(run, monkeypatch):
    """Python itself prints such a warning of a library, with nothing before it."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(app, "now", lambda: logging.getLogger("a.library").warning("look"))
    assert ("other", "look") in [
        (event["event"], event["text"]) for event in events(run("--log", "json", "status"))
    ]
