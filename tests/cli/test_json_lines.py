"""`--log json`: each line of stderr is one event, in the words that a person reads without it."""

import json
import logging
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.cli import app
from svc_analytics.errors import Unavailable
from tests.cli.test_json_output import validator
from tests.support.desks import Outcome

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
