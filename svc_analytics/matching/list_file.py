"""A list of somebody else's, in a file or a frame: its headings, and its rows as texts.

A list may be longer than the memory: its rows are read some thousand at a time.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.arguments import PATH, check_path, described
from svc_analytics.errors import ConfigError, needs_extra
from svc_analytics.files import hash_file
from svc_analytics.formatting.tables import csv_digest
from svc_analytics.matching.headings import SINGLES

Row = tuple[int, Sequence[Any], str | None]  # its line, its cells, and why it cannot be read
_SEPARATORS = (",", ";", "\t", "|")
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
_BOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
_PARQUET, _ZIP = b"PAR1", b"PK"
_BATCH = 10_000  # rows that are in memory at a time
_TOP = 20  # rows among which the headings stand: exports may have some lines above them
_SAMPLE = 1 << 16  # letters that tell the sign between cells
_MOST_DIGITS = 15  # that a number of a spreadsheet holds
_TEXTS = pa.list_(pa.string())
_ROWS = pa.schema(
    [("row", pa.int64()), ("line", pa.int64()), ("keys", _TEXTS), ("texts", _TEXTS)]
    + [(name, pa.string()) for name in ("fault", "head", *SINGLES)]
)
_ASCII = {ord(sign): str(n % 10) for n, sign in enumerate("۰۱۲۳۴۵۶۷۸۹٠١٢٣٤٥٦٧٨٩")}
_ASCII |= {ord("٫"): ".", ord("٬"): ",", 0x2212: "-", 0x2019: "'"}
_ASCII |= dict.fromkeys((0xA0, 0x202F, 0x2009), " ")


@dataclass(frozen=True)
class ListFile:
    """A list: its name, the digest of its bytes, its headings, and the rows below them."""

    name: str
    digest: str
    headings: tuple[str, ...]
    rows: Callable[[], Iterator[Row]] = field(repr=False)

    def reader(self, columns: Mapping[str, Sequence[str]]) -> pa.RecordBatchReader:
        """Return the rows as texts by what their columns hold, as SQL wants them."""
        places = {role: [*map(self.headings.index, each)] for role, each in columns.items()}
        rows = self.rows()
        blocks = enumerate(iter(lambda: [*islice(rows, _BATCH)], []))
        batches = (self._batch(number * _BATCH, block, places) for number, block in blocks)
        return pa.RecordBatchReader.from_batches(_ROWS, batches)

    def _batch(
        self, first: int, block: Sequence[Row], places: Mapping[str, Sequence[int]]
    ) -> pa.RecordBatch:
        lines, rows, faults = zip(*block, strict=True)

        def column(place: int) -> list[str | None]:
            return [_text(row[place]) if place < len(row) else None for row in rows]

        def columns(role: str) -> list[tuple[str | None, ...]]:
            return list(zip(*map(column, places.get(role, ())), strict=True)) or [()] * len(rows)

        named: dict[str, Any] = {"row": range(first, first + len(rows)), "line": lines}
        named |= {"fault": map(self._fault, rows, faults), "head": map(_first, rows)}
        named |= {"keys": columns("key"), "texts": columns("text")}
        named |= {
            role: column(places[role][0]) if places.get(role) else [None] * len(rows)
            for role in SINGLES
        }
        arrays = [pa.array(list(named[each.name]), each.type) for each in _ROWS]
        return pa.RecordBatch.from_arrays(arrays, schema=_ROWS)

    def _fault(self, row: Sequence[Any], fault: str | None) -> str | None:
        """Return why a row cannot be read: filled cells behind the last heading have no name."""
        width = len(self.headings)
        if fault or len(row) <= width or all(cell in (None, "") for cell in row[width:]):
            return fault
        return f"{len(row)} cells, and {width} headings: put quotes around a cell with a separator"


def read_list(source: Any) -> ListFile:
    """Return the list that a file, a frame of pandas or a table of Arrow holds."""
    if isinstance(source, PATH):
        check_path("the list", source, "orders.csv")
        return _of_file(Path(source))
    if hasattr(source, "iloc") and hasattr(source, "columns"):
        columns = [_column(source.iloc[:, place]) for place in range(len(source.columns))]
        source = pa.table(columns, names=[*map(str, source.columns)])
    if not isinstance(source, pa.Table):
        raise ConfigError(f"the list is {described(source)}: give a path, a frame or a table")
    batches = partial(source.to_batches, max_chunksize=_BATCH)
    return ListFile("the frame", csv_digest(source), (*source.column_names,), _of_batches(batches))


def _column(series: Any) -> Any:
    """Return a column of pandas; one of numbers and texts becomes one of texts."""
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array([_text(cell) for cell in series], pa.string())


def _of_file(path: Path) -> ListFile:
    try:
        digest = hash_file(path)
        with path.open("rb") as file:
            start = file.read(len(_PARQUET))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    if start == _PARQUET:
        return _parquet(path, digest)
    if path.suffix.lower() in _BOOKS or start.startswith(_ZIP):
        return _below_headings(path, digest, partial(iter, _sheet(path)))
    encoding = _encoding(path, start)
    with path.open(encoding=encoding, newline="") as file:
        separator = _separator(file.read(_SAMPLE))
    return _below_headings(path, digest, partial(_csv_rows, path, encoding, separator))


def _parquet(path: Path, digest: str) -> ListFile:
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise ConfigError(f"{path} is no Parquet file that can be read") from error
    rows = _of_batches(lambda: file.iter_batches(_BATCH))
    return ListFile(path.name, digest, tuple(file.schema_arrow.names), rows)


def _of_batches(batches: Callable[[], Iterable[pa.RecordBatch]]) -> Callable[[], Iterator[Row]]:
    def rows() -> Iterator[Row]:
        columns = ([column.to_pylist() for column in each.columns] for each in batches())
        cells = (row for each in columns for row in zip(*each, strict=True))
        return ((line, row, None) for line, row in enumerate(cells, 1))

    return rows


def _below_headings(path: Path, digest: str, rows: Callable[[], Iterator[Row]]) -> ListFile:
    """Return a list whose headings are the first row as full as others; above it stand titles."""
    top = [*islice((row for row in rows() if _is_filled(row)), _TOP)]
    most = max((_count(cells) for _, cells, _ in top), default=0)
    for place, (first, cells, fault) in enumerate(top):
        if fault:
            raise ConfigError(f"{path.name}, line {first}: {fault}")
        if 2 * _count(cells) <= most:
            continue
        if place + 1 == len(top):
            raise ConfigError(f"{path} is empty: it has headings, and no row")
        names = [str(cell or "").strip() for cell in cells]
        while not names[-1]:
            names.pop()
        below = partial(_below, rows, first)
        return ListFile(path.name, digest, tuple(names), below)
    raise ConfigError(f"{path} is empty")


def _below(rows: Callable[[], Iterator[Row]], first: int) -> Iterator[Row]:
    return (row for row in rows() if row[0] > first and _is_filled(row))


def _count(cells: Sequence[Any]) -> int:
    return sum(cell not in (None, "") for cell in cells)


def _is_filled(row: Row) -> bool:
    _, cells, fault = row
    return bool(fault) or any(cell.strip() if isinstance(cell, str) else cell for cell in cells)


def _sheet(path: Path) -> list[Row]:
    with needs_extra("xlsx"):
        from python_calamine import CalamineError, CalamineWorkbook
    try:
        with closing(CalamineWorkbook.from_path(path)) as book:
            sheets = [book.get_sheet_by_name(name).to_python(False) for name in book.sheet_names]
    except (CalamineError, OSError, ValueError) as error:
        raise ConfigError(f"{path} is no workbook that can be read: {error}") from error
    filled = [sheet for sheet in sheets if sheet]
    if len(filled) > 1:
        raise ConfigError(f"{path} has {len(filled)} sheets with cells: keep the one to match")
    return [(line, row, None) for sheet in filled for line, row in enumerate(sheet, 1)]


def _csv_rows(path: Path, encoding: str, separator: str) -> Iterator[Row]:
    """Yield the rows of a CSV file, each with its first line."""
    with path.open(encoding=encoding, newline="") as file:
        reader = csv.reader(file, delimiter=separator, strict=True)
        line = 1
        try:
            for row in reader:
                yield line, row, None
                line = reader.line_num + 1
        except csv.Error as error:
            yield line, (), f"no CSV: {error}"


def _encoding(path: Path, start: bytes) -> str:
    """Return the encoding of a text, of those in which Excel writes one."""
    marked = [encoding for mark, encoding in _MARKS.items() if start.startswith(mark)]
    for encoding in marked or ("utf-8", "cp1252"):
        with suppress(UnicodeError), path.open(encoding=encoding, newline="") as file:
            if not any("\0" in part for part in iter(partial(file.read, _SAMPLE), "")):
                return encoding
    say = "is no text in UTF-8, UTF-16 or Windows-1252: save it as UTF-8"
    raise ConfigError(f"{path} {say}")


def _separator(text: str) -> str:
    """Return the sign between cells: two lines below one another have as many of it."""
    lines = re.sub(r'"[^"]*"', "", text).splitlines()[:_TOP]

    def place(sign: str) -> tuple[int, int]:
        counts = [line.count(sign) for line in lines if line.strip()]
        pairs = (n for n, (one, two) in enumerate(pairwise(counts)) if one == two > 0)
        return next(pairs, _TOP), -max(counts, default=0)

    return min(_SEPARATORS, key=place)


# ---------- Cells as texts


def _first(row: Sequence[Any]) -> str | None:
    return next((_text(cell) for cell in row if cell not in (None, "")), None)


def _text(cell: Any) -> str | None:
    """Return a cell as a text that is read in one way, in digits of ASCII; None where it is empty.

    >>> _text(" ۱۲٫۵ "), _text('="0012"'), _text(1001.0), _text(1.234), _text(0.1 + 0.2)
    ('12.5', '0012', '1001', '1.2340', '0.30000000000000004…')
    """
    if isinstance(cell, str):
        text = cell.strip()
        if text[:1] in ("=", "'"):  # how a text is kept from being a formula or a number
            text = re.sub(r"""^(?:="(.*)"|'(?=[=+\-@])(.*))$""", r"\1\2", text)
        return (text if text.isascii() else text.translate(_ASCII)) or None
    if cell is None or cell != cell:
        return None
    if isinstance(cell, datetime):
        return cell.isoformat(" ", "seconds")
    if isinstance(cell, date) or not isinstance(cell, (float, Decimal)):
        return str(cell)
    return _number(cell)


def _number(cell: float | Decimal) -> str:
    """Return a number in at least four places, so that its point is one before decimals."""
    exact = Decimal(repr(cell)) if isinstance(cell, float) else cell
    if not exact.is_finite():
        return str(cell)
    digits = len(exact.normalize().as_tuple().digits)
    whole, point, places = format(exact, "f").partition(".")
    places = places.rstrip("0")
    text = whole + (f"{point}{places:0<4}" if places else "")
    return f"{text}…" if isinstance(cell, float) and digits > _MOST_DIGITS else text
