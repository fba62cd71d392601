"""The catalogue of figures: each is whole, and the statement is made from nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from svc_analytics.closing.stated import statement
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.display import label
from svc_analytics.messages import Message
from svc_analytics.render.document import Unknown
from svc_analytics.signing import receipt_tokens
from svc_analytics.statements.tables import TABLES
from svc_analytics.warehouse.figures import (
    NEEDS,
    SIGNS,
    definitions_table,
    figure_groups,
    find_figure,
    grouped_figures,
    labels_of,
    parse_figure,
    read_figures,
    select_one,
    stated_figures,
)
from svc_analytics.warehouse.models import (
    count_findings,
    read_checks,
    read_footings,
    read_macros,
    read_statement_macros,
)
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse
from tests.statements.test_statement import LEDGER
from tests.support.rings import rings

VERDICTS = [
    *("valid", "valid_previous_secret", "proven_by_record", "facts_mismatch", "bad_signature"),
    *("unknown_payment", "malformed", "missing", "not_checked"),
]
BOUNDS = "timestamptz '2026-10-01', timestamptz '2026-11-01'"
EXAMPLE = """\
-- refunds_max: the largest refund of the period; undefined where there
-- was none. It is one refund.
-- label: Largest refund. formula: largest amount of completed
-- refunds.
-- group: Refunds. unit: coin. sign: out. needs: payouts, parents. adds: nothing.
-- source: int_period_refunds(starts_at, ends_at).
-- rows: amount > 0. empty: undefined.

max(amount) filter (where {rows})
"""


@pytest.fixture
def warehouse(desk) -> Iterator[Warehouse]:
    """An open lake of a small ledger, read whole."""
    desk.serve(LEDGER)
    desk.extract()
    with open_warehouse(desk.lake, as_written=True) as opened:
        yield opened


def test_a_figure_is_read_from_its_file():
    """Header and expression: nothing else says what a figure is."""
    figure = parse_figure(EXAMPLE)
    assert (figure.name, figure.group, figure.unit, figure.sign) == (
        *("refunds_max", "Refunds", "coin", "out"),
    )
    assert figure.definition == (
        "The largest refund of the period; undefined where there was none. It is one refund."
    )
    assert (figure.label, figure.formula) == (
        *("Largest refund", "largest amount of completed refunds"),
    )
    assert figure.needs == ("payouts", "parents")
    assert (figure.rows, figure.is_zero_when_empty) == ("amount > 0", False)
    assert "max(amount) filter (where amount > 0) as refunds_max" in select_one(figure)
    assert figure.adds == ()
    with pytest.raises(ValueError, match="without a meaning"):
        parse_figure("-- refunds_max\n\nmax(amount)\n")
    with pytest.raises(ValueError, match="does not say what it adds over"):
        parse_figure(EXAMPLE.replace(" adds: nothing.", ""))


@pytest.mark.parametrize("figure", read_figures().values(), ids=lambda figure: figure.name)
def test_every_figure_says_what_it_is(figure):
    """Its group, unit and sign, its records, and figures that there are."""
    sources = {model.name for model in read_statement_macros()}
    assert figure.group in {*figure_groups(), "none"}
    assert figure.unit and figure.sign in ("in", "out", "either", "none")
    assert figure.source.partition("(")[0] in sources
    assert set(figure.operands) <= read_figures().keys()
    assert not figure.operands or all(name in figure.expression for name in figure.operands)
    assert {*figure.adds} <= {"months", "merchants"}
    assert not any(read_figures()[name].operands for name in figure.operands)


@pytest.mark.parametrize("figure", stated_figures(), ids=lambda figure: figure.name)
def test_every_stated_figure_is_explained_to_people(figure):
    """A short label, a definition and a formula, none of which needs the code to be read."""
    texts = (figure.label, figure.definition, figure.formula)
    assert all(texts) and not any("_" in text for text in texts)
    assert len(figure.label) <= 28 and not figure.label.endswith(".")
    assert figure.definition.endswith(".") and not figure.formula.endswith(".")
    assert {*figure.needs} <= NEEDS.keys() and figure.sign in SIGNS


def test_one_label_names_one_figure():
    """No two figures share a label, nor is one figure's label another one's name.

    So it is with earlier labels, which the definitions of sealed months have still.
    """
    named = [
        (text.casefold(), figure.name)
        for figure in stated_figures()
        for text in labels_of(figure.name)
    ]
    labels = dict(named)
    assert len(labels) == len(named) > len(stated_figures())
    assert all(labels.get(label(name).casefold(), name) == name for name in labels.values())


def test_the_glossary_holds_every_stated_figure_once():
    """In the order of the statement: its groups, and in each the columns of the summary first."""
    rows = definitions_table().to_pylist()
    names = [row["name"] for row in rows]
    assert names == [figure.name for found in grouped_figures().values() for figure in found]
    assert sorted(names) == sorted(f.name for f in read_figures().values() if f.is_stated)
    assert names[:3] == ["payments_count", "payers_count", "gross_sales"]
    assert rows[2] == {
        "name": "gross_sales",
        "label": "Gross sales",
        "group": "Sales",
        "unit": "coin",
        "sign": "into the wallet",
        "definition": "The amounts of the period's payments as they were priced, before fees and "
        "refunds.",
        "formula": "sum of amount over completed payments paid in the period",
        "needs": "payments of the period",
    }


@pytest.mark.parametrize(
    "text", ["net_settlement", "Sales less fees and refunds", " SALES  less fees and refunds"]
)
def test_a_figure_is_found_by_name_and_by_label(text):
    """However it is capitalised."""
    assert find_figure(text).name == "net_settlement"


def test_an_unknown_figure_is_refused_with_the_names_like_it():
    """In one line; a step that no statement shows is unknown too."""
    with pytest.raises(ConfigError, match="no figure 'net_setlement': did you mean net_settlement"):
        find_figure("net_setlement")
    with pytest.raises(ConfigError, match="no figure 'xyzzy': see svc-analytics figures"):
        find_figure("xyzzy")
    with pytest.raises(ConfigError):
        find_figure("movements_count")


def test_without_a_record_each_figure_is_what_its_header_says(warehouse):
    """Zero or undefined: over the records of a coin that nobody paid in, each source read once."""
    figures = [figure for figure in read_figures().values() if not figure.operands]
    for source in {figure.source for figure in figures}:
        asked = [figure for figure in figures if figure.source == source]
        columns = ", ".join(f"{figure.expression} as {figure.name}" for figure in asked)
        sql = f"with records as (from {source} where currency = 'none') "
        sql += f"select {columns} from records"
        sql = sql.replace(":= as_of", ":= null").replace(":= assertions", ":= null")
        sql = sql.replace("starts_at, ends_at", BOUNDS)
        sql = sql.replace("starts_at::timestamptz", "timestamptz '2026-10-01'")
        empty = {each.name: 0 if each.is_zero_when_empty else None for each in asked}
        assert warehouse.query(sql).to_pylist() == [empty]


@pytest.mark.parametrize("part", rings([0], range(3)))
def test_a_statement_reads_what_its_public_macros_say(desk, warehouse, part):
    """What a statement reads once and keeps changes no table of it."""
    made = statement(desk.lake, "2026-10").tables
    for name in TABLES[:-1][part::3]:
        options = ", label := '2026-10'" if name in ("summary", "lines") else ""
        found = warehouse.query(f"from statement_{name}({BOUNDS}{options})")
        assert made[name].select(found.column_names).to_pylist() == found.to_pylist(), name


def test_sql_and_python_name_the_same_verdicts():
    """Which of them attest a payment, and which prove it."""
    with duckdb.connect() as connection:
        connection.execute(read_macros())
        known = {"is_attested": receipt_tokens.ATTESTED, "is_proven": receipt_tokens.PROVEN}
        for macro, names in known.items():
            query = f"select verdict from (select unnest($1) as verdict) where {macro}(verdict)"
            found = connection.execute(query, [VERDICTS]).fetchall()
            assert {verdict for (verdict,) in found} == set(names)


def test_every_rule_is_named_by_some_test():
    """A rule that can never fire passes all other tests, and finds nothing in a lake."""
    tests = "".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    named = {*re.findall(r"\w+", tests)}
    assert not {rule.name for rule in (*read_checks(), *read_footings())} - named


@pytest.mark.parametrize("rule", [*read_checks(), *read_footings()], ids=lambda rule: rule.name)
def test_every_rule_is_said_in_a_sentence(rule):
    """Of one row that breaks it and of many, without a name that only the code knows."""
    assert count_findings(rule.name, 1) == f"1 {rule.says.one}"
    assert count_findings(rule.name, 1200) == f"1,200 {rule.says.many}"
    assert rule.says.one != rule.says.many
    assert not any("_" in text for text in (rule.says.one, rule.says.many, rule.title))


def test_what_a_statement_leaves_open_is_said_by_label():
    """In the words of its rows; the manifest keeps the names."""
    because = Message("unknown.before", stream=Message("stream.payout_records"), end="2026-10-01")
    unknown = Unknown(("net_settlement", "usd_gross"), ("btc", "eth"), because)
    assert unknown.text == (
        "sales less fees and refunds and USD gross sales of btc and eth are unknown: "
        "payout records before 2026-10-01 were not read"
    )
    assert unknown.cause == "payout records before 2026-10-01 were not read"  # at its dash too
    facts = unknown.to_json()
    assert facts["figures"] == ["net_settlement", "usd_gross"]
    assert facts["because"] == "payout_records before 2026-10-01 were not read"
    assert facts["message"]["code"] == "unknown.before"
    assert Unknown.from_json(facts) == unknown
    assert Unknown.from_json({**facts, "message": None}).because == facts["because"]


def test_receipts_are_called_unverified_only_where_their_payments_were_read():
    """Where a part of the period was not read, receipts may well have been verified."""
    checked = find_figure("receipts_checked")
    why = "no receipt of the period was verified"
    assert checked.why_unread({"receipts_checked": None, "payments_count": 3}) == why
    assert checked.why_unread({"receipts_checked": None, "payments_count": None}) == ""


# Words that an accountant, or an auditor, reads as something that no figure here is.
MISLEADING = ("net sales", "settlement", "exposure", "lost", "attested", "proven")


def test_no_label_says_what_a_figure_is_not():
    """Net sales are sales less returns, a settlement is paid out, an exposure is a risk."""
    labels = {figure.label.casefold() for figure in stated_figures()}
    assert [(text, word) for text in labels for word in MISLEADING if word in text] == []


def test_a_signature_is_said_to_show_no_more_than_it_does():
    """The merchant holds the key too: a third party learns that nothing changed, not who signed."""
    signed = [figure for figure in stated_figures() if "signed" in figure.definition]
    assert len(signed) == 5
    assert all("not who made it" in figure.definition for figure in signed)


# What must be read for the records of a source to be all there.
NEEDED = {
    "int_period_payments": {"payments"},
    "int_period_fees": {"payments"},
    "int_period_receipts": {"payments", "verdicts"},
    "int_period_returned": {"payments", "refunds_to_date"},
    "int_period_refunds": {"payouts"},
    "int_period_payouts": {"payouts"},
    "int_movements_summed": {"payments", "payouts"},
    "int_movements_until_asserted": {"closing"},
    "int_newest_priced": {"rate"},
    "int_asserted": set(),
}
ALL_TIME = {"opening", "closing"}  # each means that all records up to an instant were read


@pytest.mark.parametrize("figure", stated_figures(), ids=lambda figure: figure.name)
def test_a_figure_needs_all_that_its_sql_reads(figure):
    """The records of its source or of its operands, and those that a refund's columns look up."""
    parts = [read_figures()[name] for name in figure.operands] or [figure]
    needed = set().union(*(NEEDED[part.source.partition("(")[0]] for part in parts))
    words = {word for part in parts for word in re.findall(r"\w+", part.expression)}
    if words & {"fee_kept", "usd_drift", "payment_paid_at"}:
        needed |= {"parents_within" if figure.name.endswith("same_period") else "parents"}
    assert needed <= {*figure.needs} or ALL_TIME & {*figure.needs}
