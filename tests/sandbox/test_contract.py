"""The contract as a table: each rule, code, limit and transition, and the test that shows it."""

import ast
import re
from pathlib import Path

import pytest

from svc_analytics.sandbox.events import FIELDS

HERE = Path(__file__).parent
RULES = (HERE / "rules.txt").read_text()
# Every code of the contract.
CODES = (HERE / "codes.txt").read_text().split()
SOURCE = "".join(
    path.read_text() for path in (HERE.parents[1] / "svc_analytics" / "sandbox").glob("*.py")
)


def rows():
    file, found = "", []
    for line in RULES.splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            file = line
            continue
        rule, _, test = line.partition("|")
        found.append((file, rule.strip(), test.strip()))
    return found


@pytest.mark.parametrize(("file", "rule", "test"), rows(), ids=lambda value: value[:50])
def test_rule_has_its_test(file, rule, test):
    """
    The named test exists in the named file; {any} stands for a whole file on one rule.
    """
    tree = ast.parse((HERE / f"{file}.py").read_text())
    tests = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert test in tests or (test == "{any}" and any(name.startswith("test_") for name in tests))


@pytest.mark.parametrize("code", CODES)
def test_code_of_the_contract_is_raised_and_shown(code):
    """
    Each code stands in the sandbox, in the table of rules, and in a test that expects it.
    """
    tests = "".join(
        path.read_text() for path in HERE.glob("test_*.py") if path.name != Path(__file__).name
    )
    assert f'"{code}"' in SOURCE and f'"{code}"' in tests
    assert re.search(rf"\b{code}\b", RULES)


def test_sandbox_raises_no_code_of_its_own():
    """
    Beyond the contract there are only the codes of HTTP itself.
    """
    raised = set(re.findall(r'"((?:PAY|MERCHANT|TOTP)_[A-Z_]+)"', SOURCE))
    assert raised <= set(CODES)


@pytest.mark.parametrize("event", FIELDS)
def test_event_of_the_contract_is_in_the_table(event):
    """
    All seven types.
    """
    assert f"event {event}" in RULES
