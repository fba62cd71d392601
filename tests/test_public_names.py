"""The help of every public name: what it gives, what can go wrong, and an example."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import svc_analytics as svc
from svc_analytics.closing.differences import StatementDiff
from svc_analytics.closing.verification.verify import SealVerification
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.statements.explain import Explanation

# What public functions return, and people then ask for more.
RETURNED = {each.__name__: each for each in (Lakehouse, Explanation, SealVerification)}
RETURNED[StatementDiff.__name__] = StatementDiff
PUBLIC = {name: getattr(svc, name) for name in svc.__all__}
FUNCTIONS = {name: found for name, found in PUBLIC.items() if inspect.isfunction(found)}
CLASSES = {name: found for name, found in PUBLIC.items() if inspect.isclass(found)}
SILENT = {"notebook_errors"}  # raises nothing


def methods() -> Iterator[tuple[str, Any]]:
    for name, kind in (CLASSES | RETURNED).items():
        for own, found in vars(kind).items():
            if not own.startswith("_") and isinstance(found, property) | inspect.isfunction(found):
                yield f"{name}.{own}", found


def help_of(found: Any) -> str:
    return inspect.getdoc(found) or ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_returns_and_raises_and_shows_a_call(name: str) -> None:
    """In sections that `help` and the reference both show."""
    text = help_of(FUNCTIONS[name])
    assert "\nReturns:\n" in text, text
    assert "\nRaises:\n" in text or name in SILENT, text
    assert f"{name}(" in text.partition("\nExamples:\n")[2], text


@pytest.mark.parametrize("name", [*CLASSES, *RETURNED])
def test_a_class_shows_an_example(name: str) -> None:
    """Or, for a lake, each of its methods does."""
    found = (CLASSES | RETURNED)[name]
    texts = [help_of(found), *(help_of(own) for own in vars(found).values() if callable(own))]
    assert any("Examples:\n" in text for text in texts), texts[0]


METHODS = dict(methods())


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_what_it_gives(name: str) -> None:
    """A noun for a value, a verb for an effect; never nothing."""
    assert len(help_of(METHODS[name]).split()) >= 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_in_a_unit_names_the_unit(name: str) -> None:
    """Microseconds, seconds or hours: a number alone says nothing."""
    wanted = set(inspect.signature(FUNCTIONS[name]).parameters) & {"now", "as_of", "patience"}
    text = help_of(FUNCTIONS[name])
    assert not wanted or re.search(r"microseconds|seconds", text), text


def test_the_help_of_a_statement_answers_the_first_questions() -> None:
    """What do I get, which columns, in which unit, what can go wrong."""
    text = help_of(svc.statement) + help_of(svc.Statement)
    for word in (
        "summary",
        "net_settlement",
        "status",
        "US dollars",
        "UTC",
        "has not begun",
    ):
        assert word in text, word
