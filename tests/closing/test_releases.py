"""A newer release keeps what an older one sealed: it compares what the sealed statement names."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from svc_analytics import verify_statement
from svc_analytics.closing.seals import read_manifest
from svc_analytics.closing.verification import tables as sealed_tables
from svc_analytics.closing.verification.facts import (
    has_other_words,
    is_this_release,
    wrong_facts,
)
from svc_analytics.messages import Message
from svc_analytics.render import folder as forms
from svc_analytics.render.document import Unknown
from svc_analytics.statements.reading import read_period
from svc_analytics.statements.statement import Statement, prepare
from svc_analytics.warehouse.figures import definitions_table
from tests.support.closings import row_causes
from tests.support.fake_service import payment
from tests.support.rings import sample
from tests.support.sealed_months import FORMS

Tables = dict[str, pa.Table]
Edit = Callable[[Tables], Tables]


@contextmanager
def another_release(edit: Edit = dict) -> Iterator[None]:
    """Within, statements are those of another release: with other tables and definitions."""

    def make(*args: Any, **options: Any) -> Statement:
        made = prepare(*args, **options)
        return replace(made, tables=edit(dict(made.tables)))

    words = pc.replace_substring(definitions_table()["definition"], "of the period", "here")
    place = definitions_table().column_names.index("definition")
    other = definitions_table().set_column(place, "definition", words)
    with pytest.MonkeyPatch.context() as its:
        its.setattr("svc_analytics.closing.close.prepare", make)
        its.setattr(forms, "definitions_table", lambda: other)
        its.setattr("svc_analytics.statements.statement.definitions_digest", lambda: "0" * 64)
        its.setattr("svc_analytics.statements.statement.version", lambda name: "0.0.9")
        yield


def with_other_words(tables: Tables) -> Tables:
    """Findings in words, and with values in these, that no release has any longer."""
    checks = tables["checks"]
    assert checks.num_rows, "without a finding nothing is worded otherwise"
    message = '{"code": "finding.seen", "values": {}}'
    for name, word in {"detail": "seen", "message": message}.items():
        words = pa.array([word] * checks.num_rows)
        checks = checks.set_column(checks.column_names.index(name), name, words)
    return tables | {"checks": checks}


def without_a_figure(tables: Tables) -> Tables:
    figures = tables["figures"]
    return tables | {"figures": figures.filter(pc.not_equal(figures["name"], "ticket_max"))}


def without_a_column(tables: Tables) -> Tables:
    return tables | {"summary": tables["summary"].drop_columns("refunded_payments_ratio")}


def in_another_order(tables: Tables) -> Tables:
    names = tables["summary"].column_names
    return tables | {"summary": tables["summary"].select([*names[:2], *reversed(names[2:])])}


def without_a_table(tables: Tables) -> Tables:
    return {name: table for name, table in tables.items() if name != "cohorts"}


WITH_A_FINDING = """
 kind     currency  amount  fee   fee_bearer  at                of
 payment  btc       2       0.02  shared      2026-09-10T09:00
 payment  btc       1       0.01  shared      2026-10-05T08:00
 refund   btc       0.5                       2026-10-07T08:00  2
"""
OLDER: dict[str, Edit] = {
    "one figure more": without_a_figure,
    "one column more": without_a_column,
    "another order": in_another_order,
}


@pytest.mark.parametrize("what", sample(OLDER, 3))
def test_a_newer_release_keeps_a_sealed_month(closer, what):
    """It holds in every form, is left unchanged, and a line says whose words it is in."""
    closer.serve(WITH_A_FINDING)
    with another_release(OLDER[what]):
        folder = closer.close(formats=FORMS).folder
    found = verify_statement(folder)
    assert (found.broken, found.unproven, found.table.num_rows, found.holds) == ((), (), 0, True)
    assert "svc-analytics 0.0.9 sealed it" in found.notes[-1]
    assert closer.close().state == "unchanged"


def test_the_texts_of_another_release_are_not_compared(closer):
    """Whoever forges a folder can name one, and word a finding as he likes."""
    closer.serve(WITH_A_FINDING)
    with another_release(with_other_words):
        folder = closer.close().folder
    found = verify_statement(folder)
    assert (found.broken, found.unproven, found.table.num_rows, found.holds) == ((), (), 0, False)
    assert found.not_compared == (
        "svc-analytics 0.0.9, another release, worded the texts of checks",
    )
    assert closer.close().state == "unchanged"


LONG_AGO = """
 kind     currency  amount  fee   at                of
 payment  btc       3       0.03  2025-09-10T09:00
 payment  btc       2       0.02  2026-09-10T09:00
 payment  usdt      100     1     2026-10-05T08:00
"""


def of_one_year(tables: Tables) -> Tables:
    trend = tables["trend"]
    return tables | {"trend": trend.filter(pc.greater(trend["month"], "2025-10"))}


@pytest.mark.thorough
def test_a_seal_with_twelve_months_holds_beside_those_of_the_year_before(closer):
    """An older release stated twelve months; a note says what it does not state."""
    closer.serve(LONG_AGO)
    with another_release(of_one_year):
        folder = closer.close().folder
    found = verify_statement(folder)
    assert (found.broken, found.unproven, found.table.num_rows) == ((), (), 0)
    more = "it does not state what this release does: the months of trend before the last twelve"
    assert more in found.notes and closer.close().state == "unchanged"


@pytest.mark.thorough
def test_a_seal_of_this_release_without_the_year_before_does_not_hold(closer, monkeypatch):
    """Whoever takes the year before out of a trend excuses it by no other release."""
    closer.serve(LONG_AGO)
    with monkeypatch.context() as its:
        its.setattr("svc_analytics.statements.statement.read_period", read_period)
        its.setattr("svc_analytics.statements.trend._STATED", 12)
        folder = closer.close().folder
    unproven = "it lacks the months of trend before the last twelve, which the lake gives now"
    assert verify_statement(folder).unproven == (unproven,)


@pytest.mark.thorough
def test_a_table_more_breaks_nothing(closer, monkeypatch):
    """The older statement does not have it."""
    always = tuple(name for name in sealed_tables._ALWAYS if name != "cohorts")
    monkeypatch.setattr(sealed_tables, "_ALWAYS", always)
    with another_release(without_a_table):
        folder = closer.close().folder
    assert verify_statement(folder).holds and closer.close().state == "unchanged"


def one_figure_of_its_own(tables: Tables) -> Tables:
    row = tables["figures"].slice(0, 1)
    name = row.column_names.index("name")
    row = row.set_column(name, "name", pa.array(["payout_max"]))
    return tables | {"figures": pa.concat_tables([tables["figures"], row])}


def one_column_of_its_own(tables: Tables) -> Tables:
    return tables | {
        "summary": tables["summary"].append_column("tips", tables["summary"]["gross_sales"])
    }


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("edit", "name"),
    [(one_figure_of_its_own, "figures.payout_max"), (one_column_of_its_own, "summary.tips")],
    ids=["figure", "column"],
)
def test_what_a_newer_release_does_not_state_is_not_proven(closer, edit, name):
    """It cannot be made again; nothing is called altered, and no version replaces the month."""
    with another_release(edit):
        folder = closer.close().folder
    found = verify_statement(folder)
    text = f"{name} cannot be made again: this release does not state it"
    assert (found.broken, found.not_compared, found.table.num_rows) == ((), (text,), 0)
    assert not (found.unproven or found.holds)
    assert closer.close().state == "unchanged"


def twice_the_fees(tables: Tables) -> Tables:
    summary = tables["summary"]
    place = summary.column_names.index("total_fees_borne")
    field = summary.schema.field(place)
    twice = [2 * each for each in summary[field.name].to_pylist()]
    return tables | {"summary": summary.set_column(place, field, pa.array(twice, field.type))}


@pytest.mark.thorough
def test_a_figure_that_means_something_else_now_shows(closer):
    """Its number differs for the month; the release that defined it so is named."""
    with another_release(twice_the_fees):
        folder = closer.close().folder
    found = verify_statement(folder)
    assert {row["name"] for row in found.table.to_pylist()} == {"total_fees_borne"}
    assert "svc-analytics 0.0.9 sealed it" in found.notes[-1] and not found.holds


@pytest.mark.thorough
def test_a_late_record_still_shows(closer):
    """The restatement has it and what it moves, and nothing of what the newer release adds."""
    with another_release(without_a_figure):
        folder = closer.close().folder
    late = payment(99, "2026-10-20T10:00:00Z", "7", "0.5")
    closer.desk.service.payments.append(late)
    again = closer.close()
    assert again.restatement is not None and again.state == "restated"
    rows = again.restatement.to_dict("records")
    assert row_causes(rows) == [(late["id"], "added", "late")]
    assert "ticket_max" not in {row["name"] for row in rows}
    assert verify_statement(again.folder).holds and not verify_statement(folder).holds


def test_a_statement_is_this_release_s_while_not_a_byte_of_the_program_differs(closer):
    """The version alone does not say so: a page changes between two releases."""
    manifest = read_manifest(closer.sealed(formats=("csv",)))
    older = {name: fact for name, fact in manifest.items() if name != "program_digest"}
    assert is_this_release(manifest)
    assert not is_this_release(older)
    assert not is_this_release(manifest | {"program_digest": "0" * 64})


# ---------- facts of a manifest that another release wrote


def test_a_seal_from_before_messages_holds_and_a_forged_message_does_not():
    """What is unknown has the code beside its English only since codes are kept."""
    unknown = Unknown(("gross_sales",), ("btc",), Message("unknown.too_large")).to_json()
    other = unknown | {"message": Message("unknown.or_undefined").to_json()}
    older = {name: value for name, value in unknown.items() if name != "message"}
    for kept, wrong, has_words in ((unknown, 0, False), (older, 1, False), (other, 1, True)):
        manifest, expected = {"unknown": [kept]}, {"unknown": [unknown]}
        assert len(wrong_facts(manifest, expected)) == wrong
        assert wrong_facts(manifest, expected, is_own=False) == []
        assert has_other_words(manifest, expected) is has_words


def test_another_release_may_give_other_reasons_and_no_other_unknowns():
    """Its words of why a figure is unknown are not ours; which figures these are is a fact."""
    unknown = Unknown(("gross_sales",), ("btc",), Message("unknown.too_large")).to_json()
    in_other_words = unknown | {"because": "who knows", "message": {"code": "who.knows"}}
    of_another = in_other_words | {"figures": ["net_sales"]}
    for sealed, wrong in ((in_other_words, 0), (of_another, 1)):
        manifest, expected = {"unknown": [sealed]}, {"unknown": [unknown]}
        assert len(wrong_facts(manifest, expected, is_own=False)) == wrong
        assert has_other_words(manifest, expected)


def test_an_entry_that_nobody_expects_is_no_fact():
    """Also one that is null, which is no unknown figure and no reason."""
    for forged in ([None], [None, None], [{}]):
        assert len(wrong_facts({"unknown": forged}, {"unknown": []})) == 1
