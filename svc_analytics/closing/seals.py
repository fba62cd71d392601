"""Sealed statements: the hash that fixes one, its versions, and the chain of months.

A seal is the SHA-256 of the manifest, which holds the hash of every file, the seal of
the month before, and of the version it supersedes. A sealed folder never changes: a
restatement is a folder beside it, `2026-10-v2`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from svc_analytics.errors import LakeError
from svc_analytics.periods import Period
from svc_analytics.render.folder import MANIFEST
from svc_analytics.statements.digests import hash_file

Manifest = dict[str, Any]
_REQUIRED = {
    *("status", "merchant", "label", "version", "calendar", "zone", "as_of", "files"),
    *("content_digest", "seal"),
}


def seal_of(manifest: Manifest) -> str:
    """Return the hash of a manifest's canonical JSON, its own seal left out.

    >>> seal_of({"b": 1, "a": "é", "seal": "x"}) == seal_of({"a": "é", "b": 1})
    True
    """
    bare = {name: value for name, value in manifest.items() if name != "seal"}
    canonical = json.dumps(bare, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def with_version(
    manifest: Manifest, *, version: int, previous_seal: str | None, supersedes: str | None
) -> Manifest:
    """Return a manifest as a version of its month, behind the month before."""
    place = {"version": version, "supersedes": supersedes, "previous_seal": previous_seal}
    return manifest | place


def with_seal(
    manifest: Manifest, *, version: int, previous_seal: str | None, supersedes: str | None
) -> Manifest:
    """Return a manifest in its place, sealed."""
    placed = with_version(
        manifest, version=version, previous_seal=previous_seal, supersedes=supersedes
    )
    return placed | {"seal": seal_of(placed)}


def read_manifest(folder: Path) -> Manifest:
    """Read a statement's manifest, or raise `LakeError` where there is none."""
    manifest = _find_manifest(folder)
    if manifest is None:
        raise LakeError(f"{folder} is not a statement: {MANIFEST} is missing or cannot be read")
    return manifest


def chosen_metadata(manifest: Manifest) -> tuple[str, ...]:
    """Return the properties of metadata that a statement's lines show."""
    return tuple(manifest["options"].get("metadata", ()))


def versions(folder: Path) -> list[Path]:
    """Return the sealed versions of a month, oldest first, by the folder of the first."""
    found: list[Path] = []
    while (_find_manifest(place := version_folder(folder, len(found) + 1)) or {}).get("seal"):
        found.append(place)
    return found


def version_folder(folder: Path, version: int) -> Path:
    """Return the place of a version of a month."""
    return folder if version == 1 else folder.with_name(f"{folder.name}-v{version}")


def seals_beside(folder: Path, period: Period) -> dict[int, str]:
    """Return the seals of a month by version, among a folder and those beside it."""
    wanted = (period.folder, period.calendar, period.zone)
    found = {
        manifest["version"]: manifest["seal"]
        for manifest in map(_find_manifest, _folders_beside(folder))
        if manifest
        and manifest.get("seal")
        and (manifest["label"], manifest["calendar"], manifest["zone"]) == wanted
    }
    return dict(sorted(found.items()))


def broken_files(folder: Path, manifest: Manifest) -> dict[str, str]:
    """Name the files of a statement that are not as its manifest says, and what is wrong."""
    files: dict[str, dict[str, Any]] = manifest["files"]
    found = {}
    for name, described in sorted(files.items()):
        if not (folder / name).is_file():
            found[name] = "is missing"
        elif hash_file(folder / name) != described["sha256"]:
            found[name] = "differs from the seal"
    return found


def foreign_files(folder: Path, manifest: Manifest) -> list[str]:
    """Name what lies in a statement's folder and is no part of it.

    Hidden files and the locks of office programs are nobody's statement.
    """
    there = {path.name for path in folder.iterdir() if not path.name.startswith((".", "~$"))}
    return sorted(there - {MANIFEST, *manifest["files"]})


def seal_violations(folder: Path, manifest: Manifest) -> list[str]:
    """Say what of a sealed statement is not as it was sealed; nothing when it holds."""
    if not manifest.get("seal"):
        return ["it is not sealed"]
    found = [] if seal_of(manifest) == manifest["seal"] else [f"{MANIFEST} differs from the seal"]
    return found + [f"{name} {fault}" for name, fault in broken_files(folder, manifest).items()]


def _folders_beside(folder: Path) -> Iterator[Path]:
    return (path.parent for path in folder.absolute().parent.glob(f"*/{MANIFEST}"))


def _find_manifest(folder: Path) -> Manifest | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_ours = isinstance(manifest, dict) and manifest.keys() >= _REQUIRED
    return manifest if is_ours else None


STATEMENTS = "statements"
