"""The copy of a bucket on this machine: one listing, each object by its version, in a folder.

Readers find in it what one listing named, never a mix of two. What replaces a file is put into
the bucket first, on condition that the object is the version that it was made of.
"""

import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from filelock import BaseFileLock, FileLock

from svc_analytics.bucket.book import Book
from svc_analytics.bucket.bundle import folder_of, unpack
from svc_analytics.bucket.keys import is_month, keys_of_lake
from svc_analytics.bucket.store import Conflict, LakeStore, Version
from svc_analytics.errors import ConfigError, LakeChanged, LakeError
from svc_analytics.files import sync_file

AT_ONCE = 8  # GETs
_MOST_LISTINGS = 20
_LOCK = ".bucket.lock"
GONE = ".gone"  # what the bucket has no more, and nobody can read again
_INCOMING = ".incoming-"
_STALE = 24 * 3600  # seconds

Fetched = Mapping[str, tuple[Path, Version]]  # by key: what was got, not yet in its place


class Mirror:
    """A folder that follows the objects below a URL."""

    def __init__(self, folder: Path, url: str, store: LakeStore) -> None:
        self.folder = folder
        self.url = self.place = url
        self.store = store
        self.versions: dict[str, Version] = {}  # that the folder had when it was last brought up
        self.at_once = AT_ONCE

    def refresh(self) -> None:
        """Bring the folder up to what the bucket lists now, all of it in one step.

        Raises `LakeChanged` where objects are replaced faster than they can be read.
        """
        try:
            is_done = any(self._follow() for _ in range(_MOST_LISTINGS))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            message = f"the copy of {self.url} in {self.folder} cannot be written: {reason}"
            raise LakeError(message) from error
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
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(folder / _LOCK):
            if Book.read(folder) is None:
                Book(url).write(folder)
            _remove_incoming(folder)
    except OSError as error:
        message = f"the copy of {url} cannot be kept in {folder}: {error.strerror}"
        raise ConfigError(f"{message}; name another folder by SVC_CACHE_DIR") from error


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
