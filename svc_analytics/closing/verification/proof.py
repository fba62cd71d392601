"""Prove a sealed folder: every file and fact of it, against its tables, its lake and its chain.

Whoever changes a folder can compute hashes and a seal that fit, so nothing that the manifest
says of itself is believed.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from svc_analytics.closing import seals
from svc_analytics.closing.chain import broken_chain
from svc_analytics.closing.diff import (
    RESTATEMENT,
    Tables,
    as_texts,
    compare,
    contradicting_tables,
    read_tables,
)
from svc_analytics.closing.months import MONTH_SEALS, broken_months
from svc_analytics.closing.rederive import (
    differences,
    follows,
    read_until,
    rederive,
    restatement,
)
from svc_analytics.closing.register import FILE, Register, read_register
from svc_analytics.closing.verification.facts import (
    changed_profile,
    expected_facts,
    is_this_release,
    period_of,
    sealed_statement,
    wrong_facts,
)
from svc_analytics.closing.verification.forms import compare_forms
from svc_analytics.closing.verification.tables import sealed_tables
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.instants import format_instant, parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period
from svc_analytics.render.folder import TABLE_FORMATS, printed
from svc_analytics.statements.months import MONTHS
from svc_analytics.statements.statement import Statement
from svc_analytics.statements.tables import tables_of

_CHAIN = ("version", "supersedes", "previous_seal", MONTH_SEALS)  # facts of other statements
# What differs, with no record changed, by what was read or found since the sealing.
_SINCE = {"first_seen_at", "first_read_at", "last_read_at", "reading", "flags"}


@dataclass
class Proof:
    """What was found: what is broken, what could not be proven, what the lake gives now."""

    folder: Path
    manifest: seals.Manifest
    lake: Lake | None
    broken: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)
    new: Statement | None = None
    table: pa.Table = field(default_factory=lambda: compare({}, {}))
    register: Register = field(default_factory=Register)

    @property
    def is_known(self) -> bool:
        """Whether the lake made this seal: then nothing in the folder was altered."""
        return self.register.has(self.manifest["seal"])

    def doubt(self, *texts: str) -> None:
        """Note what could not be proven, unless the lake made the seal."""
        if not self.is_known:
            self.unproven += texts


def prove(folder: Path, manifest: seals.Manifest, lake: Lake | None) -> Proof:
    """Compare a sealed folder, whose hashes fit, with itself and its lake.

    Raises `LakeError` where the lake cannot be read.
    """
    proof = Proof(folder, manifest, lake)
    if manifest["seal"] is None:
        _derive(proof)
        _compare_files_with_lake(proof)
        return proof
    try:
        period = period_of(manifest)
    except ConfigError as error:
        proof.broken.append(f"the manifest cannot be right: {error}")
        return proof
    if lake:
        proof.register = read_register(lake.path / seals.STATEMENTS)
        proof.doubt(*changed_profile(manifest, lake.merchant))
        _derive(proof)
    _check_seals(proof, period)
    if is_this_release(manifest):
        _check_contents(proof, period)
    else:
        _check_tables(proof)
    return proof


def require_unaltered(lake: Lake, folder: Path, manifest: seals.Manifest) -> None:
    """Refuse to build upon a folder that was altered; a seal that the lake made needs no proof."""
    broken = seals.seal_violations(folder, manifest)
    if not broken and not read_register(lake.path / seals.STATEMENTS).has(manifest["seal"]):
        broken = prove(folder, manifest, lake).broken
    if broken:
        message = f"{folder} was altered after it was sealed ({broken[0]}): restore it from a copy"
        raise LakeError(message)


def _derive(proof: Proof) -> None:
    """Make the statement again, if the lake was read that far."""
    lake, manifest = proof.lake, proof.manifest
    if lake is None:
        return
    read_to = read_until(lake)
    if read_to is not None and read_to < parse_bound(manifest["as_of"]):
        until = format_instant(read_to)
        proof.unproven.append(
            f"as_of is {manifest['as_of']}, and {lake.place} was read only up to {until}: "
            "nothing was compared with its records; run svc-analytics extract"
        )
        return
    proof.new = rederive(lake, manifest)


def _check_seals(proof: Proof, period: Period) -> None:
    """Look for the seal in the lake's register, and for the seals that it is chained to."""
    manifest, folders = proof.manifest, [proof.folder]
    if proof.lake:
        folders.append(proof.lake.path / seals.STATEMENTS / proof.folder.name)
    _look_up(proof)
    proof.broken += broken_chain(manifest, period, folders, proof.register)
    if period.is_longer:
        files = manifest["files"].keys() - seals.broken_files(proof.folder, manifest)
        months = read_tables(proof.folder, files).get(MONTHS)
        proof.broken += broken_months(manifest, period, folders, proof.register, months)


def _look_up(proof: Proof) -> None:
    """Look for the seal in the lake's register."""
    manifest = proof.manifest
    if text := proof.register.contradicts(manifest):
        proof.broken.append(text)
    elif proof.register.rows or (proof.lake and proof.folder.is_relative_to(proof.lake.path)):
        name = f"{manifest['label']} version {manifest['version']}"
        proof.doubt(f"the lake's register of seals, {seals.STATEMENTS}/{FILE}, lacks {name}")


def _check_contents(proof: Proof, period: Period) -> None:
    """Compare every fact and every form with the tables, and the tables with the lake."""
    manifest = proof.manifest
    own = tables_of(period)
    names = [*own, RESTATEMENT] if manifest["version"] > 1 else [*own]
    altered = seals.broken_files(proof.folder, manifest).keys()
    tables = _tables(proof, names, manifest["files"].keys() - altered)
    proof.broken += _missing_tables(manifest, names)
    if lacking := [name for name in own if name not in tables]:
        text = f"{', '.join(lacking)} cannot be read without the lake"
        proof.doubt(f"{text}: nothing was compared with the tables")
        return
    sealed = sealed_statement(manifest, period, tables)
    facts = expected_facts(sealed, proof.new)
    proof.broken += wrong_facts(manifest, facts)
    facts |= {name: manifest.get(name) for name in _CHAIN if name in facts}
    found = compare_forms(sealed, manifest, printed(facts, is_sealed=True), proof.folder, altered)
    proof.broken += found.broken
    proof.doubt(*found.unproven)
    if RESTATEMENT in tables and not follows(tables[RESTATEMENT], proof.folder, manifest, sealed):
        proof.doubt(f"{RESTATEMENT} is not what follows from the version before")
    _compare_with_lake(proof, tables)


def _missing_tables(manifest: seals.Manifest, names: list[str]) -> list[str]:
    """Name the tables that have no file."""
    files = manifest["files"]
    return [
        f"the table {name} is missing"
        for name in names
        if not {f"{name}.{suffix}" for suffix in TABLE_FORMATS} & files.keys()
    ]


def _tables(proof: Proof, names: list[str], files: Collection[str]) -> Tables:
    """Return the tables that were sealed: the lake's, if it gives the same content."""
    folder, manifest, new = proof.folder, proof.manifest, proof.new
    known = {RESTATEMENT: compare({}, {})} | (new.tables if new else {})
    if new and new.content_digest() == manifest["content_digest"]:
        own = [name for name in names if name not in new.tables]
        return new.tables | sealed_tables(folder, manifest, own, files, known)
    return sealed_tables(folder, manifest, names, files, known)


def _compare_with_lake(proof: Proof, tables: Tables) -> None:
    """Say what the lake gives differently; with no record changed, nothing else may differ."""
    new, lake = proof.new, proof.lake
    if (
        new is None
        or lake is None
        or all(tables[name] is new.tables[name] for name in new.controls)
    ):
        return
    old, now = as_texts(tables), as_texts(new.tables)
    proof.table = differences(lake, old, new)
    if proof.table.num_rows == 0:
        for name in new.controls:
            columns = [column for column in old[name].column_names if column not in _SINCE]
            if columns and old[name].select(columns) != now[name].select(columns):
                proof.doubt(f"{name} is not what the lake gives now, though no figure differs")


def _check_tables(proof: Proof) -> None:
    """Compare the tables alone with the lake: another release wrote the forms."""
    folder, manifest = proof.folder, proof.manifest
    files = manifest["files"].keys() - seals.broken_files(folder, manifest)
    proof.broken += contradicting_tables(folder, files)
    sealed_by = manifest.get("tool_version")
    proof.doubt(f"svc-analytics {sealed_by} sealed it: only that can render its forms again")
    _compare_files_with_lake(proof)


def _compare_files_with_lake(proof: Proof) -> None:
    """Say what the lake gives differently from the tables in the folder's files."""
    if proof.lake and proof.new:
        proof.table = restatement(proof.lake, proof.folder, proof.manifest, proof.new)
