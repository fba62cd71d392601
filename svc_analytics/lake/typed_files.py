"""CSV files that people type into the lake's folder: read strictly, and added to by commands.

A line that could be meant in two ways is refused by its number, never guessed: `500,25` without
quotes is two cells, and whoever read the first alone would take 500 for 500.25.
"""

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path

from svc_analytics.errors import ConfigError
from svc_analytics.files import locked
from svc_analytics.storage import Storage, merge_into

_BOM = "\ufeff"
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 begins
_MAY_STAND = {"\t", "\n", "\r"}  # of the control characters, in a text between quotes


@dataclass(frozen=True)
class TypedRow:
    """One row that a person typed: its cells by column, and where it stands."""

    path: Path
    line: int
    cells: Mapping[str, str]

    def refused(self, why: object) -> ConfigError:
        """Return the error that names the file, the line and what is wrong with it."""
        return _refused(self.path, self.line, why)


@dataclass(frozen=True)
class _Record:
    """One record of a CSV file: its cells, the text that they stand in, and its first line."""

    line: int
    text: str
    cells: list[str]


def read_rows(path: Path, columns: Sequence[str], optional: Collection[str] = ()) -> list[TypedRow]:
    """Read the rows of a typed file, in the order of its lines; none if there is no file.

    The first line names the `columns`, in any order; only those that are `optional` may lack.
    Raises `ConfigError` with the number of the first line that is wrong, and what is.
    """
    records = _read(path, _text_of(path), columns, optional)
    return [
        TypedRow(path, each.line, dict.fromkeys(columns, "") | _cells(path, records[0], each))
        for each in records[1:]
        if any(each.cells)
    ]


def append_row(
    storage: Storage,
    name: str,
    columns: Sequence[str],
    row: Mapping[str, str],
    optional: Collection[str] = (),
) -> None:
    """Add a row to a typed file of a lake.

    A file without a first line gets one with these `columns`. What people typed stays as it is,
    but for a column that the row needs and the file lacks. Raises `ConfigError` for a file that
    `read_rows` refuses.
    """
    path = storage.folder / name
    with locked(path.with_name(f".{name}.lock"), f"is writing {path}"):
        merge_into(storage, partial(_append_row, storage, path, columns, row, optional))


def _append_row(
    storage: Storage,
    path: Path,
    columns: Sequence[str],
    row: Mapping[str, str],
    optional: Collection[str],
) -> None:
    read_rows(path, columns, optional)
    old = _text_of(path)
    mark = _BOM if old.startswith(_BOM) else ""
    end = "\r\n" if "\r\n" in old else "\n"
    first = _Record(1, ",".join(columns), [*columns])
    head, *records = _read(path, old, columns, optional) or [first]
    new = [name for name in columns if row.get(name) and name not in head.cells]
    lines = [_widened(head, new, end)]
    lines += [_widened(each, [""] * len(new), end) for each in records]
    line = StringIO(newline="")
    csv.writer(line, lineterminator=end).writerow([row.get(name, "") for name in head.cells + new])
    with storage.write(path) as temporary:
        temporary.write_bytes((mark + "".join(lines) + line.getvalue()).encode())


def _widened(record: _Record, more: list[str], end: str) -> str:
    """Return the text of a record with more cells behind its own; a blank line stays one."""
    text = record.text.rstrip("\r\n")
    own_end = record.text[len(text) :] or end
    return ",".join([text, *more] if text.strip() else [text]) + own_end


def _text_of(path: Path) -> str:
    """Return the text of a file, "" if there is none; refuse what is no UTF-8."""
    try:
        content = path.read_bytes() if path.exists() else b""
        if content.startswith(_WIDE):
            raise _refused(path, 1, "the text is UTF-16: save it as CSV in UTF-8")
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len((content[: error.start] + b"-").splitlines())
        raise _refused(path, line, "the text is not UTF-8: save it as CSV in UTF-8") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"cannot read {path}: {reason}") from error


def _read(
    path: Path, text: str, columns: Sequence[str], optional: Collection[str]
) -> list[_Record]:
    """Return the records of a file; the first names the columns. A blank file has none."""
    text = text.removeprefix(_BOM)
    if not text.strip():
        return []
    records = list(_records(path, text))
    _check_head(path, records[0], columns, optional)
    return records


def _records(path: Path, text: str) -> Iterator[_Record]:
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in StringIO(text, newline=""):
            taken.append(line)
            yield line

    reader, number = csv.reader(lines(), strict=True), 1
    try:
        for cells in reader:
            yield _Record(number, "".join(taken), [_clean(path, number, cell) for cell in cells])
            number += len(taken)
            taken.clear()
    except csv.Error as error:
        is_open = "unexpected end" in str(error)
        why = "a quote is opened and never closed" if is_open else error
        raise _refused(path, number, why) from error


def _clean(path: Path, line: int, cell: str) -> str:
    """Return a cell without the spaces around it; refuse one with characters nobody types."""
    odd = next((sign for sign in cell if ord(sign) < 32 and sign not in _MAY_STAND), None)
    if odd is not None:
        raise _refused(path, line, f"it holds the control character U+{ord(odd):04X}")
    return cell.strip()


def _check_head(
    path: Path, head: _Record, columns: Sequence[str], optional: Collection[str]
) -> None:
    """Refuse a first line that does not name every column once, and no other."""
    known = ",".join(columns)
    wrong = [f"no column {name!r:.60} is known" for name in head.cells if name not in columns]
    wrong += [f"{name} stands twice" for name, count in Counter(head.cells).items() if count > 1]
    needed = [name for name in columns if name not in optional]
    wrong += [f"the column {name} is missing" for name in needed if name not in head.cells]
    if wrong:
        raise _refused(path, head.line, f"{wrong[0]}: the first line must be {known}")


def _cells(path: Path, head: _Record, record: _Record) -> dict[str, str]:
    count, wanted = len(record.cells), len(head.cells)
    if count != wanted:
        why = f"{count} cells, and the first line names {wanted}"
        hint = "put a text with a comma between quotes, and write an amount as 500.25"
        raise _refused(path, record.line, f"{why}: {hint}")
    return dict(zip(head.cells, record.cells, strict=True))


def _refused(path: Path, line: int, why: object) -> ConfigError:
    return ConfigError(f"{path}, line {line}: {why}")
