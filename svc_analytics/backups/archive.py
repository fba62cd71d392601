"""The backups of one target: their inventories, and where each of their contents lies."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from svc_analytics.backups.inventory import BackupFile, Inventory
from svc_analytics.backups.targets import Target, open_target
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.formatting.ids import canonical_id

NEWEST, OLDER, INVENTORIES = "lake", "older", "backups"
README = "README.txt"
_TITLE = "Backups of a lake of svc-analytics"
_README = f"""{_TITLE}

{NEWEST}/     the files of the newest backup, each as in the lake
{OLDER}/    files that were replaced or removed since, below the SHA-256 of their content
{INVENTORIES}/  an inventory of each backup: the path, size and SHA-256 of its files

To restore the newest one into an empty folder: svc-analytics restore HERE --data-dir FOLDER
"""
Count = Callable[[int], object]  # called with the bytes that were read or written


class Archive:
    """The backups in a folder or a bucket."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.place = target.place
        self.sizes = target.sizes()

    @property
    def names(self) -> list[str]:
        """The names of all backups, oldest first."""
        parts = (key.partition("/") for key in sorted(self.sizes) if key.endswith(".json"))
        return [name.removesuffix(".json") for top, _, name in parts if top == INVENTORIES]

    @cached_property
    def newest(self) -> Inventory | None:
        """The last backup that was made whole."""
        return next(filter(None, map(self.read, reversed(self.names))), None)

    def read(self, name: str) -> Inventory | None:
        """Return the inventory of a backup; nothing where it was altered."""
        try:
            return Inventory.parse(b"".join(self.chunks(inventory_key(name))))
        except (ValueError, LakeError):
            return None

    def require(self, name: str | None = None) -> Inventory:
        """Return a backup by its name, by default the newest one; raise `LakeError` without it."""
        if name is not None and name not in self.names:
            known = ", ".join(self.names[-3:]) or "none"
            raise ConfigError(f"{self.place} holds no backup {name}: the newest are {known}")
        chosen = self.newest if name is None else self.read(name)
        if chosen is None:
            lack = "its inventory is altered" if self.names else "there is none"
            raise LakeError(f"no backup can be read in {self.place}: {lack}")
        return chosen

    def require_own(self, merchant_id: str) -> None:
        """Refuse a folder that holds anything else, or backups of another merchant."""
        if self.newest and canonical_id(self.newest.merchant_id) != canonical_id(merchant_id):
            message = f"{self.place} holds backups of merchant {self.newest.merchant_id}"
            raise ConfigError(f"{message}, and the lake is of merchant {merchant_id}")
        if self.sizes and not self._is_ours():
            message = f"{self.place} holds files that are no backups: give an empty folder"
            raise LakeError(f"{message}, or one that a backup was made in")

    def begin(self) -> None:
        """Say what the target is, for people who find it."""
        if README not in self.sizes:
            self._put_text(README, _README.encode())

    def writing(self) -> AbstractContextManager[None]:
        """Be the only one that writes there."""
        return self._target.writing()

    def chunks(self, key: str) -> Iterator[bytes]:
        """Yield the content of a file."""
        return self._target.chunks(key)

    def places(self, path: str, entry: BackupFile) -> list[str]:
        """Return where the content of a file can be, by its size."""
        keys = (f"{NEWEST}/{path}", older_key(path, entry.sha256))
        return [key for key in keys if self.sizes.get(key) == entry.size]

    def is_there(self, path: str, entry: BackupFile) -> bool:
        """Whether a file lies where this content is to be, whatever is in it."""
        is_newest = self.newest is not None and self.newest.files.get(path) == entry
        known = [f"{NEWEST}/{path}"] if is_newest else []
        return any(key in self.sizes for key in [*known, older_key(path, entry.sha256)])

    def has(self, path: str, entry: BackupFile) -> bool:
        """Whether the newest file of a path has this content.

        It is not read where it is as large, and no other content of this path was set aside.
        """
        key = f"{NEWEST}/{path}"
        known = self.newest.files.get(path) if self.newest else None
        if self.sizes.get(key) != entry.size:
            return False
        if known == entry and older_key(path, entry.sha256) not in self.sizes:
            return True
        return self.digest(key) == entry.sha256

    def put(self, path: str, entry: BackupFile, source: Path) -> None:
        """Copy a file; what was of its name is set aside. It is read back: it arrived, or fails."""
        key = f"{NEWEST}/{path}"
        self.set_aside(path)
        self._target.put(key, source, is_private=entry.is_private)
        self.sizes[key] = entry.size
        if self.digest(key) != entry.sha256:
            self._target.remove(key)
            message = f"{self.place}/{key} is not what was copied"
            raise LakeError(f"{message}: {self._why(entry, source)}; the backups before are whole")

    def newest_paths(self) -> set[str]:
        """Return the paths that have a newest file, also of a backup that did not end."""
        start = f"{NEWEST}/"
        return {key.removeprefix(start) for key in self.sizes if key.startswith(start)}

    def set_aside(self, path: str) -> None:
        """Move the newest file of a path to the older ones, if there is one."""
        key = f"{NEWEST}/{path}"
        if key in self.sizes:
            other = older_key(path, self.digest(key))
            self._target.move(key, other)
            self.sizes[other] = self.sizes.pop(key)

    def finish(self, inventory: Inventory) -> None:
        """Write the inventory: from now on the backup is whole."""
        self._put_text(inventory_key(inventory.name), inventory.to_bytes())

    def forget(self, keep: int) -> list[str]:
        """Remove all but the newest backups, and contents that none of these has; return which.

        The last good copy of what the lake lost is among those that they have.
        """
        inventories = {name: self.read(name) for name in self.names}
        newest = [each for each in [*inventories.values()][-keep:] if each]
        if None in inventories.values():  # nobody knows which contents that one names
            return []
        gone = [*inventories][:-keep]
        for name in gone:
            self._target.remove(inventory_key(name))
        named = {
            older_key(path, entry.sha256)
            for each in newest
            for path, entry in (*each.files.items(), *each.lost.items())
        }
        for key in [key for key in self.sizes if key.startswith(f"{OLDER}/")]:
            if key not in named:
                self._target.remove(key)
        return gone

    def digest(self, key: str, count: Count = lambda size: None) -> str:
        """Return the SHA-256 of a file, read back."""
        return digest_of_chunks(self._target.chunks(key), count)

    def _is_ours(self) -> bool:
        if README not in self.sizes:
            return bool(self.names)
        return b"".join(self.chunks(README)).startswith(_TITLE.encode())

    def _put_text(self, key: str, content: bytes) -> None:
        with TemporaryDirectory() as folder:
            source = Path(folder) / "content"
            source.write_bytes(content)
            self._target.put(key, source)
        self.sizes[key] = len(content)

    @staticmethod
    def _why(entry: BackupFile, source: Path) -> str:
        with source.open("rb") as file:
            is_same = hashlib.file_digest(file, "sha256").hexdigest() == entry.sha256
        return "it did not arrive whole" if is_same else "the lake's file changed while it was read"


def older_key(path: str, digest: str) -> str:
    """Return where a content lies that is not the newest one of its path."""
    return f"{OLDER}/{digest}/{path}"


def inventory_key(name: str) -> str:
    """Return where the inventory of a backup lies."""
    return f"{INVENTORIES}/{name}.json"


def digest_of_chunks(chunks: Iterable[bytes], count: Count) -> str:
    """Return the SHA-256 of what is read."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        count(len(chunk))
    return digest.hexdigest()


def open_archive(target: str | os.PathLike[str]) -> Archive:
    """Read which backups a folder or a bucket holds."""
    return Archive(open_target(target))
