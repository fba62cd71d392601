"""Verify a sealed statement against its seals and its lake, from its folder or from its package.

A package is a zip file that every program unpacks alike, or none.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO
from unicodedata import normalize

import pyarrow as pa

from svc_analytics.arguments import AnyPath, check_path
from svc_analytics.closing import seals
from svc_analytics.closing.chain import chain_faults
from svc_analytics.closing.table_diff import NO_DIFFERENCES
from svc_analytics.closing.verification.derived_forms import compare_derived
from svc_analytics.closing.verification.forms import Findings
from svc_analytics.closing.verification.matches import saved_matches
from svc_analytics.closing.verification.proof import prove_folder
from svc_analytics.config import read_data_dir
from svc_analytics.errors import LakeError
from svc_analytics.formatting.tables import to_frame
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.messages import Message, translated
from svc_analytics.proofs.statuses import FAILED, HELD, NOT_COMPARED, UNCHECKED, Status, Trust
from svc_analytics.proofs.verify import listed, unsealed
from svc_analytics.render.document import Reason
from svc_analytics.render.folder import MANIFEST
from svc_analytics.storage import statement_folder

if TYPE_CHECKING:
    import pandas as pd

_NEVER_SEALED = Message("seal.never")
_ANY = (True, False)  # whether it is known where a month does not meet the next
_NOT_SEALED = tuple(
    Status(name, UNCHECKED, _NEVER_SEALED) for name in ("sealed", "signed", "stamped", "proven")
)
_READING = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError)
_ODD = re.compile(r'[\\:*?"<>|\x00-\x1f\x7f]|[. ](?:/|\Z)|\A/|//')  # what no name may hold
_HEAD, _END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s4H2LH")  # of an entry, and of all
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_FLAGS = 0x80E  # how well it was packed, that its sizes stand behind it, a name in UTF-8
_SIZED_BEHIND, _IN_UTF8 = 0x8, 0x800
_OTHERWISE = {0x0001, 0x7075}  # facts of an entry that state another size, or another name


@dataclass(frozen=True)
class SealVerification:
    """The result of verifying a sealed statement; verifying changes nothing.

    `holds` is the answer. `broken` lists what is wrong with the files, the manifest and the
    chain of seals, and where it does not meet the months before and after it; `reasons` why
    the month would not be final today, `unproven` what could not be proven, `not_compared` what
    another release made and this one cannot make again, `notes` what is worth knowing though
    nothing is wrong. `signed_by` names the key that signed it, of those that were named as trusted.
    `statuses` says whether it is sealed, signed, stamped and proven, and whether each saved match
    of it still agrees, each `held`, `FAILED`, `not checked` or `not compared`, and why.

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
    new_lines: pa.Table | None = field(default=None, repr=False)  # those that the lake now gives
    statuses: tuple[Status, ...] = ()
    not_compared: tuple[Message, ...] = ()  # what another release made
    signed_by: str | None = None  # the person and the key, if it is one that is trusted
    matches: tuple[Status, ...] = ()  # of the matches that were saved of it

    @property
    def holds(self) -> bool:
        """Whether everything was proven, and nothing differs.

        What another release made, and nobody can make again, must be signed by a trusted key.
        """
        is_open = bool(self.not_compared) and self.signed_by is None
        is_open |= any(each.outcome != HELD for each in self.matches)
        return not (self.broken or self.reasons or self.table.num_rows or self.unproven or is_open)

    @property
    def restatement(self) -> pd.DataFrame:
        """Return the differences of the lake: a frame with a row per figure or record.

        Columns: subject, table_name, name, currency, change, cause, old_value, new_value, delta,
        detail. Values are texts, exact, in the coin of the row.
        """
        return to_frame(self.table)


def verify_statement(
    folder: AnyPath,
    lake: Lake | None = None,
    *,
    signers: AnyPath | None = None,
    authority: AnyPath | None = None,
    earlier: AnyPath | None = None,
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
    statuses = trust.statuses_of(checked.folder)
    broken = [
        Message("proof.line", name=translated(each.name), text=translated(each.text))
        for each in statuses
        if each.outcome == FAILED and not (checked.broken and each.name == "sealed")
    ]
    by = trust.signer_of(checked.folder)
    notes = [Message("proof.signed_alone", by=by, text=each) for each in checked.not_compared if by]
    return replace(
        checked,
        broken=(*checked.broken, *broken),
        notes=(*checked.notes, *notes),
        signed_by=by,
        statuses=(*statuses, Status("proven", *_proven(checked)), *checked.matches),
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
    broken, seal = seals.faults(path, manifest), manifest["seal"]
    if seal not in (None, seals.seal_of(manifest)):
        # The manifest was altered, so its period and options cannot be trusted either.
        return SealVerification(path, seal, tuple(broken), (), NO_DIFFERENCES)
    lake, doubts = _find_lake(path, manifest, lake)
    proof = prove_folder(path, manifest, lake)
    derived = compare_derived(proof.sealed) if proof.sealed else Findings()
    findings = Findings.joined([proof.findings, derived])
    unmet = [[each.text for each in proof.unmet if each.is_known is known] for known in _ANY]
    return SealVerification(
        path,
        seal,
        (*broken, *chain_faults(lake), *findings.broken, *unmet[0]),
        proof.new.reasons if proof.new else (),
        proof.table,
        (*doubts, *findings.unproven, *unmet[1]),
        tuple(findings.notes),
        proof.new.tables["lines"] if proof.new else None,
        not_compared=tuple(proof.findings.not_compared),
        matches=tuple(each.status for each in saved_matches(proof)),
    )


def _find_lake(
    folder: Path, manifest: seals.Manifest, lake: Lake | None
) -> tuple[Lake | None, tuple[Message, ...]]:
    """Return the lake of a statement; where there is none, say what that leaves unproven."""
    if lake is not None:
        lake.require()
    lake = lake or seals.lake_around(folder) or Lake(read_data_dir())
    if not lake.exists:
        return None, (Message("seal.no_lake", place=lake.place),)
    if (sealed := manifest["merchant"].get("id")) != lake.merchant_id:
        names = {"merchant": sealed, "other": lake.merchant_id}
        return None, (Message("seal.other_lake", place=lake.place, **names),)
    return lake, ()


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield the sealed folder of a package; raise `LakeError` where a file is none."""
    with TemporaryDirectory() as place:
        try:
            with zipfile.ZipFile(path) as archive:
                name = _sealed_folder(path, archive, shutil.disk_usage(place).free)
                archive.extractall(place)
        except _READING as error:
            raise LakeError(_refusal(path, str(error))) from error
        yield Path(place) / name


def beside(folder: Path) -> list[str]:
    """Name the files of a package that are neither of the sealed folder nor of its forms."""
    place = folder.parent
    names = {path.relative_to(place) for path in place.rglob("*") if path.is_file()}
    own = re.compile(rf"{re.escape(folder.name)}(-forms(-[A-Z]+)?)?")
    return sorted(name.as_posix() for name in names if not own.fullmatch(name.parts[0]))


def _sealed_folder(path: Path, archive: zipfile.ZipFile, room: int) -> str:
    """Tell which folder is the statement; refuse what two programs may unpack differently."""
    entries = archive.infolist()
    names = [PurePosixPath(entry.filename) for entry in entries]
    folders = [name.parts[0] for name in names if name.parts[1:] == (MANIFEST,)]
    if len(folders) != 1:
        raise LakeError(_refusal(path, f"it holds {len(folders)} statements"))
    if not _is_named_once(entries):
        raise LakeError(_refusal(path, "it names a file twice, or one outside of its folder"))
    if not (all(map(_is_plain, entries)) and _is_laid_out_once(path, archive)):
        raise LakeError(_refusal(path, "two programs may unpack it differently"))
    if sum(entry.file_size for entry in entries) > room:
        raise LakeError(f"there is no room to unpack {path}: unpack it elsewhere, name its folder")
    return folders[0]


def _is_named_once(entries: list[zipfile.ZipInfo]) -> bool:
    """Whether no name is odd, and none is another's, or its folder, to any system."""
    names = [_alike(entry.orig_filename) for entry in entries]
    folders = {str(folder) for name in names for folder in PurePosixPath(name).parents}
    is_once = len({name.rstrip("/") for name in names}) == len(names)
    return is_once and not (folders & {*names} or any(map(_ODD.search, names)))


def _alike(name: str) -> str:
    return normalize("NFC", normalize("NFC", name).casefold())


def _is_plain(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry is a file or a folder, packed and spelt as every program knows."""
    kinds = (0, stat.S_IFDIR if entry.is_dir() else stat.S_IFREG)
    is_spelt = entry.orig_filename.isascii() or entry.flag_bits & _IN_UTF8
    is_packed = entry.compress_type in _METHODS and not entry.flag_bits & ~_FLAGS
    return bool(is_spelt and is_packed and stat.S_IFMT(entry.external_attr >> 16) in kinds)


def _is_laid_out_once(path: Path, archive: zipfile.ZipFile) -> bool:
    """Whether the entries fill the file, each as the list at its end says."""
    entries, at = archive.infolist(), 0
    with path.open("rb") as file:
        for entry in sorted(entries, key=lambda each: each.header_offset):
            is_same = at == entry.header_offset and _is_listed(file, entry)
            if not is_same or _OTHERWISE & {*_tags(entry.extra)}:
                return False
            at = file.tell()
        size, count = path.stat().st_size - _END.size, len(entries)
        file.seek(size)
        end = (b"PK\5\6", 0, 0, count, count, size - at, at, 0)
        return at == archive.start_dir and _END.unpack(file.read()) == end


def _is_listed(file: BinaryIO, entry: zipfile.ZipInfo) -> bool:
    """Whether an entry begins as it is listed; the file is then read up to its end."""
    file.seek(entry.header_offset)
    mark, _, flags, method, _, _, *sizes, named, more = _HEAD.unpack(file.read(_HEAD.size))
    name, tags = file.read(named).decode(), {*_tags(file.read(more))}
    listed = [entry.CRC, entry.compress_size, entry.file_size]
    end = file.seek(entry.compress_size, os.SEEK_CUR)
    if flags & _SIZED_BEHIND and sizes == [0, 0, 0]:
        behind = struct.pack("<4s3L", b"PK\7\10", *listed)
        start = 0 if file.read(4) == behind[:4] else 4
        file.seek(end)
        sizes = listed if file.read(len(behind) - start) == behind[start:] else sizes
    known = (b"PK\3\4", entry.flag_bits, entry.compress_type, entry.orig_filename, listed)
    return (mark, flags, method, name, sizes) == known and not tags & _OTHERWISE


def _tags(extra: bytes) -> Iterator[int]:
    """Yield the kinds of facts that an entry has beside those of every entry."""
    while extra:
        tag, size = struct.unpack("<2H", extra[:4])
        yield tag
        extra = extra[4 + size :]


def _refusal(path: Path, reason: str) -> str:
    advice = "ask for it again, or unzip it and run python verify.py in its folder"
    return f"{path} is no package of a statement ({reason}): {advice}"
