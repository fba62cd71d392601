"""Forged statements whose line of the register is forged too, under any release's name.

Whoever can write a folder can write the register beside it. So nothing that a forger does to a
number, a name, a fact or a part of a file may pass without a word.
"""

import re
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics.closing.handover.package import pack_folder
from svc_analytics.closing.restatement.rederive import rederive
from svc_analytics.closing.verification import forms, proof
from svc_analytics.closing.verification.facts import wrong_facts
from svc_analytics.errors import LakeError
from tests.support.altered import (
    OTHER,
    Change,
    Manifest,
    fact,
    forge,
    lost,
    no_fact,
    text,
    workbook,
)
from tests.support.closings import Closer
from tests.support.prepared import once
from tests.support.rings import sample

FORMS = {"statement.html": ("csv", "html"), "statement.xlsx": ("csv", "xlsx")}
TABLES = ("csv", "parquet", "json", "journal")


def sealed(closer: Closer, what: str) -> Path:
    """October, sealed in the forms that something is forged in: a page takes long to draw."""
    return closer.sealed(formats=FORMS.get(what.partition(" ")[0], TABLES))


def macro(folder: Path, manifest: Manifest) -> None:
    with zipfile.ZipFile(folder / "statement.xlsx", "a") as found:
        found.writestr("xl/vbaProject.bin", b"Sub Auto_Open()")


def content(name: str, body: str) -> Change:
    """Write a file of one's own, and list it."""

    def change(folder: Path, manifest: Manifest) -> None:
        (folder / name).write_text(body)
        manifest["files"][name] = {"rows": manifest["files"].get(name, {"rows": 1})["rows"]}

    return change


def merchant(folder: Path, manifest: Manifest) -> None:
    manifest["merchant"]["display_name"] = "Bazaar"


def parquet(edit: Callable[[pa.Table], pa.Table], name: str = "lines") -> Change:
    def change(folder: Path, manifest: Manifest) -> None:
        path = folder / f"{name}.parquet"
        pq.write_table(edit(pq.read_table(path)), path)

    return change


def formula(old: str, new: str) -> Change:
    """Let a sum of the workbook give another number, or add other cells."""
    return workbook(old, new, "xl/worksheets/sheet1.xml", count=1)


page, in_json = partial(text, "statement.html"), partial(text, "statement.json")
meanings, columns = partial(text, "definitions.csv"), partial(text, "datapackage.json")
PICTURE = r"<svg.*?</svg>"
NO_FORMULA = formula(r"<f>.*?</f>", "")
# What a verification says first, and what was done.
FORGERIES: dict[str, Change] = {
    "statement.html is not (every amount)": page(r"(?<=>)[\d,]+\.\d+", "999,999.00"),
    "statement.html is not (one amount)": page(r">48\.5", ">58.5", count=1),
    "statement.html is not (two figures exchanged)": page("row-net_sales", "row-gross_sales"),
    "statement.html is not (a coin)": page(">usdt<", ">btc<", count=1),
    "statement.html is not (the merchant)": page("Shop", "Bazaar", count=1),
    "statement.html is not (a chart made a text)": page(PICTURE, "Net settlement 999,999", count=1),
    "statement.html is not (a text in a chart)": page(
        "</svg>", "<text>999,999</text></svg>", count=1
    ),
    "statement.html is not (a script)": page("</body>", "<script></script></body>"),
    "statement.html is not (an amount in a heading)": page("<h2>Charts", "<h2>Charts of 999,999"),
    "statement.html is not (an amount beside a number)": page(
        'class="n"', 'class="n" title="999,999"'
    ),
    "statement.json is not (a figure)": in_json('"gross_sales": "100"', '"gross_sales": "9"'),
    "statement.json is not (a fact)": in_json('"final"', '"audited"', count=1),
    "statement.json is not (a comment)": in_json('"kind": "payout"', '"kind": "bribe"'),
    "journal.csv is not (all of it)": content("journal.csv", "account,amount\nAssets:Wallet,1\n"),
    "journal.csv is not (an amount)": text("journal.csv", ",-50.5,", ",-51.5,"),
    "journal.beancount is not (an amount)": text("journal.beancount", r"48\.5 ~", "58.5 ~"),
    "statement.xlsx is not (another value of a sum)": formula(r"(</f><v>)-?[\d.]+", r"\g<1>7"),
    "statement.xlsx is not (a sum of another cell)": formula(r"SUM\(B\d+", "SUM(B1"),
    "statement.xlsx is not (another function)": formula(r"<f>(ROUND\()?SUM", r"<f>\1MAX"),
    "statement.xlsx is not (a sum of another sheet)": formula(r"SUM\(B", "SUM(Days!B"),
    "statement.xlsx is not (a shared formula)": formula("<f>", '<f t="array" ref="B1">'),
    "statement.xlsx is not (a formula more)": formula("<v>2</v>", "<f>1+1</f><v>2</v>"),
    "statement.xlsx is not (one letter)": content("statement.xlsx", "x"),
    "statement.xlsx is not (an amount)": workbook("<v>48.5</v>", "<v>58.5</v>"),
    "statement.xlsx is not (number formats)": workbook("#,##0", "&quot;999,999&quot;", "xl/styles"),
    "statement.xlsx is not (no mark of rounding)": workbook("≈ ", ""),
    "statement.xlsx is not (a macro)": macro,
    "statement.xlsx is not (a coin)": workbook("<t>usdt</t>", "<t>btc</t>", "xl/worksheets/sheet1"),
    "summary.csv is not": text("summary.csv", "usdt,1,", "usdt,2,"),
    "lines.csv is not": text("lines.csv", ",100,", ",110,"),
    "lines.parquet is not (a row lost)": parquet(lambda table: table.slice(1)),
    "lines.parquet is not (a column lost)": parquet(lambda table: table.drop_columns("fee")),
    "lines.parquet is not (a column added)": parquet(
        lambda table: table.append_column("tip", pa.array(["1"] * len(table)))
    ),
    "definitions.csv is not (an amount)": meanings("Gross sales,", "Gross sales of 999999,"),
    "definitions.csv is not (no table)": meanings("Gross sales,", "Gross sales,,"),
    "definitions.csv is missing": lost("definitions.csv"),
    "datapackage.json is not (an amount)": columns("Coin slug", "99,999"),
    "datapackage.json is not (a type)": columns('"type": "string"', '"type": "number"'),
    "datapackage.json is not (nothing)": content("datapackage.json", "{}"),
    "checks.csv is missing": lost("checks.csv"),
    "the table checks is missing": lost("checks.csv", "checks.parquet"),
    "the table figures is missing": lost("figures.csv", "figures.parquet"),
    "the table summary is missing": lost(),
    "journal.csv is missing": lost("journal.csv"),
    "audit (a table of one's own)": content("audit.csv", "currency,amount\nusdt,1\n"),
    "note.txt is no file": content("note.txt", "audited"),
    "merchant.display_name is": merchant,
    "audited_by is no fact": fact(audited_by="KPMG"),
    "coverage in the manifest is": fact(coverage={}),
    "coverage.payments in the manifest is []": fact(coverage={"payments": []}),
    "status in the manifest is": fact(coverage={}, status="provisional"),
    "status in the manifest is (of a capital)": fact(status="Final"),
    "reasons in the manifest is": fact(reasons=["approved by the board"]),
    "control in the manifest is": fact(control={}),
    "content_digest in the manifest is": fact(content_digest="0" * 64),
    "options.webhooks in the manifest is": fact(options={"webhooks": {}}),
    "coverage is missing": no_fact("coverage"),
    "unknown is missing": no_fact("unknown"),
    "supersedes is missing": no_fact("supersedes"),
    "supersedes is abc, and this is version 1": fact(supersedes="abc"),
    "supersedes is None, and this is version 2": fact(version=2),
    "the table restatement is missing": fact(version=2),
    "the manifest cannot be right: 'october'": fact(label="october"),
    "the manifest cannot be right: no time zone": fact(zone="Nowhere"),
    "the manifest cannot be right: as_of": fact(as_of="2026-10-31T00:00:00Z"),
    "the manifest cannot be right (a calendar)": fact(calendar="jalali"),
    "as_of is 2027": fact(as_of="2027-01-01T00:00:00Z"),
    "label in the manifest is": fact(zone="Asia/Tehran"),
    "start in the manifest is (of the month before)": fact(label="2026-09"),
    "start in the manifest is": fact(start="2026-10-02T00:00:00Z"),
    "end in the manifest is": fact(end="2026-10-31T00:00:00Z"),
    "summary.parquet is not (a table)": content("summary.parquet", "PAR1"),
}
WORDED = {"datapackage.json is not (an amount)"}  # words of another release, which are a note
WORDS: dict[str, Change] = {
    "definitions.csv": text("definitions.csv", "How many", "The number of"),
    "datapackage.json": text("datapackage.json", "Coin slug", "The coin"),
}


@pytest.fixture(autouse=True)
def stated_once(monkeypatch) -> None:
    """What is forged lies beside the lake: it gives the same statement of October each time."""
    monkeypatch.setattr(proof, "rederive", lambda *facts: once("forged", lambda: rederive(*facts)))


@pytest.mark.parametrize(("what", "release"), sample(product(FORGERIES, (None, OTHER)), 15))
def test_no_forgery_is_silent(closer, what, release):
    """Although the register knows the forged seal, and whichever release it names."""
    found = forge(sealed(closer, what), FORGERIES[what], release)
    texts = [*found.broken, *found.unproven, *found.not_compared]
    name, said = what.partition(" ")[0], what.partition(" (")[0]
    if release and what in WORDED:
        assert any(name in text for text in found.notes)
        return
    is_worded = bool(release) or name in ("statement.html", "statement.xlsx")
    assert any(text.startswith(said) or (is_worded and name in text) for text in texts)
    assert not found.holds and found.statuses[-1].outcome != "held"


def entry(name: str, **facts: object) -> Change:
    """State something else of a file in the manifest."""

    def change(folder: Path, manifest: Manifest) -> None:
        manifest["files"][name] |= facts

    return change


@pytest.mark.parametrize(
    ("name", "facts", "release", "is_named"),
    [
        ("lines.csv", {"rows": 999}, None, True),
        ("lines.csv", {"rows": 999}, OTHER, True),
        ("lines.csv", {"audited": True}, None, True),
        ("definitions.csv", {"rows": 999}, None, True),
        ("definitions.csv", {"rows": 999}, OTHER, False),  # it has figures of its own
        ("definitions.csv", {"rows": "999"}, OTHER, True),
    ],
)
def test_what_is_said_of_a_file_is_compared(closer, name, facts, release, is_named):
    """How many rows a table has, in any release; a release lists figures as many as it knows."""
    found = forge(closer.sealed(formats=("csv",)), entry(name, **facts), release)
    assert any("and the manifest says" in text for text in found.broken) is is_named


@pytest.mark.thorough
@pytest.mark.parametrize("change", [NO_FORMULA, lost("datapackage.json")], ids=["sum", "columns"])
def test_what_another_release_may_lack_is_missed_in_this_one(closer, change):
    """Each number is what was sealed: a sum without its formula, columns that nothing describes."""
    folder = closer.sealed(formats=FORMS["statement.xlsx"])
    assert not forge(folder, change).holds
    found = forge(folder, fact(), OTHER)
    assert not (found.broken or found.unproven)


@pytest.mark.parametrize(
    "what", sample(["a figure", "a chart made", "a macro", "control in the manifest"], 3)
)
def test_without_the_register_a_forgery_is_named_too(closer, what):
    """Then nobody knows the seal, besides."""
    name = next(name for name in FORGERIES if what in name)
    found = forge(sealed(closer, name), FORGERIES[name], OTHER, register="kept")
    assert any(text.startswith("the lake sealed 2026-10 version 1 as") for text in found.broken)


@pytest.mark.parametrize(
    "what", sample(["coverage in the manifest is", "a row lost", "a column lost"], 3)
)
def test_nobody_builds_upon_a_forgery(closer, what):
    """Neither the next close nor a package takes it, with what is wrong in one line."""
    name = next(name for name in FORGERIES if what in name)
    folder = sealed(closer, name)
    wrong = re.escape(forge(folder, FORGERIES[name], OTHER).broken[0])
    with pytest.raises(LakeError, match=wrong):
        pack_folder(folder)
    with pytest.raises(LakeError, match=wrong):
        closer.close()


@pytest.mark.parametrize("file", WORDS)
def test_the_words_of_another_release_are_told_in_one_line(closer, file):
    """They break nothing; the same words of this release are not its own."""
    folder = sealed(closer, file)
    other = Path(shutil.copytree(folder.parent, folder.parents[1] / "other")) / folder.name
    found = forge(folder, WORDS[file], OTHER)
    assert found.holds and OTHER in found.notes[0] and file in found.notes[0]
    assert any(text.startswith(f"{file} is not") for text in forge(other, WORDS[file]).broken)


@pytest.mark.parametrize(
    ("sealed", "expected", "said"),
    [
        ({"b": 1}, {"b": 2}, "coverage.b in the manifest is 1, not 2"),
        ({"b": {"c": 1}}, {"b": {"c": 1, "d": 2}}, "coverage.b.d in the manifest is null, not 2"),
        ({"b": 1}, [2], 'coverage in the manifest is {"b": 1}, not [2]'),
        ({"b": 1}, None, 'coverage in the manifest is {"b": 1}, not null'),
        ({}, {"b": 1}, 'coverage in the manifest is {}, not {"b": 1}'),
    ],
)  # fmt: skip
def test_a_fact_is_named_where_it_differs(sealed, expected, said):
    """In the depth of objects, and whole where one of both is none."""
    assert wrong_facts({"coverage": sealed}, {"coverage": expected}) == [said]


@pytest.mark.parametrize(
    ("numbers", "has_bounds", "is_same"),
    [([1, 2, 3], True, True), ([1, 3, 3], True, False), ([1, 2, 3], False, True)],
)
def test_a_parquet_file_of_another_release_is_compared_row_by_row(
    tmp_path, numbers, has_bounds, is_same
):
    """Its least and its greatest value tell too little; by them rows are skipped, if they stand."""
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    pq.write_table(pa.table({"n": [1, 2, 3]}), ours)
    pq.write_table(pa.table({"n": numbers}), theirs, write_statistics=has_bounds)
    assert forms._is_same_table(ours, theirs, has_words=False) == is_same
