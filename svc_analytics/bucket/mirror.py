"""The copy of a bucket on this machine: one listing, each object by its version, in a folder.

Readers find in it what one listing named, never a mix of two. What replaces a file is put into
the bucket first, on condition that the object is the version that it was made of. The copy's book
notes the version of each file. It vouches for itself: a note holds only while the file has the
size and the time of its last change that were noted. So a crash between the two costs one more GET.
"""

import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Self

from filelock import BaseFileLock, FileLock

from svc_analytics.bucket.objects import MANIFEST, folder_of, is_month, keys_of_lake, unpack
from svc_analytics.bucket.store import Conflict, ObjectStore, Version
from svc_analytics.errors import ConfigError, LakeChanged, LakeError, system_refusals
from svc_analytics.files import UNREADABLE, sync_file

AT_ONCE = 8  # GETs
_MOST_LISTINGS = 20
_LOCK = ".bucket.lock"
GONE = ".gone"  # what the bucket has no more, and nobody can read again
_INCOMING = ".incoming-"
_STALE = 24 * 3600  # seconds
PINS_FILE = "objects.json"  # in a snapshot: the book of the copy, as it was then
BOOK_FILE = ".bucket.json"
Stamp = tuple[int, int]  # nanoseconds, bytes
Fetched = Mapping[str, tuple[Path, Version]]  # by key: what was got, not yet in its place


@dataclass(frozen=True)
class Held:
    """One object of the copy: its version, and how its file looked."""

    version: Version
    stamp: Stamp


@dataclass
class Book:
    """The contents of a copy. Each change of them has a number: who was slower begins anew."""

    url: str
    copy_id: str = field(default_factory=lambda: secrets.token_hex(16))
    change: int = 0
    probed: str = ""  # by which rules the store was found to keep conditions
    objects: dict[str, Held] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, name: str = BOOK_FILE) -> Self | None:
        """Read the book of a folder; none where there is none, or it is torn."""
        with suppress(*UNREADABLE):
            document = json.loads((folder / name).read_bytes())
            objects = {
                key: Held(Version(etag, number), (at, size))
                for key, (etag, number, at, size) in document["objects"].items()
            }
            own = {name: document[name] for name in ("url", "copy_id", "change", "probed")}
            return cls(**own, objects=objects)
        return None

    def write(self, folder: Path) -> None:
        """Replace the book of a folder."""
        objects = {
            key: (held.version.etag, held.version.number, *held.stamp)
            for key, held in self.objects.items()
        }
        temporary = folder / f"{BOOK_FILE}.writing"
        temporary.write_text(json.dumps(vars(self) | {"objects": objects}), encoding="utf-8")
        os.replace(temporary, folder / BOOK_FILE)  # noqa: PTH105  (as elsewhere: see files)

    def holds(self, folder: Path, key: str, version: Version) -> bool:
        """Whether the copy has this version of an object, as it was noted."""
        held = self.objects.get(key)
        return (
            held is not None
            and held.version.etag == version.etag
            and held.stamp == stamp_of(folder, key)
        )

    def note(self, folder: Path, key: str, version: Version) -> None:
        """Note the version of an object that the copy has now."""
        if stamp := stamp_of(folder, key):
            self.objects[key] = Held(version, stamp)

    def forget(self, key: str) -> None:
        """Let an object be got anew: no file looks as is noted of it from now on."""
        if held := self.objects.get(key):
            self.objects[key] = replace(held, stamp=(0, 0))

    @property
    def versions(self) -> dict[str, Version]:
        """The versions of all objects."""
        return {key: held.version for key, held in self.objects.items()}


def stamp_of(folder: Path, key: str) -> Stamp | None:
    """Return how an object's file looks; nothing where there is none."""
    bundled = folder_of(key)
    path = folder / (f"{bundled}/{MANIFEST}" if bundled else key)
    with suppress(OSError):
        stat = path.stat()
        return stat.st_mtime_ns, stat.st_size
    return None


class Mirror:
    """A folder that follows the objects below a URL."""

    def __init__(self, folder: Path, url: str, store: ObjectStore) -> None:
        self.folder = folder
        self.url = self.place = url
        self.store = store
        self.versions: dict[str, Version] = {}  # that the folder had when it was last brought up
        self.at_once = AT_ONCE

    def refresh(self) -> None:
        """Bring the folder up to what the bucket lists now, all of it in one step.

        Raises `LakeChanged` where objects are replaced faster than they can be read.
        """
        failed = f"the copy of {self.url} in {self.folder} cannot be written"
        with system_refusals(LakeError, failed):
            is_done = any(self._follow() for _ in range(_MOST_LISTINGS))
        if not is_done:
            raise LakeChanged(f"{self.url} changes faster than it can be read: try again later")

    def _follow(self) -> bool:
        """Bring the folder up to a new listing; tell whether nothing came in between."""
        book = self.book()
        listed = keys_of_lake(self.store.list())
        stale = {k: v for k, v in listed.items() if not book.holds(self.folder, k, v)}
        # An object that was replaced since the listing is got by no other version's name.
        with suppress(Conflict), self._fetched(stale) as fetched:
            return self._put_in_place(book.change, listed, fetched)
        return False

    def book(self) -> Book:
        """Return the folder's book of versions."""
        return Book.read(self.folder) or Book(self.url)

    def still(self) -> BaseFileLock:
        """Return the lock under which the files of the folder stand still."""
        return FileLock(self.folder / _LOCK)

    @contextmanager
    def _fetched(self, wanted: Mapping[str, Version]) -> Iterator[Fetched]:
        """Get objects, each in the version that was listed, into a folder of their own."""
        if not wanted:
            yield {}
            return
        incoming = Path(tempfile.mkdtemp(prefix=_INCOMING, dir=self.folder))
        try:
            get = partial(self._get, incoming)
            if self.at_once == 1:
                yield dict(map(get, wanted.items()))
                return
            with ThreadPoolExecutor(self.at_once) as pool:
                fetched = dict(pool.map(get, wanted.items()))
            yield fetched
        finally:
            shutil.rmtree(incoming, ignore_errors=True)

    def _get(self, incoming: Path, wanted: tuple[str, Version]) -> tuple[str, tuple[Path, Version]]:
        key, listed = wanted
        body, version = self.store.get(key, listed)
        path = incoming / secrets.token_hex(8)
        with path.open("wb") as file:
            file.write(body)
        if folder_of(key):
            unpack(path, path.with_suffix(".unpacked"), f"{self.url}/{key}")
            path = path.with_suffix(".unpacked")
        else:
            sync_file(path)
        return key, (path, version)

    def _put_in_place(self, change: int, listed: Mapping[str, Version], fetched: Fetched) -> bool:
        """Move what was got into the folder; do nothing if it was changed since the listing.

        Else a slow reader would put an old object in the place of a new one.
        """
        with self.still():
            book = self.book()
            if book.change != change:
                return False
            gone = book.objects.keys() - listed.keys()
            for key in gone:
                self._let_go(key)
                del book.objects[key]
            for key, (path, version) in fetched.items():
                self._move(path, self.folder / (folder_of(key) or key))
                book.note(self.folder, key, version)
            if gone or fetched:
                self.keep(book)
            self.versions = book.versions
        return True

    def keep(self, book: Book) -> None:
        """Write the book of the folder, changed."""
        book.change += 1
        book.write(self.folder)

    def _let_go(self, key: str) -> None:
        """Take away what the bucket has no more: aside, unless the service tells it again."""
        path = self.folder / (folder_of(key) or key)
        if path.exists() and not is_month(key):
            self._move(path, self.folder / GONE / path.relative_to(self.folder))
        else:
            _remove(path)

    @staticmethod
    def _move(path: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            _remove(target)
        path.replace(target)


def open_folder(folder: Path, url: str) -> None:
    """Make the folder of a copy, for nobody else to read, and say in it of which bucket it is."""
    failed, advice = f"the copy of {url} cannot be kept in {folder}", "name another folder by "
    with system_refusals(ConfigError, failed, f"{advice}SVC_CACHE_DIR"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(folder / _LOCK):
            if Book.read(folder) is None:
                Book(url).write(folder)
            _remove_incoming(folder)


def _remove_incoming(folder: Path) -> None:
    """Remove what a killed reader had got; a day is longer than any reading."""
    for incoming in folder.glob(f"{_INCOMING}*"):
        with suppress(OSError):
            if time.time() - incoming.stat().st_mtime > _STALE:
                shutil.rmtree(incoming, ignore_errors=True)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


class Replaced(LakeChanged):
    """An object was replaced while it was read in its place; `place` is its lake."""

    def __init__(self, place: str, key: str) -> None:
        super().__init__(f"{place}/{key} was replaced while it was read: run this again")
        self.place = place


@dataclass(frozen=True)
class Pins:
    """The objects of one listing of a bucket, by their keys.

    They are listed once before the reading and once behind it. An object that has the same ETag,
    size and time in both was not replaced in between, also by the same bytes. One that is
    replaced and then put back has its ETag again, because equal bytes give equal ETags. No
    writer of ours does that: each month file has a mark of its own. A person who puts an old
    copy of the object back gives it another time. Stores tell that to the second: only who does
    both within the second in which the object was first put goes unseen.
    """

    url: str
    store: ObjectStore
    objects: Mapping[str, Held]

    @classmethod
    def of(cls, snapshot: Path, url: str, store: ObjectStore) -> "Pins":
        """Return the pins of a snapshot of a bucket's copy."""
        book = Book.read(snapshot, PINS_FILE) or Book(url)
        return cls(url, store, book.objects)

    @cached_property
    def _before(self) -> dict[str, Version]:
        return self.store.list()

    def require_listed(self, keys: Collection[str]) -> None:
        """Raise `Replaced` unless the bucket has these objects in the versions of the snapshot."""
        for key in keys:
            held, before = self.objects[key], self._before.get(key)
            if before is None or before.etag != held.version.etag:
                raise Replaced(self.url, key)

    def require_unchanged(self, keys: Collection[str]) -> None:
        """Raise `Replaced` unless these objects are as they were when they were first listed."""
        listed = self.store.list() if keys else {}
        for key in sorted(keys):
            if _facts_of(listed.get(key)) != _facts_of(self._before.get(key)):
                raise Replaced(self.url, key)


def _facts_of(version: Version | None) -> tuple[object, ...]:
    """Return all that a listing tells of an object."""
    return (version, version.size, version.put_at) if version else ()
