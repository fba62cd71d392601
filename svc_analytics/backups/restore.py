"""Restoring a backup into an empty folder, which is no lake before all of it has arrived."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from svc_analytics.arguments import AnyPath, check_path
from svc_analytics.backups.archive import DESCRIPTION, Archive, BackupFile, Count, Inventory
from svc_analytics.backups.backup import progress_bar
from svc_analytics.backups.targets import FOLDER, OWNER, set_mode
from svc_analytics.config import read_data_dir
from svc_analytics.errors import ConfigError, LakeError, system_refusals
from svc_analytics.files import hash_file, locked, make_folder, sync_file, sync_folder
from svc_analytics.lake.layout import RESTORING_FOLDER
from svc_analytics.log import log_lines
from svc_analytics.messages import Message
from svc_analytics.storage import LocalStorage, open_storage

_NO_CONTENT = (RESTORING_FOLDER, "lost+found")


@dataclass(frozen=True)
class Restored:
    """A restored backup: its name, the folder, and the size of each file.

    Examples:
        >>> svc.restore("/mnt/disk/finance", "data").folder  # doctest: +SKIP
        PosixPath('data')
    """

    target: str
    backup: str
    folder: Path
    files: Mapping[str, int]  # bytes, by path below the folder
    is_dry_run: bool = False


def restore(
    target: AnyPath,
    data_dir: AnyPath | None = None,
    *,
    at: str | None = None,
    dry_run: bool = False,
    progress: bool = True,
) -> Restored:
    """Restore a backup into an empty folder, as the lake that it was.

    Each file is compared with its digest on arrival. What was interrupted is no lake, and goes on
    when it is called again. `data_dir` is that of the settings unless given, `at` the name of an
    older backup; with `dry_run`, nothing is written.

    Returns:
        What was restored: the name of the backup, the folder and its files.

    Raises:
        LakeError: when the folder is not empty, there is no backup, or a file of it is missing
            or altered.
        ConfigError: when there is no backup of this name, or `data_dir` is a bucket.

    Examples:
        >>> svc.restore("/mnt/disk/finance", "data")  # doctest: +SKIP
    """
    check_path("the target of the backup", target, "/mnt/disk/finance")
    place = read_data_dir() if data_dir is None else data_dir
    check_path("data_dir", place, "data")
    storage = open_storage(place)
    if not isinstance(storage, LocalStorage):
        message = f"{storage.place} is a bucket: restore into an empty folder"
        raise ConfigError(f"{message}, and copy it into the bucket")
    archive = Archive.at(target)
    chosen = archive.require(at)
    sizes = {path: entry.size for path, entry in chosen.files.items()}
    restored = Restored(archive.place, chosen.name, storage.folder, sizes, dry_run)
    for path, entry in chosen.files.items():
        if not archive.places(path, entry):
            raise _not_whole(archive, path)
    _require_empty(storage.folder, chosen)  # before anything is made there
    if dry_run:
        return restored
    with _held(storage.folder), progress_bar("restoring", chosen.size, progress) as count:
        _require_empty(storage.folder, chosen)
        _restore(archive, chosen, storage.folder, count)
    log_lines([f"restored {chosen.name} into {storage.folder}"], needs_attention=False)
    return restored


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keep every writer out of the folder meanwhile."""
    advice = "mend that, and run the command again"
    with system_refusals(LakeError, f"cannot restore into {folder}", advice):
        if not folder.exists():
            make_folder(folder.parent)
            folder.mkdir(mode=FOLDER)
        with locked(folder / ".lock", Message("busy.writing", place=folder)):
            yield


def _require_empty(folder: Path, chosen: Inventory) -> None:
    """Refuse a folder with anything but what an interrupted restore of this backup left."""
    others = [path for path in _visible(folder) if path not in chosen.files]
    is_begun = (folder / RESTORING_FOLDER).is_dir()
    if others or (_visible(folder) and not is_begun):
        raise LakeError(f"{folder} is not empty: a backup is restored into an empty folder only")
    for path in _visible(folder):
        if hash_file(folder / path) != chosen.files[path].sha256:
            message = f"{folder / path} is not of the backup {chosen.name}"
            raise LakeError(f"{message}: empty the folder, and run the command again")


def _visible(folder: Path) -> list[str]:
    """Return the files that count as content, and empty folders not."""
    visible = []
    for place, folders, names in os.walk(folder):
        if Path(place) == folder:
            folders[:] = [name for name in folders if name not in _NO_CONTENT]
            names = [name for name in names if not name.endswith(".lock")]
        visible += [(Path(place) / name).relative_to(folder).as_posix() for name in names]
    return visible


def _restore(archive: Archive, chosen: Inventory, folder: Path, count: Count) -> None:
    incoming = folder / RESTORING_FOLDER
    incoming.mkdir(mode=0o700, exist_ok=True)
    for path, entry in chosen.files.items():
        is_there = (folder / path).exists()
        if not is_there and not _fetch(archive, path, entry, incoming / path, count):
            shutil.rmtree(incoming)
            raise _not_whole(archive, path)
    # The description is put in its place last: before, there is no lake.
    for path in sorted(chosen.files, key=lambda path: (path == DESCRIPTION, path)):
        if not (folder / path).exists():
            if path == DESCRIPTION:
                for place in sorted({(folder / each).parent for each in chosen.files}):
                    sync_folder(place)
            make_folder((folder / path).parent)
            os.replace(incoming / path, folder / path)  # noqa: PTH105  (as elsewhere: see files)
    sync_folder(folder)
    shutil.rmtree(incoming)


def _not_whole(archive: Archive, path: str) -> LakeError:
    message = f"{path} is missing or altered in {archive.place}"
    return LakeError(f"{message}: nothing was restored; give an older backup by --at")


def _fetch(archive: Archive, path: str, entry: BackupFile, file: Path, count: Count) -> bool:
    """Get a file; one that an interrupted restore got whole is kept. Tell whether it is whole."""
    make_folder(file.parent)
    if file.exists() and hash_file(file) == entry.sha256:
        count(entry.size)
    elif not any(
        _write(file, archive.target.chunks(key), count) == entry.sha256
        for key in archive.places(path, entry)
    ):
        return False
    set_mode(file, is_private=entry.is_private)
    sync_file(file)
    return True


def _write(file: Path, chunks: Iterable[bytes], count: Count) -> str:
    digest = sha256()
    file.unlink(missing_ok=True)
    # Until it is whole, nobody else reads it: it may hold a secret.
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER), "wb") as content:
        for chunk in chunks:
            content.write(chunk)
            digest.update(chunk)
            count(len(chunk))
    return digest.hexdigest()
