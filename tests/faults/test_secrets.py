# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used
"""No key and no secret in anything that is said, written, logged or drawn (H5, I8)."""

import base64
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from svc_analytics.api import rate_limiter
from svc_analytics.sandbox import Running
from tests.extraction.test_progress import terminal
from tests.support.desks import runner
from tests.support.rings import rings
from tests.support.sandboxes import sandbox

MONTH = ("--month", "2026-10")


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with sandbox(8, 2, 60) as running:
        yield running


@pytest.fixture
def connected(running, monkeypatch) -> Running:
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    return running


@pytest.fixture
def run(monkeypatch, capsys, caplog) -> Callable[..., tuple[int, str]]:
    """Run a command at its chattiest; give its code, and all that it and its libraries said."""

    def call(*words: str) -> tuple[int, str]:
        caplog.set_level(logging.DEBUG)
        done = runner(monkeypatch, capsys)(*words, "-vv")
        logged = caplog.text + "".join(repr(vars(record)) for record in caplog.records)
        caplog.clear()
        return done.code, done.out + done.err + logged

    return call


def forms_of(environment: dict[str, str]) -> dict[str, list[bytes]]:
    """Every secret of the settings, in each form in which it could slip out."""
    found = {}
    for name, value in environment.items():
        for number, secret in enumerate(value.split(",") if name != "SVC_BASE_URL" else ()):
            text = secret.partition("@")[0]
            bare = text.rpartition("_")[2]
            spellings = {text, bare, bare.upper(), bare[:24], bare[-24:], bare[::-1]}
            encoded = {
                base64.b64encode(each.encode()).decode().rstrip("=") for each in (text, bare)
            }
            found[f"{name} {number}"] = [each.encode() for each in spellings | encoded]
    return found


def told(environment: dict[str, str], *texts: bytes) -> list[str]:
    """Name the settings of which something stands in these texts."""
    return [
        name
        for name, forms in forms_of(environment).items()
        if any(form in text for form in forms for text in texts)
    ]


def files() -> list[bytes]:
    return [path.read_bytes() for path in Path().rglob("*") if path.is_file()]


# What works with a key or a secret, or writes what was made with one.
QUICK: list[tuple[str, ...]] = [
    ("extract", "--sessions"),
    ("extract", "--reread", "--json"),
    ("receipts", "verify"),
    ("receipts", "verify", "tokens.txt", "--online", "--out", "verdicts.csv"),
    ("close", *MONTH, "--format", "csv,json", "--out", "closed"),
    ("sql", "select name, value from duckdb_settings()"),
    ("webhooks", "verify", "log.ndjson", "--json"),
]
ALL = [
    *QUICK,
    *(("status", "--json"), ("check", "--json"), ("views", "--json")),
    ("statement", *MONTH, "--format", "csv,parquet,xlsx,html,json,journal"),
    ("statement", *MONTH, "--explain", "gross_sales", "--currency", "usdt"),
    *(("statement-verify", "closed"), ("sql", "select * from receipt_status")),
]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("commands", rings([QUICK], [ALL]), ids=len)
def test_no_command_and_no_file_tells_a_secret(connected, run, commands):
    """The whole path of a month, with every library's log at its chattiest."""
    Path("tokens.txt").write_text("v1.e30.AAAA\n")
    line = {"received_at": "2026-11-10T00:00:00Z", "signature": "t=1,v1=00", "body_base64": "e30="}
    Path("log.ndjson").write_text(json.dumps(line) + "\n")
    said = ""
    for words in commands:
        code, text = run(*words)
        assert code in (0, 3), (words, text[-2000:])
        said += text
    assert "httpcore" in said  # else the logs were not heard
    written = files()
    assert len(written) > 40 and sum(map(len, written)) > 100_000
    assert told(connected.environment, said.encode(), *written) == []


BAD: dict[str, dict[str, Callable[[dict[str, str]], str]]] = {
    "a key revoked": {"SVC_CHECKOUT_KEY": lambda known: "svc_live_" + "5" * 64},
    "keys in each other's place": {
        "SVC_CHECKOUT_KEY": lambda known: known["SVC_PAYOUT_KEY"],
        "SVC_PAYOUT_KEY": lambda known: known["SVC_CHECKOUT_KEY"],
    },
    "a key with a blank in it": {
        "SVC_PAYOUT_KEY": lambda known: known["SVC_PAYOUT_KEY"].replace("_", " ")
    },
    "a key as the address": {"SVC_BASE_URL": lambda known: known["SVC_PAYOUT_KEY"]},
    "a key within the address": {
        "SVC_BASE_URL": lambda known: f"https://{known['SVC_PAYOUT_KEY']}@pay.example"
    },
    "a key as a path": {
        "SVC_PAYOUT_KEY": lambda known: "",
        "SVC_PAYOUT_KEY_FILE": lambda known: known["SVC_PAYOUT_KEY"],
    },
    "a key as the proxy": {"SVC_PROXY": lambda known: f"http://u:{known['SVC_PAYOUT_KEY']}"},
    "a secret as a number": {"SVC_PATIENCE": lambda known: known["SVC_RECEIPT_SECRETS"]},
    "nobody at the address": {"SVC_BASE_URL": lambda known: "http://127.0.0.1:9"},
}


@pytest.mark.parametrize("changes", BAD.values(), ids=BAD.keys())
def test_no_error_tells_a_secret(connected, run, monkeypatch, changes):
    """With its traceback, whatever was put into the wrong place, as text and as JSON."""
    monkeypatch.setattr(rate_limiter, "FIRST_CONTACT", 0.01)
    for name, change in changes.items():
        monkeypatch.setenv(name, change(connected.environment))
    for form in ("text", "json"):
        code, said = run("--log", form, "extract")
        assert code in (1, 2, 75) and "error: " in said
        assert told(connected.environment, said.encode(), *files()) == []


def test_no_progress_bar_tells_a_secret(connected, run, terminal):
    """A terminal is shown how many rows there are, and of what."""
    assert run("extract")[0] == 0
    assert "rows" in terminal.getvalue()
    assert told(connected.environment, terminal.getvalue().encode()) == []


def test_the_search_finds_what_it_looks_for(running):
    """Else the tests above prove little."""
    key = running.environment["SVC_PAYOUT_KEY"]
    for form in (key, key[11:], key[11:].upper(), base64.b64encode(key.encode()).decode()):
        assert told(running.environment, f"x{form}y".encode()) == ["SVC_PAYOUT_KEY 0"]
