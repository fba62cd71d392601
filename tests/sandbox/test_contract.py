"""The contract as a table: each rule, code, field and transition, and the tests that show it."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from svc_analytics.sandbox.behaviour import EVERY_FAILURE, Behaviour
from svc_analytics.sandbox.console import control_routes
from svc_analytics.sandbox.platform import FIELDS
from svc_analytics.sandbox.routes import ROUTES, describe

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MANUAL = (ROOT / "svc_analytics" / "sandbox" / "README.md").read_text()
SCHEMAS = describe(ROUTES)["components"]["schemas"]
# Every code of the contract.
CODES = (HERE / "codes.txt").read_text().split()
SANDBOX = (ROOT / "svc_analytics" / "sandbox").rglob("*.py")
# Where codes are raised, not where they are merely listed or put into words.
SOURCE = "".join(path.read_text() for path in SANDBOX if path.name != "routes.py")
# The contract's sections, in its order.
SECTIONS = (
    *("What the service does", "Conventions", "Session", "Amount", "Payment"),
    *("Payout / refund record", "Merchant profile", "Binding", "Recipient lookup result"),
    *("Receipt token", "States: session", "States: payment, payout, refund", "States: binding"),
    *("POST /sessions", "GET /sessions/{id}, POST /sessions/{id}/cancel"),
    *("GET /payments, GET /payments/{id}", "POST /receipts/verify", "POST /payouts"),
    *("GET /payouts, GET /payouts/{id}", "POST /payouts/recipients/lookup"),
    *("POST /payments/{id}/refund", "Customers (bindings)", "GET /me", "Authentication"),
    *("Events", "Events: signature", "Events: delivery", "Errors", "Limits", "Versioning"),
)


def read_rules():
    """The table: section, rule, and the tests that show it."""
    section, found = "", []
    for line in (HERE / "rules.txt").read_text().splitlines():
        if line.startswith("  "):
            rule, _, tests = line.partition(" | ")
            found.append((section, rule.strip(), tests.split(", ")))
        elif not line.startswith("#"):
            section = line or section
    return found


RULES = read_rules()


@cache
def names_in(file):
    trees = [ast.parse(path.read_text()) for path in (ROOT / "tests").rglob(f"{file}.py")]
    return {
        node.name
        for tree in trees
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }


def test_every_section_of_the_contract_has_its_rules():
    """In the contract's order, so that both can be read side by side."""
    assert tuple(dict.fromkeys(section for section, _, _ in RULES)) == SECTIONS


@pytest.mark.parametrize(
    ("section", "rule", "tests"), RULES, ids=[f"{section}: {rule}" for section, rule, _ in RULES]
)
def test_rule_has_its_tests(section, rule, tests):
    """Each named test exists in the named file."""
    for test in tests:
        file, _, name = test.partition(".")
        assert name in names_in(file), f"{section}: {rule}"


def test_no_rule_stands_twice_in_a_section():
    """A rule that was copied and not changed hides the one that was meant."""
    places = [(section, rule) for section, rule, _ in RULES]
    assert len(set(places)) == len(places)


def test_our_choices_stand_in_the_document():
    """
    What the contract does not show is told to whoever uses the sandbox: each choice, no other.
    """
    ours = [rule.removeprefix("ours: ") for _, rule, _ in RULES if rule.startswith("ours: ")]
    table = MANUAL.partition("we chose\n")[2]
    assert [row for row in re.findall(r"^\| (.+?) \|", table, re.M) if row != "not shown"] == ours


@pytest.mark.parametrize("code", CODES)
def test_code_of_the_contract_is_raised_and_shown(code):
    """Each code stands in the sandbox, in the table of rules, and in a test that expects it."""
    tests = "".join(
        path.read_text() for path in HERE.glob("test_*.py") if path.name != Path(__file__).name
    )
    assert f'"{code}"' in SOURCE and f'"{code}"' in tests
    rules = [rule for section, rule, _ in RULES if section == "Errors"]
    assert any(re.search(rf"\b{code}\b", rule) for rule in rules)


def test_sandbox_raises_no_code_of_its_own():
    """Beyond the contract there are only the codes of HTTP itself."""
    raised = set(re.findall(r'"((?:PAY|MERCHANT|TOTP)_[A-Z_]+)"', SOURCE))
    assert raised <= set(CODES)


@pytest.mark.parametrize("event", FIELDS)
def test_event_of_the_contract_is_in_the_table(event):
    """All seven types."""
    assert any(rule.startswith(f"event {event}") for _, rule, _ in RULES)


def read_fields():
    lines = (HERE / "fields.txt").read_text().splitlines()
    return [tuple(line.split()) for line in lines if not line.startswith("#")]


@pytest.mark.parametrize(("resource", "fields"), [(one, rest) for one, *rest in read_fields()])
def test_resource_has_exactly_the_contracts_fields(resource, fields):
    """As the description says, which is compared with real answers: required ones, and limits."""
    schema = SCHEMAS[resource]
    told = {}
    for name, field in schema["properties"].items():
        most = [field[key] for key in ("maxLength", "maxItems", "maximum") if key in field]
        is_limited = resource in ("Lookup", "Reason") or resource.startswith("New")
        limit = str(most[0]) if most and is_limited else ""
        mark = "!" if name in schema["required"] else ":" if limit else ""
        told[name] = f"{name}{mark}{limit}"
    assert sorted(told.values()) == sorted(fields)


def test_document_names_every_control_path_and_fault(shop):
    """Nothing that can be done to a sandbox is left for its source to tell."""
    paths = {route.path for route in control_routes(shop.service)}
    assert [path for path in paths if f" {path}`" not in MANUAL] == []
    names = [*Behaviour.__dataclass_fields__, *EVERY_FAILURE]
    assert [name for name in names if f"`{name}`" not in MANUAL] == []
