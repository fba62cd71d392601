"""All forms in one folder: the manifest over them, and the same bytes each time."""

import csv
import hashlib
import importlib.util
import json
import os
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from svc_analytics.errors import ConfigError, install
from svc_analytics.formatting.tables import to_objects
from svc_analytics.messages import Message
from svc_analytics.render import formats
from svc_analytics.render.document import Reason, Unknown, reason_facts, reasons_of
from svc_analytics.render.page import template
from svc_analytics.render.page.pdf import print_page
from svc_analytics.warehouse.definitions import definitions_table
from tests.support.browsers import pdf_words

FORMS = ("csv", "parquet", "xlsx", "html", "json", "journal")


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


@pytest.fixture
def printer() -> None:
    """WeasyPrint; without it, skip, or fail where it is required."""
    reason = "the extra pdf is not installed"
    if importlib.util.find_spec("weasyprint") is None:
        pytest.fail(reason) if os.environ.get("SVC_REQUIRE_PDF") == "1" else pytest.skip(reason)


@pytest.mark.thorough
@pytest.mark.usefixtures("printer")
def test_a_pdf_has_the_same_bytes_each_time(save):
    """The page goes to paper without the time of day, and the environment stays as it was."""
    first = (save("pdf") / "statement.pdf").read_bytes()
    assert first.startswith(b"%PDF-") and (save("pdf") / "statement.pdf").read_bytes() == first


@pytest.mark.usefixtures("printer")
@pytest.mark.parametrize("asked", ["file", "data"])
def test_printing_loads_nothing(tmp_path, asked):
    """A page that asks for a style is printed as if there were none."""
    style = "p { font-size: 99px }"
    (tmp_path / "style.css").write_text(style)
    url = {"file": (tmp_path / "style.css").as_uri(), "data": f"data:text/css,{quote(style)}"}
    page = "<html lang=en><title>t</title><link rel=stylesheet href='{}'><p>words</p></html>"
    assert print_page(page.format(url[asked])) == print_page(page.format("file:///none"))


# Of a script that no font has, of none that there is, and thirty of one.
UNFIT = {"\u0378": "U+0378", "a\ue123b": "U+E123"}
MANY = "".join(map(chr, range(0xE200, 0xE21E)))


@pytest.mark.usefixtures("printer")
@pytest.mark.parametrize("lang", ["en", "fa"])
def test_letters_without_a_font_are_named(make, desk, run, tmp_path, monkeypatch, lang):
    """On stderr and in the last line of the file; where there are none, nowhere."""
    make()
    for text, codes in {**UNFIT, "abc": "", MANY: "U+E213, …"}.items():
        page = f"<html lang={lang}><main><p>first</p><footer>foot {text}</footer></main></html>"
        monkeypatch.setattr("svc_analytics.render.page.page.make_page", lambda *_, p=page: (p, 1))
        words = ("--format", "pdf", "--lang", lang, "--data-dir", str(desk.lake.path))
        done = run("statement", "2026-10", "--out", str(tmp_path / "out"), *words)
        assert done.code == 0, done.err
        last = pdf_words(tmp_path / "out" / "statement.pdf")[0]
        printed = " ".join(word for word, _ in last)
        assert ("warning: statement.pdf: no font" in done.err) == bool(codes)
        assert codes in done.err and done.err.count("no font of this machine") == bool(codes)
        assert all(code in printed for code in codes.replace("…", "").strip(", ").split(", "))
        assert printed.index("first") < printed.index("foot") < printed.rindex(codes[:6])


@pytest.mark.usefixtures("printer")
def test_a_persian_text_of_a_picture_runs_from_the_right_on_paper(tmp_path):
    """It was drawn letter by letter, from the left."""
    file = tmp_path / "page.pdf"
    file.write_bytes(print_page('<svg width="9em" height="2em"><text y="9">از ابتدا</text></svg>'))
    words, _ = pdf_words(file)
    last, _ = max(words, key=lambda word: word[1])  # that ends furthest to the right
    assert len(words) == 2 and sorted(last) == sorted("از")


@pytest.mark.usefixtures("printer")
def test_sheets_are_upright_again_behind_the_wide_ones():
    """What each figure means stood on a wide sheet where the lines left room on theirs."""
    templates = Path(template.__file__).parent / "templates"
    style = re.sub(r"\{[{%].*?[%}]\}", "left", (templates / "statement.css").read_text("utf-8"))
    body = '<section class="wide">lines</section><section>what each figure means</section>'
    from weasyprint import HTML  # an optional extra

    sheets = HTML(string=f"<style>{style}</style>{body}").render().pages
    assert [sheet.width > sheet.height for sheet in sheets] == [True, False]


# ---------- a manifest keeps English and codes


KEPT = "payout_records before 2026-10-01T00:00:00Z were not read"
ODD = {"code": "text.clauses", "values": {"FIRST": {"code": "{0}"}, "REST": ""}}
FACTS = {"figures": ["opening_position"], "coins": ["usdt"], "because": KEPT}


def test_a_code_that_this_release_does_not_know_leaves_the_english():
    """So does one whose places are others now, or that is no message at all."""
    for message in ({"code": "unknown.gone"}, {"code": "text.clauses"}, {"code": 5}, ["text"], ODD):
        assert Unknown.from_json(FACTS | {"message": message}).because == KEPT


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
