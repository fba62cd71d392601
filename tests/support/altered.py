"""Lakes that are altered, forged, exchanged or lost, and what a backup brings back of them."""

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics import Lakehouse, SealVerification, restore, verify_statement
from svc_analytics.backups.backup import DERIVED, backup
from svc_analytics.closing import chain
from svc_analytics.closing.chain import chain_text, keep_chain
from svc_analytics.closing.handover.sign import (
    content_of,
    newest_versions,
    put_signature,
    sign_chain,
)
from svc_analytics.closing.seals import all_sealed, read_manifest, register_seal, seal_of
from svc_analytics.files import hash_file
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import MARKS
from svc_analytics.proofs.checkpoint import write_checkpoint
from svc_analytics.storage import LocalStorage
from tests.support.closings import LEDGER, Closer
from tests.support.desks import Desk


def flip(path: Path, place: int, bit: int = 0) -> None:
    """Alter a bit of a byte of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def flip_column(path: Path, column: str) -> None:
    """Alter a bit of the last byte of a column's values in the first row group."""
    place = pq.read_schema(path).get_field_index(column)
    chunk = pq.read_metadata(path).row_group(0).column(place)
    flip(path, chunk.data_page_offset + chunk.total_compressed_size - 1)


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


P = ParamSpec("P")


def changing(act: Callable[Concatenate[Path, Manifest, P], None]) -> Callable[P, Change]:
    """Make a change of what is to be done to a folder and its manifest, and how."""
    return lambda *how, **named: lambda folder, manifest: act(folder, manifest, *how, **named)


@changing
def text(
    folder: Path, manifest: Manifest, name: str, old: str, new: str, *, count: int = 0
) -> None:
    """Replace a text of a file, wherever it stands."""
    before = (folder / name).read_bytes().decode()
    after = re.sub(old, new, before, count=count, flags=re.DOTALL)
    assert after != before
    (folder / name).write_bytes(after.encode())


@changing
def workbook(
    folder: Path, manifest: Manifest, old: str, new: str, part: str = "", *, count: int = 0
) -> None:
    """Replace a text of a workbook's parts."""
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


def parquet(edit: Callable[[pa.Table], pa.Table], name: str = "lines") -> Change:
    """Change the rows of a table's Parquet file."""

    def change(folder: Path, manifest: Manifest) -> None:
        path = folder / f"{name}.parquet"
        pq.write_table(edit(pq.read_table(path)), path)

    return change


@changing
def fact(folder: Path, manifest: Manifest, /, **facts: Any) -> None:
    """State something else in the manifest."""
    manifest |= facts


@changing
def no_fact(folder: Path, manifest: Manifest, name: str) -> None:
    del manifest[name]


@changing
def lost(folder: Path, manifest: Manifest, *names: str) -> None:
    """Remove files, or all of them, with their entries in the manifest."""
    for name in names or list(manifest["files"]):
        (folder / name).unlink()
        del manifest["files"][name]


MONTHS = ("2026-08", "2026-09", "2026-10")


def lake_of_another_service(
    folder: Path, patch: pytest.MonkeyPatch, ledger: str = LEDGER.replace(" 100 ", " 900 ")
) -> Closer:
    """Seal the same months of the same merchant, of what another service lists."""
    other = Closer(Desk.at(folder))
    other.serve(ledger)
    with patch.context() as elsewhere:
        elsewhere.setenv("SVC_STATE_DIR", str(folder.with_name("of the forger")))
        other.closed(*MONTHS)
    return other


def signed_by_hand(lake: Lakehouse, key: Path) -> None:
    """Sign all of a lake as `sign --all` does, and remember it, without the proofs."""
    for folder, manifest in newest_versions(lake):
        content = content_of(folder, manifest, manifest["seal"])
        put_signature(lake.storage, folder / "checkpoint.sig", content, key)
    sign_chain(lake, key)
    chain.remember(lake, is_signed=True)


def put_in_place(lake: Lakehouse, folder: Path) -> None:
    """Let another lake lie where one lies."""
    shutil.rmtree(lake.path)
    shutil.copytree(folder, lake.path)


def continue_chain(lake: Lakehouse, statements: Path) -> None:
    """Let the register and the chain of a lake begin with those of other statements."""
    own = [json.loads((each / "chain.json").read_text()) for each in (statements, places(lake))]
    entries = [entry for each in own for entry in each["checkpoints"]]
    (places(lake) / "seals.csv").unlink()
    for each in entries:
        register_seal(lake.storage, each, each["seal"])
    text = chain_text(lake.merchant_id, entries, own[0])
    (places(lake) / "chain.json").write_text(text, encoding="utf-8", newline="\n")


def make_chain_anew(lake: Lakehouse) -> None:
    """Let register and chain be those of the folders that are there, whatever was sealed."""
    for name in ("seals.csv", "chain.json", "chain.json.sig"):
        (places(lake) / name).unlink(missing_ok=True)
    for folder, _ in all_sealed(places(lake)):
        manifest = read_manifest(folder)
        register_seal(lake.storage, manifest, manifest["seal"])
    keep_chain(lake)


def places(lake: Lakehouse) -> Path:
    return lake.path / "statements"


def signatures(lake: Lakehouse) -> list[str]:
    """Every signature in a lake's statements."""
    found = places(lake).rglob("*.sig")
    return sorted(path.relative_to(places(lake)).as_posix() for path in found)


Contents = dict[str, bytes]


def kept(lake: Path) -> Contents:
    """Every file of a lake that nobody can make again, with the mark of a run that writes."""
    found = {}
    for path in lake.rglob("*"):
        name = path.relative_to(lake).as_posix()
        is_hidden = any(part.startswith(".") for part in name.split("/")) and name not in MARKS
        if path.is_file() and not is_hidden and name not in DERIVED:
            found[name] = path.read_bytes()
    return found


def back_up(lake: Path, target: Path) -> str:
    """Make a backup; return its name."""
    return backup(Lake(lake), target, progress=False).name


def restored(target: Path | str, folder: Path, at: str | None = None) -> Contents:
    """What a backup brings back into an empty folder, which is removed afterwards."""
    restore(target, folder, at=at, progress=False)
    found = kept(folder)
    shutil.rmtree(folder)
    return found
