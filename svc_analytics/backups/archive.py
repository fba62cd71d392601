"""The backups of one target: their inventories, and where each of their contents lies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Self

from svc_analytics.arguments import AnyPath
from svc_analytics.backups.targets import Target, open_target
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.files import chunks_of, hash_file
from svc_analytics.formatting.texts import canonical_id
from svc_analytics.instants import format_instant, from_micros, parse_instant
from svc_analytics.lake.lake import digest_of

NEWEST, OLDER, INVENTORIES = "lake", "older", "backups"
README = "README.txt"
_INVENTORY = re.compile(rf"{INVENTORIES}/(\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{{6}}Z)\.json")
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
        self.target = target
        self.place = target.place
        self.sizes = target.sizes()

    @classmethod
    def at(cls, place: AnyPath) -> Self:
        """Read which backups a folder or a bucket holds."""
        return cls(open_target(place))

    @property
    def names(self) -> list[str]:
        """The names of all backups, oldest first; a copy of an inventory is none."""
        matches = (_INVENTORY.fullmatch(key) for key in sorted(self.sizes))
        return [match[1] for match in matches if match]

    @cached_property
    def newest(self) -> Inventory | None:
        """The last backup that was made whole."""
        return next(filter(None, map(self.read, reversed(self.names))), None)

    def read(self, name: str) -> Inventory | None:
        """Return the inventory of a backup; nothing where it was altered, or is of another one."""
        try:
            inventory = Inventory.parse(b"".join(self.target.chunks(inventory_key(name))))
        except (ValueError, LakeError):
            return None
        return inventory if inventory.name == name else None

    def unread(self, *, of_all: bool) -> list[str]:
        """Return the inventories that cannot be read: of all backups, or behind the newest whole.

        Nobody knows which contents such a one names.
        """
        names = self.names
        if not of_all and self.newest:
            names = names[names.index(self.newest.name) + 1 :]
        return [inventory_key(name) for name in names if self.read(name) is None]

    def require(self, name: str | None = None) -> Inventory:
        """Return a backup by its name, by default the newest one; raise `LakeError` without it."""
        if name is not None and name not in self.names:
            known = ", ".join(self.names[-3:]) or "none"
            raise ConfigError(f"{self.place} holds no backup {name}: the newest are {known}")
        if not self.names:
            raise LakeError(f"no backup can be read in {self.place}: there is none")
        wanted = name or self.names[-1]
        chosen = self.read(wanted)
        if chosen is None:
            message = f"{self.place}/{inventory_key(wanted)} is altered, and cannot be read"
            whole = f": give --at {self.newest.name}" if self.newest else ", and there is no other"
            raise LakeError(f"{message}{whole}")
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
        self.target.put(key, source, is_private=entry.is_private)
        self.sizes[key] = entry.size
        if self.digest(key) != entry.sha256:
            self.target.remove(key)
            is_same = hash_file(source) == entry.sha256
            why = (
                "it did not arrive whole"
                if is_same
                else "the lake's file changed while it was read"
            )
            message = f"{self.place}/{key} is not what was copied: {why}"
            raise LakeError(f"{message}; the backups before are whole")

    def newest_paths(self) -> set[str]:
        """Return the paths that have a newest file, also of a backup that did not end."""
        start = f"{NEWEST}/"
        return {key.removeprefix(start) for key in self.sizes if key.startswith(start)}

    def set_aside(self, path: str) -> None:
        """Move the newest file of a path to the older ones, if there is one."""
        key = f"{NEWEST}/{path}"
        if key in self.sizes:
            other = older_key(path, self.digest(key))
            self.target.move(key, other)
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
        if None in inventories.values():  # see `unread`
            return []
        gone = [*inventories][:-keep]
        for name in gone:
            self.target.remove(inventory_key(name))
        named = {
            older_key(path, entry.sha256)
            for each in newest
            for path, entry in (*each.files.items(), *each.lost.items())
        }
        for key in [key for key in self.sizes if key.startswith(f"{OLDER}/")]:
            if key not in named:
                self.target.remove(key)
        return gone

    def digest(self, key: str, count: Count = lambda size: None) -> str:
        """Return the SHA-256 of a file, read back."""
        return digest_of_chunks(self.target.chunks(key), count)

    def _is_ours(self) -> bool:
        if README not in self.sizes:
            return bool(self.names)
        return b"".join(self.target.chunks(README)).startswith(_TITLE.encode())

    def _put_text(self, key: str, content: bytes) -> None:
        with TemporaryDirectory() as folder:
            source = Path(folder) / "content"
            source.write_bytes(content)
            self.target.put(key, source)
        self.sizes[key] = len(content)


def older_key(path: str, digest: str) -> str:
    """Return where a content lies that is not the newest one of its path."""
    return f"{OLDER}/{digest}/{path}"


def inventory_key(name: str) -> str:
    """Return where the inventory of a backup lies."""
    return f"{INVENTORIES}/{name}.json"


def digest_of_chunks(chunks: Iterable[bytes], count: Count) -> str:
    """Return the SHA-256 of what is read."""
    digest = sha256()
    for chunk in chunks:
        digest.update(chunk)
        count(len(chunk))
    return digest.hexdigest()


# ---------- The inventory of a backup
# Path, size and digest of each of its files. It vouches for itself.


FORM = 1
DESCRIPTION = "lake.json"  # without it, there is no lake
_MORE = ("lost", "let_go")  # lists that are left out where they are empty
_DIGEST = re.compile("[0-9a-f]{64}")
_OTHERS = 0o077  # who is not the owner


@dataclass(frozen=True)
class BackupFile:
    """A file of a backup; one that `is_private` is its owner's alone, such as a secret."""

    size: int  # bytes
    sha256: str
    is_private: bool = False

    @classmethod
    def of(cls, file: Path, count: Count) -> Self:
        """Read a file of the lake."""
        digest, stat = digest_of_chunks(chunks_of(file), count), file.stat()
        return cls(stat.st_size, digest, not stat.st_mode & _OTHERS)


GONE = BackupFile(0, sha256().hexdigest())  # stands for a file that is not there


@dataclass(frozen=True)
class Inventory:
    """The files of one backup by path below the lake, and when it was made, in microseconds."""

    made_at: int
    merchant_id: str
    tool_version: str
    files: dict[str, BackupFile]
    lost: dict[str, BackupFile] = field(default_factory=dict)  # the last good contents of these
    # What is damaged in the lake, and with this content a person has let it go.
    let_go: dict[str, BackupFile] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the backup, which sorts by time: 2026-11-26T04-36-10.000125Z."""
        return f"{from_micros(self.made_at):%Y-%m-%dT%H-%M-%S.%fZ}"

    @property
    def size(self) -> int:
        """The bytes of all its files."""
        return sum(entry.size for entry in self.files.values())

    def to_bytes(self) -> bytes:
        """Return it as it is written: JSON with a line for each file."""
        document = self._document()
        shown = {**document, "sha256": digest_of(document)}
        files = ",\n".join(f"  {json.dumps(each)}" for each in shown.pop("files"))
        return f'{json.dumps(shown, indent=1)[:-2]},\n "files": [\n{files}\n ]\n}}\n'.encode()

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Read it; raise `ValueError` where it was altered, or is not one of today's form."""
        try:
            document: dict[str, Any] = json.loads(content)
            if document.pop("sha256") != digest_of(document) or document["form"] != FORM:
                raise ValueError("it is not the one that was written")
            made_at, _ = parse_instant(document["made_at"])
            files = _files(document["files"])
            more = [_files(document.get(name, [])) for name in _MORE]
            merchant, release = document["merchant"], document["tool_version"]
        except (LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("it is no inventory") from error
        if DESCRIPTION not in files or not all(
            isinstance(text, str) for text in (merchant, release)
        ):
            raise ValueError("it is of no lake")
        return cls(made_at, merchant, release, files, *more)

    def _document(self) -> dict[str, Any]:
        more = {name: each for name in _MORE if (each := _listed(getattr(self, name)))}
        return {
            "form": FORM,
            "made_at": format_instant(self.made_at),
            "merchant": self.merchant_id,
            "tool_version": self.tool_version,
            **more,
            "files": _listed(self.files),
        }


def _files(listed: list[dict[str, Any]]) -> dict[str, BackupFile]:
    """Read the files that an inventory lists; raise an error for what none can be."""
    files: dict[str, BackupFile] = {}
    for each in listed:
        path, entry = each.pop("path"), BackupFile(**each)
        is_file = type(entry.size) is int and entry.size >= 0 and type(entry.is_private) is bool
        if not is_file or not _DIGEST.fullmatch(entry.sha256):
            raise ValueError("it lists what is no file")
        if path in files or not is_below(path):
            raise ValueError("it names a file twice, or one outside of the lake")
        files[path] = entry
    folders = {str(folder) for path in files for folder in PurePosixPath(path).parents}
    if files.keys() & folders:
        raise ValueError("it has a file and a folder of one name")
    return files


def _listed(files: dict[str, BackupFile]) -> list[dict[str, Any]]:
    return [_plain(path, entry) for path, entry in files.items()]


def _plain(path: str, entry: BackupFile) -> dict[str, Any]:
    private = {"is_private": True} if entry.is_private else {}
    return {"path": path, "size": entry.size, "sha256": entry.sha256, **private}


def is_below(path: str) -> bool:
    """Tell whether a path stays within the folder that it is taken below.

    >>> is_below("payments/2026-10.parquet"), is_below("../x"), is_below("/etc/x")
    (True, False, False)
    """
    path.encode()  # half of a pair of surrogates is no name of a file
    parts = PurePosixPath(path).parts
    is_plain = "/".join(parts) == path and not {"\\", ":", "\0"} & {*path}
    return is_plain and bool(parts) and parts[0] != "/" and ".." not in parts
