"""Sealed statements: the hash that fixes one, its versions, and the chain of months.

A seal is the SHA-256 of the manifest, which holds the hash of every file, the seal of
the month before, and the seal of the version it supersedes. A sealed folder never
changes: a restatement is a folder next to it, `2026-10-v2`.
"""

import csv
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from types import NoneType
from typing import Any

from svc_analytics.errors import LakeError
from svc_analytics.files import hash_file, make_folder
from svc_analytics.formatting.tables import csv_line
from svc_analytics.instants import parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period
from svc_analytics.proofs import verify
from svc_analytics.proofs.checkpoint import BESIDE, checkpoint_fault
from svc_analytics.proofs.sealed_zones import seal_of as seal_of, sealed_period as sealed_period
from svc_analytics.render.folder import FORMAT, MANIFEST
from svc_analytics.statements.balance_assertions import Assertion, parse_assertions
from svc_analytics.storage import Storage, merge_into

STATEMENTS = "statements"
# What a package adds to the sealed files.
README, EVIDENCE, VERIFY, SUMS = "README.txt", "EVIDENCE.txt", "verify.py", "SHA256SUMS"
EXAMPLE = "data/statements/2026-10"
Manifest = dict[str, Any]
Sealed = tuple[Path, Manifest]  # a folder and its manifest
# What every manifest has, of these types: without it, a folder is not a statement.
_REQUIRED: dict[str, type | tuple[type, ...]] = {
    "status": str,
    "merchant": dict,
    "label": str,
    "version": int,
    "calendar": str,
    "zone": str,
    "as_of": str,
    "options": dict,
    "files": dict,
    "control": dict,
    "content_digest": str,
    "seal": (str, NoneType),
}
NOT_REGISTERED = "seal.not_registered"
# A folder's name that says of which period and version it is.
_NAMED = re.compile(r"[0-9]{4}(-[0-9]{2}|-Q[1-4])?(@[\w+-]+?)?(-v[0-9]+)?\Z", re.ASCII)


def parse_json(content: bytes) -> Any:
    """Read a JSON document; raise `ValueError` for none, or where it says a thing twice."""
    try:
        return verify.parse_json(content)
    except (verify.Result, RecursionError) as error:
        raise ValueError("it says a thing twice, or is nested too deep") from error


def read_manifest(folder: Path) -> Manifest:
    """Read a statement's manifest, or raise `LakeError` where there is none."""
    manifest = _find_manifest(folder)
    if manifest is not None:
        return manifest
    if not folder.exists():
        raise LakeError(
            f"there is no {folder}: give a statement's folder, as data/statements/2026-10"
        )
    raise LakeError(f"{folder} is not a statement: {MANIFEST} is missing or cannot be read")


def chosen_metadata(manifest: Manifest) -> tuple[str, ...]:
    """Return the metadata properties that are columns of a statement's lines."""
    names = manifest["options"].get("metadata")
    return tuple(map(str, names)) if isinstance(names, list) else ()


def sealed_assertions(manifest: Manifest) -> tuple[Assertion, ...] | None:
    """Return the balances that a statement was compared with; None where it does not say.

    Raises `ConfigError` where they are no balances.
    """
    facts = manifest["options"].get("assertions")
    return None if facts is None else parse_assertions(facts)


def versions(folder: Path) -> list[Path]:
    """Return the folders of a month's sealed versions, oldest first.

    `folder` is the one of the first version.
    """
    sealed: list[Path] = []
    while (_find_manifest(path := version_folder(folder, len(sealed) + 1)) or {}).get("seal"):
        sealed.append(path)
    return sealed


def version_folder(folder: Path, version: int) -> Path:
    """Return the folder of a version of a month."""
    return folder if version == 1 else folder.with_name(f"{folder.name}-v{version}")


def first_folder(folder: Path, manifest: Manifest) -> Path:
    """Return the folder of the first version of a statement, from that of any version."""
    return folder.with_name(folder.name.removesuffix(f"-v{manifest['version']}"))


def version_before(folder: Path, manifest: Manifest) -> Path | None:
    """Return the folder of the version that a statement supersedes, if it is next to it."""
    path = version_folder(first_folder(folder, manifest), manifest["version"] - 1)
    before = _find_manifest(path)
    return path if before and before["seal"] == manifest.get("supersedes") else None


def sealed_folders(period: Period, folder: Path) -> list[Sealed]:
    """Return a month's sealed versions with their manifests, oldest first.

    They are looked for in a folder and the folders next to it, and may have been altered.
    """
    wanted = (period.folder, period.calendar, period.zone)
    sealed = [one for one in all_sealed(folder.absolute().parent) if period_key(one[1]) == wanted]
    return sorted(sealed, key=lambda one: one[1]["version"])


def all_sealed(statements: Path) -> list[Sealed]:
    """Return every sealed statement of a folder of statements, by the names of their folders."""
    paths = sorted(statements.absolute().glob(f"*/{MANIFEST}"))
    folders = [(path.parent, _find_manifest(path.parent)) for path in paths]
    return [(path, manifest) for path, manifest in folders if manifest and manifest.get("seal")]


def newest_versions(sealed: Iterable[Sealed]) -> dict[tuple[str, str, str], Sealed]:
    """Return the newest of these sealed versions of each period, by its key."""
    return {period_key(one[1]): one for one in sorted(sealed, key=lambda one: one[1]["version"])}


def period_key(manifest: Manifest) -> tuple[str, str, str]:
    """Return the key that all versions of a period share: label, calendar and zone."""
    return manifest["label"], manifest["calendar"], manifest["zone"]


def manifests_of(period: Period, folder: Path) -> list[Manifest]:
    """Return the manifests of a month's sealed versions, oldest first, that fit their seal."""
    manifests = (manifest for _, manifest in sealed_folders(period, folder))
    return [manifest for manifest in manifests if manifest["seal"] == seal_of(manifest)]


def broken_files(folder: Path, manifest: Manifest, altered: str = "") -> dict[str, Message]:
    """Name the files that are missing or altered, with what is wrong; `altered` is a code."""
    altered = altered or ("seal.differs" if manifest["seal"] else "seal.altered")
    files: dict[str, dict[str, Any]] = manifest["files"]
    broken = {}
    for name, facts in sorted(files.items()):
        if not (folder / name).is_file():
            broken[name] = Message("seal.missing", name=name)
        elif (folder / name).is_symlink():
            broken[name] = Message("seal.link", name=name)
        elif hash_file(folder / name) != facts["sha256"]:
            broken[name] = Message(altered, name=name)
    return broken


def foreign_files(folder: Path, manifest: Manifest) -> list[str]:
    """Name the files in a statement's folder that do not belong to the statement.

    The lock files of office programs, what a file manager leaves, and what a package adds do not
    count.
    """
    names = {path.name for path in folder.iterdir()} - verify.left_over(folder)
    return sorted(names - {MANIFEST, *BESIDE, *verify.ADDED, *manifest["files"]})


def altered_package(folder: Path) -> list[Message]:
    """List what differs from the sums of a folder that was packed; nothing of any other folder."""
    here = {path.name for path in folder.iterdir() if path.is_file()} - verify.left_over(folder)
    if not here & verify.ADDED:
        return []
    sums = {f"{hash_file(folder / name)}  {name}\n" for name in here - {SUMS}}
    path = folder / SUMS
    listed = path.read_bytes().decode(errors="replace") if path.is_file() else ""
    odd = {line[66:-1] for line in sums ^ {*listed.splitlines(keepends=True)}}
    return [Message("seal.other_sum", name=name, sums=SUMS) for name in sorted(odd)]


def seal_violations(folder: Path, manifest: Manifest) -> list[Message]:
    """List what was altered in a statement since it was sealed; nothing when it holds."""
    return alterations(folder, manifest) if manifest["seal"] else [Message("seal.none")]


def alterations(folder: Path, manifest: Manifest) -> list[Message]:
    """List what of a statement does not fit its hashes, and its seal if it has one."""
    is_whole = manifest["seal"] in (None, seal_of(manifest))
    altered = [] if is_whole else [Message("seal.differs", name=MANIFEST)]
    altered += broken_files(folder, manifest).values()
    faults = (checkpoint_fault(folder, manifest), _misnamed(folder, manifest))
    return [*altered, *filter(None, faults)]


def faults(folder: Path, manifest: Manifest) -> list[Message]:
    """List what is wrong with the files of a folder: altered ones, foreign ones, and its sums."""
    foreign = [Message("seal.foreign", name=name) for name in foreign_files(folder, manifest)]
    return [*alterations(folder, manifest), *foreign, *altered_package(folder)]


def _misnamed(folder: Path, manifest: Manifest) -> Message | None:
    """Say what a folder of a lake is called where it holds another period or version.

    Every command takes a month by the name of its folder: two that were swapped, or a copy called
    a later version, would be booked and handed over as what they are not.
    """
    label, version = manifest["label"], manifest["version"]
    right = label if version == 1 else f"{label}-v{version}"  # no path: a forger names any
    if folder.name == right or not _NAMED.match(folder.name) or lake_around(folder) is None:
        return None
    return Message("seal.misnamed", name=folder.name, right=right)


def _find_manifest(folder: Path) -> Manifest | None:
    try:
        return parse_manifest((folder / MANIFEST).read_bytes(), folder)
    except OSError:
        return None


def parse_manifest(content: bytes, folder: Path) -> Manifest | None:
    """Return the manifest that a folder's file holds; None if it holds none.

    Raises `LakeError` for one in a format that only a newer release reads.
    """
    try:
        manifest = parse_json(content)
    except ValueError:
        return None
    number = manifest.get("format") if isinstance(manifest, dict) else None
    if isinstance(number, int) and number > FORMAT:
        raise LakeError(Message("seal.newer", folder=folder, format=number, known=FORMAT))
    return manifest if _is_manifest(manifest) else None


def _is_manifest(document: Any) -> bool:
    """Whether a document has what every manifest has."""
    if not isinstance(document, dict):
        return False
    is_typed = all(isinstance(document.get(name, ...), kind) for name, kind in _REQUIRED.items())
    is_typed = is_typed and not isinstance(document["version"], bool)
    return is_typed and all(
        isinstance(facts, dict) and isinstance(facts.get("sha256"), str)
        for facts in document["files"].values()
    )


# ---------- The register of seals
# One line for every seal that a lake has made, oldest first.
#
# Whoever changes a sealed folder can compute a seal that fits. The lake then knows the month
# by another seal. The order of the lines also says which of two months was sealed first. Each
# line ends in a hash of itself and of the line before, so that a flipped bit is seen.


FILE = "seals.csv"
COLUMNS = ("seal", "label", "calendar", "zone", "version")
HEADER = (*COLUMNS, "check")

Row = tuple[str, ...]


@dataclass(frozen=True)
class Register:
    """The seals of one folder of statements; one without a file has no seal."""

    rows: tuple[Row, ...] = ()

    def has(self, seal: str | None) -> bool:
        """Whether a seal was made here."""
        return any(row[0] == seal for row in self.rows)

    def seals_of(self, manifest: dict[str, Any]) -> list[str]:
        """Return the seals that were made of the same version of a month."""
        return [row[0] for row in self.rows if row[1:] == _month(manifest)]

    def contradicts(self, manifest: dict[str, Any]) -> Message | None:
        """Say which seal was made of a version of a month, where the manifest has another."""
        known = self.seals_of(manifest)
        if not known or manifest["seal"] in known:
            return None
        facts = {name: manifest[name] for name in ("label", "version", "seal")}
        return Message("seal.other_seal", known=known[-1], **facts)

    def lacks(self, manifest: dict[str, Any]) -> Message | None:
        """Say that the seal of a version of a month is not here, where it is so."""
        if self.has(manifest["seal"]):
            return None
        values = {name: manifest[name] for name in ("label", "version")}
        return Message(NOT_REGISTERED, file=f"{STATEMENTS}/{FILE}", **values)

    def is_before(self, seal: str, other: str) -> bool | None:
        """Whether a seal was made before another one; None if that is not known."""
        if not (self.has(seal) and self.has(other)):
            return None
        seals = [row[0] for row in self.rows]
        return seals.index(seal) < seals.index(other)


def read_register(statements: Path) -> Register:
    """Read the register of a folder of statements."""
    path = statements / FILE
    if not path.exists():
        return Register()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = [tuple(row) for row in csv.reader(file, strict=True) if row]
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise LakeError(Message("seal.register_unread", path=path)) from error
    seals = [row[:-1] for row in rows]
    if [header, *rows] != _lines(seals):
        raise LakeError(Message("seal.register_altered", path=path))
    return Register(tuple(seals))


def register_seal(storage: Storage, manifest: dict[str, Any], seal: str) -> None:
    """Add a seal to the register, once.

    It is added before its folder is moved into place: a run that is killed in between
    leaves a line too many, and never a sealed folder that the register does not know.
    """
    merge_into(storage, partial(_register_seal, storage, manifest, seal))


def _register_seal(storage: Storage, manifest: dict[str, Any], seal: str) -> None:
    statements = storage.folder / STATEMENTS
    register = read_register(statements)
    if register.has(seal):
        return
    make_folder(statements)
    rows = _lines([*register.rows, (seal, *_month(manifest))])
    with storage.write(statements / FILE) as temporary:
        temporary.write_text("".join(map(csv_line, rows)), encoding="utf-8", newline="")


def _lines(rows: Iterable[Row]) -> list[Row]:
    """Return the lines of a register: its header, and each row with its hash."""
    lines: list[Row] = [HEADER]
    for row in rows:
        check = sha256(csv_line((lines[-1][-1], *row)).encode()).hexdigest()[:16]
        lines.append((*row, check))
    return lines


def _month(manifest: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(manifest[name]) for name in COLUMNS[1:])


def lake_around(folder: Path) -> Lake | None:
    """Return the lake that a statement's folder lies in, if it lies in one."""
    around = folder.parent.parent
    return Lake(around) if (around / "lake.json").is_file() else None


# ---------- The chain of seals
# A statement names the seal of the month before and of its last version.
#
# Statements are looked for next to the folder and in the lake.


SEALED_BEFORE = "{label} was sealed before as {seal}: find out what happened to it"
_SEALED_FIRST = "{label} was closed before {earlier}. Next time close the oldest {NOUN} first"


def broken_chain(
    manifest: Manifest, period: Period, folders: Collection[Path], register: Register
) -> list[Message]:
    """List what is wrong with the earlier seals that a manifest names, or does not name."""
    before = period.shift(-1)
    earlier = [one for folder in folders for one in manifests_of(before, folder)]
    seal = manifest.get("previous_seal")
    broken: list[Message] = []
    if seal is None:
        broken += _dropped(manifest, earlier[:1], register)
    elif named := next((one for one in earlier if one["seal"] == seal), None):
        broken += filter(None, [register.contradicts(named)])
    else:
        broken.append(Message("seal.no_before", noun=translated(period.noun), seal=seal))
    return broken + _broken_versions(manifest, period, folders)


def _broken_versions(
    manifest: Manifest, period: Period, folders: Collection[Path]
) -> list[Message]:
    """List what is wrong with the version that a restatement supersedes; a first one has none."""
    version, seal = manifest["version"], manifest.get("supersedes")
    if (version == 1) != (seal is None):
        return [Message("seal.other_version", seal=seal, version=version)]
    same = [one for folder in folders for one in manifests_of(period, folder)]
    earlier = [one["seal"] for one in same if one["version"] == version - 1]
    return [] if version == 1 or seal in earlier else [Message("seal.no_version", seal=seal)]


def _dropped(manifest: Manifest, before: list[Manifest], register: Register) -> Iterator[Message]:
    """Name the month before where it was sealed first and the manifest does not name it."""
    for one in before:
        is_before = register.is_before(one["seal"], manifest["seal"])
        if is_before is None:
            is_before = parse_bound(one["as_of"]) <= parse_bound(manifest["as_of"])
        if is_before:
            yield Message("seal.before_dropped", label=one["label"], seal=one["seal"])


def sealed_before(statements: Path, period: Period, version: int) -> dict[str, Message]:
    """Return the seal that a version has in the register, with what it says where it is gone.

    Empty where it has none.
    """
    label, name = period.folder, version_folder(Path(period.folder), version).name
    key = {"label": label, "calendar": period.calendar, "zone": period.zone, "version": version}
    known = read_register(statements).seals_of(key)[-1:]
    return {seal: Message(SEALED_BEFORE, label=name, seal=seal) for seal in known}


def warnings_of(lake: Lake, folder: Path, period: Period, version: int) -> dict[str, Message]:
    """Return warnings of a new version, each by the seal that it is about.

    It was sealed before, or, of a first one, a period after it was. `folder` is where it will be
    written.
    """
    warnings = sealed_before(lake.path / STATEMENTS, period, version)
    if version == 1 and (after := _first_after(period, folder)):
        warnings[after["seal"]] = Message(
            _SEALED_FIRST, label=after["label"], earlier=period.folder, noun=translated(period.noun)
        )
    return warnings


def _first_after(period: Period, folder: Path) -> Manifest | None:
    """Return the newest seal of the first sealed period of a kind that comes after one."""
    later = [
        manifest
        for _, manifest in all_sealed(folder.absolute().parent)
        if manifest["seal"] == seal_of(manifest) and _is_after(sealed_period(manifest), period)
    ]
    in_order = sorted(later, key=lambda each: (sealed_period(each).start, -each["version"]))
    return next(iter(in_order), None)


def _is_after(other: Period, period: Period) -> bool:
    kind_of = attrgetter("kind", "zone", "calendar")
    return bool(kind_of(other) == kind_of(period) and other.start >= period.end)
