"""Writing into a bucket: each replacement of a file is one PUT, under its condition."""

import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

from svc_analytics.bucket.bundle import STATEMENTS, key_of, pack
from svc_analytics.bucket.keys import is_month, key_of_file
from svc_analytics.bucket.lease import Inherited, Lease
from svc_analytics.bucket.mirror import Mirror
from svc_analytics.bucket.pins import Pins
from svc_analytics.bucket.store import Conflict, LakeStore, Version, check_size, replace_object
from svc_analytics.errors import ConfigError, LakeChanged, LakeError
from svc_analytics.files import WRITING, atomic_write, replacing_folder


class BucketStorage(Mirror):
    """The copy of a bucket that writes through: what is replaced in it is replaced there.

    A PUT names the version that was in the folder when its work began. The files that the work
    read are of that version or newer, so no row can be dropped that it did not see: at worst
    the PUT is refused.
    """

    def __init__(self, folder: Path, url: str, store: LakeStore) -> None:
        super().__init__(folder, url, store)
        self._lease: Lease | None = None
        self._work = threading.local()  # of each thread, the versions that its work began with
        self._is_probed = False

    def write(
        self, path: Path, *, suffix: str = WRITING, is_durable: bool = True
    ) -> AbstractContextManager[Path]:
        """Give a temporary path; what is written there is put, and then replaces the file."""
        return atomic_write(path, suffix=suffix, is_durable=is_durable, putting=self._put_file)

    def write_folder(self, path: Path) -> AbstractContextManager[Path]:
        """Give an empty folder; what fills it is put as one object, and then replaces the other."""
        return replacing_folder(path, self._put_folder)

    @contextmanager
    def _put_file(self, temporary: Path, path: Path) -> Iterator[None]:
        key = key_of_file(self.folder, path)
        if key is None:
            yield
            return
        with self._put(key, self._bytes(key, temporary)):
            yield

    @contextmanager
    def _put_folder(self, temporary: Path, path: Path) -> Iterator[None]:
        if path.parent != self.folder / STATEMENTS:
            yield
            return
        with self._put(key_of(path.name), self._packed(key_of(path.name), temporary)):
            yield

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there, from the bucket and from here."""
        key = key_of_file(self.folder, path)
        if key is None or key not in self.book().objects:
            path.unlink(missing_ok=True)
            return
        self._require_sound()
        self.store.delete(key)
        with self.still():
            path.unlink(missing_ok=True)
            book = self.book()
            book.objects.pop(key, None)
            self.keep(book)
        versions, _ = self._began() or (self._known(), None)
        for each in (versions, self._known(), self.versions):
            each.pop(key, None)

    def discard(self, path: Path) -> bool:
        """Remove a damaged file that is got again from the bucket; tell whether it is one."""
        if key_of_file(self.folder, path) not in self.book().objects:
            return False
        path.unlink(missing_ok=True)
        return True

    def put_new(self) -> None:
        """Put all files of the folder that the bucket lacks, `lake.json` last."""
        self.refresh()
        held = self.folder / STATEMENTS
        folders = [path for path in held.glob("*") if path.is_dir() and path.name[0] != "."]
        for path in folders:
            if key_of(path.name) not in self.versions:
                with self._put(key_of(path.name), self._packed(key_of(path.name), path)):
                    pass
        files = ((key_of_file(self.folder, path), path) for path in self.folder.rglob("*"))
        new = {key: path for key, path in files if key and key not in self.versions}
        for key in sorted(new, key=lambda key: (key == "lake.json", key)):
            with self._put(key, self._bytes(key, new[key])):
                pass

    @contextmanager
    def merging(self) -> Iterator[None]:
        """Bring the folder up to date; within, only what stands there now is replaced."""
        outer = self._began()
        self.refresh()
        self._work.began = (dict(self.versions), self._lease)
        try:
            yield
        finally:
            self._work.began = outer

    def pins(self, snapshot: Path) -> Pins:
        """Return the objects that the files of a snapshot are."""
        return Pins.of(snapshot, self.url, self.store)

    def mark(self) -> str:
        """Return a text that no other version of a file has: equal bytes have equal ETags."""
        return secrets.token_hex(8)

    @contextmanager
    def writing(self, now: int) -> Iterator[Inherited]:
        """Be the one that writes months; raise `LakeBusy` where another one does.

        After an error that leaves open what was written, the lease is not given back.
        """
        self._require_sound()
        lease = Lease(self.store, self.url, self.book().copy_id)
        inherited = lease.take(now)
        try:
            self.refresh()
            lease.known, self._lease = dict(self.versions), lease
            with lease.renewed():
                yield inherited
        except LakeError as error:
            if lease.is_lost and not isinstance(error, LakeChanged):
                # It met what another writer made of files that it had read before.
                raise LakeChanged(str(error)) from error
            raise
        except OSError:
            raise
        except Exception:  # of the service: all that was written is whole
            lease.free()
            raise
        finally:
            self._lease = None
        lease.free()

    @contextmanager
    def _put(self, key: str, body: bytes) -> Iterator[None]:
        self._require_sound()
        if self._lease and is_month(key):
            self._lease.intend(key)
        known = self._known()
        try:
            version = replace_object(self.store, key, body, known.get(key))
        except Conflict:
            self._forget(key)
            self.refresh()
            message = f"{self.url}/{key} was replaced by another machine meanwhile"
            raise LakeChanged(f"{message}: nothing was overwritten; run this again") from None
        with self.still():
            yield
            book = self.book()
            book.note(self.folder, key, version)
            self.keep(book)
        versions, _ = self._began() or (known, None)
        for each in (known, versions, self.versions, self._lease.known if self._lease else {}):
            each[key] = version

    def _forget(self, key: str) -> None:
        """Let an object be got anew: one put again with equal bytes has the ETag that was noted.

        Google's stores then name it by another generation, which a listing does not tell.
        """
        with self.still():
            book = self.book()
            book.forget(key)
            self.keep(book)

    def _bytes(self, key: str, path: Path) -> bytes:
        """Return the bytes of a file that is to be put, unless they are too many."""
        check_size(self.url, key, path.stat().st_size)
        return path.read_bytes()

    def _packed(self, key: str, folder: Path) -> bytes:
        """Return a folder as the bytes that are to be put, unless they are too many."""
        body = pack(folder)
        check_size(self.url, key, len(body))
        return body

    def _began(self) -> tuple[dict[str, Version], Lease | None] | None:
        """Return the versions, and the lease, with which this thread's work began."""
        return getattr(self._work, "began", None)

    def _known(self) -> dict[str, Version]:
        """Return the versions with which the work at hand began: the innermost of them."""
        versions, lease = self._began() or (None, None)
        if versions is not None and lease is self._lease:
            return versions
        if self._lease:
            return self._lease.known
        return self.versions if versions is None else versions

    def _require_sound(self) -> None:
        """Refuse a store that breaks conditions, before anything is written into it."""
        if self._is_probed:
            return
        if self.book().probed != RULES:
            probe(self.store, self.url)
            with self.still():
                book = self.book()
                book.probed = RULES
                self.keep(book)
        self._is_probed = True


# ---------- Whether a store keeps the conditions of a PUT
# Asked before the first write, by racing.
#
# A lake in a bucket is right only because of two of the many that replace an object one wins.
# Some stores say so and let several win under load, or look at no condition at all.


RULES = "1"  # raised with what is asked: a store that was found sound is asked anew
FOLDER = ".probe"
RACERS = 16  # that put the same object at once, twice in each round
ROUNDS = 2


def probe(store: LakeStore, name: str) -> None:
    """Raise `ConfigError` with the store's `name` unless it keeps all conditions."""
    for _ in range(ROUNDS):
        key = f"{FOLDER}/{secrets.token_hex(8)}"
        try:
            if broken := _find_broken(store, key):
                message = f"{name}: this store cannot hold a lake: {broken}"
                raise ConfigError(f"{message}; choose one that keeps conditional writes")
        finally:
            with suppress(Exception):  # what is wrong with the store was told
                store.delete(key)


def _find_broken(store: LakeStore, key: str) -> str | None:
    """Find the first fault of a store; nothing where it has none."""
    first = _race(store, key, None)
    if isinstance(first, str):
        return first.format("a new object", "If-None-Match")
    if _is_put(store, key, b"another", None):
        return "it replaces an object that was to be new (If-None-Match is ignored)"
    second = _race(store, key, first)
    if isinstance(second, str):
        return second.format("one version", "If-Match")
    if _is_put(store, key, b"late", first):
        return "it replaces a version that is not the one named (If-Match is ignored)"
    if store.list().get(key, Version(None)).etag != second.etag:
        return "its listing does not show what was written last"
    return None


def _race(store: LakeStore, key: str, replaces: Version | None) -> Version | str:
    """Let many replace one object at once; return the winner's version, or what went wrong."""
    bodies = [secrets.token_bytes(16) for _ in range(RACERS)]
    with ThreadPoolExecutor(RACERS) as pool:
        attempts: list[Callable[[], Version | None]] = [
            partial(_put, store, key, body, replaces) for body in bodies
        ]
        results = [pool.submit(attempt) for attempt in attempts]
    won = [(r.result(), body) for r, body in zip(results, bodies, strict=True) if r.result()]
    if len(won) != 1:
        return f"{len(won)} of {RACERS} that put {{}} at once won, and not one ({{}})"
    version, body = won[0]
    held, of = store.get(key)
    if bytes(held) != body or version is None or of.etag != version.etag:
        return "it reports that it put {} and holds another ({})"
    return of


def _put(store: LakeStore, key: str, body: bytes, replaces: Version | None) -> Version | None:
    try:
        return store.put(key, body, replaces)
    except Conflict:
        return None


def _is_put(store: LakeStore, key: str, body: bytes, replaces: Version | None) -> bool:
    """Tell whether a PUT was reported as done that must not be, or was done in silence."""
    before = bytes(store.get(key)[0])
    return bool(_put(store, key, body, replaces)) or bytes(store.get(key)[0]) != before
