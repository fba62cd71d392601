"""All forms in one folder: the manifest over them, and the same bytes each time."""

import csv
import hashlib
import json
import re

import pytest

from svc_analytics.errors import ConfigError, install
from svc_analytics.formatting.tables import to_objects
from svc_analytics.messages import Message
from svc_analytics.render import formats
from svc_analytics.render.document import Reason, Unknown, reason_facts, reasons_of
from svc_analytics.warehouse.figures import definitions_table
from tests.support.forms import FORMS


def test_two_runs_write_the_same_bytes_and_the_manifest_covers_them(make, tmp_path):
    """Nothing in any form depends on when it was made.

    Hash and rows of each: 7 lines, and with the opening 8 entries of 21 postings.
    """
    first, second = (make().save(tmp_path / name, FORMS) for name in ("a", "b"))
    names = {path.name for path in first.iterdir()}
    assert names == {path.name for path in second.iterdir()}
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    files = json.loads((first / "manifest.json").read_text(encoding="utf-8"))["files"]
    assert {*files, "manifest.json"} == names
    for name, said in files.items():
        assert said["sha256"] == hashlib.sha256((first / name).read_bytes()).hexdigest()
    rows = [files[name]["rows"] for name in ("lines.csv", "journal.beancount", "journal.csv")]
    assert rows == [7, 8, 21]


@pytest.mark.parametrize(("form", "is_there"), [("csv", 1), ("parquet", 1), ("json", 0)])
def test_beside_tables_lies_what_their_figures_mean(save, form, is_there):
    """One line for each figure, readable in any spreadsheet; whole documents say it themselves."""
    path = save(form) / "definitions.csv"
    assert path.exists() == is_there
    if is_there:
        with path.open(encoding="utf-8", newline="") as file:
            rows = {row["name"]: row for row in csv.DictReader(file)}
        assert rows["net_settlement"]["label"] == "Sales less fees and refunds"
        assert rows["net_settlement"]["formula"] == "sales after fees - refunds debited"
        assert len(rows) == len(definitions_table())


def test_a_form_asked_for_twice_is_written_once(save):
    """`--format json,json` is not an error."""
    assert len(list(save("json", "json").iterdir())) == 2


def test_without_its_printer_pdf_is_refused_before_anything_is_made(make, tmp_path, monkeypatch):
    """The message is the command that helps."""
    monkeypatch.setattr(formats.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=re.escape(install("pdf"))):
        make().save(tmp_path / "out", ("csv", "pdf"))
    assert not (tmp_path / "out").exists()


# ---------- a manifest keeps English and codes


BECAUSE = "payout_records before 2026-10-01T00:00:00Z were not read"
ODD = {"code": "text.clauses", "values": {"FIRST": {"code": "{0}"}, "REST": ""}}
FACTS = {"figures": ["opening_position"], "coins": ["usdt"], "because": BECAUSE}


def test_a_code_that_this_release_does_not_know_leaves_the_english():
    """So does one whose places are others now, or that is no message at all."""
    for message in ({"code": "unknown.gone"}, {"code": "text.clauses"}, {"code": 5}, ["text"], ODD):
        assert Unknown.from_json(FACTS | {"message": message}).because == BECAUSE


def test_an_earlier_release_is_told_in_its_own_words():
    """Its manifest has no codes, and its page named the stream in words."""
    told = Unknown.from_json(FACTS).text
    assert told.endswith("unknown: payout records before 2026-10-01T00:00:00Z were not read")


def test_messages_that_are_no_list_are_none():
    """Anybody may hand in a manifest."""
    for odd in (None, {}, "text", 5):
        assert reasons_of({"reasons": ["typed"], "reason_messages": odd}) == (Reason("typed"),)


def test_each_reason_keeps_its_own_message():
    """Also behind one that has none."""
    reasons = (Reason("typed"), Reason(Message("reason.still_changes", count=3)))
    kept = reasons_of(reason_facts(reasons))
    assert kept == reasons
    assert [isinstance(one.text, Message) for one in kept] == [False, True]


# ---------- a statement as one JSON document


def test_the_document_holds_every_table_exactly_and_says_what_it_is(make, tmp_path):
    """Each table is an array of objects whose decimals are the texts of the CSV.

    The header facts are the manifest's.
    """
    made = make()
    folder = made.save(tmp_path / "out", ("json",))
    document = json.loads((folder / "statement.json").read_text(encoding="utf-8"))
    assert document["tables"] == {name: to_objects(table) for name, table in made.tables.items()}
    eth = next(row for row in document["tables"]["summary"] if row["currency"] == "eth")
    assert eth["gross_sales"] == "1.000000000000000003" and eth["usd_gross"] is None
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for name in ("merchant", "label", "zone", "start", "end", "as_of", "coverage", "status"):
        assert document[name] == manifest[name], name
    assert document["reasons"] == [] and document["calendar"] == "gregorian"
