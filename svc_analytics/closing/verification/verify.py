"""Verify a sealed statement against its seals and its lake."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from svc_analytics.arguments import check_path
from svc_analytics.closing import seals
from svc_analytics.closing.restatement.diff import NO_DIFFERENCES
from svc_analytics.closing.sealing import chain_faults
from svc_analytics.closing.seals import lake_around
from svc_analytics.closing.verification.derived_forms import compare_derived
from svc_analytics.closing.verification.forms import Findings
from svc_analytics.closing.verification.proof import prove
from svc_analytics.closing.verification.zip_file import beside, unpacked
from svc_analytics.config import read_data_dir
from svc_analytics.formatting.tables import to_frame
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.messages import Message, translated
from svc_analytics.proofs.statuses import (
    FAILED,
    HELD,
    NOT_COMPARED,
    UNCHECKED,
    Status,
    Trust,
    signed_by,
    statuses_of,
)
from svc_analytics.proofs.verify import listed, unsealed
from svc_analytics.render.document import Reason
from svc_analytics.storage import statement_folder

if TYPE_CHECKING:
    import pandas as pd

_NEVER_SEALED = Message("seal.never")
_ANY = (True, False)  # whether it is known where a month does not meet the next
_NOT_SEALED = tuple(
    Status(name, UNCHECKED, _NEVER_SEALED) for name in ("sealed", "signed", "stamped", "proven")
)


@dataclass(frozen=True)
class SealVerification:
    """The result of verifying a sealed statement; verifying changes nothing.

    `holds` is the answer. `broken` lists what is wrong with the files, the manifest and the
    chain of seals, and where it does not meet the months before and after it; `reasons` why
    the month would not be final today, `unproven` what could not be proven, `not_compared` what
    another release made and this one cannot make again, `notes` what is worth knowing though
    nothing is wrong. `signed_by` names the key that signed it, of those that were named as trusted.
    `statuses` says whether it is sealed, signed, stamped and proven, each `held`, `FAILED`,
    `not checked` or `not compared`, and why.

    Examples:
        >>> svc.verify_statement("data/statements/2026-10").holds  # doctest: +SKIP
        True
    """

    folder: Path
    seal: str | None
    broken: tuple[Message, ...]  # what is wrong with its files, its manifest and its chain
    reasons: tuple[Reason, ...]  # why the month would not be final today
    table: pa.Table = field(repr=False)  # what the lake now gives differently
    unproven: tuple[Message, ...] = ()  # what could not be compared with anything
    notes: tuple[Message, ...] = ()  # worth knowing, though nothing is wrong
    statuses: tuple[Status, ...] = ()
    not_compared: tuple[Message, ...] = ()  # what another release made
    signed_by: str | None = None  # the person and the key, if it is one that is trusted

    @property
    def holds(self) -> bool:
        """Whether everything was proven, and nothing differs.

        What another release made, and nobody can make again, must be signed by a trusted key.
        """
        is_open = bool(self.not_compared) and self.signed_by is None
        return not (self.broken or self.reasons or self.table.num_rows or self.unproven or is_open)

    @property
    def restatement(self) -> pd.DataFrame:
        """Return the differences of the lake: a frame with a row per figure or record.

        Columns: subject, table_name, name, currency, change, cause, old_value, new_value, delta,
        detail. Values are texts, exact, in the coin of the row.
        """
        return to_frame(self.table)


def verify_statement(
    folder: str | os.PathLike[str],
    lake: Lake | None = None,
    *,
    signers: str | os.PathLike[str] | None = None,
    authority: str | os.PathLike[str] | None = None,
    earlier: str | os.PathLike[str] | None = None,
) -> SealVerification:
    """Check a sealed statement against its seal, the seals before it, and its lake.

    Renders it again: every file and every fact must be what its tables and the lake give. By
    default the lake is the one that the folder lies in, else the one of the settings; without
    one, the folder is compared with itself. A package (zip) is verified as its folder is.

    Nothing that comes with a statement is trusted: `signers` is a file of the keys that may sign,
    as ssh-keygen reads it, `authority` one of the certificates of a stamp, and `earlier` a
    chain.json that was kept, with which the chain must begin.

    Returns:
        The result: `holds`, `broken`, `reasons`, `unproven`, `notes`, `restatement`, `statuses`.

    Raises:
        LakeError: when the folder holds no statement, or the lake cannot be read.
        ConfigError: when a path is none, a file cannot be read, or the lake is no lake.

    Examples:
        >>> svc.verify_statement("data/statements/2026-10").holds  # doctest: +SKIP
        True
    """
    check_path("folder", folder, seals.EXAMPLE)
    if lake is not None:
        check_lake(lake)
    trust = Trust.read(signers, authority, earlier)
    path = statement_folder(folder).absolute()
    if not path.is_file():
        return _with_unsealed(_with_statuses(_verify(path, lake), trust), unsealed(path))
    with unpacked(path) as sealed:
        names = [*unsealed(sealed), *beside(sealed)]
        checked = _with_unsealed(_with_statuses(_verify(sealed, lake), trust), names)
        return replace(checked, folder=path)


def _with_unsealed(checked: SealVerification, names: list[str]) -> SealVerification:
    """Add a note of the files that no seal covers."""
    notes = [Message("seal.uncovered", names=listed(names))] if names else []
    return replace(checked, notes=(*checked.notes, *notes))


def _with_statuses(checked: SealVerification, trust: Trust) -> SealVerification:
    """Add the statuses; one that failed is something broken, unless that was seen before."""
    if checked.seal is None:
        unproven = (_NEVER_SEALED, *checked.unproven)
        return replace(checked, unproven=unproven, statuses=_NOT_SEALED)
    statuses = statuses_of(checked.folder, trust)
    failed = [each for each in statuses if each.outcome == FAILED]
    seen = {"sealed"} if checked.broken else set[str]()
    unseen = [each for each in failed if each.name not in seen]
    broken = [
        Message("proof.line", name=translated(each.name), text=translated(each.text))
        for each in unseen
    ]
    by = signed_by(checked.folder, trust)
    notes = [Message("proof.signed_alone", by=by, text=each) for each in checked.not_compared if by]
    return replace(
        checked,
        broken=(*checked.broken, *broken),
        notes=(*checked.notes, *notes),
        signed_by=by,
        statuses=(*statuses, Status("proven", *_proven(checked))),
    )


def _proven(checked: SealVerification) -> tuple[str, str]:
    """Tell whether the records of the lake gave the same again, and why not."""
    if checked.broken:
        return FAILED, checked.broken[0]
    if count := checked.table.num_rows:
        return FAILED, Message("proof.differs", count=count)
    if checked.unproven:
        return UNCHECKED, checked.unproven[0]
    if checked.reasons:
        return UNCHECKED, Message("proof.today", reason=translated(checked.reasons[0].text))
    if checked.not_compared:
        return NOT_COMPARED, checked.not_compared[0]
    return HELD, Message("proof.given_again")


def _verify(path: Path, lake: Lake | None) -> SealVerification:
    manifest = seals.read_manifest(path)
    broken, seal = seals.alterations(path, manifest), manifest["seal"]
    foreign = seals.foreign_files(path, manifest)
    broken += [Message("seal.foreign", name=name) for name in foreign]
    broken += seals.altered_package(path)
    if seal not in (None, seals.seal_of(manifest)):
        # The manifest was altered, so its period and options cannot be trusted either.
        return SealVerification(path, seal, tuple(broken), (), NO_DIFFERENCES)
    lake, doubts = _find_lake(path, manifest, lake)
    proof = prove(path, manifest, lake)
    derived = compare_derived(proof.sealed) if proof.sealed else Findings()
    unmet = [[each.text for each in proof.unmet if each.is_known is known] for known in _ANY]
    return SealVerification(
        path,
        seal,
        (*broken, *chain_faults(lake), *proof.broken, *derived.broken, *unmet[0]),
        proof.new.reasons if proof.new else (),
        proof.table,
        (*doubts, *proof.unproven, *derived.unproven, *unmet[1]),
        (*proof.notes, *derived.notes),
        not_compared=tuple(proof.not_compared),
    )


def _find_lake(
    folder: Path, manifest: seals.Manifest, lake: Lake | None
) -> tuple[Lake | None, tuple[Message, ...]]:
    """Return the lake of a statement; where there is none, say what that leaves unproven."""
    if lake is not None:
        lake.require()
    lake = lake or lake_around(folder) or Lake(read_data_dir())
    if not lake.exists:
        return None, (Message("seal.no_lake", place=lake.place),)
    if (sealed := manifest["merchant"].get("id")) != lake.merchant_id:
        names = {"merchant": sealed, "other": lake.merchant_id}
        return None, (Message("seal.other_lake", place=lake.place, **names),)
    return lake, ()
