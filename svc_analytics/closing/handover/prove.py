"""Prove one line of a sealed statement to a stranger, and show no other line."""

import os
from dataclasses import dataclass
from pathlib import Path

from svc_analytics.arguments import check
from svc_analytics.closing import seals
from svc_analytics.closing.handover.package import newest_sealed_folder
from svc_analytics.closing.seals import read_register
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.formatting.tables import output_file
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.proofs.checkpoint import checkpoint_fault
from svc_analytics.proofs.lines import FILE, read_secret
from svc_analytics.proofs.single import prove_line
from svc_analytics.render.folder import MANIFEST


@dataclass(frozen=True)
class LineProof:
    """The proof of one line: its file, the statement's folder, and the line as CSV.

    Examples:
        >>> svc.prove(lake, "2026-10", "8f0c…").line_number  # doctest: +SKIP
        17
    """

    file: Path
    folder: Path
    line_number: int
    line: str
    is_signed: bool


def prove(
    lake: Lake,
    month: str,
    record_id: str,
    *,
    line: int | None = None,
    zone: str = "UTC",
    calendar: str | None = None,
    out: str | os.PathLike[str] | None = None,
) -> LineProof:
    """Write a file that proves one line of a sealed month, and shows no other line.

    Whoever has the month's checkpoint checks it with verify.py and Python alone. Of a record
    with several lines, `line` is the number of one. By default the file is named as the month's
    folder and the line, in the working folder.

    Returns:
        The path of the file, and the line.

    Raises:
        LakeError: where the month is not sealed, was altered since, or has no tree of its lines.
        ConfigError: for a month that does not exist, and a record without a line in it.

    Examples:
        >>> svc.prove(lake, "2026-10", "8f0c…")  # doctest: +SKIP
    """
    check_lake(lake)
    folder = newest_sealed_folder(lake, month, zone, calendar)
    return prove_in_folder(lake, folder, record_id, line, out)


def prove_in_folder(
    lake: Lake,
    folder: Path,
    record_id: str,
    line: int | None = None,
    out: str | os.PathLike[str] | None = None,
) -> LineProof:
    """Prove a line of a sealed folder, with the secret of the lake that sealed it."""
    check("record_id", record_id, str, "the id of a record as text")
    if not record_id:
        raise ConfigError("record_id is empty: give the id of a record")
    manifest = seals.read_manifest(folder)
    _require_tree(folder, manifest)
    secret = _secret_of(lake, folder, manifest)
    proof = prove_line(folder, manifest, secret, record_id, line, lake.storage)
    target = Path(f"{folder.name}-line-{proof.line_number}.json" if out is None else out)
    with output_file(target, is_durable=True) as temporary:
        temporary.write_text(proof.to_json(), encoding="utf-8", newline="\n")
    is_signed = proof.signature is not None
    return LineProof(target, folder, proof.line_number, proof.line, is_signed)


def _require_tree(folder: Path, manifest: seals.Manifest) -> None:
    """Refuse a folder that is not sealed, was altered, or was sealed before there were trees."""
    if manifest["seal"] is None:
        raise LakeError(f"{folder} is not sealed: close its month first, with svc-analytics close")
    if manifest["seal"] != seals.seal_of(manifest):
        raise LakeError(f"{folder}: {MANIFEST} differs from the seal: restore it from a copy")
    if "tree" not in manifest:
        message = f"{manifest['label']} was sealed before there were trees, so no line is proven"
        raise LakeError(f"{message} alone: hand over all of it with svc-analytics package")
    if fault := checkpoint_fault(folder, manifest):
        raise LakeError(f"{folder}: {fault}: restore it from a copy")


def _secret_of(lake: Lake, folder: Path, manifest: seals.Manifest) -> bytes:
    """Read the secret of the lake that sealed a statement; another one proves nothing of it."""
    if not read_register(lake.path / seals.STATEMENTS).has(manifest["seal"]):
        message = f"the lake in {lake.place} did not seal {folder}"
        raise LakeError(f"{message}: name the lake that did with --data-dir, for its secret")
    secret = read_secret(lake.path)
    if secret is None:
        raise LakeError(f"{lake.path / FILE} is missing: restore it from a copy of the lake")
    return secret
