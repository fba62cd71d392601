"""Verify a sealed statement against its seals and its lake; compare two statements."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from svc_analytics.arguments import check_path
from svc_analytics.closing import seals
from svc_analytics.closing.diff import compare, contradicting_tables, read_tables
from svc_analytics.closing.proof import prove
from svc_analytics.closing.register import read_register
from svc_analytics.config import read_data_dir
from svc_analytics.formatting.tables import to_frame
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.render.document import Reason

if TYPE_CHECKING:
    import pandas as pd


EXAMPLE = "data/statements/2026-10"
_NEXT = ": nothing was held against records; give its lake with --data-dir"


@dataclass(frozen=True)
class SealVerification:
    """The result of verifying a sealed statement; verifying changes nothing."""

    folder: Path
    seal: str | None
    broken: tuple[str, ...]  # what is wrong with its files, its manifest and its chain
    reasons: tuple[Reason, ...]  # why the month would not be final today
    table: pa.Table = field(repr=False)  # what the lake now gives differently
    unproven: tuple[str, ...] = ()  # what could not be held against anything

    @property
    def holds(self) -> bool:
        """Whether everything was proven, and nothing differs."""
        return not (self.broken or self.reasons or self.table.num_rows or self.unproven)

    @property
    def restatement(self) -> pd.DataFrame:
        """One row per figure or record that the lake now gives differently, with the cause."""
        return to_frame(self.table)


@dataclass(frozen=True)
class StatementDiff:
    """The differences between two statements."""

    old: seals.Manifest
    new: seals.Manifest
    table: pa.Table = field(repr=False)
    altered: tuple[str, ...] = ()  # what of the folders was changed since they were written

    @property
    def rows(self) -> pd.DataFrame:
        """One row per figure or record that differs, with the cause."""
        return to_frame(self.table)


def verify_statement(folder: str | os.PathLike[str], lake: Lake | None = None) -> SealVerification:
    """Hold a sealed statement against its seal, the seals before it, and its lake.

    Renders it again: every file and every fact must be what its tables and the lake give.
    By default the lake is the one that the folder lies in, else the one of the settings;
    without one, the folder is held against itself. Raises `LakeError` when the folder holds
    no statement, or when the lake cannot be read.
    """
    check_path("folder", folder, EXAMPLE)
    if lake is not None:
        check_lake(lake)
    path = Path(folder).absolute()
    manifest = seals.read_manifest(path)
    broken = seals.seal_violations(path, manifest)
    foreign = seals.foreign_files(path, manifest)
    broken += [f"{name} does not belong to the statement" for name in foreign]
    seal = manifest["seal"]
    if seal not in (None, seals.seal_of(manifest)):
        # The manifest was altered, so its period and options cannot be trusted either.
        return SealVerification(path, seal, tuple(broken), (), compare({}, {}))
    lake, doubts = _find_lake(path, manifest, lake)
    proof = prove(path, manifest, lake)
    reasons = proof.new.reasons if proof.new else ()
    unproven = (*doubts, *proof.unproven)
    return SealVerification(path, seal, (*broken, *proof.broken), reasons, proof.table, unproven)


def diff_statements(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> StatementDiff:
    """Compare two statements, figure by figure and row by row.

    Reads their CSV or Parquet, and says which files were altered. Differences between two
    different months have no cause.
    """
    check_path("a", a, EXAMPLE)
    check_path("b", b, EXAMPLE)
    folders = [Path(a).absolute(), Path(b).absolute()]
    old, new = manifests = list(map(seals.read_manifest, folders))
    differences = compare(*map(read_tables, folders, [manifest["files"] for manifest in manifests]))
    if (old["label"], old["zone"]) != (new["label"], new["zone"]):
        column = differences.schema.get_field_index("cause")
        no_cause = pa.nulls(len(differences), pa.string())
        differences = differences.set_column(column, "cause", no_cause)
    altered = [
        f"{folder}: {text}"
        for folder, manifest in zip(folders, manifests, strict=True)
        for text in _alterations(folder, manifest)
    ]
    return StatementDiff(old, new, differences, tuple(altered))


def _alterations(folder: Path, manifest: seals.Manifest) -> list[str]:
    """List what of a statement does not fit its hashes, its own tables or its lake's register."""
    texts = seals.alterations(folder, manifest)
    texts += contradicting_tables(folder, manifest["files"])
    if manifest["seal"] and _lake_around(folder):
        contradiction = read_register(folder.parent).contradicts(manifest)
        texts += [contradiction] if contradiction else []
    return texts


def _find_lake(
    folder: Path, manifest: seals.Manifest, lake: Lake | None
) -> tuple[Lake | None, tuple[str, ...]]:
    """Return the lake of a statement; where there is none, say what that leaves unproven."""
    if lake is not None:
        lake.require()
    lake = lake or _lake_around(folder) or Lake(read_data_dir())
    if not lake.exists:
        return None, (f"no lake in {lake.path}{_NEXT}",)
    if (sealed := manifest["merchant"].get("id")) != lake.merchant_id:
        text = f"it is of merchant {sealed}, and {lake.path} is the lake of {lake.merchant_id}"
        return None, (f"{text}{_NEXT}",)
    return lake, ()


def _lake_around(folder: Path) -> Lake | None:
    """Return the lake that a statement's folder lies in, if it lies in one."""
    around = folder.parent.parent
    return Lake(around) if (around / "lake.json").is_file() else None
