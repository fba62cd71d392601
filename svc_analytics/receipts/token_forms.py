"""How tokens stand in texts: alone on a line, among words, in CSV, in NDJSON.

Each form yields rows, and tells which columns it has besides. Files may be broken or
hostile: a row that cannot be read has no token but never ends the run.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from svc_analytics.errors import ConfigError
from svc_analytics.receipts.csv_records import column_names, fit_cells, opening_of, split_records

NAMES = ("receipt", "receipt_token", "token")
MOST_COLUMNS = 1_000  # of NDJSON, which may name others in each line
TEXT = "text"  # the one column of a text file: its lines

_TOKEN = re.compile(r"v1\.[A-Za-z0-9_=-]+\.[A-Za-z0-9_=-]+")
_LOOSE = re.compile(rf"(?<![\w.=-]){_TOKEN.pattern}(?![\w=-]|\.[\w-])", re.ASCII)

Cells = tuple[str | None, ...]
# The number of a line from 1, its token if there is one, and the cells of columns to keep.
Row = tuple[int, str | None, Cells]


@dataclass(frozen=True)
class Form:
    """How files of one kind are read: their rows, and the names of their columns."""

    rows: Callable[[Iterator[str], str, str | None, tuple[str, ...]], Iterator[Row]]
    columns: Callable[[Iterator[str], str, str | None], list[str]]


def form_of(suffix: str, first: str, column: str | None) -> Form:
    """Return the form of a file by its suffix, or else by its first line."""
    if suffix in _FORMS:
        return _FORMS[suffix]
    text = first.strip()
    if text.startswith(("{", '"v1.')):
        return _NDJSON
    is_header = bool({cell.strip(' "').lower() for cell in re.split("[,;\t]", text)} & {*NAMES})
    has_cells = bool(re.search("[,;\t]", text)) and not _LOOSE.search(text)
    return _CSV if column or is_header or has_cells else _TEXT


# ---------- text


def _text_rows(
    lines: Iterator[str], source: str, column: str | None, keep: tuple[str, ...]
) -> Iterator[Row]:
    """Read tokens that stand alone on a line, in a link, or among words."""
    for number, line in enumerate(lines, 1):
        text = line.strip(" \t\r\n")
        if text:
            kept = tuple(text if name == TEXT else None for name in keep)
            yield from ((number, token, kept) for token in _tokens_in(text))


def _tokens_in(text: str) -> list[str]:
    if "receipt=" in text:
        return [_token_in_link(text)]
    tokens = _LOOSE.findall(text) if re.search(r"\s", text) else []
    return tokens or [text]


def _token_in_link(text: str) -> str:
    try:
        values = parse_qs(urlsplit(text).query, max_num_fields=50).get("receipt")
    except ValueError:
        values = None
    return values[0] if values else next(iter(_LOOSE.findall(text)), text)


# ---------- NDJSON


def _json_rows(
    lines: Iterator[str], source: str, column: str | None, keep: tuple[str, ...]
) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, _token_in_json(line, column), _cells_of_json(line, keep)


def _token_in_json(line: str, column: str | None) -> str | None:
    try:
        value: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    if isinstance(value, dict):
        names = [column] if column else [name for name in NAMES if name in value]
        texts = (text for text in value.values() if isinstance(text, str))
        first = (text for text in texts if text.startswith("v1."))
        value = value.get(names[0]) if names else next(first, None)
    return value if isinstance(value, str) else None


def _json_columns(lines: Iterator[str], source: str, column: str | None) -> list[str]:
    names: dict[str, None] = {}
    for line in lines:
        names |= dict.fromkeys(_members(line))
        if len(names) > MOST_COLUMNS:
            message = f"{source} has more than {MOST_COLUMNS:,} columns: name those to keep"
            raise ConfigError(message)
    return list(names)


def _cells_of_json(line: str, keep: tuple[str, ...]) -> Cells:
    """Return members as texts: a text as it is, a number digit for digit, null as nothing."""
    if not keep:
        return ()
    members = _members(line)
    return tuple(_json_text(bytes(members[name])) if name in members else None for name in keep)


def _members(line: str) -> dict[str, msgspec.Raw]:
    """Return an object's members as they are written; none where the line is no object."""
    try:
        return msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, ValueError):
        return {}


def _json_text(raw: bytes) -> str | None:
    if raw == b"null":
        return None
    return msgspec.json.decode(raw, type=str) if raw.startswith(b'"') else raw.decode()


# ---------- CSV


def _csv_rows(
    lines: Iterator[str], source: str, column: str | None, keep: tuple[str, ...]
) -> Iterator[Row]:
    separator, records = split_records(lines)
    opening = list(opening_of(records))
    if not opening:
        return
    first = [cells for _, cells in opening]
    place, is_headed = _place_in_csv(first, column, source)
    names = column_names(first, is_headed=is_headed)
    places = [names.index(name) if name in names else None for name in keep]
    for number, cells in chain(opening[1 if is_headed else 0 :], records):
        if any(cells):
            token = (cells[place].strip() or None) if place < len(cells) else None
            fitting = fit_cells(cells, len(names), separator) if places else []
            kept = tuple(None if each is None else fitting[each] or None for each in places)
            yield number, token, kept


def _csv_columns(lines: Iterator[str], source: str, column: str | None) -> list[str]:
    opening = [cells for _, cells in opening_of(split_records(lines)[1])]
    if not opening:
        return []
    return column_names(opening, is_headed=_place_in_csv(opening, column, source)[1])


def _place_in_csv(opening: list[list[str]], column: str | None, source: str) -> tuple[int, bool]:
    """Return which cell holds the token, and whether the first row is a header."""
    header = [cell.strip().lower() for cell in opening[0]]
    if column is not None:
        if column.lower() not in header:
            shown = ", ".join(header[:10])[:200]
            raise ConfigError(f"{source} has no column {column!r}; its first line has: {shown}")
        return header.index(column.lower()), True
    for name in NAMES:
        if name in header:
            return header.index(name), True
    for cells in opening:
        for place, cell in enumerate(cells):
            if _TOKEN.match(cell.strip()):
                first = opening[0][place].strip() if place < len(header) else ""
                return place, not _TOKEN.match(first)
    raise ConfigError(f"no column of {source} holds receipt tokens: name it with --column")


_TEXT = Form(_text_rows, lambda lines, source, column: [TEXT])
_NDJSON = Form(_json_rows, _json_columns)
_CSV = Form(_csv_rows, _csv_columns)
_FORMS = {
    ".csv": _CSV,
    ".tsv": _CSV,
    ".ndjson": _NDJSON,
    ".jsonl": _NDJSON,
    ".txt": _TEXT,
    ".log": _TEXT,
}
