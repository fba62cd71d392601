"""A sealed month packed for an auditor, who has nothing but the file and the seal."""

import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from svc_analytics.closing.handover.package import pack_folder, package
from svc_analytics.closing.seals import read_manifest
from svc_analytics.closing.verification.verify import verify_statement
from svc_analytics.errors import ConfigError, LakeError
from tests.closing.test_seal import rewrite, sealed
from tests.support.closings import Closer
from tests.support.desks import Desk

__all__ = ["rewrite", "sealed"]  # fixtures


def unpacked(file: Path, target: Path) -> Path:
    """Unpack as a stranger does; return the sealed folder inside."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall(target)
    [folder] = (each for each in target.iterdir() if not each.name.endswith("-forms"))
    return folder


def recipe_of(readme: str) -> str:
    """The indented Python of the README, as a stranger would copy it."""
    found = re.search(r"^   import hashlib.*?(?=^   It prints)", readme, re.DOTALL | re.MULTILINE)
    assert found
    return "".join(line.removeprefix("   ") for line in found[0].splitlines(keepends=True))


def run_recipe(folder: Path) -> subprocess.CompletedProcess[str]:
    script = recipe_of((folder / "README.txt").read_text(encoding="utf-8"))
    words = [sys.executable, "-I", "-c", script]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def test_a_stranger_computes_the_seal_again(desk: Desk, sealed: Path, tmp_path: Path) -> None:
    """With the recipe of the README alone; the seal is the one that the command names."""
    done = package(desk.lake, "2026-10", out=tmp_path / "a.zip")
    folder = unpacked(done.file, tmp_path / "audit")
    assert folder.name == "2026-10" and done.seal == read_manifest(sealed)["seal"]
    assert run_recipe(folder).stdout == f"True {done.seal}\n"
    text = (folder / "README.txt").read_text(encoding="utf-8")
    assert "final" in text and "2026-10-01T00:00:00Z" in text and "by another way" in text


def test_the_recipe_notices_what_was_altered(desk: Desk, sealed: Path, tmp_path: Path) -> None:
    """A figure in a file, and a fact of the manifest."""
    done = package(desk.lake, "2026-10", out=tmp_path / "a.zip")
    folder = unpacked(done.file, tmp_path / "audit")
    manifest = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(manifest.replace('"final"', '"finaI"', 1))
    assert run_recipe(folder).stdout.startswith("False ")
    (folder / "manifest.json").write_text(manifest)
    (folder / "summary.csv").write_text((folder / "summary.csv").read_text() + "\n")
    assert "summary.csv" in run_recipe(folder).stderr


def test_the_sums_are_of_every_file(desk: Desk, sealed: Path, tmp_path: Path) -> None:
    """As `sha256sum -c` reads them: all but the file of sums itself."""
    folder = unpacked(package(desk.lake, "2026-10", out=tmp_path / "a.zip").file, tmp_path / "b")
    sums = dict(
        reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines()
    )
    assert sums.keys() == {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_what_was_unpacked_holds(desk: Desk, sealed: Path, tmp_path: Path) -> None:
    """The README and the sums are no alteration of the statement."""
    folder = unpacked(package(desk.lake, "2026-10", out=tmp_path / "a.zip").file, tmp_path / "b")
    assert verify_statement(folder, desk.lake).holds


def test_the_same_folder_gives_the_same_file(desk: Desk, sealed: Path, tmp_path: Path) -> None:
    """Byte for byte, whenever it is packed."""
    for path in sealed.iterdir():
        path.touch()
    first, second = (
        package(desk.lake, "2026-10", out=tmp_path / name) for name in ("a.zip", "b.zip")
    )
    assert first.sha256 == second.sha256 and first.file.read_bytes() == second.file.read_bytes()


def test_what_is_not_sealed_is_not_packed(desk: Desk, closer: Closer, tmp_path: Path) -> None:
    """One line that says what to do; nothing is written."""
    desk.extract()
    with pytest.raises(LakeError, match="2026-10 is not sealed: close it first"):
        package(desk.lake, "2026-10", out=tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


@pytest.mark.parametrize("name", ["summary.csv", "manifest.json"])
def test_what_was_altered_is_not_packed(sealed: Path, tmp_path: Path, name: str) -> None:
    """An auditor never gets a file that does not fit its seal."""
    text = (sealed / name).read_text()
    (sealed / name).write_text(text.replace("2026-10", "2026-09", 1))
    with pytest.raises(LakeError, match=f"is not packed: {name} differs from the seal"):
        pack_folder(sealed, tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


def test_a_forged_seal_is_not_packed(sealed: Path, tmp_path: Path) -> None:
    """The lake's register knows which seal it made."""
    rewrite(sealed, reasons=["none"])
    with pytest.raises(LakeError, match="is not packed"):
        pack_folder(sealed, tmp_path / "a.zip")


def test_no_file_from_elsewhere_is_packed(sealed: Path, tmp_path: Path) -> None:
    """A manifest that names one, with a seal that fits, in a folder without a register."""
    secret = tmp_path / "secret.txt"
    secret.write_text("a key")
    folder = shutil.copytree(sealed, tmp_path / "elsewhere" / "2026-10")
    digest = hashlib.sha256(secret.read_bytes()).hexdigest()
    rewrite(folder, files={"../../secret.txt": {"sha256": digest, "rows": 1}})
    with pytest.raises(LakeError, match=r"'../../secret.txt' is no file of it"):
        pack_folder(folder, tmp_path / "a.zip")


def test_the_file_must_be_named_as_a_zip(sealed: Path, tmp_path: Path) -> None:
    """Nobody's table is overwritten by a slip of the fingers."""
    with pytest.raises(ConfigError, match=r"its suffix must be \.zip"):
        pack_folder(sealed, tmp_path / "a.csv")
