"""Compare the files of a sealed folder with what its tables and facts give when rendered again.

Parquet, pages and workbooks are written with libraries, whose other releases give other
bytes for the same content. So where the bytes differ, what a file says is compared.
"""

import filecmp
import re
import zipfile
import zlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.closing.seals import Manifest
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.language.catalogue import Language
from svc_analytics.render.document import Document
from svc_analytics.render.folder import (
    DEFINITIONS,
    TABLE_FORMATS,
    WHOLE_GROUP,
    write_bare_parquet,
    write_files,
)
from svc_analytics.render.formats import require_pdf

# The formats that write one file or two for the whole statement.
_DOCUMENTS = {
    "statement.xlsx": "xlsx",
    "statement.html": "html",
    "statement.json": "json",
    "statement.pdf": "pdf",
    "journal.csv": "journal",
    "journal.beancount": "journal",
}
_PICTURE = re.compile(rb"<svg.*?</svg>", re.S)
_SHEETS = re.compile(r"xl/(worksheets/|sharedStrings|workbook\.xml)|docProps/core")


@dataclass
class Findings:
    """What was found wrong with a sealed folder, and what could not be proven of it."""

    broken: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)


def compare_forms(
    sealed: Document, manifest: Manifest, facts: dict[str, Any], folder: Path, skip: Collection[str]
) -> Findings:
    """Render a statement again and compare each file, but those to `skip`, with its own."""
    found = Findings()
    formats = formats_of(manifest["files"], sealed.tables)
    if "pdf" in formats:
        _without_printer(formats, found)
    with TemporaryDirectory() as place:
        try:
            language = Language(**manifest.get("language", {}))
            rows = write_files(sealed, facts, Path(place), tuple(formats), language=language)
        except OSError as error:
            message = f"cannot render the statement again in {place}: {error.strerror or error}"
            raise LakeError(message) from error
        except Exception as error:  # forged tables and facts can be anything
            found.broken.append(f"the files cannot be rendered from the tables: {error}")
            return found
        for name, count in rows.items():
            if name == DEFINITIONS and name not in manifest["files"]:
                found.unproven.append(f"{name} is missing: an earlier build wrote none")
            elif name not in manifest["files"]:
                found.broken.append(f"{name} is missing, with its entry in the manifest")
            elif name not in skip:
                _compare(name, Path(place) / name, folder / name, found)
                found.broken += _wrong_entry(name, manifest["files"][name], count)
    strange = manifest["files"].keys() - rows.keys() - {"statement.pdf"}
    found.broken += [f"{name} is no file of this statement" for name in sorted(strange)]
    return found


def _wrong_entry(name: str, entry: dict[str, Any], rows: int) -> list[str]:
    """Say what is wrong with a file's entry in the manifest, but for its hash."""
    is_right = entry.keys() == {"sha256", "rows"} and str(entry["rows"]) == str(rows)
    return [] if is_right else [f"{name} has {rows} rows, and the manifest says {entry}"]


def formats_of(files: Collection[str], tables: Collection[str]) -> list[str]:
    """Return the formats that files of a statement are of."""
    suffixes = {file.rpartition(".")[2] for file in files if file.rpartition(".")[0] in tables}
    formats = [name for name in TABLE_FORMATS if name in suffixes]
    return [*formats, *dict.fromkeys(_DOCUMENTS[file] for file in _DOCUMENTS if file in files)]


def _without_printer(formats: list[str], found: Findings) -> None:
    """Leave PDF out where nothing can print it, and say so."""
    try:
        require_pdf()
    except ConfigError as error:
        formats.remove("pdf")
        found.unproven.append(f"statement.pdf could not be rendered again: {error}")


def _compare(name: str, again: Path, file: Path, found: Findings) -> None:
    if filecmp.cmp(again, file, shallow=False) or _is_of_an_earlier_build(again, file):
        return
    is_same, what = _SAME.get(file.suffix, (None, ""))
    if is_same and is_same(again, file):
        found.unproven.append(f"{name} was written by other libraries, or its {what} altered")
    else:
        found.broken.append(f"{name} is not what the tables and the manifest say")


def _is_of_an_earlier_build(again: Path, file: Path) -> bool:
    """Whether a Parquet file is what an earlier build wrote.

    The first put no comments on columns, and all wrote long tables in larger row groups.
    """
    if file.suffix != ".parquet":
        return False
    table, earlier = pq.read_table(again), again.with_name(f"earlier-{again.name}")
    fields = [field.remove_metadata() for field in table.schema]
    for written in (table, table.cast(pa.schema(fields, table.schema.metadata))):
        write_bare_parquet(written, earlier, WHOLE_GROUP)
        if filecmp.cmp(earlier, file, shallow=False):
            return True
    return False


def _same_table(again: Path, file: Path) -> bool:
    """Whether two Parquet files, written by different releases, hold one table."""
    try:
        ours, theirs = pq.ParquetFile(again), pq.ParquetFile(file)
        if ours.metadata.created_by == theirs.metadata.created_by:
            return False  # one release writes one table in one way
        tables = [pq.read_table(path, page_checksum_verification=True) for path in (again, file)]
    except (OSError, pa.ArrowException):
        return False
    is_one = tables[0].schema.equals(tables[1].schema, check_metadata=True)
    return is_one and tables[0].equals(tables[1]) and _bounds(ours) == _bounds(theirs)


def _bounds(file: pq.ParquetFile) -> list[Any]:
    """Return the statistics of each column: a reader skips rows by them."""
    groups = [file.metadata.row_group(place) for place in range(file.num_row_groups)]
    columns = [group.column(place) for group in groups for place in range(group.num_columns)]
    return [column.statistics and column.statistics.to_dict() for column in columns]


def _same_page(again: Path, file: Path) -> bool:
    """Whether two pages differ in pictures only."""
    ours, theirs = (_PICTURE.sub(b"<svg></svg>", path.read_bytes()) for path in (again, file))
    return ours == theirs


def _same_workbook(again: Path, file: Path) -> bool:
    """Whether two workbooks have the same sheets."""
    try:
        ours, theirs = map(_sheets, (again, file))
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return False
    return ours == theirs


def _sheets(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as workbook:
        names = [name for name in workbook.namelist() if _SHEETS.match(name)]
        return {name: workbook.read(name) for name in names}


# How to tell whether two files of a kind say the same, and what of them is then left unproven.
_SAME: dict[str, tuple[Callable[[Path, Path], bool], str]] = {
    ".parquet": (_same_table, "layout was"),
    ".html": (_same_page, "pictures were"),
    ".xlsx": (_same_workbook, "looks were"),
    ".pdf": (lambda again, file: True, "words were"),
}
