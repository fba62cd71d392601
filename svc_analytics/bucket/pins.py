"""The pins of a snapshot: the versions of the objects that its files are, compared once more.

A snapshot's own files stand still. Who reads the objects in their place compares them with the
pins behind the reading, and reads again where one was replaced meanwhile.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from svc_analytics.bucket.book import Book, Held
from svc_analytics.bucket.store import LakeStore, Version
from svc_analytics.errors import LakeChanged

FILE = "objects.json"  # in a snapshot: the book of the copy, as it was then


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
    store: LakeStore
    objects: Mapping[str, Held]

    @classmethod
    def of(cls, snapshot: Path, url: str, store: LakeStore) -> "Pins":
        """Return the pins of a snapshot of a bucket's copy."""
        book = Book.read(snapshot, FILE) or Book(url)
        return cls(url, store, book.objects)

    @cached_property
    def _before(self) -> dict[str, Version]:
        return self.store.list()

    def require_listed(self, keys: Collection[str]) -> None:
        """Raise `Replaced` unless the bucket has these objects in the versions of the snapshot."""
        for key in keys:
            held, before = self.objects[key], self._before.get(key)
            if before is None or before.etag != held.version.etag:
                raise self._replaced(key)

    def require_unchanged(self, keys: Collection[str]) -> None:
        """Raise `Replaced` unless these objects are as they were when they were first listed."""
        listed = self.store.list() if keys else {}
        for key in sorted(keys):
            if _facts_of(listed.get(key)) != _facts_of(self._before.get(key)):
                raise self._replaced(key)

    def _replaced(self, key: str) -> Replaced:
        return Replaced(self.url, key)


def _facts_of(version: Version | None) -> tuple[object, ...]:
    """Return all that a listing tells of an object."""
    return (version, version.size, version.put_at) if version else ()
