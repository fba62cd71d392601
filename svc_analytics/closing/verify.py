"""Verify a sealed statement: its files against the seals, its figures against the lake."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from svc_analytics.closing import seals
from svc_analytics.closing.diff import as_texts, compare, read_tables
from svc_analytics.config import read_data_dir
from svc_analytics.errors import LakeError
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period
from svc_analytics.render.document import Reason
from svc_analytics.statements.statement import Statement, statement
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import open_warehouse

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SealVerification:
    """The result of verifying a sealed statement; verifying changes nothing."""

    folder: Path
    seal: str | None
    broken: tuple[str, ...]  # what is wrong with its files, its manifest and its chain
    reasons: tuple[Reason, ...]  # why the month would not be final today
    table: pa.Table = field(repr=False)  # what the lake now gives differently

    @property
    def holds(self) -> bool:
        """Whether nothing differs."""
        return not (self.broken or self.reasons or self.table.num_rows)

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

    @property
    def rows(self) -> pd.DataFrame:
        """One row per figure or record that differs, with the cause."""
        return to_frame(self.table)


def verify_statement(folder: str | os.PathLike[str], lake: Lake | None = None) -> SealVerification:
    """Check a sealed statement against its seal, the seals before it, and its lake.

    By default the lake is the one that the folder lies in, else the one of the settings.
    Raises `LakeError` when the folder holds no statement, or when the lake cannot make
    the statement again.
    """
    path = Path(folder).absolute()
    manifest = seals.read_manifest(path)
    broken = seals.seal_violations(path, manifest)
    foreign = seals.foreign_files(path, manifest)
    broken += [f"{name} does not belong to the statement" for name in foreign]
    if manifest["seal"] not in (None, seals.seal_of(manifest)):
        # The manifest was altered, so its period and options cannot be trusted either.
        return SealVerification(path, manifest["seal"], tuple(broken), (), compare({}, {}))
    lake = lake or _lake_around(path) or Lake(read_data_dir())
    lake.require()
    if manifest["merchant"].get("id") != lake.merchant_id:
        message = f"{path} is a statement of another merchant than {lake.path}: give its lake"
        raise LakeError(message)
    new = rederive(lake, manifest)
    broken += broken_chain(path, manifest, lake, new.period)
    table = restatement(lake, path, manifest, new)
    return SealVerification(path, manifest["seal"], tuple(broken), new.reasons, table)


def diff_statements(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> StatementDiff:
    """Compare two statements, figure by figure and row by row.

    Reads their CSV or Parquet. Differences between two different months have no cause.
    """
    folders = [Path(a).absolute(), Path(b).absolute()]
    old, new = manifests = list(map(seals.read_manifest, folders))
    differences = compare(*map(read_tables, folders, [manifest["files"] for manifest in manifests]))
    if (old["label"], old["zone"]) != (new["label"], new["zone"]):
        column = differences.schema.get_field_index("cause")
        no_cause = pa.nulls(len(differences), pa.string())
        differences = differences.set_column(column, "cause", no_cause)
    return StatementDiff(old, new, differences)


def rederive(lake: Lake, manifest: seals.Manifest) -> Statement:
    """Make a statement again, with the period and options of its manifest."""
    return statement(
        lake,
        manifest["label"].split("@")[0],
        zone=manifest["zone"],
        calendar=manifest["calendar"],
        as_of=parse_bound(manifest["as_of"]),
        metadata=seals.chosen_metadata(manifest),
    )


def restatement(lake: Lake, folder: Path, manifest: seals.Manifest, new: Statement) -> pa.Table:
    """Return the differences of a new statement from the unaltered files of an old one.

    The tables `checks` and `reading` are not compared: they hold no figures, and the
    reasons of the new statement name what matters of them.
    """
    if new.content_digest() == manifest["content_digest"]:
        return compare({}, {})
    tables = as_texts(new.tables)
    for name in ("checks", "reading"):
        tables.pop(name, None)
    files = manifest["files"].keys() - seals.broken_files(folder, manifest)
    old = {name: table for name, table in read_tables(folder, files).items() if name in tables}
    return compare(old, tables, changed_ids(lake))


def changed_ids(lake: Lake) -> frozenset[str]:
    """Return the ids of the records of which the lake keeps an older version."""
    query = "select distinct record_id from stg_changes"
    with open_warehouse(lake, models_used_by(query)) as warehouse:
        return frozenset(warehouse.query(query)["record_id"].to_pylist())


def broken_chain(folder: Path, manifest: seals.Manifest, lake: Lake, period: Period) -> list[str]:
    """List the earlier seals that a manifest names and no statement has.

    Statements are looked for next to the folder and in the lake.
    """
    folders = (folder, lake.path / seals.STATEMENTS / folder.name)
    earlier = {
        "the statement of the month before": (manifest.get("previous_seal"), period.shift(-1)),
        "the version before it": (manifest.get("supersedes"), period),
    }
    return [
        f"{name}, with the seal {seal}, is missing"
        for name, (seal, month) in earlier.items()
        if seal and not any(seal in seals.seals_of(month, path).values() for path in folders)
    ]


def _lake_around(folder: Path) -> Lake | None:
    """Return the lake that a statement's folder lies in, if it lies in one."""
    around = folder.parent.parent
    return Lake(around) if (around / "lake.json").is_file() else None
