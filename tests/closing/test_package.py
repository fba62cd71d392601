"""A sealed month packed for an auditor, who has nothing but the file and the seal."""

import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from svc_analytics import ConfigError, LakeError, verify_statement
from svc_analytics.closing.handover.evidence import evidence_text, pack_folder, package
from svc_analytics.closing.seals import lake_around, read_manifest
from svc_analytics.closing.verification.proof import prove_folder
from svc_analytics.instants import to_micros
from svc_analytics.render.pdf import Paper
from svc_analytics.statements.balance_assertions import assert_balance
from tests.closing.test_seal import sealed
from tests.support.altered import fact, forge
from tests.support.closings import LEDGER, Closer
from tests.support.fake_service import payment
from tests.support.prepared import once
from tests.support.rings import sample

__all__ = ["sealed"]  # a fixture


def unpacked(file: Path, target: Path) -> Path:
    """Unpack as a stranger does; return the sealed folder inside."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall(target)
    [folder] = (each for each in target.iterdir() if not each.name.endswith("-forms"))
    return folder


def recipe_of(readme: str) -> str:
    """The indented Python of the README, as a stranger would copy it."""
    found = re.search(r"^   import hashlib.*?(?=^   It prints)", readme, re.DOTALL | re.MULTILINE)
    return "".join(line.removeprefix("   ") for line in found[0].splitlines(keepends=True))


def run_recipe(folder: Path) -> subprocess.CompletedProcess[str]:
    script = recipe_of((folder / "README.txt").read_text(encoding="utf-8"))
    words = [sys.executable, "-I", "-c", script]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def packed(desk, sealed, tmp_path, no_printer) -> Path:
    """What a stranger has of a package that was made once for all tests."""

    def make() -> bytes:
        return package(desk.lake, "2026-10", out=tmp_path / "a.zip").file.read_bytes()

    (tmp_path / "a.zip").write_bytes(once("package", make))
    return unpacked(tmp_path / "a.zip", tmp_path / "audit")


def test_a_stranger_computes_the_seal_again(packed):
    """With the recipe of the README alone, which notices an altered fact and an altered file."""
    assert packed.name == "2026-10"
    assert run_recipe(packed).stdout == f"True {read_manifest(packed)['seal']}\n"
    text = (packed / "README.txt").read_text(encoding="utf-8")
    assert "final" in text and "2026-10-01T00:00:00Z" in text and "by another way" in text
    manifest = (packed / "manifest.json").read_text()
    (packed / "manifest.json").write_text(manifest.replace('"final"', '"finaI"', 1))
    assert run_recipe(packed).stdout.startswith("False ")
    (packed / "manifest.json").write_text(manifest)
    (packed / "summary.csv").write_text((packed / "summary.csv").read_text() + "\n")
    assert "summary.csv" in run_recipe(packed).stderr


def test_a_stranger_runs_what_came_with_it(packed):
    """By Python alone: it holds, and an altered table is named."""

    def run() -> tuple[int, str]:
        words = [sys.executable, "-I", str(packed / "verify.py")]
        done = subprocess.run(words, capture_output=True, text=True, cwd=packed.parent)
        return done.returncode, done.stdout

    code, said = run()
    assert code == 0 and "held  lines: 3 add up to the summary of 2 coins" in said
    (packed / "summary.csv").write_text((packed / "summary.csv").read_text() + "\n")
    code, said = run()
    assert code == 1 and "summary.csv is not as sealed" in said


@pytest.mark.parametrize(
    "name", sample(["README.txt", "EVIDENCE.txt", "SHA256SUMS", "verify.py"], 2)
)
def test_what_a_package_adds_is_compared_with_its_sums(desk, packed, name):
    """No seal covers it, so a bit that fell over is seen by nothing else."""
    (packed / name).write_bytes((packed / name).read_bytes().replace(b"a", b"b", 1))
    broken = verify_statement(packed, desk.lake).broken
    assert broken and all(text.endswith(" is not as in SHA256SUMS") for text in broken)
    assert name == "SHA256SUMS" or broken == (f"{name} is not as in SHA256SUMS",)


def test_the_sums_are_of_every_file(desk, packed):
    """As `sha256sum -c` reads them: all but the file of sums itself.

    Without them a stranger could compare no file: each is told.
    """
    path, files = packed / "SHA256SUMS", {each.name for each in packed.iterdir()} - {"SHA256SUMS"}
    sums = dict(reversed(line.split("  ")) for line in path.read_text().splitlines())
    assert sums == {
        name: hashlib.sha256((packed / name).read_bytes()).hexdigest() for name in files
    }
    path.unlink()
    assert {text.partition(" ")[0] for text in verify_statement(packed, desk.lake).broken} == files


def test_what_was_unpacked_holds(desk, packed):
    """README and sums are no alteration; the page beside the folder is verified with it.

    Where nothing prints, it is packed without a PDF.
    """
    page = packed.with_name("2026-10-forms") / "statement.html"
    assert not page.with_suffix(".pdf").exists()
    assert verify_statement(packed, desk.lake).holds
    page.write_text(page.read_text().replace("</main>", "1 btc</main>"))
    checked = verify_statement(packed, desk.lake)
    assert any("2026-10-forms: statement.html" in broken for broken in checked.broken)


@pytest.mark.thorough
def test_a_page_that_was_printed_holds(desk, sealed, tmp_path):
    """It is set again, and compared."""
    pytest.importorskip("typst")
    folder = unpacked(package(desk.lake, "2026-10", out=tmp_path / "a.zip").file, tmp_path / "b")
    assert (folder.with_name("2026-10-forms") / "statement.pdf").exists()
    assert verify_statement(folder, desk.lake).holds


def test_a_package_holds_the_page_as_pdf_where_it_can_be_printed(
    desk, sealed, tmp_path, monkeypatch
):
    """The printing itself is tried elsewhere."""
    monkeypatch.setattr("svc_analytics.closing.handover.evidence.has_typst", lambda: True)
    made = Paper(b"%PDF-", 1, None)
    monkeypatch.setattr("svc_analytics.render.pdf.make_paper", lambda *_: made)
    with zipfile.ZipFile(package(desk.lake, "2026-10", out=tmp_path / "a.zip").file) as archive:
        found = [Path(name).name for name in archive.namelist() if "2026-10-forms/" in name]
    assert {"statement.html", "statement.pdf"} <= {*found}


def test_the_same_folder_gives_the_same_file(desk, sealed, packed):
    """Byte for byte, whenever it is packed; the seal is the one that the command names."""
    for path in sealed.iterdir():
        path.touch()
    first = packed.parents[1] / "a.zip"
    again = package(desk.lake, "2026-10", out=packed.parents[1] / "b.zip")
    assert again.file.read_bytes() == first.read_bytes()
    assert again.sha256 == hashlib.sha256(first.read_bytes()).hexdigest()
    assert again.seal == read_manifest(sealed)["seal"]


def test_what_is_not_sealed_is_not_packed(desk, closer, tmp_path):
    """One line that says what to do; nothing is written."""
    desk.extract()
    with pytest.raises(LakeError, match="2026-10 is not sealed: close it first"):
        package(desk.lake, "2026-10", out=tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


def test_no_file_from_elsewhere_is_packed(sealed, tmp_path):
    """A manifest that names one, with a seal that fits, in a folder without a register."""
    secret = tmp_path / "secret.txt"
    secret.write_text("a key")
    folder = shutil.copytree(sealed, tmp_path / "elsewhere" / "2026-10")
    digest = hashlib.sha256(secret.read_bytes()).hexdigest()
    forge(folder, fact(files={"../../secret.txt": {"sha256": digest, "rows": 1}}), register="kept")
    with pytest.raises(LakeError, match=r"'../../secret.txt' is no file of it"):
        pack_folder(folder, tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


def test_the_file_must_be_named_as_a_zip(sealed, tmp_path):
    """Nobody's table is overwritten by a slip of the fingers."""
    with pytest.raises(ConfigError, match=r"its suffix must be \.zip"):
        pack_folder(sealed, tmp_path / "a.csv")


# ---------- EVIDENCE.txt: another lake, another sentence


MISSING = "refund_has_its_payment"


def evidence(folder: Path) -> str:
    """The text of a folder, as a package would have it, its lines joined."""
    return " ".join(
        evidence_text(prove_folder(folder, read_manifest(folder), lake_around(folder))).split()
    )


def plain(closer: Closer) -> str:
    return once("evidence of a plain month", lambda: evidence(closer.sealed()))


def test_a_plain_month_says_where_its_records_came_from(closer):
    """Over which calls, with which key, how completely, and what nobody proved."""
    said = plain(closer)
    assert "Payments were received by GET /api/pay/v1/payments, with a key of the class" in said
    assert "Payouts and refunds: 2 records of the period were read, and 2 of them count." in said
    assert "Two readings in a row saw the same records." in said
    assert "No record of the period was set aside." in said
    assert "made again from the records of the lake, with no difference" in said
    assert "Nobody signed it." in said and "No authority stamped it" in said
    assert "No finding of this period was accepted by a person." in said


def accepted(closer: Closer) -> Path:
    closer.desk.service.payments.pop(1)
    closer.accept(MISSING, closer.desk.service.payouts[0]["id"], "made in the console")
    return closer.close().folder


def restated(closer: Closer) -> Path:
    closer.sealed()
    closer.desk.service.payments.append(payment(96, "2026-10-15T10:00:00Z"))
    return closer.close().folder


def elsewhere(closer: Closer) -> Path:
    folder = closer.sealed()
    return Path(shutil.copytree(folder, closer.desk.lake.path.parent / "audit" / folder.name))


def empty(closer: Closer) -> Path:
    closer.serve(LEDGER.replace("2026-10", "2026-08"))
    return closer.sealed()


def balanced(closer: Closer) -> Path:
    closer.desk.extract()
    assert_balance(closer.desk.lake, to_micros(datetime(2026, 10, 20, tzinfo=UTC)), "btc", "4.45")
    return closer.close().folder


def set_aside(closer: Closer) -> Path:
    record = payment(95, "2026-10-06T10:00:00Z", "1e3", net_amount="1", currency="btc")
    closer.desk.service.payments.append(record)
    closer.accept("record_could_be_held", record["id"])
    return closer.close().folder


def set_aside_before(closer: Closer) -> Path:
    record = payment(95, "2026-09-20T10:00:00Z", "1e3", net_amount="1", currency="btc")
    closer.desk.service.payments.append(record)
    return closer.close().folder


def quarter(closer: Closer) -> Path:
    return closer.closed("2026-07", "2026-08", "2026-09", "2026-Q3")[-1].folder


ODD = {
    "a finding that a person accepted": (
        accepted,
        "accepted by Mina, because: made in the console.",
    ),
    "a restated month": (restated, "This is version 2. It replaces the one sealed as"),
    "no lake": (elsewhere, "It was not compared with the records: no lake was there."),
    "an empty month": (empty, "Payments: 0 records of the period were read"),
    "a balance": (balanced, "A person saw a balance of 4.45 btc at 2026-10-20T00:00:00Z."),
    "a quarter": (quarter, "It names the seals of its 3 months."),
    "a record set aside": (set_aside, "Payments: 1 record could not be held exactly, and is in no"),
    "an earlier one": (set_aside_before, "opening position, closing position, implied rate"),
}


@pytest.mark.parametrize("kind", sample(ODD, 12))
def test_another_lake_has_another_sentence(closer, kind):
    """Which no plain month has: each says what became of its own records."""
    make, sentence = ODD[kind]
    assert sentence in evidence(make(closer))


def test_no_sentence_of_another_lake_stands_in_a_plain_month(closer):
    """Nothing is said by habit."""
    assert not [kind for kind, (_, sentence) in ODD.items() if sentence in plain(closer)]
