"""Statements of a few columns, made by hand for trees of their lines."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svc_analytics.closing.seals import seal_of
from svc_analytics.proofs.checkpoint import tree_of, write_checkpoint

HEADER = ("line_no", "entry_id", "kind", "record_id", "receipt_no", "comment", "receipt_sha256")
SECRET = bytes(range(32))


@dataclass(frozen=True)
class Sealed:
    """A folder with lines, a manifest that has a tree and a seal, and a checkpoint."""

    folder: Path
    manifest: dict[str, Any]


def row(number: int, *, kind: str = "payment", record: str = "", comment: str = "") -> list[str]:
    """Make the cells of a line; every second one has a receipt."""
    record = record or f"record-{number}"
    receipt = f"{number:064x}" if number % 2 else ""
    name = f"SVC-{number}"
    return [str(number), f"{kind}:{record}", kind, record, name, comment, receipt]


def seal_rows(folder: Path, rows: Iterable[list[str]]) -> Sealed:
    """Write lines.csv and what a seal adds to it."""
    folder.mkdir(exist_ok=True)
    with (folder / "lines.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    manifest: dict[str, Any] = {
        "merchant": {"id": "m"},
        "calendar": "gregorian",
        "zone": "UTC",
        "label": "2026-10",
        "version": 1,
        "previous_seal": None,
        "files": {"lines.csv": {}},
    }
    manifest["tree"] = tree_of(folder, manifest, SECRET)
    manifest["seal"] = seal_of(manifest)
    write_checkpoint(folder, manifest)
    return Sealed(folder, manifest)
