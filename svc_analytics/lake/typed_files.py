"""CSV files that people type into the lake's folder: read strictly, and added to by commands.

A line that could be meant in two ways is refused by its number, never guessed: `500,25` without
quotes is two cells, and whoever read the first alone would take 500 for 500.25. What spreadsheets
make of such a file is read: semicolons or tabs between cells, names of columns with capitals, and
empty cells behind the last.
"""

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import StringIO
from pathlib import Path

from svc_analytics.errors import ConfigError
from svc_analytics.files import locked
from svc_analytics.instants import HOUR, MINUTE, format_instant
from svc_analytics.messages import Message, translated
from svc_analytics.storage import Storage, merge_into

_BOM = "\ufeff"
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 begins
_DAY = len("2026-11-28")
# So far ahead a line may lie: clocks differ, and a day begins in Kiribati 14 hours before UTC's.
_AHEAD, _DAY_AHEAD = 5 * MINUTE, 14 * HOUR
_SEPARATORS = (",", ";", "\t")
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
class _CsvRecord:
    """One record of a CSV file: its cells, the text that they stand in, and its first line."""

    line: int
    text: str
    cells: list[str]
    surplus: int = 0  # empty cells of the text behind these

    def cut(self, count: int, width: int | None = None) -> "_CsvRecord":
        """Return it without empty cells behind the last of so many, as spreadsheets add them.

        They add them to each line, up to one `width`: in a longer one, a comma stands in a text.
        """
        if width is not None and len(self.cells) > width:
            return self
        end = max(count, max((n for n, cell in enumerate(self.cells, 1) if cell), default=0))
        return replace(self, cells=self.cells[:end], surplus=len(self.cells[end:]))


def read_rows(path: Path, columns: Sequence[str], optional: Collection[str] = ()) -> list[TypedRow]:
    """Read the rows of a typed file, in the order of its lines; none if there is no file.

    The first line names the `columns`, in any order; only those that are `optional` may lack.
    Raises `ConfigError` with the number of the first line that is wrong, and what is.
    """
    rows, refused = readable_rows(path, columns, optional)
    if refused:
        raise refused[0]
    return rows


def readable_rows(
    path: Path, columns: Sequence[str], optional: Collection[str] = ()
) -> tuple[list[TypedRow], list[ConfigError]]:
    """Read the rows of a typed file that can be read, and the errors of the others.

    Raises `ConfigError` for a file of which no line can be: without its columns, or no CSV.
    """
    records, refused = _read(path, _text_of(path), columns, optional), list[ConfigError]()
    rows: list[TypedRow] = []
    for each in records[1:]:
        if not any(each.cells):
            continue
        try:
            cells = _cells(path, records[0], each)
        except ConfigError as error:
            refused.append(error)
        else:
            rows.append(TypedRow(path, each.line, dict.fromkeys(columns, "") | cells))
    return rows, refused


def counts_from(text: str, at: int) -> int:
    """Return the first instant at which a line that people dated so is not of the future.

    >>> texts = ("1970-01-02T00:00:00Z", "1970-01-02")
    >>> [format_instant(counts_from(text, 24 * HOUR)) for text in texts]
    ['1970-01-01T23:55:00Z', '1970-01-01T10:00:00Z']
    """
    return at - (_DAY_AHEAD if len(text) == _DAY else _AHEAD)


def line_ahead(file: str, line: int, at: int) -> Message:
    """Say of a line that it lies ahead of the clock: what it tells of, nobody has seen yet."""
    return Message("typed.ahead", file=file, line=line, at=format_instant(at))


def read_head(path: Path) -> list[str]:
    """Return the names of the columns of a typed file; none where it is empty or not there."""
    text = _text_of(path).removeprefix(_BOM)
    return next(_records(path, text)).cut(0).cells if text.strip() else []


def fault_of(error: ConfigError) -> Message:
    """Return the fault that an error of this module names: its line and the reason, no path."""
    fault: Message = error.args[0].values["FAULT"]
    return fault


def append_rows(
    storage: Storage,
    name: str,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    optional: Collection[str] = (),
) -> None:
    """Add rows to a typed file of a lake, all at once.

    A file without a first line gets one with these `columns`. What people typed stays as it is,
    but for a column that a row needs and the file lacks. Raises `ConfigError` for a file that
    `read_rows` refuses.
    """
    path = storage.folder / name
    with locked(path.with_name(f".{name}.lock"), Message("busy.file", path=path)):
        merge_into(storage, partial(_append_rows, storage, path, columns, rows, optional))


def _append_rows(
    storage: Storage,
    path: Path,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    optional: Collection[str],
) -> None:
    read_rows(path, columns, optional)
    old = _text_of(path)
    mark = _BOM if old.startswith(_BOM) else ""
    end = "\r\n" if "\r\n" in old else "\n"
    separator = _separator(old)
    first = _CsvRecord(1, _line([*columns], separator, ""), [*columns])
    head, *records = _read(path, old, columns, optional) or [first]
    needed = {name for row in rows for name in row if row[name]}
    new = [name for name in columns if name in needed and name not in head.cells]
    lines = [_widened(head, new, separator, end)]
    lines += [_widened(each, [""] * len(new), separator, end) for each in records]
    names = head.cells + new
    shown = [[_shown(row.get(name, "")) for name in names] for row in rows]
    lines += [_line(cells, separator, end) for cells in shown]
    with storage.write(path) as temporary:
        temporary.write_bytes((mark + "".join(lines)).encode())


def _line(cells: Sequence[str], separator: str, end: str) -> str:
    line = StringIO(newline="")
    csv.writer(line, delimiter=separator, lineterminator=end).writerow(cells)
    return line.getvalue()


def _widened(record: _CsvRecord, more: list[str], separator: str, end: str) -> str:
    """Return the text of a record with more cells behind its own; a blank line stays one."""
    text = record.text.rstrip("\r\n")
    own_end = record.text[len(text) :] or end
    if more and record.surplus:
        text = text.rsplit(separator, record.surplus)[0]
    return separator.join([text, *more] if text.strip() else [text]) + own_end


def _text_of(path: Path) -> str:
    """Return the text of a file, "" if there is none; refuse what is no UTF-8."""
    try:
        content = path.read_bytes() if path.exists() else b""
        if content.startswith(_WIDE):
            raise _refused(path, 1, Message("typed.utf_16"))
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len((content[: error.start] + b"-").splitlines())
        raise _refused(path, line, Message("typed.not_utf_8")) from error
    except OSError as error:
        fault = Message("typed.unreadable", reason=error.strerror or type(error).__name__)
        raise ConfigError(Message("typed.file", path=path, fault=fault)) from error


def _read(
    path: Path, text: str, columns: Sequence[str], optional: Collection[str]
) -> list[_CsvRecord]:
    """Return the records of a file; the first names the columns. A blank file has none."""
    text = text.removeprefix(_BOM)
    if not text.strip():
        return []
    head, *records = _records(path, text)
    names = {name.casefold(): name for name in columns}
    head = replace(head.cut(0), cells=[names.get(c.casefold(), c) for c in head.cut(0).cells])
    _check_head(path, head, columns, optional)
    known = len(head.cells)
    return [head, *(each.cut(known, known + head.surplus) for each in records)]


def _separator(text: str) -> str:
    """Return the sign between the cells of a file: a comma, or the one of its first line."""
    first = text.removeprefix(_BOM).lstrip("\r\n").partition("\n")[0]
    return next((sign for sign in _SEPARATORS if sign in first), ",")


def _records(path: Path, text: str) -> Iterator[_CsvRecord]:
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in StringIO(text, newline=""):
            taken.append(line)
            yield line

    reader, number = csv.reader(lines(), delimiter=_separator(text), strict=True), 1
    try:
        for cells in reader:
            yield _CsvRecord(number, "".join(taken), [_clean(path, number, cell) for cell in cells])
            number += len(taken)
            taken.clear()
    except csv.Error as error:
        is_open = "unexpected end" in str(error)
        why = Message("typed.open_quote") if is_open else Message("typed.no_csv", reason=error)
        raise _refused(path, number, why) from error


def _is_odd(sign: str) -> bool:
    """Whether a sign is one that nobody types: a control character, or no letter of UTF-8."""
    return (sign < " " and sign not in _MAY_STAND) or "\ud800" <= sign <= "\udfff"


def _shown(cell: str) -> str:
    """Return a cell as it can be read again: what nobody types stands in it as its code point."""
    return "".join(f"[U+{ord(sign):04X}]" if _is_odd(sign) else sign for sign in cell)


def _clean(path: Path, line: int, cell: str) -> str:
    """Return a cell without the spaces around it; refuse one with characters nobody types."""
    odd = next(filter(_is_odd, cell), None)
    if odd is not None:
        raise _refused(path, line, Message("typed.control", sign=f"U+{ord(odd):04X}"))
    return cell.strip()


def _check_head(
    path: Path, head: _CsvRecord, columns: Sequence[str], optional: Collection[str]
) -> None:
    """Refuse a first line that does not name every column once, and no other."""
    counts, needed = Counter(head.cells), [name for name in columns if name not in optional]
    named = {
        "typed.unknown_column": [f"{name!r:.60}" for name in head.cells if name not in columns],
        "typed.twice": [name for name, count in counts.items() if count > 1],
        "typed.missing_column": [name for name in needed if name not in head.cells],
    }
    wrong = [Message(code, name=name) for code, names in named.items() for name in names]
    if wrong:
        why = Message("typed.first_line", why=wrong[0], columns=",".join(columns))
        raise _refused(path, head.line, why)


def _cells(path: Path, head: _CsvRecord, record: _CsvRecord) -> dict[str, str]:
    count, wanted = len(record.cells), len(head.cells)
    if count != wanted:
        raise _refused(path, record.line, Message("typed.cells", count=count, wanted=wanted))
    return dict(zip(head.cells, record.cells, strict=True))


def _refused(path: Path, line: int, why: object) -> ConfigError:
    fault = Message(
        "typed.line", line=line, why=translated(why if isinstance(why, str) else str(why))
    )
    return ConfigError(Message("typed.wrong", path=path, fault=fault))
