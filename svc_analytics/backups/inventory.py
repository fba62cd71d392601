"""The inventory of a backup: path, size and digest of each of its files. It vouches for itself."""

import json
import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, Self

from svc_analytics.instants import format_instant, from_micros, parse_instant
from svc_analytics.lake.lake import digest_of

FORM = 1
DESCRIPTION = "lake.json"  # without it, there is no lake
_MORE = ("lost", "let_go")  # lists that are left out where they are empty
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class BackupFile:
    """A file of a backup; one that `is_private` is its owner's alone, such as a secret."""

    size: int  # bytes
    sha256: str
    is_private: bool = False


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
