"""Prove a sealed folder: every file and fact of it, against its tables, its lake and its chain.

Whoever changes a folder can compute hashes and a seal that fit, so nothing that the manifest
says of itself is believed.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from svc_analytics.closing import adjacent_periods, rederive, seals, table_diff
from svc_analytics.closing.adjacent_periods import MONTH_SEALS, Mismatch
from svc_analytics.closing.table_diff import NO_DIFFERENCES, Tables
from svc_analytics.closing.verification import contents
from svc_analytics.closing.verification.derived_forms import Sealed
from svc_analytics.closing.verification.forms import Findings, compare_forms, doubt
from svc_analytics.errors import ConfigError, LakeError, PeriodNotClosed, text_of
from svc_analytics.formatting.values import rows_of
from svc_analytics.instants import format_instant, parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period
from svc_analytics.proofs.checkpoint import tree_of
from svc_analytics.proofs.sealed_zones import has_known_offsets, has_other_rules
from svc_analytics.proofs.tree import read_secret
from svc_analytics.render.differences import RESTATEMENT
from svc_analytics.render.findings import rule_text
from svc_analytics.render.folder import MANIFEST, printed
from svc_analytics.statements.months import MONTHS
from svc_analytics.statements.statement import Statement
from svc_analytics.statements.tables import tables_of
from svc_analytics.warehouse.acknowledgements import without_later

CHECKS = "checks"
_WORDS = {"detail", "message", "note"}  # columns in the words of a release
_OF_RELEASE = {*_WORDS, "month"}  # of findings: releases tell their month differently
_NOT_STATED = "it does not state what this release does: {names}"
_OTHER_RELEASE = "svc-analytics {version} sealed it, another build"
_FEWER = "{table} has what the lake does not give: {FINDING}"
_MORE = "the lake now has what {table} does not: {FINDING}"
_CHAIN = ("version", "supersedes", "previous_seal", MONTH_SEALS)  # facts of other statements
# What differs, with no record changed, by what was read or found since the sealing.
_SINCE = {"first_seen_at", "first_read_at", "last_read_at", "checked_at", "reading", "flags"}


@dataclass(frozen=True)
class Proof:
    """The result of a proof: what was found, what the lake gives now, and what was sealed."""

    folder: Path
    manifest: seals.Manifest
    lake: Lake | None
    findings: Findings = field(default_factory=Findings)
    new: Statement | None = None
    table: pa.Table = field(default_factory=lambda: NO_DIFFERENCES)
    # Where it does not meet its neighbours: no fault of this folder alone.
    unmet: Sequence[Mismatch] = ()
    sealed: Sealed | None = None  # the statement that was sealed, if its tables can be read

    @property
    def is_own(self) -> bool:
        """Whether this release sealed it, with these words: then all of it can be made again."""
        return contents.is_this_release(self.manifest)

    @property
    def state(self) -> Literal["unchanged", "unproven"]:
        """What became of a month, as a close that finds the same figures tells it."""
        return "unproven" if self.findings.of_files else "unchanged"

    def adding(self, *more: Findings) -> "Proof":
        """Return it with further findings behind its own."""
        return replace(self, findings=Findings.joined([self.findings, *more]))


def prove_folder(folder: Path, manifest: seals.Manifest, lake: Lake | None) -> Proof:
    """Compare a sealed folder, whose hashes fit, with itself and its lake.

    The register proves in which order a lake sealed, and nothing of what is in a folder: it lies
    beside it.

    Raises `LakeError` where the lake cannot be read.
    """
    proof = Proof(folder, manifest, lake)
    if manifest["seal"] is None:
        proof = _stated_again(proof)
        if lake and proof.new:
            proof = replace(proof, table=rederive.restatement(lake, folder, manifest, proof.new))
        return proof
    try:
        period = contents.period_of(manifest)
    except ConfigError as error:
        return proof.adding(
            Findings([Message("seal.manifest_wrong", error=translated(text_of(error)))])
        )
    register = seals.Register()
    if lake:
        register = seals.read_register(lake.path / seals.STATEMENTS)
        profile = contents.changed_profile(manifest, lake)
        notes = rederive.balance_notes(lake, manifest, period)
        proof = _stated_again(proof.adding(Findings(unproven=profile, notes=notes)))
    proof = proof.adding(*_zone_rules(proof.new.period if proof.new else period))
    return _with_contents(_with_seals(proof, period, register), period)


def require_unaltered(
    lake: Lake, folder: Path, manifest: seals.Manifest, *, is_proven: bool = False
) -> Proof:
    """Refuse to build upon a folder that was altered; return what was found of it.

    Of a seal that was proven a moment ago nothing but the hashes is compared.
    """
    broken = seals.seal_violations(folder, manifest)
    proof = Proof(folder, manifest, lake)
    if not (broken or is_proven):
        proof = prove_folder(folder, manifest, lake)
        broken = proof.findings.broken
    if broken:
        raise LakeError(Message("seal.was_altered", folder=folder, fault=translated(broken[0])))
    return proof


def require_same(proof: Proof) -> None:
    """Refuse a month that the lake would state otherwise today than it was sealed."""
    if proof.table.num_rows and proof.new:
        label = proof.manifest["label"]
        command = adjacent_periods.command_to_close(proof.new.period)
        raise PeriodNotClosed(Message("seal.restate_first", label=label, command=command))


def _stated_again(proof: Proof) -> Proof:
    """Make the statement again, if the lake was read that far."""
    lake, manifest = proof.lake, proof.manifest
    if lake is None:
        return proof
    read_to = rederive.read_until(lake)
    if read_to is not None and read_to < parse_bound(manifest["as_of"]):
        values = {"as_of": manifest["as_of"], "until": format_instant(read_to)}
        return proof.adding(doubt(Message("seal.read_less", place=lake.place, **values)))
    return replace(proof, new=rederive.rederive(lake, manifest, proof.folder))


def _zone_rules(period: Period) -> Iterator[Findings]:
    """Say where a seal keeps other rules of its zone than this machine has."""
    if not has_other_rules(period):
        return
    if has_known_offsets(period):
        yield Findings(notes=[Message("seal.other_rules", zone=period.zone)])
    else:
        yield Findings(unproven=[Message("seal.unknown_rules", zone=period.zone)])


def _with_seals(proof: Proof, period: Period, register: seals.Register) -> Proof:
    """Look for the seal in the lake's register, and for the seals that it is chained to."""
    manifest, folders = proof.manifest, [proof.folder]
    if proof.lake:
        folders.append(proof.lake.path / seals.STATEMENTS / proof.folder.name)
    proof = proof.adding(
        *_registered(proof, register),
        *_tree(proof, register),
        Findings(seals.broken_chain(manifest, period, folders, register)),
    )
    try:
        proof = replace(proof, unmet=_unmet(proof, period, folders))
        if period.is_longer:
            files = manifest["files"].keys() - seals.broken_files(proof.folder, manifest)
            months = table_diff.read_tables(proof.folder, files).get(MONTHS)
            proof = proof.adding(
                Findings(
                    adjacent_periods.broken_months(manifest, period, folders, register, months)
                )
            )
    except LakeError as error:  # of a file that fits its hash, and is no table
        proof = proof.adding(doubt(Message("seal.not_beside", error=translated(text_of(error)))))
    return proof


def _unmet(proof: Proof, period: Period, folders: list[Path]) -> Sequence[Mismatch]:
    """Compare the newest version of a period with the periods before and after it."""
    manifest = proof.manifest
    newest = adjacent_periods.newest_sealed(period, folders, manifest["merchant"].get("id"))
    if newest is None or newest[1]["version"] != manifest["version"]:
        return ()
    now = adjacent_periods.ends_of(proof.new) if proof.new else None
    return adjacent_periods.unmet_neighbours((proof.folder, manifest), folders, proof.lake, now)


def _registered(proof: Proof, register: seals.Register) -> Iterator[Findings]:
    """Look for the seal in the lake's register."""
    manifest = proof.manifest
    if text := register.contradicts(manifest):
        yield Findings([text])
        return
    is_owed = register.rows or (proof.lake and proof.folder.is_relative_to(proof.lake.path))
    if is_owed and (text := register.lacks(manifest)):
        yield Findings(unproven=[text])


def _tree(proof: Proof, register: seals.Register) -> Iterator[Findings]:
    """Make the tree of the lines again, with the secret of the lake that sealed them."""
    manifest, lake = proof.manifest, proof.lake
    secret = read_secret(lake.path) if lake and register.has(manifest["seal"]) else None
    if secret is None or "tree" not in manifest:
        return
    try:
        is_same = tree_of(proof.folder, manifest, secret) == manifest["tree"]
    except (LakeError, OSError):  # no lines: the tables are missed elsewhere
        is_same = False
    if not is_same:
        yield Findings(unproven=[Message("seal.other_tree")])


def _with_contents(proof: Proof, period: Period) -> Proof:
    """Compare every fact and every form with the tables, and the tables with the lake."""
    manifest = proof.manifest
    names = contents.table_names(manifest, tables_of(period), is_own=proof.is_own)
    altered = seals.broken_files(proof.folder, manifest).keys()
    tables = _tables(proof, names, manifest["files"].keys() - altered)
    proof = proof.adding(Findings(contents.missing_tables(manifest, names)))
    if lacking := [name for name in names if name not in tables]:
        text = Message("seal.tables_unread", names=", ".join(lacking))
        return proof.adding(Findings(unproven=[text]))
    if proof.new:
        proof = proof.adding(*_shape(proof, tables, proof.new))
    statement = contents.sealed_statement(manifest, period, tables)
    expected = contents.expected_facts(statement, proof.new if _is_given(proof, tables) else None)
    wrong = contents.wrong_facts(manifest, expected, is_own=proof.is_own)
    proof = proof.adding(Findings(wrong))
    if not (wrong or proof.is_own) and contents.has_other_words(manifest, expected):
        proof = proof.adding(_other_texts(proof, [MANIFEST]))
    proof = _with_forms(proof, statement, expected, altered)
    if RESTATEMENT in tables and not rederive.follows(
        tables[RESTATEMENT], proof.folder, manifest, statement
    ):
        text = Message("seal.other_restatement", name=RESTATEMENT)
        proof = proof.adding(Findings(unproven=[text]))
    return _compared_with_lake(proof, tables)


def _tables(proof: Proof, names: Collection[str], files: Collection[str]) -> Tables:
    """Return the tables that were sealed: the lake's, if it gives the same content."""
    folder, manifest, new = proof.folder, proof.manifest, proof.new
    known = {RESTATEMENT: NO_DIFFERENCES} | (new.tables if new else {})
    if new and new.content_digest() == manifest["content_digest"]:
        own = [name for name in names if name not in new.tables]
        return new.tables | contents.sealed_tables(folder, manifest, own, files, known)
    return contents.sealed_tables(folder, manifest, names, files, known)


def _shape(proof: Proof, tables: Tables, new: Statement) -> Iterator[Findings]:
    """Say which tables, columns and figures are not those that the lake's statement has."""
    sealed = {name: table for name, table in tables.items() if name != RESTATEMENT}
    lacking = table_diff.no_longer_stated(sealed, new.tables)
    gone = [Message("seal.not_stated", name=name) for name in lacking]
    more = table_diff.no_longer_stated(new.tables, sealed)
    months = table_diff.months_left_out(sealed, new.tables)
    if proof.is_own:  # no month is left out of this release, unless older records were read since
        gone += [Message("seal.lacks_month", name=months[0])] if months else []
        lacks = [Message("seal.lacks", names=", ".join(more))] if more else []
        yield Findings(lacks, unproven=gone)
    else:
        stated = [*months[:1], *([", ".join(more)] if more else [])]
        notes = [Message(_NOT_STATED, names=names) for names in stated]
        yield Findings(not_compared=gone, notes=notes)


def _with_forms(
    proof: Proof, sealed: Statement, expected: dict[str, Any], altered: Collection[str]
) -> Proof:
    """Compare each file with the same made again; say if it was another build that sealed it."""
    manifest = proof.manifest
    facts = expected | {name: manifest.get(name) for name in _CHAIN if name in expected}
    facts = printed(facts if proof.is_own else manifest, is_sealed=True)
    forms = compare_forms(sealed, manifest, facts, proof.folder, altered, is_own=proof.is_own)
    is_proven = not (forms.unproven or forms.not_compared)
    whole = Sealed(proof.folder, manifest, sealed, facts, is_proven)
    version = Message(_OTHER_RELEASE, version=contents.version_of(manifest))
    release = Findings(notes=[] if proof.is_own else [version])
    return replace(proof.adding(forms, release), sealed=whole)


def _is_given(proof: Proof, tables: Tables) -> bool:
    """Whether the lake gives the very tables that were sealed, as far as these go."""
    new = proof.new
    if new is None:
        return False
    old, now = table_diff.comparable(tables, new.tables)
    return all(old[name] is tables[name] and old[name].equals(now[name]) for name in now)


def _compared_with_lake(proof: Proof, tables: Tables) -> Proof:
    """Compare the tables with the lake's; with no record changed, nothing else may differ."""
    new, lake = proof.new, proof.lake
    if new is None or lake is None or _is_given(proof, tables):
        return proof
    texts = table_diff.as_texts(tables)
    table = rederive.differences(lake, texts, new)
    if table.num_rows:
        return replace(proof, table=table)
    both = table_diff.comparable(texts, table_diff.as_texts(new.tables))
    verdicts = rederive.verdict_notes(*both)
    old, now = map(rederive.without_verdicts, both)
    names = [name for name in sorted(old.keys() - {CHECKS}) if _differs(name, old, now)]
    reworded = {name for name in names if not proof.is_own and not _differs(name, old, now, _WORDS)}
    other = [Message("seal.other_table", name=name) for name in names if name not in reworded]
    proof = proof.adding(
        Findings(notes=verdicts, verdicts=verdicts),
        doubt(*rederive.lost_verdicts(*both)),
        Findings(unproven=other),
    )
    if findings := without_later(old[CHECKS], now[CHECKS]) if CHECKS in old else ():
        proof = proof.adding(*_other_findings(*findings, is_own=proof.is_own))
        reworded |= {CHECKS} if _are_reworded(*findings, is_own=proof.is_own) else set()
    return proof.adding(_other_texts(proof, sorted(reworded))) if reworded else proof


def _other_texts(proof: Proof, names: list[str]) -> Findings:
    """Say whose sentences were not compared, since another release words them."""
    values = {"version": contents.version_of(proof.manifest), "names": ", ".join(names)}
    return Findings(not_compared=[Message("seal.other_texts", **values)])


def _differs(
    name: str, sealed: Tables, now: Tables, without: Collection[str] = frozenset()
) -> bool:
    """Whether a table is another than the lake's, but for columns of what was found since."""
    left_out = {*_SINCE, *without}
    columns = [column for column in sealed[name].column_names if column not in left_out]
    return bool(sealed[name].select(columns) != now[name].select(columns)) if columns else False


def _other_findings(sealed: pa.Table, now: pa.Table, *, is_own: bool) -> Iterator[Findings]:
    """Tell findings that the lake does not give, and those that it gives now.

    Later records and newer rules bring findings of a sealed month to light: these are notes.
    """
    columns = _columns_of_findings(sealed, is_own=is_own)
    old, new = (_counted(table, columns) for table in (sealed, now))
    place = columns.index("check_name")
    for name, count in sorted(Counter(row[place] for row in (old - new).elements()).items()):
        text = Message(_FEWER, finding=translated(rule_text(name, count)), table=CHECKS)
        yield Findings(notes=[text]) if name == rederive.FINDING else doubt(text)
    for name, count in sorted(Counter(row[place] for row in (new - old).elements()).items()):
        text = Message(_MORE, finding=translated(rule_text(name, count)), table=CHECKS)
        yield Findings(notes=[text])


def _are_reworded(sealed: pa.Table, now: pa.Table, *, is_own: bool) -> bool:
    """Whether another release worded some of the findings that the lake gives."""
    lacking = [
        (_counted(sealed, columns) - _counted(now, columns)).total()
        for columns in (
            _columns_of_findings(sealed, is_own=True),
            _columns_of_findings(sealed, is_own=is_own),
        )
    ]
    return lacking[0] > lacking[1]


def _columns_of_findings(sealed: pa.Table, *, is_own: bool) -> list[str]:
    left_out = {"severity"} if is_own else {"severity", *_OF_RELEASE}
    return [name for name in sealed.column_names if name not in left_out]


def _counted(table: pa.Table, columns: list[str]) -> Counter[tuple[Any, ...]]:
    return Counter(map(tuple, rows_of(table.select(columns))))
