"""What a user of the library meets: the help of every public name, and what the logger is told."""

import inspect
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import svc_analytics as svc
from svc_analytics import errors
from tests.support.closings import Closer
from tests.support.fake_service import once, payment, refusal

PUBLIC = {name: getattr(svc, name) for name in svc.__all__}
FUNCTIONS = {name: found for name, found in PUBLIC.items() if inspect.isfunction(found)}
CLASSES = {
    name: found
    for name, found in PUBLIC.items()
    if inspect.isclass(found) and not issubclass(found, Exception)
}
NEVER_RAISING = {"notebook_errors"}  # raises nothing


def methods() -> Iterator[tuple[str, Any]]:
    for name, kind in CLASSES.items():
        for own, found in vars(kind).items():
            if not own.startswith("_") and isinstance(found, property) | inspect.isfunction(found):
                yield f"{name}.{own}", found


def help_of(found: Any) -> str:
    return inspect.getdoc(found) or ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_returns_and_raises_and_shows_a_call(name):
    """In sections that `help` and the reference both show."""
    text = help_of(FUNCTIONS[name])
    assert "\nReturns:\n" in text, text
    assert "\nRaises:\n" in text or name in NEVER_RAISING, text
    assert f"{name}(" in text.partition("\nExamples:\n")[2], text


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_shows_an_example(name):
    """Or, for a lake, each of its methods does."""
    found = CLASSES[name]
    texts = [help_of(found), *(help_of(own) for own in vars(found).values() if callable(own))]
    assert any("Examples:\n" in text for text in texts), texts[0]


METHODS = dict(methods())


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_what_it_gives(name):
    """A noun for a value, a verb for an effect; never nothing."""
    assert len(help_of(METHODS[name]).split()) >= 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_in_a_unit_names_the_unit(name):
    """Microseconds, seconds or hours: a number alone says nothing."""
    wanted = set(inspect.signature(FUNCTIONS[name]).parameters) & {"now", "as_of", "patience"}
    text = help_of(FUNCTIONS[name])
    assert not wanted or re.search(r"microseconds|seconds", text), text


def test_the_help_of_a_statement_answers_the_first_questions():
    """What do I get, which columns, in which unit, what can go wrong."""
    text = help_of(svc.statement) + help_of(svc.Statement)
    for word in ("summary", "net_settlement", "status", "US dollars", "UTC", "has not begun"):
        assert word in text, word


def test_every_error_is_public():
    """A script catches what can be raised by the name that it imports."""
    classes = filter(inspect.isclass, vars(errors).values())
    assert {each.__name__ for each in classes if issubclass(each, svc.SvcError)} <= {*svc.__all__}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_help_text_says_that_is_raised_is_public(name):
    """Each error of a section *Raises* is one of `svc`."""
    raises = help_of(FUNCTIONS[name]).partition("\nRaises:\n")[2].partition("\n\n")[0]
    assert set(re.findall(r"^    (\w+):", raises, re.MULTILINE)) <= {*svc.__all__}


IN_NOTEBOOKS = {"Display", "Live", "Picture", "SearchableTable", "Picked", "Desk"}  # only shown


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_function_returns_is_public(name):
    """Whoever annotates their own functions finds the type in `svc`."""
    returned = inspect.signature(FUNCTIONS[name]).return_annotation
    types = set(re.findall(r"\b[A-Z]\w+", str(returned))) - {"DataFrame", "None"}
    assert types <= {*svc.__all__} | IN_NOTEBOOKS


SCRIPT = """
import svc_analytics as svc

lake: svc.Lakehouse = svc.open_lake("data")
closed: svc.CloseResult = svc.close(lake, "2026-10")
made: svc.Statement = svc.statement(lake, "2026-10")
reasons: list[str] = [reason.text for reason in made.reasons]
try:
    done: svc.ExtractionResult = svc.extract(lake, svc.read_settings())
except svc.Unavailable as error:
    raise SystemExit(error.exit_code) from error
svc.statement(lake, month=10)
svc.compare(lake, zome="UTC")
"""


@pytest.mark.thorough
def test_a_users_type_checker_sees_our_types(tmp_path):
    """No public name is `Any`: two wrong arguments of a script are told, each by its function."""
    names = "".join(f"reveal_type(svc.{name})\n" for name in svc.__all__)
    (tmp_path / "use.py").write_text(SCRIPT + names, encoding="utf-8")
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "use.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    notes = [line for line in done.stdout.splitlines() if " note: Revealed type" in line]
    assert not [line for line in notes if line.endswith('"Any"')] and len(notes) == len(svc.__all__)
    wrong, misspelt = (line for line in done.stdout.splitlines() if " error: " in line)
    assert 'Argument "month" to "statement" has incompatible type "int"' in wrong
    assert 'Unexpected keyword argument "zome" for "compare"' in misspelt


# ---------- the logger `svc_analytics`: what was done, and what needs a person


SILENT = "import svc_analytics as svc, svc_analytics.log as log; log.LOG.warning('heard')"


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    """What was told at a level; all of it to the one logger that is documented."""
    assert {each.name for each in caplog.records} <= {"svc_analytics"}
    return [each.getMessage() for each in caplog.records if each.levelno == level]


@pytest.fixture
def heard(caplog) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "svc_analytics")
    return caplog


def test_who_does_not_listen_hears_nothing():
    done = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_reading_tells_what_it_read_and_which_call_it_made_again(history, desk, heard):
    history.intercept = once(refusal(503), path="/payments")
    desk.extract()
    # A page that is read again may repeat some rows.
    [told] = lines(heard, logging.INFO)
    assert re.fullmatch(
        r"read 4\d\d rows of payments, 9 rows of payout_records up to 2026-11-20T12:00:00Z", told
    )
    assert lines(heard, logging.DEBUG)[0].startswith("/payments is called again: ")
    assert not lines(heard, logging.WARNING)


def test_a_record_that_was_set_aside_is_a_warning(service, desk, heard):
    service.payments = [payment(1, "2026-10-05T00:00:00Z") | {"amount": "much"}]
    desk.extract()
    assert lines(heard, logging.WARNING) == ["records set aside: 1"]


@pytest.mark.usefixtures("kept")
def test_a_sealed_month_is_told_and_a_restated_one_is_a_warning(desk, heard):
    closer = Closer(desk)
    closer.serve()
    sealed = closer.close("2026-10")
    assert any(text.startswith("2026-10 sealed as ") for text in lines(heard, logging.INFO))
    assert not lines(heard, logging.WARNING)
    replace(sealed, state="restated", version=2).logged()
    assert lines(heard, logging.WARNING)[0].startswith("2026-10 restated as version 2")
