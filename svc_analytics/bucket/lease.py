"""The lease of a lake: who writes its months, and which of them may still be on their way.

The lease saves work. That no row is lost rests on two conditions, and on no clock. Before a
writer puts a month it notes the month in the lease, on condition that the lease is still its
own. Who takes over from a writer that did not end puts each noted month anew: then what the
other one still sends meets another version than it names, and is refused.
"""

import json
import os
import platform
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from svc_analytics.bucket.store import Conflict, LakeStore, Version, replace_object
from svc_analytics.errors import LakeBusy, LakeChanged, StoreError
from svc_analytics.messages import Message, translated

KEY = ".writer.json"
LENGTH = 60  # seconds; renewed three times within


@dataclass(frozen=True)
class Inherited:
    """The legacy of the last writer: whether it was of this copy, and what it left undone."""

    is_own: bool = True  # no other machine wrote since
    since: int | None = None  # when a writer that did not end began, in UTC microseconds
    intents: tuple[str, ...] = ()  # the keys that it may still be putting


@dataclass
class Lease:
    """One writer's claim to be the only one."""

    store: LakeStore
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
        is_over = not held or held["is_free"] or is_own or held["until"] <= time.time()
        if not is_over:
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
        while not ended.wait(max(LENGTH / 3, 1)) and not self.is_lost:
            with self._lock, suppress(LakeChanged, StoreError):  # the next PUT tells it
                self._write()

    def _read(self) -> dict[str, Any]:
        """Return the lease as it is; nothing where there is none."""
        try:
            body, self._version = self.store.get(KEY)
        except Conflict:
            self._version = None
            return {}
        try:
            document = dict(json.loads(bytes(body)))
            return {name: document[name] for name in _NAMES}
        except (ValueError, KeyError, TypeError):
            message = f"{self.url}/{KEY} cannot be read: remove it at a time when nobody writes"
            raise StoreError(message) from None

    def _write(self) -> None:
        nonce = secrets.token_hex(16)  # equal bytes would have equal ETags
        document = self._document | {"until": time.time() + LENGTH, "nonce": nonce}
        body = json.dumps(document).encode()
        try:
            self._version = replace_object(self.store, KEY, body, self._version)
        except Conflict:
            self.is_lost = True
            message = f"another process took over writing to {self.url}: what it wrote is kept"
            raise LakeChanged(f"{message}; run this again") from None

    def _busy(self, who: str) -> LakeBusy:
        doing = Message("busy.writing", place=self.url)
        return LakeBusy(Message("busy.later", who=translated(who), doing=doing))


_NAMES = ("copy", "who", "since", "is_free", "intents", "until")
