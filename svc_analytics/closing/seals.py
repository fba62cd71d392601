"""Sealed statements: the hash that fixes one, its versions, and the chain of months.

A seal is the SHA-256 of the manifest, which holds the hash of every file, the seal of
the month before, and the seal of the version it supersedes. A sealed folder never
changes: a restatement is a folder next to it, `2026-10-v2`.
"""

import hashlib
import json
from pathlib import Path
from types import NoneType
from typing import Any

from svc_analytics.errors import LakeError
from svc_analytics.files import hash_file
from svc_analytics.periods import Period
from svc_analytics.render.folder import MANIFEST

STATEMENTS = "statements"
README, SUMS = "README.txt", "SHA256SUMS"  # what a package adds; no seal covers them
EXAMPLE = "data/statements/2026-10"
Manifest = dict[str, Any]
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


def seal_of(manifest: Manifest) -> str:
    """Return the hash of a manifest's canonical JSON, its own seal left out.

    >>> seal_of({"b": 1, "a": "é", "seal": "x"}) == seal_of({"a": "é", "b": 1})
    True
    """
    bare = {name: value for name, value in manifest.items() if name != "seal"}
    canonical = json.dumps(bare, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read a statement's manifest, or raise `LakeError` where there is none."""
    manifest = _find_manifest(folder)
    if manifest is None:
        raise LakeError(f"{folder} is not a statement: {MANIFEST} is missing or cannot be read")
    return manifest


def chosen_metadata(manifest: Manifest) -> tuple[str, ...]:
    """Return the metadata properties that are columns of a statement's lines."""
    names = manifest["options"].get("metadata")
    return tuple(map(str, names)) if isinstance(names, list) else ()


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


def version_before(folder: Path, manifest: Manifest) -> Path | None:
    """Return the folder of the version that a statement supersedes, if it is next to it."""
    first = folder.with_name(folder.name.removesuffix(f"-v{manifest['version']}"))
    path = version_folder(first, manifest["version"] - 1)
    before = _find_manifest(path)
    return path if before and before["seal"] == manifest.get("supersedes") else None


def sealed_folders(period: Period, folder: Path) -> list[tuple[Path, Manifest]]:
    """Return a month's sealed versions with their manifests, oldest first.

    They are looked for in a folder and the folders next to it, and may have been altered.
    """
    wanted = (period.folder, period.calendar, period.zone)
    paths = sorted(folder.absolute().parent.glob(f"*/{MANIFEST}"))
    found = [
        (path.parent, manifest)
        for path in paths
        if (manifest := _find_manifest(path.parent))
        and manifest.get("seal")
        and (manifest["label"], manifest["calendar"], manifest["zone"]) == wanted
    ]
    return sorted(found, key=lambda one: one[1]["version"])


def manifests_of(period: Period, folder: Path) -> list[Manifest]:
    """Return the manifests of a month's sealed versions, oldest first, that fit their seal."""
    found = (manifest for _, manifest in sealed_folders(period, folder))
    return [manifest for manifest in found if manifest["seal"] == seal_of(manifest)]


def newest_seal(period: Period, folder: Path) -> str | None:
    """Return the seal of a month's newest version, from a folder and those next to it."""
    return next((one["seal"] for one in reversed(manifests_of(period, folder))), None)


def broken_files(folder: Path, manifest: Manifest) -> dict[str, str]:
    """Name the files that are missing or altered, with what is wrong."""
    files: dict[str, dict[str, Any]] = manifest["files"]
    broken = {}
    for name, facts in sorted(files.items()):
        if not (folder / name).is_file():
            broken[name] = "is missing"
        elif hash_file(folder / name) != facts["sha256"]:
            broken[name] = "differs from the seal" if manifest["seal"] else "was altered"
    return broken


def foreign_files(folder: Path, manifest: Manifest) -> list[str]:
    """Name the files in a statement's folder that do not belong to the statement.

    Hidden files, the lock files of office programs, and what a package adds do not count.
    """
    names = {path.name for path in folder.iterdir() if not path.name.startswith((".", "~$"))}
    return sorted(names - {MANIFEST, README, SUMS, *manifest["files"]})


def seal_violations(folder: Path, manifest: Manifest) -> list[str]:
    """List what was altered in a statement since it was sealed; nothing when it holds."""
    return alterations(folder, manifest) if manifest["seal"] else ["it is not sealed"]


def alterations(folder: Path, manifest: Manifest) -> list[str]:
    """List what of a statement does not fit its hashes, and its seal if it has one."""
    is_whole = manifest["seal"] in (None, seal_of(manifest))
    altered = [] if is_whole else [f"{MANIFEST} differs from the seal"]
    broken = broken_files(folder, manifest)
    return altered + [f"{name} {fault}" for name, fault in broken.items()]


def _find_manifest(folder: Path) -> Manifest | None:
    try:
        return parse_manifest((folder / MANIFEST).read_bytes())
    except OSError:
        return None


def parse_manifest(content: bytes) -> Manifest | None:
    """Return the manifest that a file holds; None if it holds none."""
    try:
        manifest = json.loads(content.decode(), object_pairs_hook=_once_each)
    except ValueError:
        return None
    return manifest if _is_manifest(manifest) else None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that names a fact twice: readers would take one or the other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a fact stands twice")
    return found


def _is_manifest(found: Any) -> bool:
    """Whether a document has what every manifest has."""
    if not isinstance(found, dict):
        return False
    is_typed = all(isinstance(found.get(name, ...), kind) for name, kind in _REQUIRED.items())
    is_typed = is_typed and not isinstance(found["version"], bool)
    return is_typed and all(
        isinstance(facts, dict) and isinstance(facts.get("sha256"), str)
        for facts in found["files"].values()
    )
