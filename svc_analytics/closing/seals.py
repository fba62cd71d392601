"""Sealed statements: the hash that fixes one, its versions, and the chain of months.

A seal is the SHA-256 of the manifest, which holds the hash of every file, the seal of
the month before, and the seal of the version it supersedes. A sealed folder never
changes: a restatement is a folder next to it, `2026-10-v2`.
"""

import json
from pathlib import Path
from types import NoneType
from typing import Any

from svc_analytics.errors import LakeError
from svc_analytics.files import hash_file
from svc_analytics.messages import Message
from svc_analytics.periods import Period
from svc_analytics.proofs.checkpoint import BESIDE, checkpoint_fault
from svc_analytics.proofs.sealed_zones import seal_of as seal_of
from svc_analytics.proofs.sealed_zones import sealed_period
from svc_analytics.proofs.verify import ADDED, left_over
from svc_analytics.render.folder import FORMAT, MANIFEST
from svc_analytics.statements.balance_assertions import Assertion, parse_assertions

STATEMENTS = "statements"
# What lies beside the sealed files: what is signed of them, and what a package adds.
CHAIN = ("chain.json", "chain.json.sig")
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


def parse_json(content: bytes) -> Any:
    """Read a JSON document; raise `ValueError` for none, or where it says a thing twice."""

    def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a name stands twice")
        return dict(pairs)

    return json.loads(content.decode(), object_pairs_hook=once_each)


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


def stated_period(manifest: Manifest) -> Period:
    """Return the period that a manifest is of, or raise `ConfigError` where it names none."""
    return sealed_period(manifest)


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
    names = {path.name for path in folder.iterdir()} - left_over(folder)
    return sorted(names - {MANIFEST, *BESIDE, *ADDED, *manifest["files"]})


def altered_package(folder: Path) -> list[Message]:
    """List what differs from the sums of a folder that was packed; nothing of any other folder."""
    here = {path.name for path in folder.iterdir() if path.is_file()} - left_over(folder)
    if not here & ADDED:
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
    return [*altered, *filter(None, [checkpoint_fault(folder, manifest)])]


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
