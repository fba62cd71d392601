"""Compare the files of a sealed folder with what its tables and facts give when made again.

A form is proven by being made again, byte for byte, and by nothing else. What libraries write in
other bytes and programs read, such as Parquet, is compared by its content. Another release words
and lays out a page, a workbook or a journal in its own way: one in other bytes is not compared.
"""

import csv
import filecmp
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.closing.adjacent_periods import command_to_close
from svc_analytics.closing.seals import Manifest, parse_json
from svc_analytics.closing.table_diff import read_csv
from svc_analytics.closing.verification.contents import version_of
from svc_analytics.errors import ConfigError, LakeError, text_of
from svc_analytics.files import UNREADABLE
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period
from svc_analytics.render.datapackage import DATA_PACKAGE
from svc_analytics.render.document import Document
from svc_analytics.render.folder import DEFINITIONS, TABLE_FORMATS, Output, write_files
from svc_analytics.render.formats import DOCUMENTS, form_of
from svc_analytics.warehouse.figures import GLOSSARY, definitions_table, label_of, labels_of

_UNREADABLE = (*UNREADABLE, RuntimeError, csv.Error, pa.ArrowException)
_DRAWING = re.compile(rb"<svg.*?</svg>", re.DOTALL)  # a chart: a library draws it
_CONTRADICTS, _LEFT_OUT = "seal.contradicts", "seal.not_compared"
# What is said of a file, or of several in one line, by its outcome.
_OUTCOMES = {
    "seal.strange_file": "broken",
    _CONTRADICTS: "broken",
    "seal.other_words": "unproven",
    "seal.other_look": "unproven",
    _LEFT_OUT: "not_compared",
    "seal.other_names": "not_compared",
    "seal.words_left_out": "notes",
    "seal.other_bytes": "notes",
}


@dataclass
class Findings:
    """What was found of a sealed folder, or of its files: faults, and what is not proven."""

    broken: list[Message] = field(default_factory=list)
    unproven: list[Message] = field(default_factory=list)
    doubts: list[Message] = field(default_factory=list)  # unproven too, and no file's fault
    not_compared: list[Message] = field(default_factory=list)  # what another release made
    notes: list[Message] = field(default_factory=list)  # worth knowing, though nothing is wrong
    verdicts: list[Message] = field(default_factory=list)  # notes on what receipts brought to light

    @classmethod
    def joined(cls, parts: Sequence["Findings"]) -> "Findings":
        """Return the findings of several checks, one after another."""
        names = [each.name for each in fields(cls)]
        return cls(*([text for part in parts for text in getattr(part, name)] for name in names))

    @property
    def of_files(self) -> list[Message]:
        """What of the folder is not as it is made again: a file, or a fact of its manifest."""
        return [text for text in self.unproven if text not in self.doubts]

    @property
    def left_out(self) -> list[Message]:
        """Notes of what was not compared, because another release made it."""
        return [Message("seal.left_out", text=translated(text)) for text in self.not_compared]

    def tell(self, codes: Mapping[str, list[str]], **values: object) -> None:
        """Add what is to be said of files by its code; what is no fault, in one line."""
        for code, names in codes.items():
            texts = names if _OUTCOMES[code] in ("broken", "unproven") else [", ".join(names)]
            getattr(self, _OUTCOMES[code]).extend(
                Message(code, name=text, **values) for text in texts
            )


def doubt(*texts: Message) -> Findings:
    """Say what cannot be told of a folder because of the lake, or of what lies beside it."""
    return Findings(unproven=[*texts], doubts=[*texts])


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
    unprintable = _unprintable(formats_of(manifest["files"], sealed.tables))
    findings = Findings()
    (findings.unproven if is_own else findings.not_compared).extend(unprintable.values())
    formats = formats_of([f for f in manifest["files"] if f not in unprintable], sealed.tables)
    with TemporaryDirectory() as place:
        try:
            rows = _write_again(sealed, facts, manifest, Path(place), formats)
        except _Unrenderable as error:
            findings.broken.append(Message("seal.not_rendered", error=str(error.__cause__)))
            return findings
        codes = _strange(manifest, {*rows, *unprintable}, is_own=is_own)
        for name, count in _owed(rows, manifest, is_own=is_own).items():
            if name not in manifest["files"]:
                findings.broken.append(Message("seal.no_entry", name=name))
            elif name not in skip:
                if code := _difference(Path(place) / name, folder / name, is_own=is_own):
                    codes.setdefault(code, []).append(name)
                has_own_rows = name in DESCRIPTIONS or _is_form(name)  # each release chooses them
                known = None if has_own_rows and not is_own else count
                findings.broken += _wrong_entry(name, manifest["files"][name], known)
    command = _command_to_write(sealed.period, codes.get(_LEFT_OUT, ()))
    findings.tell(codes, version=version_of(manifest), command=command)
    return findings


def _command_to_write(period: Period, names: Collection[str]) -> str:
    """Return the command that writes these forms of a period today."""
    forms = dict.fromkeys(form.name for form in map(form_of, names) if form)
    return f"{command_to_close(period)} --format {','.join(forms or ['html'])}"


def _owed(rows: dict[str, int], manifest: Manifest, *, is_own: bool) -> dict[str, int]:
    """Return the files that a folder must have: earlier releases described no columns."""
    later = set() if is_own else {DATA_PACKAGE} - manifest["files"].keys()
    return {name: count for name, count in rows.items() if name not in later}


class _Unrenderable(Exception):
    """Forged tables and facts can be anything."""


def _write_again(
    sealed: Document, facts: dict[str, Any], manifest: Manifest, place: Path, formats: list[str]
) -> dict[str, int]:
    """Make a statement's files again in a folder; return how many rows each has."""
    try:
        language = Language(**manifest.get("language", {}))
        return write_files(sealed, facts, place, Output(tuple(formats), language))
    except OSError as error:
        text = f"cannot render the statement again in {place}: {error.strerror or error}"
        raise LakeError(text) from error
    except Exception as error:
        raise _Unrenderable from error


def _strange(manifest: Manifest, known: set[str], *, is_own: bool) -> dict[str, list[str]]:
    """Return the files that no statement of this release has, by what is to be said of them."""
    strange = sorted(manifest["files"].keys() - known)
    return {"seal.strange_file" if is_own else _LEFT_OUT: strange} if strange else {}


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


def _unprintable(formats: Collection[str]) -> dict[str, Message]:
    """Say of each file of the forms that cannot be made here why it is not made again."""
    texts: dict[str, Message] = {}
    for form in [DOCUMENTS[name] for name in formats if name in DOCUMENTS]:
        try:
            form.require()
        except ConfigError as error:
            why = translated(text_of(error))
            texts |= {file: Message("seal.not_again", name=file, error=why) for file in form.files}
    return texts


def _difference(again: Path, file: Path, *, is_own: bool) -> str | None:
    """Return the code of how a file differs from the same made again; None where it does not."""
    form = form_of(file.name)
    if filecmp.cmp(again, file, shallow=False):
        return None
    if not is_own and _is_form(file.name):
        return _LEFT_OUT
    if form and form.is_worded:  # nothing tells which library, or who, changed a byte
        return "seal.other_words" if file.suffix != ".html" else _look(again, file)
    try:
        return _content(again, file, is_own=is_own)
    except _UNREADABLE:
        return _CONTRADICTS


def _look(again: Path, file: Path) -> str:
    """Compare two pages but for the drawings of their charts."""
    pages = [_DRAWING.sub(b"", path.read_bytes()) for path in (again, file)]
    return "seal.other_look" if pages[0] == pages[1] else _CONTRADICTS


def _content(again: Path, file: Path, *, is_own: bool) -> str:
    """Compare a table value by value; of a description in other words, all but its sentences."""
    is_same, is_table = _SAME.get(file.suffix), file.suffix == ".parquet"
    if is_same and is_same(again, file):
        return "seal.other_bytes"
    if is_own or not (is_table or file.name in DESCRIPTIONS):
        return _CONTRADICTS
    if is_table:
        is_one = _is_same_table(again, file, has_words=False)
        return "seal.words_left_out" if is_one else _CONTRADICTS
    return "seal.words_left_out" if names_the_same(again, file) else "seal.other_names"


def _is_same_table(again: Path, file: Path, *, has_words: bool = True) -> bool:
    """Whether two Parquet files hold one table, and let a reader skip the same rows.

    The comments of its columns are words.
    """
    ours, theirs = (pq.ParquetFile(path, page_checksum_verification=True) for path in (again, file))
    if (groups := _groups(theirs)) != _groups(ours):
        ours = _regrouped(ours, groups)
    bounds = zip(_bounds(ours), _bounds(theirs), strict=True)
    return (
        ours.schema_arrow.equals(theirs.schema_arrow, check_metadata=has_words)
        and all(theirs in (None, ours) for ours, theirs in bounds)
        and all(
            ours.read_row_group(place).equals(theirs.read_row_group(place))
            for place in range(ours.num_row_groups)
        )
    )


def _groups(file: pq.ParquetFile) -> list[int]:
    """Return how many rows each row group has."""
    metadata = file.metadata
    return [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)]


def _regrouped(file: pq.ParquetFile, groups: list[int]) -> pq.ParquetFile:
    """Return a file's rows in other row groups, such as another release wrote."""
    table, content, start = file.read(), pa.BufferOutputStream(), 0
    if sum(groups) != len(table):
        raise ValueError(f"{len(table)} rows are no {groups}")
    with pq.ParquetWriter(content, table.schema) as writer:
        for rows in groups:
            writer.write_table(table.slice(start, rows), rows or None)
            start += rows
    return pq.ParquetFile(content.getvalue())


def _bounds(file: pq.ParquetFile) -> list[Any]:
    """Return the statistics of each column: a reader skips rows by them."""
    groups = [file.metadata.row_group(place) for place in range(file.num_row_groups)]
    columns = [group.column(place) for group in groups for place in range(group.num_columns)]
    return [column.statistics and column.statistics.to_dict() for column in columns]


def _is_same_document(again: Path, file: Path) -> bool:
    """Whether two JSON documents say the same: 1, 1.0 and true are three things there."""
    ours, theirs = (parse_json(path.read_bytes()) for path in (again, file))
    return json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True)


def _has_same_cells(again: Path, file: Path) -> bool:
    """Whether two CSV files have the same cells, also those escaped for spreadsheets."""
    return all(ours == theirs for ours, theirs in zip_longest(_cells(again), _cells(file)))


def _cells(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.reader(file, strict=True)


_SAME = {".parquet": _is_same_table, ".json": _is_same_document, ".csv": _has_same_cells}


# ---------- What the descriptions of another release say of figures and columns
# Beside their sentences.
# A label, a unit and a sign say what a number is: none may be another figure's. A label that a
# figure had in an earlier release is its own still.


DESCRIPTIONS = (DEFINITIONS, DATA_PACKAGE)
_APART = {"description", "resources", "fields"}  # sentences, and what is compared one by one


def names_the_same(again: Path, file: Path) -> bool:
    """Whether a description has the names, units and signs that this release gives.

    Raises `ValueError`, `LookupError`, `TypeError` or `AttributeError` for what is none.
    """
    if file.name == DEFINITIONS:
        return _names_figures(file)
    return _names_columns(*(parse_json(path.read_bytes()) for path in (again, file)))


def _names_figures(path: Path) -> bool:
    """Whether each row has a label, a unit and a sign of its figure; others may have no row."""
    table = read_csv(path)
    if len(set(table.column_names)) < len(table.column_names):
        raise ValueError("a column stands twice in its head")
    own = {row["name"]: (row["unit"], row["sign"]) for row in definitions_table().to_pylist()}
    return {*table.column_names} <= GLOSSARY.keys() and all(
        row["label"] in labels_of(row["name"])
        and own.get(row["name"]) == (row["unit"], row["sign"])
        for row in table.to_pylist()
    )


def _names_columns(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Whether all tables and columns, in the order of their table, are described as today."""
    known = {each["name"]: each for each in ours["resources"]}
    return _bare(ours) == _bare(theirs) and all(
        _bare(table) == _bare(known.get(table["name"]))
        and _has_columns(known[table["name"]], table)
        for table in theirs["resources"]
    )


def _has_columns(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    columns = iter([_bare(each) for each in ours["schema"]["fields"]])
    return all(_bare(each) in columns for each in theirs["schema"]["fields"])  # passes those before


def _bare(part: Any) -> Any:
    """Return a part of a data package as it must be, without its own parts."""
    if not isinstance(part, dict):
        return json.dumps(part)
    bare = {key: _bare(part[key]) for key in part.keys() - _APART}
    if part.get("title") in labels_of(str(part.get("name"))):
        bare["title"] = label_of(part["name"])
    return bare
