"""Prove a sealed folder: every file and fact of it, against its tables, its lake and its chain.

Whoever changes a folder can compute hashes and a seal that fit, so nothing that the manifest
says of itself is believed.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from svc_analytics.closing import seals
from svc_analytics.closing.balances import balance_notes
from svc_analytics.closing.neighbours import (
    MONTH_SEALS,
    Mismatch,
    broken_months,
    command_to_close,
    ends_of,
    newest_sealed,
    unmet_neighbours,
)
from svc_analytics.closing.restatement.diff import (
    NO_DIFFERENCES,
    Tables,
    as_texts,
    comparable,
    months_left_out,
    no_longer_stated,
    read_tables,
)
from svc_analytics.closing.restatement.rederive import (
    FINDING,
    differences,
    follows,
    lost_verdicts,
    read_until,
    rederive,
    restatement,
    verdict_notes,
    without_verdicts,
)
from svc_analytics.closing.seals import FILE, Register, broken_chain, read_register
from svc_analytics.closing.verification.derived_forms import Sealed
from svc_analytics.closing.verification.facts import (
    changed_profile,
    expected_facts,
    has_other_words,
    is_this_release,
    period_of,
    sealed_statement,
    version_of,
    wrong_facts,
)
from svc_analytics.closing.verification.forms import compare_forms
from svc_analytics.closing.verification.tables import (
    missing_tables,
    sealed_tables,
    table_names,
)
from svc_analytics.errors import ConfigError, LakeError, PeriodNotClosed, text_of
from svc_analytics.formatting.values import rows_of
from svc_analytics.instants import format_instant, parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period
from svc_analytics.proofs.checkpoint import tree_of
from svc_analytics.proofs.lines import read_secret
from svc_analytics.proofs.sealed_zones import has_known_offsets, has_other_rules
from svc_analytics.render.folder import MANIFEST, printed
from svc_analytics.render.tables import RESTATEMENT
from svc_analytics.statements.months import MONTHS
from svc_analytics.statements.statement import Statement
from svc_analytics.statements.tables import tables_of
from svc_analytics.warehouse.acknowledgements import without_later

CHECKS = "checks"
_WORDS = {"detail", "message", "note"}  # columns in the words of a release
_OF_RELEASE = {*_WORDS, "month"}  # of findings: releases tell their month differently
_NOT_STATED = "it does not state what this release does: {names}"
_OTHER_RELEASE = "svc-analytics {version} sealed it, another release"
_FEWER = "{table} has {count} of {name} that the lake does not give"
_MORE = "the lake now has {count} more of {name} than {table}"
_CHAIN = ("version", "supersedes", "previous_seal", MONTH_SEALS)  # facts of other statements
# What differs, with no record changed, by what was read or found since the sealing.
_SINCE = {"first_seen_at", "first_read_at", "last_read_at", "checked_at", "reading", "flags"}


@dataclass
class Proof:
    """The result of a proof: what is broken, what is not proven, what the lake gives now."""

    folder: Path
    manifest: seals.Manifest
    lake: Lake | None
    broken: list[Message] = field(default_factory=list)
    unproven: list[Message] = field(default_factory=list)
    doubts: list[Message] = field(default_factory=list)  # unproven too, and no file's fault
    not_compared: list[Message] = field(default_factory=list)  # what another release made
    notes: list[Message] = field(default_factory=list)
    new: Statement | None = None
    table: pa.Table = field(default_factory=lambda: NO_DIFFERENCES)
    register: Register = field(default_factory=Register)
    # Where it does not meet its neighbours: no fault of this folder alone.
    unmet: list[Mismatch] = field(default_factory=list)
    sealed: Sealed | None = None  # the statement that was sealed, if its tables can be read
    verdicts: list[Message] = field(default_factory=list)  # what its receipts brought to light

    @property
    def is_own(self) -> bool:
        """Whether this release sealed it, with these words: then all of it can be made again."""
        return is_this_release(self.manifest)

    @property
    def unproven_files(self) -> list[Message]:
        """What of the folder is not as it is made again: a file, or a fact of its manifest."""
        return [text for text in self.unproven if text not in self.doubts]

    @property
    def faults(self) -> list[Message]:
        """All for which a folder is not signed and not packed: no file may be merely believed.

        What the lake would state otherwise today is no fault: `table` has it.
        """
        return [*self.broken, *self.unproven_files, *self.not_compared]

    @property
    def state(self) -> Literal["unchanged", "unproven"]:
        """What became of a month, as a close that finds the same figures tells it."""
        return "unproven" if self.unproven_files else "unchanged"

    @property
    def left_out(self) -> list[Message]:
        """Notes of what was not compared, because another release made it."""
        return [Message("seal.left_out", text=text) for text in self.not_compared]

    def doubt(self, *texts: Message) -> None:
        """Add what cannot be told of a folder because of the lake, or of what lies beside it."""
        self.unproven += texts
        self.doubts += texts


def prove(folder: Path, manifest: seals.Manifest, lake: Lake | None) -> Proof:
    """Compare a sealed folder, whose hashes fit, with itself and its lake.

    The register proves in which order a lake sealed, and nothing of what is in a folder: it lies
    beside it.

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
        proof.broken.append(Message("seal.manifest_wrong", error=translated(text_of(error))))
        return proof
    if lake:
        proof.register = read_register(lake.path / seals.STATEMENTS)
        proof.unproven += changed_profile(manifest, lake)
        proof.notes += balance_notes(lake, manifest, period)
        _derive(proof)
    _check_zone(proof, proof.new.period if proof.new else period)
    _check_seals(proof, period)
    _check_contents(proof, period)
    return proof


def require_unaltered(
    lake: Lake, folder: Path, manifest: seals.Manifest, *, is_proven: bool = False
) -> Proof:
    """Refuse to build upon a folder that was altered; return what was found of it.

    Of a seal that was proven a moment ago nothing but the hashes is compared.
    """
    broken = seals.seal_violations(folder, manifest)
    proof = Proof(folder, manifest, lake)
    if not (broken or is_proven):
        proof = prove(folder, manifest, lake)
        broken = proof.broken
    if broken:
        raise LakeError(Message("seal.was_altered", folder=folder, fault=broken[0]))
    return proof


def require_same(proof: Proof) -> None:
    """Refuse a month that the lake would state otherwise today than it was sealed."""
    if proof.table.num_rows and proof.new:
        label, command = proof.manifest["label"], command_to_close(proof.new.period)
        raise PeriodNotClosed(Message("seal.restate_first", label=label, command=command))


def _derive(proof: Proof) -> None:
    """Make the statement again, if the lake was read that far."""
    lake, manifest = proof.lake, proof.manifest
    if lake is None:
        return
    read_to = read_until(lake)
    if read_to is not None and read_to < parse_bound(manifest["as_of"]):
        values = {"as_of": manifest["as_of"], "until": format_instant(read_to)}
        proof.doubt(Message("seal.read_less", place=lake.place, **values))
        return
    proof.new = rederive(lake, manifest, proof.folder)


def _check_zone(proof: Proof, period: Period) -> None:
    """Say where a seal keeps other rules of its zone than this machine has."""
    if has_other_rules(period):
        is_known = has_known_offsets(period)
        text = Message("seal.other_rules" if is_known else "seal.unknown_rules", zone=period.zone)
        (proof.notes if is_known else proof.unproven).append(text)


def _check_seals(proof: Proof, period: Period) -> None:
    """Look for the seal in the lake's register, and for the seals that it is chained to."""
    manifest, folders = proof.manifest, [proof.folder]
    if proof.lake:
        folders.append(proof.lake.path / seals.STATEMENTS / proof.folder.name)
    _look_up(proof)
    _check_tree(proof)
    proof.broken += broken_chain(manifest, period, folders, proof.register)
    try:
        _check_periods(proof, period, folders)
    except LakeError as error:  # of a file that fits its hash, and is no table
        proof.doubt(Message("seal.not_beside", error=translated(text_of(error))))


def _check_periods(proof: Proof, period: Period, folders: list[Path]) -> None:
    """Compare it with the periods before and after it, and a longer one with its months."""
    manifest = proof.manifest
    newest = newest_sealed(period, folders, manifest["merchant"].get("id"))
    if newest and newest[1]["version"] == manifest["version"]:
        now = ends_of(proof.new) if proof.new else None
        proof.unmet = unmet_neighbours((proof.folder, manifest), folders, proof.lake, now)
    if period.is_longer:
        files = manifest["files"].keys() - seals.broken_files(proof.folder, manifest)
        months = read_tables(proof.folder, files).get(MONTHS)
        proof.broken += broken_months(manifest, period, folders, proof.register, months)


def _look_up(proof: Proof) -> None:
    """Look for the seal in the lake's register."""
    manifest = proof.manifest
    if text := proof.register.contradicts(manifest):
        proof.broken.append(text)
        return
    is_owed = proof.register.rows or (proof.lake and proof.folder.is_relative_to(proof.lake.path))
    if is_owed and not proof.register.has(manifest["seal"]):
        values = {name: manifest[name] for name in ("label", "version")}
        file = f"{seals.STATEMENTS}/{FILE}"
        proof.unproven.append(Message("seal.not_registered", file=file, **values))


def _check_tree(proof: Proof) -> None:
    """Make the tree of the lines again, with the secret of the lake that sealed them."""
    manifest, lake = proof.manifest, proof.lake
    secret = read_secret(lake.path) if lake and proof.register.has(manifest["seal"]) else None
    if secret is None or "tree" not in manifest:
        return
    try:
        is_same = tree_of(proof.folder, manifest, secret) == manifest["tree"]
    except (LakeError, OSError):  # no lines: the tables are missed elsewhere
        is_same = False
    if not is_same:
        proof.unproven.append(Message("seal.other_tree"))


def _check_contents(proof: Proof, period: Period) -> None:
    """Compare every fact and every form with the tables, and the tables with the lake."""
    manifest, own = proof.manifest, tables_of(period)
    names = table_names(manifest, own, is_own=proof.is_own)
    altered = seals.broken_files(proof.folder, manifest).keys()
    tables = _tables(proof, names, manifest["files"].keys() - altered)
    proof.broken += missing_tables(manifest, names)
    if lacking := [name for name in names if name not in tables]:
        proof.unproven.append(Message("seal.tables_unread", names=", ".join(lacking)))
        return
    if proof.new:
        _check_shape(proof, tables, proof.new)
    sealed = sealed_statement(manifest, period, tables)
    expected = expected_facts(sealed, proof.new if _is_given(proof, tables) else None)
    wrong = wrong_facts(manifest, expected, is_own=proof.is_own)
    proof.broken += wrong
    if not (wrong or proof.is_own) and has_other_words(manifest, expected):
        _leave_out_texts(proof, [MANIFEST])
    _check_forms(proof, sealed, expected, altered)
    if RESTATEMENT in tables and not follows(tables[RESTATEMENT], proof.folder, manifest, sealed):
        proof.unproven.append(Message("seal.other_restatement", name=RESTATEMENT))
    _compare_with_lake(proof, tables)


def _tables(proof: Proof, names: Collection[str], files: Collection[str]) -> Tables:
    """Return the tables that were sealed: the lake's, if it gives the same content."""
    folder, manifest, new = proof.folder, proof.manifest, proof.new
    known = {RESTATEMENT: NO_DIFFERENCES} | (new.tables if new else {})
    if new and new.content_digest() == manifest["content_digest"]:
        own = [name for name in names if name not in new.tables]
        return new.tables | sealed_tables(folder, manifest, own, files, known)
    return sealed_tables(folder, manifest, names, files, known)


def _check_shape(proof: Proof, tables: Tables, new: Statement) -> None:
    """Say which tables, columns and figures are not those that the lake's statement has."""
    sealed = {name: table for name, table in tables.items() if name != RESTATEMENT}
    for name in no_longer_stated(sealed, new.tables):
        (proof.unproven if proof.is_own else proof.not_compared).append(
            Message("seal.not_stated", name=name)
        )
    more = no_longer_stated(new.tables, sealed)
    months = months_left_out(sealed, new.tables)
    if months and proof.is_own:  # none of this release, unless older records were read since
        proof.unproven.append(Message("seal.lacks_month", name=months[0]))
    elif months:
        proof.notes.append(Message(_NOT_STATED, names=months[0]))
    if more and proof.is_own:
        proof.broken.append(Message("seal.lacks", names=", ".join(more)))
    elif more:
        proof.notes.append(Message(_NOT_STATED, names=", ".join(more)))


def _check_forms(
    proof: Proof, sealed: Statement, expected: dict[str, Any], altered: Collection[str]
) -> None:
    """Compare each file with the same made again; say if it was another release that sealed it."""
    manifest = proof.manifest
    facts = expected | {name: manifest.get(name) for name in _CHAIN if name in expected}
    facts = printed(facts if proof.is_own else manifest, is_sealed=True)
    forms = compare_forms(sealed, manifest, facts, proof.folder, altered, is_own=proof.is_own)
    is_proven = not (forms.unproven or forms.not_compared)
    proof.sealed = Sealed(proof.folder, manifest, sealed, facts, is_proven)
    proof.broken += forms.broken
    proof.unproven += forms.unproven
    proof.not_compared += forms.not_compared
    proof.notes += forms.notes
    if not proof.is_own:
        proof.notes.append(Message(_OTHER_RELEASE, version=version_of(manifest)))


def _is_given(proof: Proof, tables: Tables) -> bool:
    """Whether the lake gives the very tables that were sealed, as far as these go."""
    new = proof.new
    if new is None:
        return False
    old, now = comparable(tables, new.tables)
    return all(old[name] is tables[name] and old[name].equals(now[name]) for name in now)


def _compare_with_lake(proof: Proof, tables: Tables) -> None:
    """Compare the tables with the lake's; with no record changed, nothing else may differ."""
    new, lake = proof.new, proof.lake
    if new is None or lake is None or _is_given(proof, tables):
        return
    texts = as_texts(tables)
    proof.table = differences(lake, texts, new)
    if proof.table.num_rows:
        return
    both = comparable(texts, as_texts(new.tables))
    proof.verdicts, lost = verdict_notes(*both), lost_verdicts(*both)
    proof.notes += proof.verdicts
    proof.doubt(*lost)
    old, now = map(without_verdicts, both)
    findings = without_later(old[CHECKS], now[CHECKS]) if CHECKS in old else ()
    reworded = [name for name in old.keys() - {CHECKS} if _is_reworded(proof, name, old, now)]
    if findings and _compare_findings(proof, *findings):
        reworded.append(CHECKS)
    if reworded:
        _leave_out_texts(proof, sorted(reworded))


def _leave_out_texts(proof: Proof, names: list[str]) -> None:
    """Say whose sentences were not compared, since another release words them."""
    values = {"version": version_of(proof.manifest), "names": ", ".join(names)}
    proof.not_compared.append(Message("seal.other_texts", **values))


def _is_reworded(proof: Proof, name: str, sealed: Tables, now: Tables) -> bool:
    """Compare a table with the lake's; tell whether it is the same but in another release's words.

    A table that is not the same is not proven.
    """
    columns = [column for column in sealed[name].column_names if column not in _SINCE]
    old, new = (tables[name].select(columns) for tables in (sealed, now))
    if not columns or old == new:
        return False
    words = [] if proof.is_own else [column for column in columns if column in _WORDS]
    is_reworded = bool(old.drop_columns(words) == new.drop_columns(words))
    if not is_reworded:
        proof.unproven.append(Message("seal.other_table", name=name))
    return is_reworded


def _compare_findings(proof: Proof, sealed: pa.Table, now: pa.Table) -> bool:
    """Tell findings that the lake does not give, and those that it gives now.

    Later records and newer rules bring findings of a sealed month to light: these are notes.
    Returns whether another release worded some of those that it gives otherwise.
    """
    columns = [name for name in sealed.column_names if name != "severity"]
    bare = columns if proof.is_own else [name for name in columns if name not in _OF_RELEASE]
    old, new = (Counter(map(tuple, rows_of(each.select(bare)))) for each in (sealed, now))
    place = bare.index("check_name")
    for name, count in sorted(Counter(row[place] for row in (old - new).elements()).items()):
        text = Message(_FEWER, count=count, name=name, table=CHECKS)
        (proof.notes.append if name == FINDING else proof.doubt)(text)
    for name, count in sorted(Counter(row[place] for row in (new - old).elements()).items()):
        proof.notes.append(Message(_MORE, count=count, name=name, table=CHECKS))
    was, gives = (Counter(map(tuple, rows_of(each.select(columns)))) for each in (sealed, now))
    return bool((was - gives).total() > (old - new).total())


def _compare_files_with_lake(proof: Proof) -> None:
    """Compare the tables in the folder's files with the lake's."""
    if proof.lake and proof.new:
        proof.table = restatement(proof.lake, proof.folder, proof.manifest, proof.new)
