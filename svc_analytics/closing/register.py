"""The register of seals: one line for every seal that a lake has made, oldest first.

Whoever changes a sealed folder can compute a seal that fits. The lake then knows the month
by another seal. The order of the lines also says which of two months was sealed first. Each
line ends in a hash of itself and of the line before, so that a flipped bit is seen.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from svc_analytics.closing.seals import STATEMENTS
from svc_analytics.errors import LakeError
from svc_analytics.files import make_folder
from svc_analytics.formatting.tables import csv_line
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message
from svc_analytics.storage import Storage, merge_into

FILE = "seals.csv"
COLUMNS = ("seal", "label", "calendar", "zone", "version")
HEADER = (*COLUMNS, "check")

Row = tuple[str, ...]


@dataclass(frozen=True)
class Register:
    """The seals of one folder of statements; one without a file has no seal."""

    rows: tuple[Row, ...] = ()

    def has(self, seal: str | None) -> bool:
        """Whether a seal was made here."""
        return any(row[0] == seal for row in self.rows)

    def seals_of(self, manifest: dict[str, Any]) -> list[str]:
        """Return the seals that were made of the same version of a month."""
        return [row[0] for row in self.rows if row[1:] == _month(manifest)]

    def contradicts(self, manifest: dict[str, Any]) -> Message | None:
        """Say which seal was made of a version of a month, where the manifest has another."""
        known = self.seals_of(manifest)
        if not known or manifest["seal"] in known:
            return None
        facts = {name: manifest[name] for name in ("label", "version", "seal")}
        return Message("seal.other_seal", known=known[-1], **facts)

    def is_before(self, seal: str, other: str) -> bool | None:
        """Whether a seal was made before another one; None if that is not known."""
        if not (self.has(seal) and self.has(other)):
            return None
        seals = [row[0] for row in self.rows]
        return seals.index(seal) < seals.index(other)


def read_register(statements: Path) -> Register:
    """Read the register of a folder of statements."""
    path = statements / FILE
    if not path.exists():
        return Register()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = [tuple(row) for row in csv.reader(file, strict=True) if row]
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise LakeError(Message("seal.register_unread", path=path)) from error
    seals = [row[:-1] for row in rows]
    if [header, *rows] != _lines(seals):
        raise LakeError(Message("seal.register_altered", path=path))
    return Register(tuple(seals))


def register_seal(storage: Storage, manifest: dict[str, Any], seal: str) -> None:
    """Add a seal to the register, once.

    It is added before its folder is moved into place: a run that is killed in between
    leaves a line too many, and never a sealed folder that the register does not know.
    """
    merge_into(storage, partial(_register_seal, storage, manifest, seal))


def _register_seal(storage: Storage, manifest: dict[str, Any], seal: str) -> None:
    statements = storage.folder / STATEMENTS
    register = read_register(statements)
    if register.has(seal):
        return
    make_folder(statements)
    rows = _lines([*register.rows, (seal, *_month(manifest))])
    with storage.write(statements / FILE) as temporary:
        temporary.write_text("".join(map(csv_line, rows)), encoding="utf-8", newline="")


def _lines(rows: Iterable[Row]) -> list[Row]:
    """Return the lines of a register: its header, and each row with its hash."""
    lines: list[Row] = [HEADER]
    for row in rows:
        check = sha256(csv_line((lines[-1][-1], *row)).encode()).hexdigest()[:16]
        lines.append((*row, check))
    return lines


def _month(manifest: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(manifest[name]) for name in COLUMNS[1:])


def lake_around(folder: Path) -> Lake | None:
    """Return the lake that a statement's folder lies in, if it lies in one."""
    around = folder.parent.parent
    return Lake(around) if (around / "lake.json").is_file() else None
