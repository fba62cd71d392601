"""Compare the files of a sealed folder with what its tables and facts give when made again.

A form is proven by being made again, byte for byte, and by nothing else. What libraries write in
other bytes and programs read, such as Parquet, is compared by its content. Another release words
and lays out a page, a workbook or a journal in its own way: one in other bytes is not compared.
"""

import csv
import filecmp
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.closing.neighbours import command_to_close
from svc_analytics.closing.seals import Manifest
from svc_analytics.closing.verification.descriptions import (
    DESCRIPTIONS,
    read_json,
    strange_names,
)
from svc_analytics.closing.verification.facts import version_of
from svc_analytics.errors import ConfigError, LakeError, text_of
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.messages import Message
from svc_analytics.periods import Period
from svc_analytics.render.described.datapackage import DATA_PACKAGE
from svc_analytics.render.document import Document
from svc_analytics.render.folder import TABLE_FORMATS, Output, write_files
from svc_analytics.render.formats import DOCUMENTS, form_of

_UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError),
    *(csv.Error, pa.ArrowException),
)
_DRAWING = re.compile(rb"<svg.*?</svg>", re.DOTALL)  # a chart: a library draws it
_OTHER_BYTES = "other libraries wrote {files}: the same content in other bytes"
_IN_OTHER_WORDS = (
    "svc-analytics {version}, another release, wrote the words of {files}: these were not compared"
)


@dataclass
class Findings:
    """The faults of the files of a sealed folder, and what was not proven or not compared."""

    broken: list[Message] = field(default_factory=list)
    unproven: list[Message] = field(default_factory=list)
    not_compared: list[Message] = field(default_factory=list)  # forms that another release made
    notes: list[Message] = field(default_factory=list)  # worth knowing, though nothing is wrong
    # Names of files: of pages that another release laid out, of tables in its words, and of those
    # that other libraries wrote.
    foreign: list[str] = field(default_factory=list)
    reworded: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)


def compare_forms(
    sealed: Document,
    manifest: Manifest,
    facts: dict[str, Any],
    folder: Path,
    skip: Collection[str],
    *,
    is_own: bool,
) -> Findings:
    """Make a statement's files again and compare each, but those to `skip`, with its own.

    `is_own` says whether this release wrote it: then the words and the look must be the same too.
    """
    findings = Findings()
    formats = formats_of(manifest["files"], sealed.tables)
    left_out = _leave_out_unprintable(formats, findings, is_own=is_own)
    with TemporaryDirectory() as place:
        try:
            language = Language(**manifest.get("language", {}))
            rows = write_files(sealed, facts, Path(place), Output(tuple(formats), language))
        except OSError as error:
            raise _unwritable(place, error) from error
        except Exception as error:  # forged tables and facts can be anything
            findings.broken.append(Message("seal.not_rendered", error=str(error)))
            return findings
        for name, count in _owed(rows, manifest, is_own=is_own).items():
            if name not in manifest["files"]:
                findings.broken.append(Message("seal.no_entry", name=name))
            elif name not in skip:
                _compare(Path(place) / name, folder / name, findings, is_own=is_own)
                rows_of_it = count if is_own or not _is_laid_out(name) else None
                findings.broken += _wrong_entry(name, manifest["files"][name], rows_of_it)
    _note_strange(manifest, {*rows, *left_out}, findings, is_own=is_own)
    _tell(findings, manifest, sealed.period)
    return findings


def _tell(findings: Findings, manifest: Manifest, period: Period) -> None:
    """Say in a line each which files were not compared, and which were not by their bytes."""
    version = version_of(manifest)
    if findings.foreign:
        names = dict.fromkeys(form.name for form in map(form_of, findings.foreign) if form)
        command = f"{command_to_close(period)} --format {','.join(names or ['html'])}"
        values = {"files": ", ".join(findings.foreign), "version": version, "command": command}
        findings.not_compared.append(Message("seal.not_compared", **values))
    if findings.reworded:
        values = {"files": ", ".join(findings.reworded), "version": version}
        findings.notes.append(Message(_IN_OTHER_WORDS, **values))
    if findings.rewritten:
        findings.notes.append(Message(_OTHER_BYTES, files=", ".join(findings.rewritten)))


def _owed(rows: dict[str, int], manifest: Manifest, *, is_own: bool) -> dict[str, int]:
    """Return the files that a folder must have: earlier releases described no columns."""
    later = set() if is_own else {DATA_PACKAGE} - manifest["files"].keys()
    return {name: count for name, count in rows.items() if name not in later}


def _unwritable(place: str, error: OSError) -> LakeError:
    return LakeError(f"cannot render the statement again in {place}: {error.strerror or error}")


def _note_strange(manifest: Manifest, known: set[str], findings: Findings, *, is_own: bool) -> None:
    """Name the files that no statement has which this release makes."""
    strange = sorted(manifest["files"].keys() - known)
    if not is_own:
        findings.foreign += strange
    else:
        findings.broken += [Message("seal.strange_file", name=name) for name in strange]


def _is_laid_out(name: str) -> bool:
    """Whether a release chooses how many rows a file has."""
    return name in DESCRIPTIONS or _is_form(name)


def _is_form(name: str) -> bool:
    """Whether a file is a page, a workbook or a journal: a release makes it in its own way."""
    form = form_of(name)
    return form is not None and form.name != "json"  # which has nothing but facts and tables


def _wrong_entry(name: str, entry: dict[str, Any], rows: int | None) -> list[Message]:
    """List the faults of a file's entry in the manifest, but for its hash."""
    is_right = entry.keys() == {"sha256", "rows"} and rows in (None, entry["rows"])
    is_right &= type(entry.get("rows")) is int
    return [] if is_right else [Message("seal.other_entry", name=name, rows=rows, entry=entry)]


def formats_of(files: Collection[str], tables: Collection[str]) -> list[str]:
    """Return the formats that files of a statement are of."""
    suffixes = {file.rpartition(".")[2] for file in files if file.rpartition(".")[0] in tables}
    formats = [name for name in TABLE_FORMATS if name in suffixes]
    forms = dict.fromkeys(form.name for form in map(form_of, files) if form)
    return [*formats, *forms]


def _leave_out_unprintable(formats: list[str], findings: Findings, *, is_own: bool) -> list[str]:
    """Leave out the forms that cannot be made here, and say so; return their files."""
    files: list[str] = []
    for form in [DOCUMENTS[name] for name in formats if name in DOCUMENTS]:
        try:
            form.require(ENGLISH)
        except ConfigError as error:
            formats.remove(form.name)
            files += form.files
            values = {"ERROR": text_of(error)}
            texts = [Message("seal.not_again", name=file, **values) for file in form.files]
            (findings.unproven if is_own else findings.not_compared).extend(texts)
    return files


def _compare(again: Path, file: Path, findings: Findings, *, is_own: bool) -> None:
    """Compare a file with the same made again; another release makes its forms in its own way."""
    name, form = file.name, form_of(file.name)
    if filecmp.cmp(again, file, shallow=False):
        return
    if not is_own and _is_form(name):
        findings.foreign.append(name)
    elif form and form.is_worded:
        _compare_look(again, file, findings)
    else:
        try:
            _compare_content(again, file, findings, is_own=is_own)
        except _UNREADABLE:
            findings.broken.append(Message("seal.contradicts", name=name))


def _compare_look(again: Path, file: Path, findings: Findings) -> None:
    """Compare a form that people read: nothing tells which library, or who, changed a byte."""
    if file.suffix != ".html":
        findings.unproven.append(Message("seal.other_words", name=file.name))
    elif _DRAWING.sub(b"", again.read_bytes()) == _DRAWING.sub(b"", file.read_bytes()):
        findings.unproven.append(Message("seal.other_look", name=file.name))
    else:
        findings.broken.append(Message("seal.contradicts", name=file.name))


def _compare_content(again: Path, file: Path, findings: Findings, *, is_own: bool) -> None:
    """Compare a table value by value; of a description in other words, all but its sentences."""
    name, is_table = file.name, file.suffix == ".parquet"
    if (is_same := _SAME.get(file.suffix)) and is_same(again, file):
        findings.rewritten.append(name)
    elif not is_own and is_table and _is_same_table(again, file, has_words=False):
        findings.reworded.append(name)
    elif is_own or name not in DESCRIPTIONS:
        findings.broken.append(Message("seal.contradicts", name=name))
    elif strange := next(strange_names(again, file), None):
        findings.not_compared.append(Message("seal.other_names", name=name, text=strange))
    else:
        findings.reworded.append(name)


def _is_same_table(again: Path, file: Path, *, has_words: bool = True) -> bool:
    """Whether two Parquet files hold one table, and let a reader skip the same rows.

    The comments of its columns are words.
    """
    ours, theirs = (pq.ParquetFile(path, page_checksum_verification=True) for path in (again, file))
    bounds = zip(_bounds(ours), _bounds(theirs), strict=True)
    return (
        ours.schema_arrow.equals(theirs.schema_arrow, check_metadata=has_words)
        and all(theirs in (None, ours) for ours, theirs in bounds)
        and all(
            ours.read_row_group(place).equals(theirs.read_row_group(place))
            for place in range(ours.num_row_groups)
        )
    )


def _bounds(file: pq.ParquetFile) -> list[Any]:
    """Return the statistics of each column: a reader skips rows by them."""
    groups = [file.metadata.row_group(place) for place in range(file.num_row_groups)]
    columns = [group.column(place) for group in groups for place in range(group.num_columns)]
    return [column.statistics and column.statistics.to_dict() for column in columns]


def _is_same_document(again: Path, file: Path) -> bool:
    """Whether two JSON documents say the same: 1, 1.0 and true are three things there."""
    ours, theirs = (json.dumps(read_json(path), sort_keys=True) for path in (again, file))
    return ours == theirs


def _has_same_cells(again: Path, file: Path) -> bool:
    """Whether two CSV files have the same cells, also those escaped for spreadsheets."""
    return all(ours == theirs for ours, theirs in zip_longest(_cells(again), _cells(file)))


def _cells(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.reader(file, strict=True)


_SAME = {".parquet": _is_same_table, ".json": _is_same_document, ".csv": _has_same_cells}
