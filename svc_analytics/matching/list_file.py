"""A list of somebody else's, as it lies in a file or a frame: its headings, cells and lines."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO, StringIO
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.arguments import PATH, described
from svc_analytics.errors import ConfigError, needs_extra
from svc_analytics.formatting.tables import to_csv

_SEPARATORS = (",", ";", "\t")
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
_BOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
_PARQUET = b"PAR1"


@dataclass(frozen=True)
class ListFile:
    """A list: its name, the digest of its bytes, its headings, and its cells column by column."""

    name: str
    digest: str
    headings: tuple[str, ...]
    columns: tuple[Sequence[Any], ...]
    lines: Sequence[int]  # of each row, as an editor or a spreadsheet counts them

    def column(self, heading: str) -> Sequence[Any]:
        """Return the cells below a heading."""
        return self.columns[self.headings.index(heading)]

    def refused(self, line: int, why: str) -> ConfigError:
        """Return the error that names the line and what is wrong with it."""
        return ConfigError(f"{self.name}, line {line}: {why}")


def read_list(source: Any) -> ListFile:
    """Read a list from a file, a frame of pandas or a table of Arrow."""
    if isinstance(source, PATH):
        return _read_file(Path(source))
    if hasattr(source, "columns") and hasattr(source, "to_dict"):
        source = pa.Table.from_pandas(source, preserve_index=False)
    if not isinstance(source, pa.Table):
        raise ConfigError(f"the list is {described(source)}: give a path, a frame or a table")
    return _of_table("the frame", sha256(to_csv(source).encode()).hexdigest(), source)


def _read_file(path: Path) -> ListFile:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    digest = sha256(content).hexdigest()
    if not content.strip():
        raise ConfigError(f"{path} is empty")
    if content.startswith(_PARQUET):
        try:
            return _of_table(path.name, digest, pq.read_table(BytesIO(content)))
        except (pa.ArrowException, OSError) as error:
            raise ConfigError(f"{path} is no Parquet file that can be read") from error
    if path.suffix.lower() in _BOOKS or content.startswith(b"PK"):
        return _of_rows(path, digest, enumerate(_sheet(path, content), 1))
    return _of_rows(path, digest, _csv_rows(path, content))


def _of_table(name: str, digest: str, table: pa.Table) -> ListFile:
    columns = tuple(column.to_pylist() for column in table.columns)
    return ListFile(name, digest, tuple(table.column_names), columns, range(1, table.num_rows + 1))


def _of_rows(path: Path, digest: str, rows: Iterator[tuple[int, Sequence[Any]]]) -> ListFile:
    """Return a list whose first row that is not blank names the columns."""
    filled = ((line, row) for line, row in rows if any(row))
    first, head = next(filled, (1, ()))
    names = _names(path, first, head)
    lines: list[int] = []
    parts: list[tuple[Sequence[Any], ...]] = []
    while block := list(islice(filled, 10_000)):
        lines += [line for line, _ in block]
        parts.append(tuple(zip(*(_fitted(path, *each, len(names)) for each in block), strict=True)))
    if not lines:
        raise ConfigError(f"{path} is empty: it has headings, and no row")
    columns = tuple([cell for part in parts for cell in part[n]] for n in range(len(names)))
    return ListFile(path.name, digest, tuple(names), columns, lines)


def _names(path: Path, line: int, head: Sequence[Any]) -> list[str]:
    names = [str(cell or "").strip() for cell in head]
    while names and not names[-1]:
        names.pop()
    for name in names:
        if name and names.count(name) > 1:
            raise ConfigError(f"{path.name}, line {line}: two columns are called {name!r:.60}")
    return names


def _fitted(path: Path, line: int, row: Sequence[Any], width: int) -> Sequence[Any]:
    """Return the cells of a row, as many as there are headings; refuse filled ones behind them."""
    if len(row) == width:
        return row
    if len(row) > width and any(cell not in (None, "") for cell in row[width:]):
        why = f"{len(row)} cells, and {width} headings: put quotes around a cell with a separator"
        raise ConfigError(f"{path.name}, line {line}: {why}")
    return [*row[:width], *[""] * (width - len(row))]


def _sheet(path: Path, content: bytes) -> list[list[Any]]:
    with needs_extra("xlsx"):
        from python_calamine import CalamineError, CalamineWorkbook
    try:
        book = CalamineWorkbook.from_filelike(BytesIO(content))
        sheets = [book.get_sheet_by_name(name).to_python(False) for name in book.sheet_names]
    except (CalamineError, OSError, ValueError) as error:
        raise ConfigError(f"{path} is no workbook that can be read: {error}") from error
    filled = [sheet for sheet in sheets if sheet]
    if len(filled) > 1:
        raise ConfigError(f"{path} has {len(filled)} sheets with cells: keep the one to match")
    return filled[0] if filled else []


def _csv_rows(path: Path, content: bytes) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the rows of a CSV file, each with its first line."""
    text = _decoded(content)
    reader = csv.reader(StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise ConfigError(f"{path.name}, line {line}: no CSV: {error}") from error


def _decoded(content: bytes) -> str:
    """Return a text in whichever encoding Excel writes it."""
    marked = [encoding for mark, encoding in _MARKS.items() if content.startswith(mark)]
    for encoding in marked[:1] or ("utf-8", "cp1252"):
        with suppress(UnicodeDecodeError):
            return content.decode(encoding)
    raise ConfigError("the list is no text in UTF-8, UTF-16 or Windows-1252: save it as UTF-8")


def _separator(text: str) -> str:
    """Return the sign between cells: the one that the head has most."""
    head = text.lstrip("\r\n")
    first = head.partition("\n")[0]
    return max(_SEPARATORS, key=first.count)
