"""What a lake lost that nobody can make again: gone, emptied, damaged, or replaced behind a seal.

The inventory of each later backup names it, with its last good content, until it is there again or
a person lets it go. So rotation never drops that content.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.backups.archive import GONE, Archive, BackupFile
from svc_analytics.bucket.objects import MANIFEST, STATEMENTS
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.lake.footer import MonthFileFooter
from svc_analytics.lake.layout import FOOTER_KEY, WRITER_MARK
from svc_analytics.schema import STREAMS

_REGISTER = f"{STATEMENTS}/seals.csv"  # it grows only
_BOOKS, _BOOKED = "books", "books/booked.json"
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
        if path == _REGISTER:
            lines = self.links[path].read_bytes().splitlines()
            return not {*self._content(path).splitlines()} <= {*lines}
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
        try:
            return json.loads(self._content(f"{folder}/{MANIFEST}"))["seal"] is not None
        except (ValueError, LookupError, TypeError, RecursionError):
            return True

    def _content(self, path: str) -> bytes:
        """Return the last good content of a path; none where the backup has it no more."""
        entry = self._known[path]
        for key in self.archive.places(path, entry):
            if self.archive.digest(key) == entry.sha256:
                return b"".join(self.archive.chunks(key))
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
