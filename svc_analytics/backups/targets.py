"""Where backups lie: a folder, or a bucket. Both hold files by their keys, such as `lake/a.csv`."""

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from svc_analytics.arguments import AnyPath
from svc_analytics.bucket.address import Address, lake_address
from svc_analytics.bucket.store import Conflict, ObjectStore, Version, check_size, replace_object
from svc_analytics.bucket.writing import Lease
from svc_analytics.errors import LakeChanged, LakeError, system_refusals
from svc_analytics.files import WRITING, atomic_write, chunks_of, locked, make_folder, sync_folder
from svc_analytics.instants import now
from svc_analytics.lake.layout import MARKS
from svc_analytics.messages import Message

LOCK = ".lock"
OWNER, GROUP = 0o600, 0o640  # who reads a file: its owner alone, or their group too
FOLDER = 0o750


class FolderTarget:
    """A folder, such as one of another disk, for its owner and their group alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.place = str(folder)

    def sizes(self) -> dict[str, int]:
        """Return all files with their sizes; none that is hidden or half written."""
        sizes = {}
        for path in self._folder.rglob("*"):
            key = path.relative_to(self._folder).as_posix()
            # A link, as a program makes of what it finds twice, may lead into the lake: no copy.
            if path.is_file() and not path.is_symlink() and _is_whole(path.name):
                sizes[key] = path.stat().st_size
        return sizes

    def chunks(self, key: str) -> Iterator[bytes]:
        """Yield the content of a file; raise `LakeError` where it cannot be read."""
        path = self._folder / key
        with _refusals_to("read", path):
            yield from chunks_of(path)

    def put(self, key: str, source: Path, *, is_private: bool = False) -> None:
        """Write a file of which there is none yet: it is there whole, or not at all."""
        path = self._folder / key
        with _refusals_to("write", path):
            self._make_folder(path.parent)
            with atomic_write(path) as temporary:
                temporary.touch(OWNER)
                shutil.copyfile(source, temporary)
                set_mode(temporary, is_private=is_private)

    def move(self, key: str, other: str) -> None:
        """Give a file another name; under one of the two it is there at any time."""
        path, new = self._folder / key, self._folder / other
        with _refusals_to("move", path):
            self._make_folder(new.parent)
            os.replace(path, new)  # noqa: PTH105  (as elsewhere: see files)
            sync_folder(new.parent)
            sync_folder(path.parent)

    def remove(self, key: str) -> None:
        """Remove a file."""
        (self._folder / key).unlink(missing_ok=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only one that writes; raise `LakeBusy` where another process does."""
        with ExitStack() as held:
            with _refusals_to("write", self._folder):
                if not self._folder.exists():
                    make_folder(self._folder.parent)
                    self._folder.mkdir(mode=FOLDER)
                doing = Message("busy.backup", place=self.place)
                held.enter_context(locked(self._folder / LOCK, doing))
                for path in self._folder.rglob(f".*{WRITING}"):  # of a run that was killed
                    path.unlink(missing_ok=True)
            yield

    def _make_folder(self, folder: Path) -> None:
        """Make the folders down to this one; what lies in them is not for everybody."""
        for top in [each for each in (folder, *folder.parents) if each.parent == self._folder]:
            if not top.exists():
                top.mkdir(mode=FOLDER)
                sync_folder(self._folder)
        make_folder(folder)


class BucketTarget:
    """A bucket, or what lies in one below a URL."""

    def __init__(self, url: str, store: ObjectStore) -> None:
        self._store = store
        self._versions: dict[str, Version] = {}
        self.place = url

    def sizes(self) -> dict[str, int]:
        """Return all files with their sizes; none that is hidden or half written."""
        self._versions = self._store.list()
        return {
            key: version.size or 0
            for key, version in self._versions.items()
            if _is_whole(key.rpartition("/")[2])
        }

    def chunks(self, key: str) -> Iterator[bytes]:
        """Yield the content of a file; raise `LakeError` where it cannot be read."""
        yield self._get(key)

    def put(self, key: str, source: Path, *, is_private: bool = False) -> None:
        """Write a file of which there is none yet: it is there whole, or not at all."""
        check_size(self.place, key, source.stat().st_size)
        self._put(key, source.read_bytes())

    def move(self, key: str, other: str) -> None:
        """Give a file another name; under one of the two it is there at any time."""
        self._put(other, self._get(key))
        self.remove(key)

    def remove(self, key: str) -> None:
        """Remove a file."""
        self._store.delete(key)
        self._versions.pop(key, None)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only one that writes; raise `LakeBusy` where another process does."""
        lease = Lease(self._store, self.place, token_hex(16))
        lease.take(now())
        try:
            with lease.renewed():
                yield
        finally:
            lease.free()

    def _get(self, key: str) -> bytes:
        try:
            return bytes(self._store.get(key)[0])
        except Conflict as error:
            raise LakeError(f"{self.place}/{key} is missing") from error

    def _put(self, key: str, body: bytes) -> None:
        try:
            self._versions[key] = replace_object(self._store, key, body, self._versions.get(key))
        except Conflict:
            message = f"{self.place}/{key} was replaced by another process meanwhile"
            raise LakeChanged(f"{message}: nothing was overwritten; run this again") from None


Target = FolderTarget | BucketTarget  # a place for backups: files by their names


def open_target(place: AnyPath) -> Target:
    """Open where backups lie, a folder or the URL of a bucket; nothing is made there yet."""
    address: Address = lake_address(place)
    if isinstance(address, Path):
        return FolderTarget(address.absolute())
    return BucketTarget(address, ObjectStore(address))


def set_mode(file: Path, *, is_private: bool) -> None:
    """Let the owner alone read a file, or their group too, where the disk keeps such things."""
    with suppress(PermissionError):  # such as one of cameras and sticks
        file.chmod(OWNER if is_private else GROUP)


def _is_whole(name: str) -> bool:
    """Tell a file of a backup from a lock, and from one that a killed run left half written."""
    return name in MARKS or not name.startswith(".")


def _refusals_to(do: str, path: Path) -> AbstractContextManager[None]:
    advice = "the backups made before are untouched"
    return system_refusals(LakeError, f"cannot {do} {path}", advice)
