"""Does a sealed statement hold, and does the lake still yield it?"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from svc_analytics.closing.diff import as_texts, compare, read_tables
from svc_analytics.closing.seals import (
    STATEMENTS,
    Manifest,
    broken_files,
    chosen_metadata,
    foreign_files,
    read_manifest,
    seal_of,
    seal_violations,
    seals_beside,
)
from svc_analytics.config import read_data_dir
from svc_analytics.errors import LakeError
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period
from svc_analytics.statements.statement import Reason, Statement, statement
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import open_warehouse

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SealVerification:
    """What was found of a sealed statement. A value: nothing is changed by looking."""

    folder: Path
    seal: str | None
    broken: tuple[str, ...]  # of its files, its manifest and its chain
    reasons: tuple[Reason, ...]  # why the month would not be final today
    table: pa.Table = field(repr=False)  # what the lake yields otherwise

    @property
    def holds(self) -> bool:
        """Whether nothing differs."""
        return not (self.broken or self.reasons or self.table.num_rows)

    @property
    def restatement(self) -> pd.DataFrame:
        """One row per figure or record that the lake yields otherwise, with the cause."""
        return to_frame(self.table)


@dataclass(frozen=True)
class StatementDiff:
    """What differs between two statements."""

    old: Manifest
    new: Manifest
    table: pa.Table = field(repr=False)

    @property
    def rows(self) -> pd.DataFrame:
        """One row per figure or record that differs, with the cause."""
        return to_frame(self.table)


def verify_statement(folder: str | os.PathLike[str], lake: Lake | None = None) -> SealVerification:
    """Check a sealed statement against its seal, the seals before it, and its lake.

    Unless given, the lake is the one that holds the folder, else the one of the settings.
    Raises `LakeError` when the folder holds no statement, or when the lake cannot make
    it again.
    """
    place = Path(folder).absolute()
    manifest = read_manifest(place)
    broken = seal_violations(place, manifest)
    broken += [
        f"{name} does not belong to the statement" for name in foreign_files(place, manifest)
    ]
    if manifest["seal"] not in (None, seal_of(manifest)):
        # Its bounds and options are a forger's, perhaps: nothing can be derived from them.
        return SealVerification(place, manifest["seal"], tuple(broken), (), compare({}, {}))
    lake = lake or _lake_around(place) or Lake(read_data_dir())
    lake.require()
    if manifest["merchant"].get("id") != lake.merchant_id:
        raise LakeError(
            f"{place} is a statement of another merchant than {lake.path}: give its lake"
        )
    made = rederive(lake, manifest)
    broken += broken_chain(place, manifest, lake, made.period)
    table = restatement(lake, place, manifest, made)
    return SealVerification(place, manifest["seal"], tuple(broken), made.reasons, table)


def diff_statements(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> StatementDiff:
    """Compare two statements, figure by figure and row by row.

    Reads their CSV or Parquet. Differences between two different months have no cause.
    """
    folders = [Path(a).absolute(), Path(b).absolute()]
    old, new = map(read_manifest, folders)
    tables = [
        read_tables(folder, set(manifest["files"]))
        for folder, manifest in zip(folders, (old, new), strict=True)
    ]
    found = compare(*tables)
    if (old["label"], old["zone"]) != (new["label"], new["zone"]):
        place = found.schema.get_field_index("cause")
        found = found.set_column(place, "cause", pa.nulls(len(found), pa.string()))
    return StatementDiff(old, new, found)


def rederive(lake: Lake, manifest: Manifest) -> Statement:
    """Make a statement again with the bounds and options of its manifest."""
    month = manifest["label"].split("@")[0]
    zone, calendar = manifest["zone"], manifest["calendar"]
    return statement(
        lake,
        month,
        zone=zone,
        calendar=calendar,
        as_of=parse_bound(manifest["as_of"]),
        metadata=chosen_metadata(manifest),
    )


def restatement(lake: Lake, folder: Path, manifest: Manifest, made: Statement) -> pa.Table:
    """Return what a statement says otherwise than the unaltered files of an earlier one.

    Findings and the count of what was read are left out: they are no figures, and what
    of them matters stands among its reasons.
    """
    if made.content_digest() == manifest["content_digest"]:
        return compare({}, {})
    files = manifest["files"].keys() - broken_files(folder, manifest)
    new = as_texts(made.tables)
    old = {name: table for name, table in read_tables(folder, files).items() if name in new}
    for tables in (old, new):
        for name in ("checks", "reading"):
            tables.pop(name, None)
    return compare(old, new, changed_ids(lake))


def changed_ids(lake: Lake) -> frozenset[str]:
    """Return the records of which the lake keeps an older version."""
    query = "select distinct record_id from stg_changes"
    with open_warehouse(lake, models_used_by(query)) as warehouse:
        found = warehouse.query(query)
    return frozenset(found["record_id"].to_pylist())


def broken_chain(folder: Path, manifest: Manifest, lake: Lake, period: Period) -> list[str]:
    """Say which seal that a manifest names stands on no statement beside it or in the lake."""
    homes = (folder, lake.path / STATEMENTS / folder.name)
    named = {
        "the statement of the month before": (manifest.get("previous_seal"), period.shift(-1)),
        "the version before it": (manifest.get("supersedes"), period),
    }
    return [
        f"{what}, with the seal {seal}, is missing"
        for what, (seal, of) in named.items()
        if seal and not any(seal in seals_beside(home, of).values() for home in homes)
    ]


def _lake_around(folder: Path) -> Lake | None:
    """Return the lake that a statement's folder lies in, if it lies in one."""
    around = folder.parent.parent
    return Lake(around) if (around / "lake.json").is_file() else None
