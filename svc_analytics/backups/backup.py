"""Making a backup, and reading backups back.

What a lake lost that nobody can make again (gone, emptied, damaged, or replaced behind a seal) is
named by the inventory of each later backup with its last good content, until it is there again or
a person lets it go. So rotation never drops that content.
"""

import json
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.arguments import AnyPath, check, check_path
from svc_analytics.backups.archive import (
    DESCRIPTION,
    GONE,
    Archive,
    BackupFile,
    Count,
    Inventory,
    inventory_key,
)
from svc_analytics.bucket.address import is_address, lake_address
from svc_analytics.bucket.objects import MANIFEST, STATEMENTS
from svc_analytics.errors import ConfigError, LakeBusy, LakeError
from svc_analytics.files import UNREADABLE, restore_folders
from svc_analytics.formatting.texts import counted
from svc_analytics.instants import now
from svc_analytics.lake.checksums import require_whole
from svc_analytics.lake.coverage_footer import MonthFileFooter
from svc_analytics.lake.lake import Lake, check_lake, link_file, snapshot_folder
from svc_analytics.lake.layout import FOOTER_KEY, MARKS, WRITER_MARK, data_folders, tool_version
from svc_analytics.log import log_lines
from svc_analytics.schema import STREAMS


@dataclass(frozen=True)
class Backup:
    """A backup that was made: its name, what it holds, and how it differs from the last one.

    Examples:
        >>> svc.backup(lake, "/mnt/disk/finance").damaged  # doctest: +SKIP
        ()
    """

    target: str
    name: str
    files: int
    size: int  # bytes
    copied: tuple[str, ...]  # paths that were new, or had another content
    changed: tuple[str, ...]  # those of them that the last backup holds with another content
    gone: tuple[str, ...]  # paths of the last backup that the lake has no more
    damaged: tuple[str, ...]  # files that are not as they were written; earlier backups keep theirs
    removed: tuple[str, ...] = ()  # backups that were removed, as `keep` says
    is_first: bool = False  # there was none before
    lost: tuple[str, ...] = ()  # what nobody can make again: their last good copies are kept
    unread: tuple[str, ...] = ()  # inventories that cannot be read; until they go none is removed


@dataclass(frozen=True)
class BackupCheck:
    """The result of reading backups back: each problem, by backup and path.

    Examples:
        >>> svc.verify_backup("/mnt/disk/finance").problems  # doctest: +SKIP
        ()
    """

    target: str
    backups: tuple[str, ...]
    files: int
    size: int  # bytes that were read
    problems: tuple[tuple[str, str, str], ...]  # backup, path, what is wrong with it


def backup(
    lake: Lake,
    target: AnyPath,
    *,
    keep: int | None = None,
    let_go: Sequence[str] = (),
    progress: bool = True,
) -> Backup:
    """Copy what is new and changed of a lake into a folder or a bucket, as a backup.

    All that the lake cannot make again is in it. It may be made while `extract` runs, and be
    interrupted: the backups before it stay whole, and the next one goes on. With `keep`, only
    that many of the newest backups are kept, and the last good copy of each lost thing: what the
    lake no longer has and nobody can make again, until `let_go` names it.

    Returns:
        The backup: its name, its files, those that changed since the last one, and those that
        are damaged in the lake, or lost.

    Raises:
        LakeError: when there is no lake, or the target holds anything but backups.
        ConfigError: when the target holds another merchant's, or lies within the lake, or when
            what is let go is not lost.
        LakeBusy: when another process makes a backup there.

    Examples:
        >>> svc.backup(lake, "/mnt/disk/finance")  # doctest: +SKIP
        >>> svc.backup(lake, "s3://backups/finance", keep=90)  # doctest: +SKIP
    """
    check_lake(lake)
    _check_target(target)
    check("keep", keep, (int, type(None)), "how many of the newest backups to keep")
    if keep is not None and keep < 1:
        raise ConfigError("keep is how many of the newest backups to keep: one or more")
    lake.require()
    _check_apart(lake, target)
    archive = Archive.at(target)
    archive.require_own(lake.merchant_id)  # before anything is made there
    with archive.target.writing(), held_files(lake) as links:
        archive = Archive.at(target)  # again: another process may have made one meanwhile
        archive.require_own(lake.merchant_id)
        done = _make(archive, lake, links, let_go, progress)
        unread = archive.unread(of_all=keep is not None)
        removed = archive.forget(keep) if keep else []
    log_lines(
        [f"backup {done.name} in {done.target}: {counted(done.files, 'file')}"],
        needs_attention=False,
    )
    log_lines([f"{path} is torn or altered" for path in done.damaged], needs_attention=True)
    log_lines([f"{path} is lost" for path in done.lost], needs_attention=True)
    log_lines([f"{done.target}/{path} cannot be read" for path in unread], needs_attention=True)
    return replace(done, removed=tuple(removed), unread=tuple(unread))


def verify_backup(target: AnyPath, *, progress: bool = True) -> BackupCheck:
    """Read all backups of a folder or bucket back, and compare each file with its digest.

    Returns:
        What was found: `problems` has the backup, the path and what is wrong, for each file that
        is missing or altered.

    Raises:
        LakeError: when there is no backup.

    Examples:
        >>> svc.verify_backup("/mnt/disk/finance").problems  # doctest: +SKIP
        ()
    """
    _check_target(target)
    archive = Archive.at(target)
    if not archive.names:
        archive.require()
    inventories = {name: archive.read(name) for name in archive.names}
    contents: dict[tuple[str, BackupFile], list[str]] = {}
    for name, each in inventories.items():
        for content in (*each.files.items(), *each.lost.items()) if each else ():
            contents.setdefault(content, []).append(name)
    total = sum(entry.size for _, entry in contents)
    unread = [name for name, each in inventories.items() if each is None]
    problems = [(name, inventory_key(name), "altered: it cannot be read") for name in unread]
    with progress_bar("verifying", total, progress) as count:
        for (path, entry), names in contents.items():
            if wrong := problem_of(archive, path, entry, count):
                problems += [(name, path, wrong) for name in names]
    return BackupCheck(archive.place, tuple(inventories), len(contents), total, tuple(problems))


def problem_of(archive: Archive, path: str, entry: BackupFile, count: Count) -> str:
    """Return how a content of a backup is broken, in a word; no text where it is whole."""
    if any(archive.digest(key, count) == entry.sha256 for key in archive.places(path, entry)):
        return ""
    return "altered" if archive.is_there(path, entry) else "missing"


def _make(
    archive: Archive, lake: Lake, links: dict[str, Path], let_go: Sequence[str], progress: bool
) -> Backup:
    last = archive.newest
    before = last.files if last else {}
    size = sum(link.stat().st_size for link in links.values())
    with progress_bar("reading the lake", size, progress) as count:
        files = {path: BackupFile.of(link, count) for path, link in links.items()}
    damaged = damaged_files(lake, links, {path: each.sha256 for path, each in files.items()})
    losses = Losses(archive, files, links, damaged)
    gone = losses.let_go(let_go)
    lost = {path: entry for path, entry in losses.lost.items() if path not in gone}
    accepted = losses.accepted(gone)
    copied = _copy(archive, files, links, progress)
    made_at = max(now(), last.made_at + 1 if last else 0)
    inventory = Inventory(made_at, lake.merchant_id, tool_version(), files, lost, accepted)
    archive.finish(inventory)
    return Backup(
        archive.place,
        inventory.name,
        len(files),
        inventory.size,
        tuple(copied),
        tuple(path for path in files if before.get(path, files[path]) != files[path]),
        tuple(sorted(before.keys() - files.keys())),
        tuple(path for path in damaged if path not in accepted),
        is_first=last is None,
        lost=tuple(lost),
    )


def _copy(
    archive: Archive, files: dict[str, BackupFile], links: dict[str, Path], progress: bool
) -> list[str]:
    """Copy what the archive lacks, set aside what the lake has no more; return what was copied."""
    archive.begin()
    copied = [path for path, entry in files.items() if not archive.has(path, entry)]
    with progress_bar("copying", sum(files[path].size for path in copied), progress) as count:
        for path in copied:
            archive.put(path, files[path], links[path])
            count(files[path].size)
    for path in archive.newest_paths() - files.keys():
        archive.set_aside(path)
    return copied


def _check_target(target: object) -> None:
    check_path("the target of the backup", target, "/mnt/disk/finance")


def _check_apart(lake: Lake, target: AnyPath) -> None:
    """Refuse a backup within the lake, which the next one would hold too, or the other way."""
    if is_address(target):
        url = f"{lake_address(target)}/"
        is_within = is_address(lake.place) and (
            url.startswith(f"{lake.place}/") or f"{lake.place}/".startswith(url)
        )
    else:
        folder, own = Path(target).resolve(), lake.path.resolve()
        is_within = folder.is_relative_to(own) or own.is_relative_to(folder)
    if is_within:
        raise ConfigError(f"{target} and the lake in {lake.place} lie within one another")


@contextmanager
def progress_bar(doing: str, total: int, is_shown: bool) -> Iterator[Count]:
    """Show on a terminal how many bytes are read, of how many."""
    from tqdm.auto import tqdm  # loads IPython's widgets where there are any

    shown: dict[str, Any] = {"unit": "B", "unit_scale": True, "leave": False}
    with tqdm(desc=doing, total=total, disable=None if is_shown else True, **shown) as bar:
        yield bar.update


# ---------- Which files of a lake a backup takes, and how they stand still while it does
# All that a person or the service cannot make again: every file but those that the lake makes of
# others. These are hidden, or are the views for other tools. Two marks are hidden, and taken all
# the same: which messages were sent, and, while a run writes, that it does: by it the next run in
# a restored lake completes what that one had begun.


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
    try:
        if path in _DOCUMENTS:
            json.loads(link.read_bytes())
        elif folder in data_folders() and name.endswith(".parquet"):
            require_whole(link, file)
    except (LakeError, *UNREADABLE):
        return True
    return False


def _unlike_manifest(
    path: str, manifest: Path, folder: str, digests: Mapping[str, str]
) -> list[str]:
    try:
        stated = {
            name: of["sha256"] for name, of in json.loads(manifest.read_bytes())["files"].items()
        }
    except UNREADABLE:
        return [path]
    named = {f"{folder}/{name}": digest for name, digest in stated.items()}
    return [each for each, digest in named.items() if digests.get(each) != digest]


_REGISTER = f"{STATEMENTS}/seals.csv"  # it grows only
_BOOKS, _BOOKED = "books", "books/booked.json"
_DOCUMENTS = (DESCRIPTION, _BOOKED, f"{STATEMENTS}/chain.json")
_PASSING = (WRITER_MARK, f"{STATEMENTS}/chain.json.sig")  # they go in the course of things

Files = Mapping[str, BackupFile]


@dataclass(frozen=True)
class Losses:
    """The files of a lake beside what its newest backup knows."""

    archive: Archive
    files: Files
    links: Mapping[str, Path]
    damaged: Collection[str]

    @cached_property
    def lost(self) -> dict[str, BackupFile]:
        """The last good contents of what the lake lost, by path."""
        return {
            path: entry
            for path, entry in self._known.items()
            if self.files.get(path) != entry and self._is_lost(path, entry)
        }

    @cached_property
    def _known(self) -> Files:
        last = self.archive.newest
        return {**last.files, **last.lost} if last else {}

    def _is_lost(self, path: str, entry: BackupFile) -> bool:
        now = self.files.get(path)
        if path in self.damaged:
            return True
        if now is None or (entry.size and not now.size):
            return not self._can_be_made_again(path)
        if path == "secret":  # it never changes
            return now.sha256 != entry.sha256
        if path in (_REGISTER, _BOOKED):
            parts = _imports if path == _BOOKED else bytes.splitlines
            return not {*parts(self._content(path))} <= {*parts(self.links[path].read_bytes())}
        folder = path.rpartition("/")[0]
        manifest = f"{folder}/{MANIFEST}"
        is_same = self.files.get(manifest) == self._known.get(manifest)
        return not is_same and self._is_sealed(folder)

    def _can_be_made_again(self, path: str) -> bool:
        """Tell what the service tells again, and what the lake makes of its records."""
        folder = path.rpartition("/")[0]
        if folder in STREAMS:
            return not self._holds_unlisted(path)
        if path in _PASSING:
            return True
        if folder == _BOOKS:
            return path != _BOOKED
        return f"{folder}/{MANIFEST}" in self._known and not self._is_sealed(folder)

    def _holds_unlisted(self, path: str) -> bool:
        """Whether a month file held a record that the service lists no more."""
        try:
            stated = pq.read_metadata(BytesIO(self._content(path))).metadata
            return bool(MonthFileFooter.from_json(stated[FOOTER_KEY.encode()]).unlisted)
        except (pa.ArrowException, ValueError, LookupError, TypeError, LakeError):
            return False  # nothing good is left of it

    def _is_sealed(self, folder: str) -> bool:
        """Whether the statement in a folder was sealed; one that cannot be read may have been."""
        content = self._content(f"{folder}/{MANIFEST}")
        try:
            return json.loads(content)["seal"] is not None
        except UNREADABLE:
            return True

    def _content(self, path: str) -> bytes:
        """Return the last good content of a path; none where the backup has it no more."""
        entry = self._known[path]
        for key in self.archive.places(path, entry):
            if self.archive.digest(key) == entry.sha256:
                return b"".join(self.archive.target.chunks(key))
        return b""

    def let_go(self, paths: Sequence[str]) -> set[str]:
        """Find the lost things that a person lets go: each a path, or a folder of such."""
        lost = sorted({*self.lost, *self.damaged})
        gone: set[str] = set()
        for path in paths:
            named = {each for each in lost if f"{each}/".startswith(f"{path.rstrip('/')}/")}
            if not named:
                known = ", ".join(things_of(lost)) or "nothing"
                raise ConfigError(f"{path} is not lost: {known} is")
            gone |= named
        return gone

    def accepted(self, gone: Collection[str]) -> dict[str, BackupFile]:
        """Return the damaged files that a person lets go, or has let go with this content."""
        last = self.archive.newest
        known = last.let_go if last else {}
        contents = {path: self.files.get(path, GONE) for path in self.damaged}
        return {
            path: entry
            for path, entry in contents.items()
            if path in gone or known.get(path) == entry
        }


def _imports(content: bytes) -> list[str]:
    """Return the imports that a list of what was booked holds, each as a text."""
    try:
        booked = json.loads(content)
        return [json.dumps([label, each]) for label, those in booked.items() for each in those]
    except (*UNREADABLE, AttributeError):
        return []


def things_of(paths: Collection[str]) -> dict[str, list[str]]:
    """Return paths by what they are of: a statement, which is one thing, or the file itself.

    >>> things_of(["secret", "statements/2026-09/a.csv", "statements/2026-09/b.csv"])
    {'secret': ['secret'], 'statements/2026-09': ['statements/2026-09/a.csv', \
'statements/2026-09/b.csv']}
    """
    things: dict[str, list[str]] = {}
    for path in sorted(paths):
        folder = path.rpartition("/")[0]
        thing = folder if folder.startswith(f"{STATEMENTS}/") else path
        things.setdefault(thing, []).append(path)
    return things
