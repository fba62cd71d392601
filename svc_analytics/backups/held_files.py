"""Which files of a lake a backup takes, and how they stand still while it does.

All that a person or the service cannot make again: every file but those that the lake makes of
others. These are hidden, or are the views for other tools. Two marks are hidden, and taken all the
same: which messages were sent, and, while a run writes, that it does: by it the next run in a
restored lake completes what that one had begun.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from svc_analytics.bucket.bundle import MANIFEST, STATEMENTS
from svc_analytics.errors import LakeBusy, LakeError
from svc_analytics.lake.checksums import require_whole
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import MARKS, data_folders
from svc_analytics.lake.snapshot import link_file, snapshot_folder
from svc_analytics.working_folders import restore_folders

DERIVED = ("analytics.duckdb", "analytics.duckdb.wal")
_MOST_TRIES = 50  # to find the lake as it was a moment before
_PAUSE = 0.1  # seconds

Stamp = tuple[int, int, int]  # inode, nanoseconds, bytes: another one is another content


@contextmanager
def held_files(lake: Lake) -> Iterator[dict[str, Path]]:
    """Give links to the files of a lake as they all were at one moment, by path below the lake.

    Nothing stops a writer meanwhile. Raises `LakeBusy` where the lake never stands still.
    """
    lake.refresh()
    lake.require()
    with suppress(OSError):  # of a lake that cannot be written: nobody replaces folders there
        restore_folders(lake.path / STATEMENTS)
    with snapshot_folder(lake.path) as folder:
        for number in range(_MOST_TRIES):
            with lake.storage.still():
                links = _links(lake.path, folder / str(number))
            if links is not None:
                yield links
                return
            time.sleep(_PAUSE)
    raise LakeBusy(f"{lake.place} changes faster than it can be read: try again later")


def _links(lake: Path, folder: Path) -> dict[str, Path] | None:
    """Return links to all files; nothing where one changed while they were made."""
    try:
        before = _stamps(lake)
        links = {path: folder / path for path in before}
        for path, link in links.items():
            link.parent.mkdir(parents=True, exist_ok=True)
            link_file((lake / path).resolve(), link)
        is_still = _stamps(lake) == before
    except FileNotFoundError:
        return None
    # Between two steps, the old folder of a statement lies in a hidden one.
    return links if is_still and not any(lake.glob(f"{STATEMENTS}/.*.writing/old")) else None


def _stamps(lake: Path) -> dict[str, Stamp]:
    stamps = {}
    for place, folders, names in os.walk(lake, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(place) / name
            path = file.relative_to(lake).as_posix()
            if path in MARKS or not (name.startswith(".") or path in DERIVED):
                stamps[path] = _stamp(file)
    return stamps


def _stamp(file: Path) -> Stamp:
    if not file.is_file() and os.path.lexists(file):
        raise LakeError(f"{file} is no file, or a link to none: move it out of the lake")
    stat = file.stat()
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def damaged_files(lake: Lake, links: Mapping[str, Path], digests: Mapping[str, str]) -> list[str]:
    """Return which files are not as they were written.

    Month files are told by their checksums, files of a statement by its manifest.
    """
    broken = [path for path in links if _is_damaged(lake.path / path, path, links[path])]
    for path in links:
        folder, _, name = path.rpartition("/")
        if name == MANIFEST and folder.startswith(f"{STATEMENTS}/"):
            broken += _unlike_manifest(path, links[path], folder, digests)
    return sorted({*broken})


def _is_damaged(file: Path, path: str, link: Path) -> bool:
    folder, _, name = path.rpartition("/")
    if folder not in data_folders() or not name.endswith(".parquet"):
        return False
    try:
        require_whole(link, file)
    except LakeError:
        return True
    return False


def _unlike_manifest(
    path: str, manifest: Path, folder: str, digests: Mapping[str, str]
) -> list[str]:
    try:
        stated = {
            name: of["sha256"] for name, of in json.loads(manifest.read_bytes())["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [path]
    named = {f"{folder}/{name}": digest for name, digest in stated.items()}
    return [each for each, digest in named.items() if digests.get(each) != digest]
