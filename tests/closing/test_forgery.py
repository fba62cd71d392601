"""A sealed folder that was changed, with hashes and a seal that fit: what was changed is named.

Forged statements whose line of the register is forged too, under any release's name.

Whoever can write a folder can write the register beside it. So nothing that a forger does to a
number, a name, a fact or a part of a file may pass without a word.
"""

import json
import random
import re
import shutil
import zipfile
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics import LakeError, diff_statements, verify_statement
from svc_analytics.closing.handover.evidence import pack_folder
from svc_analytics.closing.rederive import rederive
from svc_analytics.closing.seals import read_manifest
from svc_analytics.closing.verification import forms, proof
from svc_analytics.closing.verification.contents import (
    period_of,
    sealed_statement,
    sealed_tables,
    wrong_facts,
)
from svc_analytics.render.folder import Output, write_folder
from svc_analytics.statements.tables import table_digest, tables_of
from tests.support.altered import (
    OTHER,
    Change,
    Manifest,
    fact,
    forge,
    lost,
    no_fact,
    parquet,
    text,
    workbook,
)
from tests.support.closings import Closer, figure
from tests.support.fake_service import payment
from tests.support.forms import FORMS
from tests.support.prepared import once
from tests.support.rings import sample

SUMMARY = text("summary.csv", "usdt,1,", "usdt,2,")


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(100))
def test_any_byte_of_any_file_is_named(closer, seed):
    """Flipped, taken out or put in; of a table that says the same by other bytes, in a note."""
    chance = random.Random(seed)

    def change(folder: Path, manifest: Manifest) -> None:
        path = folder / chance.choice(sorted(manifest["files"]))
        named.append(path.name)
        data = bytearray(path.read_bytes())
        place = chance.randrange(len(data))
        data[place : place + chance.randrange(2)] = bytes([data[place] ^ 1])
        path.write_bytes(data)

    named: list[str] = []
    found = forge(closer.sealed(formats=FORMS), change)
    if not (found.broken or found.unproven):
        assert named[0].endswith(".parquet") and any(named[0] in text for text in found.notes)
        return
    assert any(text.startswith(named[0]) for text in (*found.broken, *found.unproven))


def test_a_dropped_link_to_the_month_before_is_named(closer):
    """September was sealed first, so October must name it."""
    september, october = closer.closed("2026-09", "2026-10")
    found = forge(october.folder, fact(previous_seal=None))
    said = f"previous_seal is empty, and 2026-09 was sealed before as {september.seal}"
    assert found.broken == (said,)


def test_a_fact_that_stands_twice_makes_no_manifest(closer):
    """One reader would take the first, another the last."""
    path = closer.sealed() / "manifest.json"
    path.write_text(path.read_text().replace("{", '{"status": "approved",', 1))
    with pytest.raises(LakeError, match="is not a statement"):
        verify_statement(path.parent)


def test_a_file_without_a_hash_makes_no_manifest(closer):
    """A text stands where the facts of a file belong."""
    path = closer.sealed() / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"files": manifest["files"] | {"lines.csv": "sha256"}}))
    with pytest.raises(LakeError, match="is not a statement"):
        verify_statement(path.parent)


@pytest.mark.thorough
def test_a_forged_restatement_is_named(closer):
    """It follows from the two versions, in every form of it."""
    closer.sealed()
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    folder = closer.close(formats=("csv",)).folder
    found = forge(folder, text("restatement.csv", "gross_sales", "charged_sales"))
    assert "restatement is not what follows from the version before" in found.unproven


def test_what_is_forged_as_unknown_is_named_by_the_lake(closer):
    """No table tells it, and no form that could is there."""
    forged = [{"figures": ["net_sales"], "coins": ["usdt"], "because": "x"}]
    found = forge(closer.sealed(formats=("csv",)), fact(unknown=forged))
    assert [text.partition(" ")[0] for text in found.broken] == ["unknown"]


def test_the_register_alone_gives_a_new_seal_away(closer):
    """A fact that nothing else proves: the instant up to which the lake was read."""
    folder = closer.sealed()
    seal = read_manifest(folder)["seal"]
    found = forge(folder, fact(as_of="2026-11-19T12:00:00Z"), register="kept")
    assert found.broken == (f"the lake sealed 2026-10 version 1 as {seal}, not as {found.seal}",)


@pytest.mark.thorough
def test_after_a_restatement_an_altered_form_is_still_named(closer):
    """The lake gives other figures for a reason; the page contradicts the tables beside it."""
    folder = closer.sealed(formats=FORMS)
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    closer.desk.extract(rereads=True)
    found = verify_statement(folder)
    assert found.broken == () and found.table.num_rows
    found = forge(folder, text("statement.json", '"100"', '"110"'))
    [said] = found.broken
    assert said.startswith("statement.json is not") and found.table.num_rows


@pytest.mark.thorough
def test_csv_alone_is_held_against_the_lake_too(closer):
    """Its values get their types from the tables that the lake gives."""
    folder = closer.sealed(formats=("csv", "json"))
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    closer.desk.extract(rereads=True)
    assert verify_statement(folder).broken == ()
    assert verify_statement(closer.close(formats=("csv",)).folder).holds
    said, *_ = forge(folder, SUMMARY).broken
    assert said.startswith("control.summary.sha256 in the manifest is")


def rewritten(name: str, alter: Callable[[pa.Table], pa.Table]) -> Change:
    """Write a statement again with another table: every form, control total and hash fits."""

    def change(folder: Path, manifest: Manifest) -> None:
        tables = {path.stem: pq.read_table(path) for path in sorted(folder.glob("*.parquet"))}
        tables[name] = alter(tables[name])
        period = period_of(manifest)
        sealed = sealed_statement(manifest, period, {n: tables[n] for n in tables_of(period)})
        shutil.rmtree(folder)
        write_folder(sealed, folder, Output(("csv", "parquet")))
        manifest |= sealed.manifest(read_manifest(folder)["files"])

    return change


def first_is(column: str, value: str) -> Callable[[pa.Table], pa.Table]:
    """Put another figure into the first row of a column."""

    def alter(table: pa.Table) -> pa.Table:
        place, field = table.column_names.index(column), table.schema.field(column)
        figures = [Decimal(value), *table[column].to_pylist()[1:]]
        return table.set_column(place, field, pa.array(figures, field.type))

    return alter


def test_a_figure_forged_in_every_form_differs_from_the_lake(closer):
    """In the folder only the lines contradict it, which are added up; the lake does too."""
    found = forge(closer.sealed(), rewritten("summary", first_is("gross_sales", "5")))
    text = "sealed: lines: they do not add up to the summary: gross_sales of btc"
    assert found.broken == (text,)
    assert figure(found.table.to_pylist(), "gross_sales")[:3] == ("5", "0", "-5")


def test_a_column_that_follows_from_others_is_held_too(closer):
    """No record differs, so the running position cannot."""
    found = forge(closer.sealed(), rewritten("lines", first_is("running_position", "5")))
    assert "lines is not what the lake gives now, though no figure differs" in found.unproven


def test_a_column_left_out_of_every_form_is_missed(closer):
    """Nobody reads of it; the statement that the lake gives has it."""
    found = forge(closer.sealed(), rewritten("lines", lambda table: table.drop_columns(["fee"])))
    assert any(text.startswith("it lacks ") for text in found.broken), found.broken


def test_a_chart_that_another_library_drew_is_not_proven(closer):
    """Whoever redraws it could say so too."""
    change = text("statement.html", "<path", "<g></g><path", count=1)
    [said] = forge(closer.sealed(formats=("csv", "html")), change).unproven
    assert said.startswith("statement.html was written by other libraries")


def test_a_comparison_says_which_folder_was_altered(closer):
    """The figures of a forged file are compared, and not believed."""
    folder = closer.sealed()
    assert diff_statements(folder, folder).altered == ()
    forge(folder, SUMMARY)
    found = diff_statements(folder, folder).altered
    assert found[0] == f"{folder}: summary.csv does not say what summary.parquet says"


@pytest.mark.thorough
def test_a_forged_month_before_is_not_chained_to(closer):
    """Its seal would vouch for what the lake never sealed."""
    september = closer.sealed("2026-09")
    forge(september, fact(version=7), register="kept")
    with pytest.raises(LakeError, match="2026-09 was altered"):
        closer.close("2026-10")


def test_a_seal_re_made_by_a_forger_breaks_the_chain(closer):
    """Whoever changes a month and its seal must change every later month too.

    So must who leaves nothing of a month but a folder that names its seal.
    """
    september, october = (one.folder for one in closer.closed("2026-09", "2026-10"))
    manifest = read_manifest(september)
    forge(september, fact(status="Final"), register="kept")
    [said] = verify_statement(october).broken
    assert said.startswith("the statement of the month before, with the seal ")
    gutted = manifest | {"content_digest": "", "files": {}}
    (september / "manifest.json").write_text(json.dumps(gutted))
    assert "the month before" in " ".join(verify_statement(october).broken)


def test_a_month_before_whose_summary_is_no_table_is_told(closer):
    """Its hash fits, so nobody altered it; that this month begins where it ended nobody knows."""
    september, october = (one.folder for one in closer.closed("2026-09", "2026-10"))
    (september / "summary.parquet").unlink()
    forge(september, no_table, register="kept")
    said = " ".join(verify_statement(october).unproven)
    assert "it was not compared with the periods beside it" in said and "summary.csv" in said


def no_table(folder: Path, manifest: Manifest) -> None:
    (folder / "summary.csv").write_text("")
    del manifest["files"]["summary.parquet"]


def test_a_table_of_csv_alone_has_the_types_of_the_lakes(tmp_path):
    """What it says is what was sealed, and not what the lake gives."""
    now = pa.table({"currency": ["btc"], "net": pa.array([Decimal("1.5")], pa.decimal128(38, 18))})
    (tmp_path / "summary.csv").write_text("currency,net\nbtc,2.5\n")
    files, manifest = ["summary.csv"], {"control": {}}
    tables = sealed_tables(tmp_path, manifest, ["summary"], files, {"summary": now})
    assert tables["summary"].schema == now.schema
    assert tables["summary"].to_pylist() == [{"currency": "btc", "net": Decimal("2.5")}]
    assert sealed_tables(tmp_path, manifest, ["summary"], files, {}) == {}  # nothing gives types


def test_an_empty_text_of_a_csv_file_is_none_or_empty_as_the_lake_has_it(tmp_path):
    """Row by row, by the keys of a table; a text that is there stays what was sealed."""
    columns = {"record_id": ["a", "b", "c"], "comment": ["", None, "x"]}
    now = pa.table(columns)
    (tmp_path / "lines.csv").write_text("record_id,comment\na,\nb,\nc,y\n")
    tables = sealed_tables(tmp_path, {"control": {}}, ["lines"], ["lines.csv"], {"lines": now})
    assert tables["lines"]["comment"].to_pylist() == ["", None, "y"]


def test_a_table_of_both_has_the_types_of_its_parquet_file(tmp_path):
    """The lake may lack a column that was sealed; the file whose digest was sealed is the table."""
    sealed = pa.table({"currency": ["btc"], "net": pa.array([Decimal("2.5")], pa.decimal128(9, 1))})
    (tmp_path / "summary.csv").write_text("currency,net\nbtc,2.5\n")
    forged = sealed.set_column(1, sealed.field(1), pa.array([Decimal("9.5")], pa.decimal128(9, 1)))
    pq.write_table(forged, tmp_path / "summary.parquet")
    files, manifest = ["summary.csv", "summary.parquet"], {"control": {}}
    manifest["control"]["summary"] = table_digest(sealed)
    lake = {"summary": sealed.select(["currency"])}
    assert sealed_tables(tmp_path, manifest, ["summary"], files, lake)["summary"].equals(sealed)


# ---------- a table of a statement that is not what was written


HEAD = b"period,currency,"
CUT = r"summary\.parquet cannot be read"
# What is said of it, and the damage: none is taken for another table, or a fault of its own.
DAMAGES: list[tuple[str, str, Callable[[bytes], bytes]]] = [
    ("csv", "is empty", lambda body: b""),
    ("csv", "line 2 has 1 cells", lambda body: body.replace(b"\n2026-10", b"\n9\n2026-10", 1)),
    ("csv", "line 3 has", lambda body: body[: body.rindex(b",")]),
    ("csv", "has no column currency", lambda body: body.replace(HEAD, b"period,coin,")),
    ("csv", "stands twice", lambda body: body.replace(HEAD, b"currency,currency,")),
    ("csv", "can't decode", lambda body: body.replace(b"usdt", b"\xff\xfe")),
    ("csv", "unexpected end of data", lambda body: body.replace(b"usdt", b'"usdt')),
    ("csv", "no number", lambda body: body.partition(b"\n")[0] + b"\n" + body),
    ("parquet", CUT, lambda body: body[:-1]),
    ("parquet", CUT, lambda body: b""),
    ("parquet", CUT, lambda body: b"period,currency\n" * 9),
]


@pytest.mark.parametrize(
    ("suffix", "text", "damage"),
    sample(DAMAGES, 8),
    ids=[f"{kind}-{text}" for kind, text, _ in DAMAGES],
)
def test_a_damaged_table_is_named(closer, suffix, text, damage):
    """By its file; the seal gives it away to whoever verifies, packs or builds upon it."""
    folder = closer.sealed(formats=(suffix,))
    path = folder / f"summary.{suffix}"
    body = path.read_bytes()
    assert damage(body) != body
    path.write_bytes(damage(body))
    with pytest.raises(LakeError, match=text) as caught:
        diff_statements(folder, folder)
    assert str(folder) in str(caught.value) and path.stem in str(caught.value)
    differs = f"{path.name} differs from the seal"
    assert verify_statement(folder).broken == (differs,)
    with pytest.raises(LakeError, match=differs):
        pack_folder(folder)
    with pytest.raises(LakeError, match=differs):
        closer.close()


FORMS_OF = {"statement.html": ("csv", "html"), "statement.xlsx": ("csv", "xlsx")}
TABLES = ("csv", "parquet", "json", "journal")


def sealed(closer: Closer, what: str) -> Path:
    """October, sealed in the forms that something is forged in: a page takes long to draw."""
    return closer.sealed(formats=FORMS_OF.get(what.partition(" ")[0], TABLES))


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
    "statement.html is not (a chart made a text)": page(PICTURE, "Net settlement 999,999", count=1),
    "statement.html is not (a text in a chart)": page(
        "</svg>", "<text>999,999</text></svg>", count=1
    ),
    "statement.html is not (a script)": page("</body>", "<script></script></body>"),
    "statement.json is not (a figure)": in_json('"gross_sales": "100"', '"gross_sales": "9"'),
    "statement.json is not (a fact)": in_json('"final"', '"audited"', count=1),
    "journal.csv is not (all of it)": content("journal.csv", "account,amount\nAssets:Wallet,1\n"),
    "journal.csv is not (an amount)": text("journal.csv", ",-50.5,", ",-51.5,"),
    "journal.beancount is not (an amount)": text("journal.beancount", r"48\.5 ~", "58.5 ~"),
    "statement.xlsx is not (a sum of another cell)": formula(r"SUM\(B\d+", "SUM(B1"),
    "statement.xlsx is not (one letter)": content("statement.xlsx", "x"),
    "statement.xlsx is not (an amount)": workbook("<v>48.5</v>", "<v>58.5</v>"),
    "statement.xlsx is not (number formats)": workbook("#,##0", "&quot;999,999&quot;", "xl/styles"),
    "statement.xlsx is not (a macro)": macro,
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
    "note.txt is not a file": content("note.txt", "audited"),
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


@pytest.fixture
def stated_once(monkeypatch) -> None:
    """What is forged lies beside the lake: it gives the same statement of October each time."""
    monkeypatch.setattr(
        proof.rederive, "rederive", lambda *facts: once("forged", lambda: rederive(*facts))
    )


@pytest.mark.usefixtures("stated_once")
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


SAID_OF_FILES = [
    ("lines.csv", {"rows": 999}, None, True),
    ("lines.csv", {"rows": 999}, OTHER, True),
    ("lines.csv", {"audited": True}, None, True),
    ("definitions.csv", {"rows": 999}, None, True),
    ("definitions.csv", {"rows": 999}, OTHER, False),  # it has figures of its own
    ("definitions.csv", {"rows": "999"}, OTHER, True),
]


@pytest.mark.usefixtures("stated_once")
@pytest.mark.parametrize(("name", "facts", "release", "is_named"), SAID_OF_FILES)
def test_what_is_said_of_a_file_is_compared(closer, name, facts, release, is_named):
    """How many rows a table has, in any release; a release lists figures as many as it knows."""
    found = forge(closer.sealed(formats=("csv",)), entry(name, **facts), release)
    assert any("and the manifest says" in text for text in found.broken) is is_named


@pytest.mark.usefixtures("stated_once")
@pytest.mark.thorough
@pytest.mark.parametrize("change", [NO_FORMULA, lost("datapackage.json")], ids=["sum", "columns"])
def test_what_another_release_may_lack_is_missed_in_this_one(closer, change):
    """Each number is what was sealed: a sum without its formula, columns that nothing describes."""
    folder = closer.sealed(formats=FORMS_OF["statement.xlsx"])
    assert not forge(folder, change).holds
    found = forge(folder, fact(), OTHER)
    assert not (found.broken or found.unproven)


@pytest.mark.usefixtures("stated_once")
@pytest.mark.parametrize(
    "what", sample(["a figure", "a chart made", "a macro", "control in the manifest"], 3)
)
def test_without_the_register_a_forgery_is_named_too(closer, what):
    """Then nobody knows the seal, besides."""
    name = next(name for name in FORGERIES if what in name)
    found = forge(sealed(closer, name), FORGERIES[name], OTHER, register="kept")
    assert any(text.startswith("the lake sealed 2026-10 version 1 as") for text in found.broken)


@pytest.mark.usefixtures("stated_once")
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


@pytest.mark.usefixtures("stated_once")
@pytest.mark.parametrize("file", WORDS)
def test_the_words_of_another_release_are_told_in_one_line(closer, file):
    """They break nothing; the same words of this release are not its own."""
    folder = sealed(closer, file)
    other = Path(shutil.copytree(folder.parent, folder.parents[1] / "other")) / folder.name
    found = forge(folder, WORDS[file], OTHER)
    assert found.holds and OTHER in found.notes[0] and file in found.notes[0]
    assert any(text.startswith(f"{file} is not") for text in forge(other, WORDS[file]).broken)


DIFFERING = [
    ({"b": 1}, {"b": 2}, "coverage.b in the manifest is 1, not 2"),
    ({"b": {"c": 1}}, {"b": {"c": 1, "d": 2}}, "coverage.b.d in the manifest is null, not 2"),
    ({"b": 1}, [2], 'coverage in the manifest is {"b": 1}, not [2]'),
    ({"b": 1}, None, 'coverage in the manifest is {"b": 1}, not null'),
    ({}, {"b": 1}, 'coverage in the manifest is {}, not {"b": 1}'),
]


@pytest.mark.parametrize(("sealed", "expected", "said"), DIFFERING)
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
