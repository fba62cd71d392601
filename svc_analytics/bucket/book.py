"""The book of a copy: which version of each object its files are, held in one small file.

It vouches for itself: what it says of a file holds only while the file has the size and the time
of its last change that were noted. So a crash between the two costs one more GET.
"""

import json
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from svc_analytics.bucket.bundle import MANIFEST, folder_of
from svc_analytics.bucket.store import Version

FILE = ".bucket.json"
Stamp = tuple[int, int]  # nanoseconds, bytes


@dataclass(frozen=True)
class Held:
    """One object of the copy: its version, and how its file looked."""

    version: Version
    stamp: Stamp


@dataclass
class Book:
    """The contents of a copy. Each change of them has a number: who was slower begins anew."""

    url: str
    copy_id: str = field(default_factory=lambda: secrets.token_hex(16))
    change: int = 0
    probed: str = ""  # by which rules the store was found to keep conditions
    objects: dict[str, Held] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, name: str = FILE) -> Self | None:
        """Read the book of a folder; none where there is none, or it is torn."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            document = json.loads((folder / name).read_bytes())
            objects = {
                key: Held(Version(etag, number), (at, size))
                for key, (etag, number, at, size) in document["objects"].items()
            }
            own = {name: document[name] for name in ("url", "copy_id", "change", "probed")}
            return cls(**own, objects=objects)
        return None

    def write(self, folder: Path) -> None:
        """Replace the book of a folder."""
        objects = {
            key: (held.version.etag, held.version.number, *held.stamp)
            for key, held in self.objects.items()
        }
        temporary = folder / f"{FILE}.writing"
        temporary.write_text(json.dumps(vars(self) | {"objects": objects}), encoding="utf-8")
        os.replace(temporary, folder / FILE)  # noqa: PTH105  (as elsewhere: see files)

    def holds(self, folder: Path, key: str, version: Version) -> bool:
        """Whether the copy has this version of an object, as it was noted."""
        held = self.objects.get(key)
        return (
            held is not None
            and held.version.etag == version.etag
            and held.stamp == stamp_of(folder, key)
        )

    def note(self, folder: Path, key: str, version: Version) -> None:
        """Note the version of an object that the copy has now."""
        if stamp := stamp_of(folder, key):
            self.objects[key] = Held(version, stamp)

    def forget(self, key: str) -> None:
        """Let an object be got anew: no file looks as is noted of it from now on."""
        if held := self.objects.get(key):
            self.objects[key] = replace(held, stamp=(0, 0))

    @property
    def versions(self) -> dict[str, Version]:
        """The versions of all objects."""
        return {key: held.version for key, held in self.objects.items()}


def stamp_of(folder: Path, key: str) -> Stamp | None:
    """Return how an object's file looks; nothing where there is none."""
    bundled = folder_of(key)
    path = folder / (f"{bundled}/{MANIFEST}" if bundled else key)
    with suppress(OSError):
        stat = path.stat()
        return stat.st_mtime_ns, stat.st_size
    return None
