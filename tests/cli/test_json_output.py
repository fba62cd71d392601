"""What every command prints with `--json`, checked against the schema of the documents."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

import svc_analytics as svc
from svc_analytics.sandbox import Clock, Scenario, Service, Store, seed, serve, write_env_file
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
    if "demo" in call[1:]:
        svc.demo_lake(folder / "demo", months=1, payments=40)


@pytest.fixture(autouse=True)
def in_folder(folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)


def validator(name: str) -> "Draft202012Validator":
    from jsonschema import Draft202012Validator  # it takes seconds to load

    return Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})


def words_of(call: list[str]) -> str:
    return "-".join(call[:2]) if call[0] in GROUPS else call[0]


@pytest.mark.usefixtures("other_lake")
@pytest.mark.parametrize(
    "call", rings((call for call in CALLS if " ".join(call) in USUAL), [*CALLS, DEMO]), ids=" ".join
)
def test_a_document_is_as_its_schema_says(call, run):
    """Every key of the schema is there, with a value of its type."""
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
