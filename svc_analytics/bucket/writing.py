"""Writing into a bucket: one machine at a time, and each replacement of a file is one PUT.

The lease says who writes the months, and which of them may still be on their way. It saves work:
that no row is lost rests on two conditions, and on no clock. Before a writer puts a month it notes
the month in the lease, on condition that the lease is still its own. Who takes over from a writer
that did not end puts each noted month anew: then what the other one still sends meets another
version than it names, and is refused.
"""

import json
import os
import platform
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from svc_analytics.bucket.mirror import Mirror, Pins
from svc_analytics.bucket.objects import STATEMENTS, is_month, key_of, key_of_file, pack
from svc_analytics.bucket.store import (
    RULES,
    Conflict,
    ObjectStore,
    Version,
    check_size,
    probe,
    replace_object,
)
from svc_analytics.errors import LakeBusy, LakeChanged, LakeError, StoreError
from svc_analytics.files import UNREADABLE, WRITING, atomic_write, replacing_folder
from svc_analytics.messages import Message, translated

LEASE_KEY = ".writer.json"
LEASE_LENGTH = 60  # seconds; renewed three times within
_CLOCKS_DIFFER = 300  # seconds at most: a lease that ends later was written by a wrong clock


@dataclass(frozen=True)
class Inherited:
    """The legacy of the last writer: whether it was of this copy, and what it left undone."""

    is_own: bool = True  # no other machine wrote since
    since: int | None = None  # when a writer that did not end began, in UTC microseconds
    intents: tuple[str, ...] = ()  # the keys that it may still be putting


@dataclass
class Lease:
    """One writer's claim to be the only one."""

    store: ObjectStore
    url: str
    copy_id: str
    known: dict[str, Version] = field(default_factory=dict)  # what it merges into
    is_lost: bool = False
    _document: dict[str, Any] = field(default_factory=dict)
    _version: Version | None = None
    _lock: Any = field(default_factory=lambda: threading.Lock())

    def take(self, now: int) -> Inherited:
        """Take the lease, or raise `LakeBusy`; return what the last writer left."""
        held = self._read()
        place = f"{self.copy_id}@{platform.node()}"  # a copy may be copied to another machine
        is_own = not held or held["copy"] == place
        is_over = not held or held["is_free"] or is_own
        if not is_over and 0 < held["until"] - time.time() < LEASE_LENGTH + _CLOCKS_DIFFER:
            raise self._busy(held["who"])
        left = held if held and not held["is_free"] else {}
        since, intents = left.get("since"), left.get("intents", [])
        self._document = {
            "copy": place,
            "who": f"process {os.getpid()} of {platform.node() or 'another machine'}",
            "since": now if since is None else min(now, since),
            "is_free": False,
            "intents": intents,
        }
        try:
            self._write()
        except LakeChanged as error:
            raise self._busy(Message("busy.another")) from error
        return Inherited(is_own, since, tuple(intents))

    def intend(self, key: str) -> None:
        """Note that a key is about to be put; raise `LakeChanged` where the lease is lost."""
        with self._lock:
            if key not in self._document["intents"]:
                self._document["intents"] = [*self._document["intents"], key]
                self._write()

    def free(self) -> None:
        """Give the lease back: all that was begun is done."""
        with self._lock, suppress(LakeChanged, StoreError):  # then another one has it already
            self._document |= {"is_free": True, "intents": []}
            self._write()

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Renew the lease now and then, so that nobody takes over from a writer at work."""
        ended = threading.Event()
        thread = threading.Thread(target=self._renew, args=(ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _renew(self, ended: threading.Event) -> None:
        while not ended.wait(max(LEASE_LENGTH / 3, 1)) and not self.is_lost:
            with self._lock, suppress(LakeChanged, StoreError):  # the next PUT tells it
                self._write()

    def _read(self) -> dict[str, Any]:
        """Return the lease as it is; nothing where there is none."""
        try:
            body, self._version = self.store.get(LEASE_KEY)
        except Conflict:
            self._version = None
            return {}
        try:
            document = dict(json.loads(bytes(body)))
            if not all(map(is_month, document["intents"])):
                raise ValueError(document["intents"])
            numbers = {"since": int(document["since"]), "until": float(document["until"])}
            return {
                name: document[name] for name in ("copy", "who", "is_free", "intents")
            } | numbers
        except UNREADABLE:
            message = (
                f"{self.url}/{LEASE_KEY} cannot be read: remove it at a time when nobody writes"
            )
            raise StoreError(message) from None

    def _write(self) -> None:
        nonce = secrets.token_hex(16)  # equal bytes would have equal ETags
        document = self._document | {"until": time.time() + LEASE_LENGTH, "nonce": nonce}
        body = json.dumps(document).encode()
        try:
            self._version = replace_object(self.store, LEASE_KEY, body, self._version)
        except Conflict:
            self.is_lost = True
            message = f"another process took over writing to {self.url}: what it wrote is kept"
            raise LakeChanged(f"{message}; run this again") from None

    def _busy(self, who: str) -> LakeBusy:
        doing = Message("busy.writing", place=self.url)
        return LakeBusy(Message("busy.later", who=translated(who), doing=doing))


class BucketStorage(Mirror):
    """The copy of a bucket that writes through: what is replaced in it is replaced there.

    A PUT names the version that was in the folder when its work began. The files that the work
    read are of that version or newer, so no row can be dropped that it did not see: at worst
    the PUT is refused.
    """

    def __init__(self, folder: Path, url: str, store: ObjectStore) -> None:
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
