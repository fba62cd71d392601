"""All forms in one folder: the manifest over them, and the same bytes each time."""

import csv
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics.errors import ConfigError, install
from svc_analytics.formatting.tables import to_objects
from svc_analytics.messages import Message
from svc_analytics.render import formats
from svc_analytics.render.document import Reason, Unknown, reason_facts, reasons_of
from svc_analytics.warehouse.figures import definitions_table
from tests.support.forms import FORMS
from tests.support.ledgers import LEDGER
from tests.support.prepared import once


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


# ---------- the same bytes in every locale, zone, folder and process


AGAIN = """
import os, sys
from svc_analytics import open_lake
from svc_analytics.closing.stated import statement

os.umask(0o077)
made = statement(open_lake(sys.argv[1]), "2026-10", zone="Asia/Tehran", metadata=["کارت"])
made.save(sys.argv[2], tuple(sys.argv[3:]))
"""
PICTURES = "timezone: Asia/Tehran\nfont.size: 20\naxes.facecolor: red\n"
BARE = {"LC_ALL": "C", "TZ": "Asia/Tehran", "PYTHONHASHSEED": "5", "HOME": "/nowhere"}
ASCII = BARE | {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "America/Havana"}


@pytest.mark.thorough
@pytest.mark.parametrize("environment", [ASCII, BARE], ids=["ASCII", "C"])
def test_the_same_bytes_in_another_place(make, desk, tmp_path, environment):
    """Not the locale, the zone, the order of hashes, the folder, nor settings of matplotlib."""
    here = make(LEDGER, zone="Asia/Tehran", metadata=["کارت"]).save(tmp_path / "here", FORMS)
    there = tmp_path / "یک پوشه دیگر" / "there"
    (tmp_path / "matplotlibrc").write_text(PICTURES)
    script = tmp_path / "again.py"
    script.write_text(AGAIN, encoding="utf-8")
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    kept["MPLCONFIGDIR"] = mpl.get_cachedir()  # fonts are looked for once on a machine
    words = [sys.executable, str(script), str(desk.lake.path), str(there), *FORMS]
    subprocess.run(words, env=kept | environment, cwd=tmp_path, check=True)
    assert content(there) == content(here)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


# ---------- `datapackage.json`: what each column is, for any tool that knows it


# A cell of each type, read as the standard says. A text is any.
READ: dict[str, Callable[[str], Any]] = {
    "string": str,
    "integer": int,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "boolean": {"true": True, "false": False}.__getitem__,
}
XSD_DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"


@pytest.fixture
def folder(make, tmp_path_factory) -> Path:
    """A statement of hostile texts, with a column of metadata, in each form that has tables."""

    def write() -> Path:
        out = tmp_path_factory.mktemp("described") / "out"
        return make(metadata=("cart",)).save(out, ("csv", "parquet", "journal"))

    return once("the folder that is described", write)


def described(folder: Path) -> list[dict[str, Any]]:
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    return list(package["resources"])


def test_every_table_is_described_and_nothing_else(folder):
    """Each CSV file, by the columns of its first line."""
    found = {each["path"]: each["schema"]["fields"] for each in described(folder)}
    assert found.keys() == {path.name for path in folder.glob("*.csv")}
    for name, fields in found.items():
        with (folder / name).open(encoding="utf-8", newline="") as file:
            assert next(csv.reader(file)) == [field["name"] for field in fields], name


def test_every_cell_is_of_its_type(folder):
    """An empty one is unknown, whatever the type; an amount is of digits."""
    count = 0
    for each in described(folder):
        assert each["schema"]["missingValues"] == [""]
        with (folder / each["path"]).open(encoding="utf-8", newline="") as file:
            for row in list(csv.reader(file))[1:]:
                for cell, field in zip(row, each["schema"]["fields"], strict=True):
                    pattern = field.get("constraints", {}).get("pattern", "(?s).*")
                    if cell:
                        READ[field["type"]](cell)
                        assert re.fullmatch(pattern, cell), (field, cell)
                        count += "rdfType" in field
    assert count > 100


def test_an_amount_is_never_a_number_that_tools_round(folder):
    """It is a text that says it is a decimal: 1.000000000000000003 eth is no float."""
    amounts = {}
    for each in described(folder):
        for field in each["schema"]["fields"]:
            assert field["type"] in READ, field
            if field.get("rdfType") == XSD_DECIMAL:
                assert field["type"] == "string" and "exact decimal" in field["description"]
                amounts[each["name"], field["name"]] = field
    assert amounts["summary", "gross_sales"]["unit"] == "coin"
    assert amounts["summary", "usd_gross"]["unit"] == "USD"
    assert amounts["summary", "effective_fee_rate"]["unit"] == "ratio"
    for name in ("summary", "lines", "refunds"):
        schema = pq.read_schema(folder / f"{name}.parquet")
        decimals = {field.name for field in schema if pa.types.is_decimal(field.type)}
        assert decimals == {column for table, column in amounts if table == name}
    with (folder / "summary.csv").open(encoding="utf-8", newline="") as file:
        sums = {row["currency"]: Decimal(row["gross_sales"]) for row in csv.DictReader(file)}
    assert sums["eth"] == Decimal("1.000000000000000003")


def test_every_column_has_a_name_for_people_and_a_meaning(folder):
    """Those that no SQL makes too: metadata, findings, the journal."""
    for each in described(folder):
        assert each["description"], each["name"]
        for field in each["schema"]["fields"]:
            assert field["title"] and field["description"].endswith("."), (each["name"], field)


def test_parquet_holds_the_same_meanings(folder):
    """As the comment of each column, so a file that goes alone says what it is."""
    told = {each["name"]: each["schema"]["fields"] for each in described(folder)}
    for path in folder.glob("*.parquet"):
        for field, said in zip(pq.read_schema(path), told[path.stem], strict=True):
            comment = field.metadata[b"comment"].decode().rstrip(".")
            assert comment, (path.stem, field)
            assert said["description"].lower().startswith(comment.lower()), (path.stem, field)


def test_of_parquet_alone_the_parquet_is_described(make, tmp_path):
    """By the same columns; definitions are always CSV. Without a table there is nothing."""
    made = make(metadata=("cart",))
    paths = {each["path"] for each in described(made.save(tmp_path / "a", ("parquet",)))}
    assert {"summary.parquet", "lines.parquet", "definitions.csv"} <= paths
    assert not (made.save(tmp_path / "b", ("json",)) / "datapackage.json").exists()


@pytest.mark.thorough
def test_frictionless_finds_every_table_valid(folder):
    """The library of the standard's makers, where it is installed."""
    command = shutil.which("frictionless")
    if command is None and importlib.util.find_spec("frictionless") is None:
        pytest.skip("frictionless is not installed")
    called = [command or "frictionless", "validate", "datapackage.json", "--json"]
    done = subprocess.run(called, cwd=folder, capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert report["valid"] and len(report["tasks"]) == len(described(folder)), report
