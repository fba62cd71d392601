"""Sealed folders that a forger changes, with hashes, a seal and a register that fit."""

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from svc_analytics import verify_statement
from svc_analytics.closing.seals import read_manifest, register_seal, seal_of
from svc_analytics.closing.verification.verify import SealVerification
from svc_analytics.files import hash_file
from svc_analytics.proofs.checkpoint import write_checkpoint
from svc_analytics.storage import LocalStorage

OTHER = "0.0.9"  # a release that nobody made
Manifest = dict[str, Any]
Change = Callable[[Path, Manifest], None]
Register = Literal["forged", "kept"]


def forge(
    folder: Path, change: Change, release: str | None = None, register: Register = "forged"
) -> SealVerification:
    """Change a folder under any release's name; return what a verification says of it.

    Hashes and seal fit. Of the lake's register, the line is forged too, or is as it was.
    """
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
    if register == "forged":
        for name in ("seals.csv", "chain.json"):
            (folder.parent / name).unlink(missing_ok=True)
        register_seal(LocalStorage(folder.parents[1]), manifest, manifest["seal"])
    return verify_statement(folder)


def as_of_release(folder: Path, manifest: Manifest, release: str) -> None:
    """Let another release have sealed a folder, wherever that stands in it."""
    known = manifest["tool_version"]
    manifest["tool_version"] = release
    for path in (folder / name for name in ("statement.html", "statement.json")):
        if path.exists():
            path.write_text(path.read_text().replace(known, release))
    if (folder / "statement.xlsx").exists():
        workbook(re.escape(known), release)(folder, manifest)


def text(name: str, old: str, new: str, *, count: int = 0) -> Change:
    """Replace a text of a file, wherever it stands."""

    def change(folder: Path, manifest: Manifest) -> None:
        before = (folder / name).read_bytes().decode()
        after = re.sub(old, new, before, count=count, flags=re.DOTALL)
        assert after != before
        (folder / name).write_bytes(after.encode())

    return change


def workbook(old: str, new: str, part: str = "", *, count: int = 0) -> Change:
    """Replace a text of a workbook's parts."""

    def change(folder: Path, manifest: Manifest) -> None:
        path = folder / "statement.xlsx"
        with zipfile.ZipFile(path) as known:
            before = {name: known.read(name) for name in known.namelist()}
        after = before | {
            name: re.sub(old.encode(), new.encode(), body, count=count)
            for name, body in before.items()
            if name.startswith(part)
        }
        assert after != before
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as found:
            for name, body in after.items():
                found.writestr(name, body)

    return change


def fact(**facts: Any) -> Change:
    """State something else in the manifest."""

    def change(folder: Path, manifest: Manifest) -> None:
        manifest |= facts

    return change


def no_fact(name: str) -> Change:
    def change(folder: Path, manifest: Manifest) -> None:
        del manifest[name]

    return change


def lost(*names: str) -> Change:
    """Remove files, or all of them, with their entries in the manifest."""

    def change(folder: Path, manifest: Manifest) -> None:
        for name in names or list(manifest["files"]):
            (folder / name).unlink()
            del manifest["files"][name]

    return change
