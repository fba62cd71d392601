"""What findings say of a row: each sentence that a rule can write has its Persian."""

import ast
import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from types import ModuleType

import duckdb
import pytest

from svc_analytics.errors import DataError
from svc_analytics.instants import parse_instant
from svc_analytics.language import words
from svc_analytics.language.catalogue import Language
from svc_analytics.language.isolation import isolate
from svc_analytics.money import parse_amount
from svc_analytics.periods import month
from svc_analytics.records import raw_json, record_parser
from svc_analytics.render.balances import UNPLACED
from svc_analytics.statements import deep_check
from svc_analytics.statements.balance_assertions import Assertion, unplaced_balances
from svc_analytics.warehouse.acknowledgements import Acknowledgement
from svc_analytics.webhooks import findings

PACKAGE = Path(words.__file__).parents[1]
SQL = PACKAGE / "warehouse" / "sql"
RULES = sorted([*SQL.glob("*checks/*.sql"), *SQL.glob("footings/*.sql")])
SECTIONS = tomllib.loads((PACKAGE / "language" / "fa.toml").read_text("utf-8"))
MOMENT = "timestamptz '2026-10-01 08:30:00+00'"
# Columns that rules take a detail from: one row of plain values, and others that matter.
PLAIN = {
    **dict.fromkeys(("amount", "charged_amount", "fee_amount", "net_amount", "usd_rate"), "1.5"),
    **dict.fromkeys(("debited_amount", "median", "tier_rate", "refunded_after"), "1.5"),
    **dict.fromkeys(("payment_charged_amount", "opening", "movement", "closing"), "1.5"),
    **dict.fromkeys(("opening_position", "rail_movement", "closing_position"), "-1.5"),
    **dict.fromkeys(("closed_before", "uses", "sharers", "counted", "held_count"), "2"),
    **dict.fromkeys(("created_at", "settled_at", "claimed_at", "span_end"), MOMENT),
    **dict.fromkeys(("extracted_at", "gap_start", "gap_end"), MOMENT),
    **dict.fromkeys(("payment_id", "reference_id", "receipt_no"), "'SVC-1'"),
    **dict.fromkeys(("usd_value", "usd_exposure", "largest"), "1.5"),
    "payment_paid_at": MOMENT,
    "rate_age_days": "40",
    "is_usd": "true",
    "payment_currency": "'btc'",
    "fee_bearer": "'payer'",
    "status": "'held'",
    "state": "'gone'",
    "file_label": "'payments/2026-10'",
    "label": "'2026-10'",
    "folder": "'payments'",
    "reason": "'id is missing'",
    "kind": "'payout'",
    "currency": "'USDT'",
    "names": "'usd_value, receipt'",
    "stream": "'payments'",
    "tier": "{'rate': 0.01}",
    "found": "{'rows': 3, 'without_receipt': 3}",
    "stg_changes": f"{{'extracted_at': {MOMENT}}}",
    "stg_files": "{'rows': 4, 'without_receipt': 4}",
    "held": "{'stream': 'payments'}",
    "totals": "{'stream': 'payments'}",
    "footed": "{'rail_movement': 1.5, 'net_settlement': 1.5}",
    "summary": "{'rail_movement': 2.5, 'net_settlement': 2.5}",
    "checked": "{'verdict': 'bad_signature', 'reason': 'the text is empty'}",
}
OTHERS = (
    {},
    {"kind": "'refund'", "stream": "'payout_records'", "payment_id": "null", "fee_bearer": "null"},
    {"label": "'0000-00'", "totals": "{'stream': 'payout_records'}", "held_count": "null"},
    {"folder": "'receipt_verdicts'", "closed_before": "null", "state": "'known'"},
    {"state": "'not asked'"},
)
LATE = "2026-13-01T00:00:00Z"


def said(parse: Callable[[str], object], text: str) -> str:
    """Return why a text cannot be read."""
    with pytest.raises(DataError) as refused:
        parse(text)
    return str(refused.value)


# What stands in the place of a value in a sentence of the program.
VALUES = {
    "error": [
        said(parse_amount, "x"),
        said(parse_amount, "0." + "1" * 19),
        said(parse_amount, "1" * 30),
        said(parse_instant, "x"),
        said(parse_instant, LATE),
    ],
}
DIFFERS = "differs in {}: do not rely on it, and report it"


def expressions(sql: str) -> Iterator[str]:
    """Yield what each select of a rule makes its `detail` of."""
    bare = re.sub("--.*", "", sql)
    for end in (match.start() for match in re.finditer(r"\s+as detail\b", bare)):
        depth, quoted, start = 0, False, end
        while start and (depth or quoted or bare[start - 1] != ","):
            start -= 1
            quoted ^= bare[start] == "'"
            depth += 0 if quoted else {")": 1, "(": -1}.get(bare[start], 0)
        yield bare[start:end].strip().replace("max(", "(")  # of one row


def details(sql: str) -> set[str]:
    """Return the sentences that a rule makes of the values above."""
    database = duckdb.connect()
    database.execute("set timezone = 'UTC'")
    database.execute("create macro instant_text(moment) as moment::varchar")
    told: set[str] = set()
    for expression in expressions(sql):
        for other in OTHERS:
            values = ", ".join(f"{value} as {name}" for name, value in (PLAIN | other).items())
            row = database.execute(
                f"select {expression} from (select {values}) group by all"
            ).fetchone()
            told.update(str(text) for text in row or () if text is not None)
    return told


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_every_detail_of_a_rule_has_its_persian(path: Path) -> None:
    """Each select of the rule's own file is evaluated; a new sentence is missed here."""
    sql = path.read_text("utf-8")
    told = details(sql)
    assert len(told) >= len(set(expressions(sql))) > 0
    assert {text for text in told if not Language("fa").translation(text)} == set()


def test_every_rule_has_a_persian_name() -> None:
    """Those of files, of webhooks, of typed balances and of the deep check; no other."""
    names = {path.stem for path in RULES} | {findings.MISSING, findings.NOT_VALID}
    assert SECTIONS["rules"].keys() == names | {UNPLACED, deep_check.DIFFERENT}


def test_the_name_of_a_rule_stands_behind_its_persian() -> None:
    """A person copies it into acknowledgements.csv."""
    shown = Language("fa").text("kind_is_known")
    assert shown == "نوع رکورد شناخته‌شده است (\u2066kind_is_known\u2069)"
    assert Language("en+fa").text("kind_is_known").startswith("kind_is_known · ")


def test_what_other_findings_say_has_its_persian() -> None:
    """A typed balance, the deep check, a log of webhooks, and what was accepted before."""
    told = others()
    assert len(told) == 9
    assert {text for text in told if not Language("fa").translation(text)} == set()


def test_every_reason_against_a_record_has_its_persian() -> None:
    """Each sentence that is raised where they are read, from the code itself."""
    of_records = {text for module in (record_parser, raw_json) for text in sentences(module)}
    assert len(of_records) > 8
    told = {f"payments: {text}": text for text in of_records}
    left = {text for whole, text in told.items() if isolate(text) in Language("fa").text(whole)}
    assert left == set()


def test_a_reason_in_older_words_stays_in_english_isolated() -> None:
    """Verdicts of an earlier version stand in the lake for good."""
    told = Language("fa").translation("bad_signature: some older words")
    assert told == "امضای نادرست: \u2066some older words\u2069"


def test_every_text_of_these_sections_is_used() -> None:
    """A rule or a reason that was reworded leaves none behind."""
    told = {text for path in RULES for text in details(path.read_text("utf-8"))} | others()
    told |= {text for each in (record_parser, raw_json) for text in sentences(each)}
    for english in SECTIONS["details"]:
        pattern = words._pattern(english)
        assert any(map(pattern.fullmatch, told)), english


def others() -> set[str]:
    """Return the details of findings that no SQL writes."""
    log = findings._LogSummary(month("2026-10"))
    log._verdicts.update({"bad_signature": 1, "valid": 1200})
    log._missing = {(subject, "SVC-1"): log._period.start for subject in ("payment", "payout")}
    unplaced = unplaced_balances(
        [Assertion(log._period.end, "btc", Decimal(1), 2)], log._period, ()
    )
    rows = [*log.findings("log.ndjson"), *unplaced, deep_check._unchecked("2026-10")]
    return {row["detail"] for row in rows} | {DIFFERS.format("lines, daily"), *accepted_before()}


def accepted_before() -> set[str]:
    """Return the details of findings of which another content was accepted."""
    mark = Acknowledgement(
        "amounts_are_not_zero", "1", "a test", "Mina", month("2026-10").end, "0" * 64
    )
    row = {"content": "1" * 64, "seen_at": None}
    seen = {"content": "1" * 64, "seen_at": datetime(2026, 11, 2, tzinfo=UTC)}
    old = replace(mark, content="")
    return {f"amount 0; {text}" for text in (mark.unlike(row), old.unlike(row), old.unlike(seen))}


def sentences(module: ModuleType) -> Iterator[str]:
    """Yield what a module raises as a sentence, its values filled in."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id="DataError"), args=texts)):
                pass
            case _:
                texts = []
        yield from (each for text in texts for each in filled(text) if " " in each)


def filled(node: ast.expr) -> list[str]:
    """Return the texts that an expression can give; of a value in it, a text for each kind."""
    if isinstance(node, ast.JoinedStr):
        return list(map("".join, product(*map(filled, node.values))))
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    name = node.value if isinstance(node, ast.FormattedValue) else node
    return VALUES.get(getattr(name, "id", ""), ["field"])
