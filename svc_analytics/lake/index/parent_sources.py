"""What the kept parents were made from: which versions of which month files."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from svc_analytics.files import write_json
from svc_analytics.lake.lake import digest_of
from svc_analytics.storage import Storage

_FORM = 3  # of the kept files; before, they had no row for each payout record


@dataclass(frozen=True)
class ParentFile:
    """Of one file of payout records: the version that its parents are of, and where they lie."""

    of: str
    homes: list[str]  # the months of payments that hold them
    has_missing: bool  # whether some were not found
    signature: str  # of the file that keeps them; empty where there is none to keep


@dataclass(frozen=True)
class ParentSources:
    """The versions of all files of payments, and what was found in them."""

    payments: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, ParentFile] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what is noted; nothing where it cannot be read, was altered, or has another form."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            document: dict[str, Any] = json.loads(path.read_bytes())
            if document.pop("sha256") == digest_of(document) and document["form"] == _FORM:
                files = {label: ParentFile(**of) for label, of in document["files"].items()}
                return cls(document["payments"], files)
        return cls()

    def write(self, storage: Storage, path: Path) -> None:
        """Note it, with a hash by which it vouches for itself."""
        document = {"form": _FORM, **asdict(self)}
        write_json(storage.write(path), document | {"sha256": digest_of(document)})

    def is_true(self, label: str, of: str, payments: Mapping[str, str]) -> bool:
        """Tell whether a file's parents are those of this version of it, and of the payments."""
        file = self.files.get(label)
        if file is None or file.of != of:
            return False
        if file.has_missing:  # they may be in any file that changed
            return payments == self.payments
        return all(payments.get(home) == self.payments[home] for home in file.homes)
