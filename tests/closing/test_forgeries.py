"""Forged statements whose line of the register is forged too, under any release's name.

Whoever can write a folder can write the register beside it. So nothing that a forger does to a
number, a name, a fact or a part of a file may pass without a word.
"""

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics import verify_statement
from svc_analytics.closing.handover.package import pack_folder
from svc_analytics.closing.rederive import rederive
from svc_analytics.closing.register import register_seal
from svc_analytics.closing.seals import read_manifest, seal_of
from svc_analytics.closing.verification import proof
from svc_analytics.errors import LakeError
from svc_analytics.files import hash_file
from svc_analytics.proofs.checkpoint import write_checkpoint
from svc_analytics.storage import LocalStorage
from tests.support.closings import Closer
from tests.support.prepared import once
from tests.support.rings import sample

TABLES = ("csv", "parquet", "json", "journal")
PAGE, WORKBOOK = ("csv", "html"), ("csv", "xlsx")
FORMS = {"page": PAGE, "chart": PAGE, "heading": PAGE, "beside": PAGE, "workbook": WORKBOOK}
OTHER = "0.0.9"  # a release that nobody made
Manifest = dict[str, Any]
Change = Callable[[Path, Manifest], None]


def sealed(closer: Closer, what: str) -> Path:
    """October, sealed in the forms that something is forged in: a page takes long to draw."""
    return closer.sealed(formats=next((FORMS[word] for word in FORMS if word in what), TABLES))


def forge(folder: Path, change: Change, release: str | None, *, registers: bool = True) -> None:
    """Change a folder, give it hashes, a seal and a release that fit, and enter the seal."""
    manifest = read_manifest(folder)
    if release:
        as_of_release(folder, manifest, release)
    change(folder, manifest)
    for name in [name for name in manifest["files"] if (folder / name).exists()]:
        manifest["files"][name]["sha256"] = hash_file(folder / name)
    manifest["seal"] = seal_of(manifest)
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    write_checkpoint(folder, manifest)
    if registers:
        for name in ("seals.csv", "chain.json"):
            (folder.parent / name).unlink(missing_ok=True)
        register_seal(LocalStorage(folder.parents[1]), manifest, manifest["seal"])


def as_of_release(folder: Path, manifest: Manifest, release: str) -> None:
    """Let another release have sealed a folder, wherever that stands in it."""
    known = manifest["tool_version"]
    manifest["tool_version"] = release
    for path in (folder / name for name in ("statement.html", "statement.json")):
        if path.exists():
            path.write_text(path.read_text().replace(known, release))
    if (folder / "statement.xlsx").exists():
        in_parts(folder, known, release)


def text(name: str, old: str, new: str, *, count: int = -1) -> Change:
    """Replace a text of a file, wherever it stands."""

    def change(folder: Path, manifest: Manifest) -> None:
        before = (folder / name).read_bytes().decode()
        after = re.sub(old, new, before, count=max(count, 0), flags=re.DOTALL)
        assert after != before
        (folder / name).write_bytes(after.encode())

    return change


def in_parts(folder: Path, old: str, new: str, part: str = "") -> None:
    """Replace a text of a workbook's parts."""
    path = folder / "statement.xlsx"
    with zipfile.ZipFile(path) as workbook:
        parts = {name: workbook.read(name) for name in workbook.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as workbook:
        for name, body in parts.items():
            is_meant = name.startswith(part)
            workbook.writestr(name, body.replace(old.encode(), new.encode()) if is_meant else body)


def workbook(old: str, new: str, part: str = "") -> Change:
    return lambda folder, manifest: in_parts(folder, old, new, part)


def macro(folder: Path, manifest: Manifest) -> None:
    with zipfile.ZipFile(folder / "statement.xlsx", "a") as found:
        found.writestr("xl/vbaProject.bin", b"Sub Auto_Open()")


def content(name: str, body: str, *, is_listed: bool = True) -> Change:
    """Write a file of one's own."""

    def change(folder: Path, manifest: Manifest) -> None:
        (folder / name).write_text(body)
        if is_listed:
            manifest["files"][name] = {"rows": manifest["files"].get(name, {"rows": 1})["rows"]}

    return change


def fact(**facts: Any) -> Change:
    def change(folder: Path, manifest: Manifest) -> None:
        manifest |= facts

    return change


def merchant(folder: Path, manifest: Manifest) -> None:
    manifest["merchant"]["display_name"] = "Bazaar"


def no_fact(name: str) -> Change:
    def change(folder: Path, manifest: Manifest) -> None:
        del manifest[name]

    return change


def lost(*names: str) -> Change:
    def change(folder: Path, manifest: Manifest) -> None:
        for name in names:
            (folder / name).unlink()
            del manifest["files"][name]

    return change


def linked(folder: Path, manifest: Manifest) -> None:
    moved = shutil.move(folder / "daily.csv", folder.parent / "daily.csv")
    (folder / "daily.csv").symlink_to(moved)


def parquet(edit: Callable[[pa.Table], pa.Table], name: str = "lines") -> Change:
    def change(folder: Path, manifest: Manifest) -> None:
        path = folder / f"{name}.parquet"
        pq.write_table(edit(pq.read_table(path)), path)

    return change


PICTURE = r"<svg.*?</svg>"
FORGERIES: dict[str, Change] = {
    "every amount of the page": text("statement.html", r"(?<=>)[\d,]+\.\d+", "999,999.00"),
    "one amount of the page": text("statement.html", r">48\.5", ">58.5", count=1),
    "two figures of the page exchanged": text("statement.html", "row-net_sales", "row-gross_sales"),
    "a coin of the page": text("statement.html", ">usdt<", ">btc<", count=1),
    "the merchant on the page": text("statement.html", "Shop", "Bazaar", count=1),
    "a chart made a text": text("statement.html", PICTURE, "Net settlement 999,999", count=1),
    "a text in a chart": text("statement.html", "</svg>", "<text>999,999</text></svg>", count=1),
    "a script on the page": text("statement.html", "</body>", "<script></script></body>"),
    "an amount in a heading": text("statement.html", "<h2>Charts", "<h2>Charts of 999,999"),
    "an amount beside a number": text("statement.html", 'class="n"', 'class="n" title="999,999"'),
    "a figure in the JSON": text("statement.json", '"gross_sales": "100"', '"gross_sales": "9"'),
    "a fact in the JSON": text("statement.json", '"final"', '"audited"', count=1),
    "a comment in the JSON": text("statement.json", '"kind": "payout"', '"kind": "bribe"'),
    "the journal in CSV": content("journal.csv", "account,amount\nAssets:Wallet,1\n"),
    "an amount of the journal": text("journal.csv", ",-50.5,", ",-51.5,"),
    "an amount in Beancount": text("journal.beancount", r"48\.5 ~", "58.5 ~"),
    "a workbook of one letter": content("statement.xlsx", "x"),
    "an amount of the workbook": workbook("<v>48.5</v>", "<v>58.5</v>"),
    "number formats of the workbook": workbook("#,##0", "&quot;999,999&quot;", "xl/styles"),
    "a macro in the workbook": macro,
    "a coin of the workbook": workbook("<t>usdt</t>", "<t>btc</t>", "xl/worksheets/sheet1"),
    "a table in CSV": text("summary.csv", "usdt,1,", "usdt,2,"),
    "a table in Parquet": parquet(lambda table: table.slice(1)),
    "a column lost in Parquet": parquet(lambda table: table.drop_columns("fee")),
    "a column added in Parquet": parquet(
        lambda table: table.append_column("tip", pa.array(["1"] * len(table)))
    ),
    "an amount in the definitions": text(
        "definitions.csv", "Gross sales,", "Gross sales of 999999,"
    ),
    "definitions that are no table": text("definitions.csv", "Gross sales,", "Gross sales,,"),
    "no definitions": lost("definitions.csv"),
    "an amount in what describes the columns": text("datapackage.json", "Coin slug", "99,999"),
    "the type of a column": text("datapackage.json", '"type": "string"', '"type": "number"'),
    "columns that are described by nothing": content("datapackage.json", "{}"),
    "no findings": lost("checks.csv", "checks.parquet"),
    "a table of one's own": content("audit.csv", "currency,amount\nusdt,1\n"),
    "a note": content("note.txt", "audited"),
    "a note that is not listed": content("note.txt", "audited", is_listed=False),
    "a hidden file": content(".note", "audited", is_listed=False),
    "a link": linked,
    "the merchant": merchant,
    "a fact of one's own": fact(audited_by="KPMG"),
    "coverage": fact(coverage={}),
    "status and coverage": fact(coverage={}, status="provisional"),
    "reasons": fact(reasons=["approved by the board"]),
    "control totals": fact(control={}),
    "the digest": fact(content_digest="0" * 64),
    "options": fact(options={"webhooks": {}}),
    "what is unknown": fact(
        unknown=[{"figures": ["net_sales"], "coins": ["usdt"], "because": "x"}]
    ),
    "no coverage at all": no_fact("coverage"),
    "no control totals at all": no_fact("unknown"),
    "the zone": fact(zone="Asia/Tehran"),
    "the end": fact(end="2026-10-31T00:00:00Z"),
}
WORDS: dict[str, Change] = {
    "definitions.csv": text("definitions.csv", "Gross sales", "Turnover"),
    "datapackage.json": text("datapackage.json", "Coin slug", "The coin"),
    "statement.html": text("statement.html", "<h2>Charts", "<h2>Pictures"),
    "statement.xlsx": workbook("What each figure means", "What a figure means"),
    "journal.beancount": text("journal.beancount", "Assets:Wallet", "Assets:Purse"),
}
FORMS_OF = {file: ("csv", Path(file).suffix[1:]) for file in WORDS} | {
    "definitions.csv": ("csv",),
    "journal.beancount": ("csv", "journal"),
}


@pytest.fixture(autouse=True)
def stated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forged lies beside the lake: it gives the same statement of October each time."""
    monkeypatch.setattr(
        proof, "rederive", lambda lake, manifest: once("forged", lambda: rederive(lake, manifest))
    )


@pytest.mark.parametrize("release", sample([None, OTHER], 2), ids=["this release", "another"])
@pytest.mark.parametrize("what", sample(FORGERIES, 20))
def test_no_forgery_is_silent(closer: Closer, what: str, release: str | None) -> None:
    """Although the register knows the forged seal, and whichever release it names."""
    folder = sealed(closer, what)
    forge(folder, FORGERIES[what], release)
    found = verify_statement(folder)
    assert not found.holds and (found.broken or found.unproven)


@pytest.mark.parametrize("what", sample(["the JSON", "chart made", "a macro", "control totals"], 3))
def test_without_the_register_a_forgery_is_named_too(closer: Closer, what: str) -> None:
    """Then nobody knows the seal, besides."""
    name = next(name for name in FORGERIES if what in name)
    folder = sealed(closer, name)
    forge(folder, FORGERIES[name], OTHER, registers=False)
    found = verify_statement(folder)
    assert any(text.startswith("the lake sealed 2026-10 version 1 as") for text in found.broken)


@pytest.mark.parametrize(
    "what", sample(["coverage", "one amount of the page", "a macro in the workbook"], 3)
)
def test_nobody_builds_upon_a_forgery(closer: Closer, what: str) -> None:
    """Neither the next close nor a package takes it, with what is wrong in one line."""
    folder = sealed(closer, what)
    forge(folder, FORGERIES[what], OTHER)
    wrong = re.escape(verify_statement(folder).broken[0])
    with pytest.raises(LakeError, match=wrong):
        pack_folder(folder)
    with pytest.raises(LakeError, match=wrong):
        closer.close()


@pytest.mark.parametrize("file", sample(WORDS, 5))
def test_the_words_of_another_release_are_told_in_one_line(closer: Closer, file: str) -> None:
    """They break nothing; the same words of this release are not its own."""
    folder = closer.sealed(formats=FORMS_OF[file])
    other = Path(shutil.copytree(folder.parent, folder.parents[1] / "other")) / folder.name
    forge(folder, WORDS[file], OTHER)
    found = verify_statement(folder)
    [note] = found.notes
    assert found.holds and OTHER in note and file in note
    forge(other, WORDS[file], None)
    assert any(text.startswith(f"{file} is not") for text in verify_statement(other).broken)
