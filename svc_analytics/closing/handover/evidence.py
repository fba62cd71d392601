"""What a stranger is given of a sealed month: all of it in one zip, or the proof of one line.

The zip checks itself, and is the same, byte for byte, whenever the same folder is packed. The proof
shows no other line.
"""

import hashlib
import textwrap
import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.api.routes import PREFIX, ROUTES
from svc_analytics.arguments import AnyPath, check
from svc_analytics.closing import seals
from svc_analytics.closing.chain import chain_faults
from svc_analytics.closing.verification.contents import version_of
from svc_analytics.closing.verification.derived_forms import Sealed, fill
from svc_analytics.closing.verification.matches import ENDING, SavedMatch, saved_matches
from svc_analytics.closing.verification.proof import Proof, prove_folder
from svc_analytics.config import read_signing_key
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.files import chunks_of, hash_file, zip_entry
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.tables import output_file, to_csv, to_objects
from svc_analytics.formatting.texts import load_text, single_line
from svc_analytics.instants import now
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message, translated
from svc_analytics.periods import noun_of, parse_period
from svc_analytics.proofs import checkpoint, line_proof, signature, statuses, tree, verify
from svc_analytics.render.document import unknown_lines
from svc_analytics.render.folder import MANIFEST, Output
from svc_analytics.render.formats import has_typst
from svc_analytics.statements.sentences import sentences_file
from svc_analytics.warehouse.models import read_checks, read_footings, read_statement_macros

# `templates/readme.txt` says what a package is, and how a stranger checks it, by a recipe that a
# test runs.
_FACTS = ("tool_version", "start", "end", "label", "calendar", "zone", "status", "as_of")
_TABLES = {
    "checks": "every finding that concerns the period",
    "definitions": "what each figure means, and how it is computed",
    "months": "the figures of each month that the period is made of",
    "trend": "all coins in USD, month by month, up to that of the statement",
    "restatement": "what differs from the version before, with the cause",
}
# `templates/evidence.txt` says what an auditor asks of records from outside, a sentence in a line.
# Auditing standards (PCAOB AS 1105.10A) ask for their source, and how they were received, kept and
# changed. Each sentence is a fact of the manifest or of a sealed table, or the result of a check
# that ran while the package was made.
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
    out: AnyPath | None = None,
    signers: AnyPath | None = None,
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
    out: AnyPath | None = None,
    lake: Lake | None = None,
    signers: AnyPath | None = None,
) -> Package:
    """Pack a sealed folder; refuse one of which a file is altered, or not proven."""
    manifest = seals.read_manifest(folder)
    # A forged manifest may name any file of this machine.
    odd = [name for name in manifest["files"] if not _is_plain(name)]
    broken = [Message("seal.odd_file", name=ascii(name)) for name in odd]
    broken = broken or seals.seal_violations(folder, manifest)
    if not broken:
        proof = prove_folder(folder, manifest, lake or seals.lake_around(folder.absolute()))
        matches = [*saved_matches(proof)]
        broken = [*proof.findings.broken, *chain_faults(proof.lake), *proof.findings.of_files]
        broken += [each.fault for each in matches if each.status.outcome == statuses.FAILED]
    if broken:
        raise LakeError(Message("seal.not_packed", folder=folder, fault=translated(broken[0])))
    not_compared = tuple(proof.findings.not_compared)
    if not_compared and not _is_signed(folder, signers):
        values = {"folder": folder, "version": version_of(manifest)}
        raise LakeError(
            Message("seal.not_packed_unsigned", fault=translated(not_compared[0]), **values)
        )
    target = _zip_file(folder, out)
    with output_file(target, is_durable=True) as temporary:
        _write(temporary, proof, [each for each in matches if each.is_of_seal])
        digest = hash_file(temporary)
    doubts = [each.fault for each in matches if each.status.outcome == statuses.UNCHECKED]
    seal, unproven = str(manifest["seal"]), (*proof.findings.unproven, *doubts)
    return Package(target, folder, seal, digest, unproven, not_compared)


def _zip_file(folder: Path, out: AnyPath | None) -> Path:
    target = Path(f"{folder.name}.zip" if out is None else out)
    if target.suffix.lower() != ".zip":
        raise ConfigError(f"--out {target}: its suffix must be .zip")
    return target


def _is_signed(folder: Path, signers: AnyPath | None) -> bool:
    """Whether the merchant's own key signed a folder, or one that the reader trusts."""
    own, by = read_signing_key(), signature.signer_in(folder)
    is_own = own is not None and by is not None and by == signature.fingerprint_of(own)
    return is_own or statuses.Trust.read(signers, None, None).signer_of(folder) is not None


def _is_plain(name: str) -> bool:
    return Path(name).name == name and "\\" not in name and name.isprintable()


def _write(target: Path, proof: Proof, matches: list[SavedMatch]) -> None:
    folder, manifest = proof.folder, proof.manifest
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        sums = {}
        for name, content in _added(proof, matches).items():
            sums[name] = hashlib.sha256(content).hexdigest()
            _add_text(archive, f"{folder.name}/{name}", content)
        # What is packed is what was checked, even if somebody writes there meanwhile.
        content = (folder / MANIFEST).read_bytes()
        _require(seals.parse_manifest(content, folder) == manifest, folder / MANIFEST)
        for name in sorted({MANIFEST, *manifest["files"]}):
            chunks = [content] if name == MANIFEST else chunks_of(folder / name)
            sums[name] = _add_file(archive, f"{folder.name}/{name}", chunks)
            is_whole = name == MANIFEST or sums[name] == manifest["files"][name]["sha256"]
            _require(is_whole, folder / name)
        lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
        _add_text(archive, f"{folder.name}/{seals.SUMS}", lines.encode())
        if proof.sealed:
            _add_readable(archive, proof.sealed)
        for path, known in ((path, each.said["files"]) for each in matches for path in each.files):
            name = f"{folder.name}{ENDING}/{path.parent.name}/{path.name}"
            digest = _add_file(archive, name, chunks_of(path))
            _require(known.get(path.name, digest) == digest, path)


def _added(proof: Proof, matches: list[SavedMatch]) -> dict[str, bytes]:
    """Make what a package adds to the sealed files, by name."""
    texts = {
        seals.README: readme_text(proof.manifest),
        seals.EVIDENCE: evidence_text(proof, matches),
    }
    files = [proof.folder / name for name in checkpoint.BESIDE]
    files += [proof.folder.parent / name for name in (checkpoint.CHAIN, checkpoint.CHAIN_SIGNATURE)]
    return {
        **{name: text.encode() for name, text in texts.items()},
        seals.VERIFY: Path(verify.__file__).read_bytes(),
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
            _add_file(archive, f"{sealed.place.name}/{path.name}", chunks_of(path))


def _add_text(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zip_entry(name), content, zipfile.ZIP_DEFLATED)


def _require(is_whole: bool, path: Path) -> None:
    if not is_whole:
        raise LakeError(Message("seal.altered_meanwhile", path=path))


def _add_file(archive: zipfile.ZipFile, name: str, chunks: Iterable[bytes]) -> str:
    """Copy a file into a zip; return the hash of what was copied."""
    digest = hashlib.sha256()
    with archive.open(zip_entry(name), "w") as target:
        for chunk in chunks:
            digest.update(chunk)
            target.write(chunk)
    return digest.hexdigest()


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


def evidence_text(proof: Proof, matches: Iterable[SavedMatch] = ()) -> str:
    """Write the EVIDENCE.txt of a folder that was proven, and of its matches."""
    text = load_text(__package__, "evidence.txt", lambda value: single_line(str(value)))
    lines = text.render(**_facts(proof), **_WORDS, matches=[*matches])
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
    places = (proof.folder / checkpoint.CHAIN, proof.folder.parent / checkpoint.CHAIN)
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
        "marks": statuses.Marks.of(proof.folder),
        "has_chain": any(path.is_file() for path in places),
    }


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
    out: AnyPath | None = None,
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
    lake: Lake, folder: Path, record_id: str, line: int | None = None, out: AnyPath | None = None
) -> LineProof:
    """Prove a line of a sealed folder, with the secret of the lake that sealed it."""
    check("record_id", record_id, str, "the id of a record as text")
    check("line", line, (int, type(None)), "the number of a line")
    if not record_id:
        raise ConfigError("record_id is empty: give the id of a record")
    manifest = seals.read_manifest(folder)
    _require_tree(folder, manifest)
    secret = _secret_of(lake, folder, manifest)
    proof = line_proof.prove_line(folder, manifest, secret, record_id, line, lake.storage)
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
    if fault := checkpoint.checkpoint_fault(folder, manifest):
        raise LakeError(f"{folder}: {fault}: restore it from a copy")


def _secret_of(lake: Lake, folder: Path, manifest: seals.Manifest) -> bytes:
    """Read the secret of the lake that sealed a statement; another one proves nothing of it."""
    if not seals.read_register(lake.path / seals.STATEMENTS).has(manifest["seal"]):
        message = f"the lake in {lake.place} did not seal {folder}"
        raise LakeError(f"{message}: name the lake that did with --data-dir, for its secret")
    secret = tree.read_secret(lake.path)
    if secret is None:
        raise LakeError(f"{lake.path / tree.FILE} is missing: restore it from a copy of the lake")
    return secret
