"""What findings say of a row: a code with its values, whose words every language has."""

import ast
import inspect
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import duckdb
import pytest

from svc_analytics.language import words
from svc_analytics.language.catalogue import Language, read_catalogue
from svc_analytics.messages import PLACE, Message, english_templates, translated
from svc_analytics.periods import month
from svc_analytics.records import raw_json, record_parser
from svc_analytics.render.findings import UNPLACED
from svc_analytics.statements import deep_check
from svc_analytics.statements.balance_assertions import Assertion, unplaced_balances
from svc_analytics.warehouse.acknowledgements import Acknowledgement
from svc_analytics.warehouse.models import read_macros
from svc_analytics.warehouse.sql_text import english_of, message_of
from svc_analytics.webhooks import reconcile

PACKAGE = Path(words.__file__).parents[1]
SQL = PACKAGE / "warehouse" / "sql"
RULES = sorted([*SQL.glob("*checks/*.sql"), *SQL.glob("footings/*.sql")])
SECTIONS = tomllib.loads((PACKAGE / "language" / "fa.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    """A database that has our macros, and no lake."""
    found = duckdb.connect()
    found.execute(read_macros())
    return found


def codes_in(sql: str) -> list[str]:
    return re.findall(r"'(finding\.\w+)'", sql)


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_the_detail_of_a_rule_is_the_english_of_its_message(path, database):
    """Whatever a value holds: a quote, a line break, the place of another value."""
    sql = path.read_text("utf-8")
    assert codes_in(sql) and " as detail" not in sql
    texts = [english_templates()[code] for code in codes_in(sql)]
    names = {name.lower() for text in texts for name in PLACE.findall(text)}
    for code in codes_in(sql):
        values = {"code": code} | {name: f'{name} "1"\n{{amount}}' for name in names}
        values |= {f"{name}_message": None for name in names if f"{name}_message" in sql}
        row = ", ".join(f"${name} as {name}" for name in values)
        query = f"select {english_of(sql)}, {message_of(sql)} from (select {row})"
        [(detail, message)] = database.execute(query, values).fetchall()
        made = Message.from_json(json.loads(message))
        assert (made, made.code) == (detail, code)


def test_every_rule_has_a_persian_name():
    """Those of files, of webhooks, of typed balances and of the deep check; no other."""
    names = {path.stem for path in RULES} | {reconcile.MISSING, reconcile.NOT_VALID}
    assert SECTIONS["rules"].keys() == names | {UNPLACED, deep_check.DIFFERENT}


def test_the_name_of_a_rule_stands_behind_its_persian():
    """A person copies it into acknowledgements.csv."""
    shown = Language("fa").text("kind_is_known")
    assert shown == "نوع رکورد شناخته‌شده است (\u2066kind_is_known\u2069)"
    assert Language("en+fa").text("kind_is_known").startswith("kind_is_known · ")


def test_other_findings_are_messages_too():
    """A typed balance, the deep check, a log of webhooks, and what was accepted before."""
    log = reconcile._LogSummary(month("2026-10"))
    log._verdicts.update({"bad_signature": 1, "valid": 1200})
    log._missing = {(subject, "SVC-1"): log._period.start for subject in ("payment", "payout")}
    balance = Assertion(log._period.end, "btc", Decimal(1), 2)
    rows = [*log.findings("log.ndjson"), *unplaced_balances([balance], log._period, ())]
    for row in rows:
        assert Message.from_json(json.loads(row["message"])) == row["detail"]
    said = [row["detail"] for row in (*rows, deep_check._unchecked("2026-10"))]
    said += accepted_before()
    assert len(said) == 11 and all(isinstance(each, Message) for each in said)
    assert all(Language("fa").translation(each) for each in said)


def accepted_before() -> list[Message]:
    """Return the details of findings of which their content, or another one, was accepted."""
    mark = Acknowledgement(
        "amounts_are_not_zero", "1", "a test", "Mina", month("2026-10").end, "0" * 64
    )
    row = {"content": "1" * 64, "seen_at": None, "detail": "amount 0", "message": None}
    row |= {"check_name": mark.check}
    seen = row | {"seen_at": datetime(2026, 11, 2, tzinfo=UTC)}
    old = replace(mark, content="")
    ahead = replace(mark, counts_from=mark.at + 1)
    said = [each.unlike(row, mark.at) for each in (mark, old, ahead)]
    said += [old.unlike(seen, mark.at), mark.accepting(row)]
    return [*said, mark.accepting(row | {"check_name": "kind_is_known"})]


def test_every_reason_against_a_record_is_a_message():
    """Each that is raised where records are read."""
    raised = [each for module in (record_parser, raw_json) for each in reasons(module)]
    assert len(raised) > 8
    assert [ast.unparse(each) for each in raised if not is_message(each)] == []


def reasons(module: ModuleType) -> Iterator[ast.expr]:
    """Yield what a module raises a `DataError` of."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id="DataError"), args=[text])):
                yield text


def is_message(text: ast.expr) -> bool:
    return isinstance(text, ast.Call) and ast.unparse(text.func) == "Message"


def test_no_message_is_a_sentence_without_words():
    """What is noted, broken or not proven is a message by its type, and each has its words."""
    texts = [path.read_text("utf-8") for path in PACKAGE.rglob("*.py")]
    trees = [ast.parse(text) for text in texts if "Message(" in text]
    codes = {code for tree in trees for code in codes_said(tree)}
    assert len(codes) > 400
    assert sorted(code for code in codes if read_catalogue().words_of(code) is None) == []


def codes_said(tree: ast.Module) -> Iterator[str]:
    """Yield the codes of which a module makes messages, where they stand or by their names."""
    named: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            names = [each.id for each in ast.walk(node.targets[0]) if isinstance(each, ast.Name)]
            for name in names:
                named.setdefault(name, []).extend(texts_of(node.value))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="Message"), args=[ast.Name(id=name)]):
                yield from named.get(name, ())
            case ast.Call(func=ast.Name(id="Message"), args=[code]):
                yield from texts_of(code)


def texts_of(node: ast.expr) -> Iterator[str]:
    """Yield the texts that an expression may be; of a text with values, how it is written."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Tuple(elts=parts) | ast.BoolOp(values=parts):
            yield from (text for part in parts for text in texts_of(part))
        case ast.IfExp(body=first, orelse=second):
            yield from (text for part in (first, second) for text in texts_of(part))
        case ast.JoinedStr(values=[ast.Constant(value="{count} "), *_]):
            pass  # a number before a word, which the catalogue has with it
        case ast.JoinedStr():
            yield ast.unparse(node)


def test_a_reason_in_older_words_stays_in_english_isolated():
    """Verdicts of an earlier version stand in the lake for good."""
    found = Message(
        "finding.receipt",
        verdict=translated("bad_signature"),
        reason=translated("some older words"),
    )
    assert Language("fa").translation(found) == "امضای نادرست: \u2066some older words\u2069"
