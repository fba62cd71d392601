"""Writing into a bucket: each replacement of a file is one PUT, under its condition."""

import secrets
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from svc_analytics.bucket.bundle import STATEMENTS, key_of, pack
from svc_analytics.bucket.keys import is_month, key_of_file
from svc_analytics.bucket.lease import Inherited, Lease
from svc_analytics.bucket.mirror import Mirror
from svc_analytics.bucket.pins import Pins
from svc_analytics.bucket.probe import RULES, probe
from svc_analytics.bucket.store import Conflict, LakeStore, Version, check_size, replace_object
from svc_analytics.errors import LakeChanged, LakeError
from svc_analytics.files import WRITING, atomic_write
from svc_analytics.working_folders import replacing_folder


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
