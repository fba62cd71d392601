"""Compare the files of a sealed folder with what its tables and facts give when rendered again.

The release that sealed a folder gives the same bytes again, if its libraries are the same. What
another release sealed has its own words, layout and look; what it says is the same.
"""

import csv
import filecmp
import zipfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree.ElementTree import ParseError

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.closing.restatement.diff import read_csv
from svc_analytics.closing.seals import Manifest
from svc_analytics.closing.verification.saying import (
    Known,
    contradictions,
    known_of,
    strange_numbers,
)
from svc_analytics.errors import ConfigError, LakeError, text_of
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.messages import Message, joined
from svc_analytics.render.described.datapackage import DATA_PACKAGE, other_descriptions
from svc_analytics.render.document import Document
from svc_analytics.render.folder import DEFINITIONS, TABLE_FORMATS, Output, write_files
from svc_analytics.render.formats import DOCUMENTS, Form, form_of

_UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, ParseError, csv.Error, pa.ArrowException),
)


@dataclass
class Findings:
    """The faults of the files of a sealed folder, and what could not be proven."""

    broken: list[Message] = field(default_factory=list)
    unproven: list[Message] = field(default_factory=list)
    reworded: list[str] = field(default_factory=list)  # files in the words of another release
    notes: list[Message] = field(default_factory=list)  # worth knowing, though nothing is wrong


def compare_forms(
    sealed: Document,
    manifest: Manifest,
    facts: dict[str, Any],
    folder: Path,
    skip: Collection[str],
    *,
    is_own: bool,
) -> Findings:
    """Render a statement again and compare each file, but those to `skip`, with its own.

    `is_own` says whether this release wrote it: then the words must be the same too.
    """
    findings = Findings()
    formats = formats_of(manifest["files"], sealed.tables)
    left_out = _leave_out_unprintable(formats, findings)
    with TemporaryDirectory() as place:
        try:
            language = Language(**manifest.get("language", {}))
            rows = write_files(sealed, facts, Path(place), Output(tuple(formats), language))
        except OSError as error:
            raise _unwritable(place, error) from error
        except Exception as error:  # forged tables and facts can be anything
            findings.broken.append(Message("seal.not_rendered", error=str(error)))
            return findings
        known = None if is_own else known_of(sealed, facts, folder, skip, language)
        for name, count in _owed(rows, manifest, is_own=is_own).items():
            if name not in manifest["files"]:
                findings.broken.append(Message("seal.no_entry", name=name))
            elif name not in skip:
                _compare(Path(place) / name, folder / name, known, findings)
                rows_of_it = count if is_own or not _is_laid_out(name) else None
                findings.broken += _wrong_entry(name, manifest["files"][name], rows_of_it)
    findings.broken += _strange(manifest, {*rows, *left_out})
    return findings


def _owed(rows: dict[str, int], manifest: Manifest, *, is_own: bool) -> dict[str, int]:
    """Return the files that a folder must have: earlier releases described no columns."""
    later = set() if is_own else {DATA_PACKAGE} - manifest["files"].keys()
    return {name: count for name, count in rows.items() if name not in later}


def _unwritable(place: str, error: OSError) -> LakeError:
    return LakeError(f"cannot render the statement again in {place}: {error.strerror or error}")


def _strange(manifest: Manifest, known: set[str]) -> list[Message]:
    """Name the files that no statement of this kind has."""
    strange = manifest["files"].keys() - known
    return [Message("seal.strange_file", name=name) for name in sorted(strange)]


def _is_laid_out(name: str) -> bool:
    """Whether a release chooses how many rows a file has."""
    form = form_of(name)
    return name in (DEFINITIONS, DATA_PACKAGE) or bool(form and form.is_worded)


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


def _leave_out_unprintable(formats: list[str], findings: Findings) -> list[str]:
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
            findings.unproven += texts
    return files


def _compare(again: Path, file: Path, known: Known | None, findings: Findings) -> None:
    """Compare a file with the same made again; what is `known` allows it other words."""
    if filecmp.cmp(again, file, shallow=False):
        return
    name, form = file.name, form_of(file.name)
    if form and form.read is None:
        findings.unproven.append(Message("seal.other_words", name=name))
        return
    try:
        wrong = list(_differences(form, again, file, known))
    except _UNREADABLE as error:
        wrong = [Message("text.error", ERROR=str(error))]
    if wrong:
        texts = [Message("seal.contradicts", name=name), *filter(None, wrong[:1])]
        findings.broken.append(joined("text.why", texts))
    elif known:
        findings.reworded.append(name)
    else:
        findings.unproven.append(Message("seal.other_look", name=name))


def _differences(
    form: Form | None, again: Path, file: Path, known: Known | None
) -> Iterator[Message | None]:
    """Say in what two files differ, but for their looks, and their words where these may.

    None stands for a difference that no words name.
    """
    if form and form.read:
        ours, theirs = form.read(again), form.read(file)
        if known:
            yield from contradictions(ours, theirs, known)
        elif ours != theirs or not form.is_worded:
            yield None  # what only programs read has no look
    elif file.suffix == ".parquet":
        if not _is_same_table(again, file, has_words=known is None):
            yield None
    elif known and file.name == DATA_PACKAGE:
        yield from other_descriptions(again, file)
    elif known is None or (file.name != DEFINITIONS and read_csv(again) != read_csv(file)):
        yield None
    elif file.name == DEFINITIONS:
        numbers = strange_numbers(read_csv(file))
        yield from (Message("seal.says", number=number) for number in numbers)


def _is_same_table(again: Path, file: Path, *, has_words: bool) -> bool:
    """Whether two Parquet files, written by different releases, hold one table."""
    ours, theirs = pq.ParquetFile(again), pq.ParquetFile(file)
    if has_words and ours.metadata.created_by == theirs.metadata.created_by:
        return False  # one release writes one table in one way
    tables = [pq.read_table(path, page_checksum_verification=True) for path in (again, file)]
    is_one = tables[0].schema.equals(tables[1].schema, check_metadata=has_words)
    return is_one and tables[0].equals(tables[1]) and _bounds(ours) == _bounds(theirs)


def _bounds(file: pq.ParquetFile) -> list[Any]:
    """Return the statistics of each column: a reader skips rows by them."""
    groups = [file.metadata.row_group(place) for place in range(file.num_row_groups)]
    columns = [group.column(place) for group in groups for place in range(group.num_columns)]
    return [column.statistics and column.statistics.to_dict() for column in columns]
