"""A sealed folder that was changed, with hashes and a seal that fit: what was changed is named."""

import json
import random
import re
import shutil
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics import diff_statements, verify_statement
from svc_analytics.closing.register import register_seal
from svc_analytics.closing.seals import read_manifest, seal_of
from svc_analytics.closing.verification.facts import period_of, sealed_statement
from svc_analytics.closing.verification.verify import SealVerification
from svc_analytics.errors import LakeError
from svc_analytics.files import hash_file
from svc_analytics.proofs.checkpoint import write_checkpoint
from svc_analytics.render.folder import Output, write_folder
from svc_analytics.statements.tables import tables_of
from svc_analytics.storage import LocalStorage
from tests.support.closings import Closer, figure
from tests.support.fake_service import payment
from tests.support.rings import sample

FORMS = ("csv", "parquet", "xlsx", "json", "journal")
PAGE = ("csv", "html")
MERCHANT = {"id": "11111111-1111-4111-8111-111111111111", "display_name": "Shop"}
Manifest = dict[str, Any]
Change = Callable[[Path, Manifest], None]


def forge(folder: Path, change: Change, *, keeps_register: bool = False) -> SealVerification:
    """Change a folder as a forger would; the lake's register then gives nothing away."""
    manifest = read_manifest(folder)
    change(folder, manifest)
    for name in list(manifest["files"]):
        manifest["files"][name]["sha256"] = hash_file(folder / name)
    manifest["seal"] = seal_of(manifest)
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    write_checkpoint(folder, manifest)
    if not keeps_register:
        for name in ("seals.csv", "chain.json"):
            (folder.parent / name).unlink(missing_ok=True)
    return verify_statement(folder)


def replaced(name: str, old: str, new: str) -> Change:
    """Change a text of a file."""

    def change(folder: Path, manifest: Manifest) -> None:
        data = (folder / name).read_bytes()
        assert old.encode() in data
        (folder / name).write_bytes(data.replace(old.encode(), new.encode(), 1))

    return change


def another_sheet(folder: Path, manifest: Manifest) -> None:
    """Write the workbook again, with another figure in it."""
    path = folder / "statement.xlsx"
    with zipfile.ZipFile(path) as workbook:
        parts = {part: workbook.read(part) for part in workbook.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as workbook:
        for part, data in parts.items():
            workbook.writestr(part, data.replace(b"<v>48.5</v>", b"<v>58.5</v>"))


def another_formula(old: bytes, new: bytes) -> Change:
    """Write the workbook again, with a sum that gives another number or adds other cells."""

    def change(folder: Path, manifest: Manifest) -> None:
        path = folder / "statement.xlsx"
        with zipfile.ZipFile(path) as workbook:
            parts = {part: workbook.read(part) for part in workbook.namelist()}
        sheet = parts["xl/worksheets/sheet1.xml"]
        parts["xl/worksheets/sheet1.xml"] = re.sub(old, new, sheet, count=1)
        assert parts["xl/worksheets/sheet1.xml"] != sheet
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as workbook:
            for part, data in parts.items():
                workbook.writestr(part, data)

    return change


FORMULAS = {
    "another value": another_formula(rb"(</f><v>)-?[\d.]+", rb"\g<1>7"),
    "another cell": another_formula(rb"SUM\(B\d+", b"SUM(B1"),
    "another function": another_formula(rb"<f>(ROUND\()?SUM", rb"<f>\1MAX"),
    "another sheet": another_formula(rb"SUM\(B", b"SUM(Days!B"),
    "a shared formula": another_formula(rb"<f>", b'<f t="array" ref="B1">'),
    "no formula": another_formula(rb"<f>.*?</f>", b""),
    "a formula more": another_formula(rb"<v>2</v>", b"<f>1+1</f><v>2</v>"),
}


@pytest.mark.parametrize("what", sample(FORMULAS, 7))
@pytest.mark.parametrize("release", ["this release's", "another's"])
def test_a_forged_sum_of_a_workbook_is_named(closer: Closer, what: str, release: str) -> None:
    """Whoever opens it sees the value that it gives, or the one that is kept beside it."""
    folder = closer.sealed(formats=FORMS)
    facts = {} if release.startswith("this") else {"program_digest": "0" * 64}

    def change(folder: Path, manifest: Manifest) -> None:
        FORMULAS[what](folder, manifest)
        manifest.update(facts)

    found = forge(folder, change)
    if what == "no formula" and facts:
        assert found.holds  # the number stands there, as another release may have laid it out
    else:
        assert any(text.startswith("statement.xlsx is not") for text in found.broken)


def another_table(folder: Path, manifest: Manifest) -> None:
    """Write a Parquet file again, without its last row."""
    table = pq.read_table(folder / "lines.parquet")
    pq.write_table(table.slice(0, table.num_rows - 1), folder / "lines.parquet")


def lost(*names: str) -> Change:
    """Remove files, with their entries in the manifest."""

    def change(folder: Path, manifest: Manifest) -> None:
        for name in names or list(manifest["files"]):
            (folder / name).unlink()
            del manifest["files"][name]

    return change


def added(folder: Path, manifest: Manifest) -> None:
    (folder / "approved.pdf").write_bytes(b"%PDF-")
    manifest["files"]["approved.pdf"] = {"rows": 1}


FILES: dict[str, Change] = {
    "summary.csv is not": replaced("summary.csv", "usdt,1,", "usdt,2,"),
    "lines.csv is not": replaced("lines.csv", ",100,", ",110,"),
    "summary.parquet is not": replaced("summary.parquet", "PAR1", "PAR2"),
    "lines.parquet is not": another_table,
    "statement.json is not": replaced("statement.json", '"100"', '"110"'),
    "statement.html is not": replaced("statement.html", ">100.", ">110."),
    "statement.html was written by": replaced("statement.html", "<path", "<g></g><path"),
    "statement.xlsx is not": another_sheet,
    "journal.csv is not": replaced("journal.csv", ",-50.5,", ",-51.5,"),
    "journal.beancount is not": replaced("journal.beancount", "48.5 ~", "58.5 ~"),
    "definitions.csv is not": replaced("definitions.csv", "Sales after fees", "Sales"),
    "definitions.csv is missing": lost("definitions.csv"),
    "datapackage.json is not": replaced("datapackage.json", "Coin slug", "The coin"),
    "datapackage.json is missing": lost("datapackage.json"),
    "checks.csv is missing": lost("checks.csv"),
    "journal.csv is missing": lost("journal.csv"),
    "the table figures is missing": lost("figures.csv", "figures.parquet"),
    "the table summary is missing": lost(),
    "approved.pdf is no file": added,
}


@pytest.mark.parametrize("named", sample(FILES, 8))
def test_a_forged_file_is_named(closer: Closer, named: str) -> None:
    """One file, whose hash and the seal fit; the line of the register is gone too."""
    folder = closer.sealed(formats=PAGE if "html" in named else FORMS)
    found = forge(folder, FILES[named])
    texts = [*found.broken, *found.unproven]
    assert any(text.startswith(named) for text in texts) and not found.holds


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(100))
def test_any_byte_of_any_file_is_named(closer: Closer, seed: int) -> None:
    """Flipped, taken out or put in."""
    chance = random.Random(seed)

    def change(folder: Path, manifest: Manifest) -> None:
        path = folder / chance.choice(sorted(manifest["files"]))
        named.append(path.name)
        data = bytearray(path.read_bytes())
        place = chance.randrange(len(data))
        data[place : place + chance.randrange(2)] = bytes([data[place] ^ 1])
        path.write_bytes(data)

    named: list[str] = []
    found = forge(closer.sealed(formats=(*FORMS, "html")), change)
    assert any(text.startswith(named[0]) for text in (*found.broken, *found.unproven))


FACTS: list[tuple[str, Manifest]] = [
    ("status in the manifest is", {"status": "Final"}),
    ("reasons in the manifest is", {"reasons": ["approved by the board"]}),
    ("label in the manifest is", {"label": "october"}),
    ("start in the manifest is", {"label": "2026-09"}),
    ("the table restatement is missing", {"version": 2}),
    ("supersedes is None, and this is version 2", {"version": 2}),
    ("supersedes is abc, and this is version 1", {"supersedes": "abc"}),
    ("the manifest cannot be right", {"calendar": "jalali"}),
    ("label in the manifest is", {"zone": "Asia/Tehran"}),
    ("the manifest cannot be right: no time zone", {"zone": "Nowhere"}),
    ("start in the manifest is", {"start": "2026-10-02T00:00:00Z"}),
    ("end in the manifest is", {"end": "2026-10-31T00:00:00Z"}),
    ("the manifest cannot be right: as_of", {"as_of": "2026-10-31T00:00:00Z"}),
    ("as_of is 2027", {"as_of": "2027-01-01T00:00:00Z"}),
    ("coverage in the manifest is", {"coverage": {}}),
    ("options.webhooks in the manifest is", {"options": {"webhooks": {}}}),
    ("control in the manifest is {}", {"control": {}}),
    ("content_digest in the manifest is", {"content_digest": "0" * 64}),
    ("coverage.payments in the manifest is []", {"coverage": {"payments": []}}),
    ("approved_by is no fact", {"approved_by": "Mina"}),
    ("merchant.display_name is", {"merchant": MERCHANT | {"display_name": "Other"}}),
    ("it is of merchant 2", {"merchant": {"id": "2"}}),
    ("the lake's register of seals", {"as_of": "2026-11-19T00:00:00Z"}),
]


@pytest.mark.parametrize(("named", "facts"), sample(FACTS, 12))
def test_a_forged_fact_is_named(closer: Closer, named: str, facts: Manifest) -> None:
    """One fact of the manifest, with a seal that fits; the line of the register is gone too."""

    def change(folder: Path, manifest: Manifest) -> None:
        manifest |= facts

    found = forge(closer.sealed(), change)
    texts = [*found.broken, *found.unproven]
    assert any(text.startswith(named) for text in texts) and not found.holds


def dropped(*names: str) -> Change:
    """Empty facts of the manifest."""

    def change(folder: Path, manifest: Manifest) -> None:
        manifest |= dict.fromkeys(names)

    return change


def test_a_dropped_link_to_the_month_before_is_named(closer: Closer) -> None:
    """September was sealed first, so October must name it."""
    september, october = closer.closed("2026-09", "2026-10")
    found = forge(october.folder, dropped("previous_seal"))
    text = f"previous_seal is empty, and 2026-09 was sealed before as {september.seal}"
    assert found.broken == (text,)


def test_a_fact_that_is_not_there_is_named(closer: Closer) -> None:
    """Although it would be empty."""

    def change(folder: Path, manifest: Manifest) -> None:
        del manifest["supersedes"]

    assert forge(closer.sealed(), change).broken == ("supersedes is missing in the manifest",)


def test_a_fact_that_stands_twice_makes_no_manifest(closer: Closer) -> None:
    """One reader would take the first, another the last."""
    path = closer.sealed() / "manifest.json"
    path.write_text(path.read_text().replace("{", '{"status": "approved",', 1))
    with pytest.raises(LakeError, match="is not a statement"):
        verify_statement(path.parent)


@pytest.mark.thorough
def test_a_dropped_link_to_the_version_before_is_named(closer: Closer) -> None:
    """Version 2 supersedes something."""
    closer.sealed()
    closer.desk.service.payments[2]["metadata"] = {"cart": "other"}
    folder = closer.close().folder
    assert verify_statement(folder).holds
    found = forge(folder, dropped("supersedes"))
    assert found.broken == ("supersedes is None, and this is version 2",)


@pytest.mark.thorough
def test_a_forged_restatement_is_named(closer: Closer) -> None:
    """It follows from the two versions, in every form of it."""
    closer.sealed()
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    folder = closer.close(formats=("csv",)).folder
    found = forge(folder, replaced("restatement.csv", "gross_sales", "charged_sales"))
    assert "restatement is not what follows from the version before" in found.unproven


def test_the_register_alone_gives_a_new_seal_away(closer: Closer) -> None:
    """A fact that nothing else proves: the instant up to which the lake was read."""
    folder = closer.sealed()
    seal = read_manifest(folder)["seal"]
    found = forge(folder, as_of_a_day_earlier, keeps_register=True)
    assert found.broken == (f"the lake sealed 2026-10 version 1 as {seal}, not as {found.seal}",)


def as_of_a_day_earlier(folder: Path, manifest: Manifest) -> None:
    manifest["as_of"] = "2026-11-19T12:00:00Z"


@pytest.mark.thorough
def test_after_a_restatement_an_altered_form_is_still_named(closer: Closer) -> None:
    """The lake gives other figures for a reason; the page contradicts the tables beside it."""
    folder = closer.sealed(formats=FORMS)
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    closer.desk.extract(rereads=True)
    found = verify_statement(folder)
    assert found.broken == () and found.table.num_rows
    found = forge(folder, FILES["statement.json is not"])
    [text] = found.broken
    assert text.startswith("statement.json is not") and found.table.num_rows


@pytest.mark.thorough
def test_csv_alone_is_held_against_the_lake_too(closer: Closer) -> None:
    """Its values get their types from the tables that the lake gives."""
    folder = closer.sealed(formats=("csv", "json"))
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    closer.desk.extract(rereads=True)
    assert verify_statement(folder).broken == ()
    assert verify_statement(closer.close(formats=("csv",)).folder).holds
    text, *_ = forge(folder, FILES["summary.csv is not"]).broken
    assert text.startswith("control.summary.sha256 in the manifest is")


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


def test_a_figure_forged_in_every_form_differs_from_the_lake(closer: Closer) -> None:
    """In the folder only the lines contradict it, which are added up; the lake does too."""
    found = forge(closer.sealed(), rewritten("summary", first_is("gross_sales", "5")))
    text = "sealed: lines: they do not add up to the summary: gross_sales of btc"
    assert found.broken == (text,)
    assert figure(found.table.to_pylist(), "gross_sales")[:3] == ("5", "0", "-5")


def test_a_column_that_follows_from_others_is_held_too(closer: Closer) -> None:
    """No record differs, so the running position cannot."""
    found = forge(closer.sealed(), rewritten("lines", first_is("running_position", "5")))
    assert "lines is not what the lake gives now, though no figure differs" in found.unproven


def test_a_column_left_out_of_every_form_is_missed(closer: Closer) -> None:
    """Nobody reads of it; the statement that the lake gives has it."""
    found = forge(closer.sealed(), rewritten("lines", lambda table: table.drop_columns(["fee"])))
    assert any(text.startswith("it lacks ") for text in found.broken), found.broken


def test_what_other_libraries_wrote_is_not_proven(closer: Closer) -> None:
    """A newer pyarrow gives other bytes of the same table: each file is named, and none broken."""
    folder = closer.sealed()
    found = forge(folder, other_library)
    register_seal(LocalStorage(folder.parents[1]), read_manifest(folder), str(found.seal))
    found = verify_statement(folder)
    [text] = found.unproven
    assert text.startswith("summary.parquet was written by other libraries") and not found.broken


def other_library(folder: Path, manifest: Manifest) -> None:
    ours = pq.ParquetFile(folder / "summary.parquet").metadata.created_by
    replaced("summary.parquet", ours, ours.replace("parquet-cpp", "parquet-abc"))(folder, manifest)


@pytest.mark.thorough
@pytest.mark.parametrize("keeps_register", sample([True, False], 2), ids=["known", "register gone"])
def test_a_forged_month_is_not_built_upon(closer: Closer, keeps_register: bool) -> None:
    """Closing again stops, and the forged folder is not restated as if it had been sealed."""
    folder = closer.sealed()
    forge(folder, FILES["summary.csv is not"], keeps_register=keeps_register)
    with pytest.raises(LakeError, match="2026-10 was altered after it was sealed"):
        closer.close()


def test_a_comparison_says_which_folder_was_altered(closer: Closer) -> None:
    """The figures of a forged file are compared, and not believed."""
    folder = closer.sealed()
    assert diff_statements(folder, folder).altered == ()
    forge(folder, FILES["summary.csv is not"])
    found = diff_statements(folder, folder).altered
    assert found[0] == f"{folder}: summary.csv does not say what summary.parquet says"


@pytest.mark.thorough
def test_a_forged_month_before_is_not_chained_to(closer: Closer) -> None:
    """Its seal would vouch for what the lake never sealed."""
    september = closer.sealed("2026-09")
    forge(september, lambda folder, facts: facts.update(version=7), keeps_register=True)
    with pytest.raises(LakeError, match="2026-09 was altered"):
        closer.close("2026-10")


def test_a_gutted_month_before_is_missed(closer: Closer) -> None:
    """Its folder is there and names the seal, and nothing else of it is left."""
    september, october = (one.folder for one in closer.closed("2026-09", "2026-10"))
    manifest = read_manifest(september) | {"content_digest": "", "files": {}}
    (september / "manifest.json").write_text(json.dumps(manifest))
    assert "the month before" in " ".join(verify_statement(october).broken)
