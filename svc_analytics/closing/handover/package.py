"""Pack a sealed statement for an auditor: one zip file that checks itself.

The zip is the same, byte for byte, whenever the same folder is packed.
"""

import hashlib
import os
import textwrap
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.api.routes import PREFIX, ROUTES
from svc_analytics.closing import seals
from svc_analytics.closing.sealing import chain_faults
from svc_analytics.closing.seals import CHAIN, EVIDENCE, README, SUMS, VERIFY, lake_around
from svc_analytics.closing.verification.derived_forms import Sealed, fill
from svc_analytics.closing.verification.facts import version_of
from svc_analytics.closing.verification.proof import Proof, prove
from svc_analytics.config import read_signing_key
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.files import hash_file
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.tables import output_file, to_csv, to_objects
from svc_analytics.formatting.texts import load_text, single_line
from svc_analytics.instants import now
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message
from svc_analytics.periods import noun_of, parse_period
from svc_analytics.proofs import verify
from svc_analytics.proofs.chain import FILE as CHAIN_FILE
from svc_analytics.proofs.checkpoint import BESIDE
from svc_analytics.proofs.marks import Marks
from svc_analytics.proofs.signature import fingerprint_of, signer_in
from svc_analytics.proofs.statuses import Trust, signed_by
from svc_analytics.render.document import unknown_lines
from svc_analytics.render.folder import MANIFEST, Output
from svc_analytics.render.formats import has_typst
from svc_analytics.statements.change.sentences import sentences_file
from svc_analytics.warehouse.models import read_checks, read_footings, read_statement_macros

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the only date that every zip reader knows: it says nothing
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Package:
    """A packed statement: the file, the folder that was packed, and its seal.

    Examples:
        >>> svc.package(lake, "2026-10").file.name  # doctest: +SKIP
        '2026-10.zip'
    """

    file: Path
    folder: Path
    seal: str
    sha256: str
    unproven: tuple[Message, ...] = ()  # what of the folder could not be compared with anything
    not_compared: tuple[Message, ...] = ()  # what another release made: a trusted key signed it


def package(
    lake: Lake,
    month: str,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    out: str | os.PathLike[str] | None = None,
    signers: str | os.PathLike[str] | None = None,
) -> Package:
    """Pack the newest sealed version of a month into a zip file for an auditor.

    The file holds the sealed folder, verify.py, which checks it with Python alone, EVIDENCE.txt,
    README.txt and SHA256SUMS. By default it is named as the folder, in the working folder.

    A folder with a page or a workbook that another release made must be signed by the key of
    SVC_SIGNING_KEY, or by one of those in `signers`, as ssh-keygen reads them.

    Returns:
        The path of the file.

    Raises:
        LakeError: where the month is not sealed, was altered since, or has a file that is not
            proven.
        ConfigError: for a month that does not exist.

    Examples:
        >>> svc.package(lake, "2026-10")  # doctest: +SKIP
    """
    check_lake(lake)
    return pack_folder(newest_sealed_folder(lake, month, zone, calendar), out, lake, signers)


def newest_sealed_folder(lake: Lake, month: str, zone: str, calendar: str | None) -> Path:
    """Find the newest sealed version of a month; raise `LakeError` where there is none."""
    period = parse_period(month, now(), zone, calendar)
    sealed = seals.versions(lake.path / seals.STATEMENTS / period.folder)
    if not sealed:
        raise LakeError(Message("seal.close_first", label=period.folder))
    return sealed[-1]


def pack_folder(
    folder: Path,
    out: str | os.PathLike[str] | None = None,
    lake: Lake | None = None,
    signers: str | os.PathLike[str] | None = None,
) -> Package:
    """Pack a sealed folder; refuse one of which a file is altered, or not proven."""
    manifest = seals.read_manifest(folder)
    # A forged manifest may name any file of this machine.
    odd = [name for name in manifest["files"] if not _is_plain(name)]
    broken = [Message("seal.odd_file", name=ascii(name)) for name in odd]
    broken = broken or seals.seal_violations(folder, manifest)
    if not broken:
        proof = prove(folder, manifest, lake or lake_around(folder.absolute()))
        broken = [*proof.broken, *chain_faults(proof.lake), *proof.unproven_files]
    if broken:
        raise LakeError(Message("seal.not_packed", folder=folder, fault=broken[0]))
    if proof.not_compared and not _is_signed(folder, signers):
        values = {"folder": folder, "version": version_of(manifest)}
        raise LakeError(Message("seal.not_packed_unsigned", fault=proof.not_compared[0], **values))
    target = Path(f"{folder.name}.zip" if out is None else out)
    if target.suffix.lower() != ".zip":
        raise ConfigError(f"--out {target}: its suffix must be .zip")
    with output_file(target, is_durable=True) as temporary:
        _write(temporary, proof)
        digest = hash_file(temporary)
    seal, left_out = str(manifest["seal"]), tuple(proof.not_compared)
    return Package(target, folder, seal, digest, tuple(proof.unproven), left_out)


def _is_signed(folder: Path, signers: str | os.PathLike[str] | None) -> bool:
    """Whether the merchant's own key signed a folder, or one that the reader trusts."""
    own, by = read_signing_key(), signer_in(folder)
    is_own = own is not None and by is not None and by == fingerprint_of(own)
    return is_own or (
        signers is not None and signed_by(folder, Trust.read(signers, None, None)) is not None
    )


def _is_plain(name: str) -> bool:
    return Path(name).name == name and "\\" not in name and name.isprintable()


def _write(target: Path, proof: Proof) -> None:
    folder, manifest = proof.folder, proof.manifest
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        sums = {}
        for name, content in _added(proof).items():
            sums[name] = hashlib.sha256(content).hexdigest()
            _add_text(archive, f"{folder.name}/{name}", content)
        # What is packed is what was checked, even if somebody writes there meanwhile.
        content = (folder / MANIFEST).read_bytes()
        _require(seals.parse_manifest(content, folder) == manifest, folder / MANIFEST)
        for name in sorted({MANIFEST, *manifest["files"]}):
            chunks = [content] if name == MANIFEST else _chunks(folder / name)
            sums[name] = _add_file(archive, f"{folder.name}/{name}", chunks)
            is_whole = name == MANIFEST or sums[name] == manifest["files"][name]["sha256"]
            _require(is_whole, folder / name)
        lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
        _add_text(archive, f"{folder.name}/{SUMS}", lines.encode())
        if proof.sealed:
            _add_readable(archive, proof.sealed)


def _added(proof: Proof) -> dict[str, bytes]:
    """Make what a package adds to the sealed files, by name."""
    texts = {README: readme_text(proof.manifest), EVIDENCE: evidence_text(proof)}
    files = [proof.folder / name for name in BESIDE] + [
        proof.folder.parent / name for name in CHAIN
    ]
    return {
        **{name: text.encode() for name, text in texts.items()},
        VERIFY: Path(verify.__file__).read_bytes(),
        **{path.name: path.read_bytes() for path in files if path.is_file()},
    }


def _add_readable(archive: zipfile.ZipFile, sealed: Sealed) -> None:
    """Add the page, and where it can be made the PDF, beside the folder: no seal covers them."""
    formats = ["html", "pdf"] if has_typst() else ["html"]
    said = sealed.sentences
    language = Language(**sealed.manifest.get("language", {}))
    lacking = [name for name in formats if name not in sealed.sealed_formats(language)]
    if said.sentences:
        content = to_csv(pa.Table.from_pylist([*said.sentences])).encode()
        _add_text(archive, sentences_file(sealed.manifest["label"]), content)
    with TemporaryDirectory() as place:
        if lacking:
            fill(sealed, Output(tuple(lacking)), Path(place))
        for path in sorted(Path(place).iterdir()):
            _add_file(archive, f"{sealed.place.name}/{path.name}", _chunks(path))


def _add_text(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(_entry(name), content, zipfile.ZIP_DEFLATED)


def _require(is_whole: bool, path: Path) -> None:
    if not is_whole:
        raise LakeError(Message("seal.altered_meanwhile", path=path))


def _add_file(archive: zipfile.ZipFile, name: str, chunks: Iterable[bytes]) -> str:
    """Copy a file into a zip; return the hash of what was copied."""
    digest = hashlib.sha256()
    with archive.open(_entry(name), "w") as target:
        for chunk in chunks:
            digest.update(chunk)
            target.write(chunk)
    return digest.hexdigest()


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system, entry.external_attr = 3, 0o644 << 16  # the same on every system
    return entry


# ---------- The README.txt of a packed statement
# What it is, and how a stranger checks it.
#
# `templates/readme.txt` has its text, and in it the recipe, which a test runs.


_FACTS = ("tool_version", "start", "end", "label", "calendar", "zone", "status", "as_of")
_TABLES = {
    "checks": "every finding that concerns the period",
    "definitions": "what each figure means, and how it is computed",
    "months": "the figures of each month that the period is made of",
    "trend": "all coins in USD, month by month, up to that of the statement",
    "restatement": "what differs from the version before, with the cause",
}


def readme_text(manifest: dict[str, Any]) -> str:
    """Write the README.txt of a sealed statement."""
    noun = noun_of(str(manifest["label"]))
    return load_text(__package__, "readme.txt").render(
        {name: single_line(str(manifest.get(name, "not stated"))) for name in _FACTS},
        title=single_line(f"Statement {manifest['label']} of {names_of(manifest['merchant'])}"),
        merchant=single_line(str(manifest["merchant"].get("id", "not stated"))),
        version=manifest["version"],
        supersedes=manifest.get("supersedes"),
        previous_seal=manifest.get("previous_seal") or f"none: no {noun} before was sealed",
        noun=noun,
        has_definitions="definitions.csv" in manifest["files"],
        tables=[(name, _meaning(name.partition(".")[0])) for name in sorted(manifest["files"])],
    )


def _meaning(table: str) -> str:
    """Tell what a table holds; no text where that is not known."""
    macros = {model.name: model.meaning for model in read_statement_macros()}
    return _TABLES.get(table) or macros.get(f"statement_{table}", "")


# ---------- The EVIDENCE.txt of a packed statement
# What an auditor asks of records from outside.
#
# Auditing standards (PCAOB AS 1105.10A) ask for their source, and how they were received, kept and
# changed. Each sentence is a fact of the manifest or of a sealed table, or the result of a check
# that ran while the package was made. `templates/evidence.txt` has the sentences, one in a line.


FILE = "EVIDENCE.txt"
_WIDTH = 92
_POINT = "- "  # begins a sentence: no value of a record stands before it
_WORDS = {
    "names": {"payments": "Payments", "payout_records": "Payouts and refunds"},
    "routes": {"payments": ROUTES["payments"], "payout_records": ROUTES["payouts"]},
    "prefix": PREFIX,
    "readings": {
        "confirmed": "Two readings in a row saw the same records.",
        "single": "They were read once; no second reading confirmed them.",
    },
    "states": {
        "complete": "was read completely",
        "partial": "was read in part",
        "not extracted": "was not read",
    },
}


def _in_line(value: object) -> str:
    """Write a value of a sentence, so that it begins no line of its own."""
    return single_line(str(value))


def evidence_text(proof: Proof) -> str:
    """Write the EVIDENCE.txt of a folder that was proven."""
    text = load_text(__package__, "evidence.txt", _in_line)
    lines = text.render(**_facts(proof), **_WORDS)
    return "".join(f"{_laid_out(*each)}\n" for each in enumerate(lines.splitlines()))


def _laid_out(place: int, line: str) -> str:
    """Break a sentence into lines, and draw a rule below a heading."""
    if line.startswith(_POINT):
        text = single_line(line.removeprefix(_POINT))
        return textwrap.fill(text, _WIDTH, initial_indent=_POINT, subsequent_indent="  ")
    return f"{line}\n{('-' if place else '=') * len(line)}" if line else ""


def _facts(proof: Proof) -> dict[str, Any]:
    """Gather the facts of the sentences; tables that could not be read give none."""
    facts, tables = proof.manifest, proof.sealed.statement.tables if proof.sealed else {}
    reading, checks, differences = (
        to_objects(tables[name]) if name in tables else []
        for name in ("reading", "checks", "restatement")
    )
    lines = tables.get("lines")
    later = 0 if lines is None else pc.sum(pc.greater(lines["record_version"], 1)).as_py() or 0
    verdicts = tables["receipts"]["verdict"].to_pylist() if "receipts" in tables else []
    places = (proof.folder / CHAIN_FILE, proof.folder.parent / CHAIN_FILE)
    return {
        "proof": proof,
        "facts": facts,
        "reading": reading,
        "checks": checks,
        "has_checks": "checks" in tables,
        "differences": len(differences),
        "lines": None if lines is None else {"count": len(lines), "later": later},
        "merchant": names_of(facts["merchant"]),
        "unknown": unknown_lines({"unknown": facts.get("unknown", [])}),
        "noun": noun_of(facts["label"]),
        "findings": sorted(Counter((r["check_name"], r["severity"]) for r in checks).items()),
        "rules": [rule.name for rule in (*read_checks(), *read_footings())],
        "verdicts": sorted(Counter(verdicts).items()),
        "marks": Marks.of(proof.folder),
        "has_chain": any(path.is_file() for path in places),
    }
