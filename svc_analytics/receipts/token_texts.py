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
# What mail and spreadsheets put around a token: blanks, marks without a width, quotes, brackets.
_AROUND = (
    " \t\r\n\u00a0\u200b\u200c\u200d\u2060\ufeff'\"`<>()[]\u2018\u2019\u201c\u201d\u00ab\u00bb"
)
_TITLES = 10  # lines above a header, at most

Cells = tuple[str | None, ...]
# The number of a line from 1, its token if there is one, and the cells of columns to keep.
Row = tuple[int, str | None, Cells]


@dataclass(frozen=True)
class TokenFormat:
    """How files of one kind are read: their rows, and the names of their columns."""

    rows: Callable[[Iterator[str], str, str | None, tuple[str, ...]], Iterator[Row]]
    columns: Callable[[Iterator[str], str, str | None], list[str]]


def is_like_token(text: str | None) -> bool:
    """Tell whether a text may be a token, perhaps a broken one.

    >>> [is_like_token(text) for text in ("v1.abc", "see v1.e30.e30", "SVC-000017", None)]
    [True, True, False, False]
    """
    return bool(text and re.search(r"(?<![A-Za-z0-9])v\d+\.", text))


def bare_token(text: str) -> str:
    """Return a token without what stands around it; out of a link, if it stands in one.

    >>> bare_token("\u200b<v1.e30.e30>")
    'v1.e30.e30'
    >>> bare_token("https://shop.example/thanks?receipt=v1.e30.e30&payment_id=1")
    'v1.e30.e30'
    """
    text = text.strip(_AROUND)
    return _token_in_link(text) if "receipt=" in text else text


def require_one(names: list[str], source: str) -> None:
    """Refuse to choose among several columns of tokens."""
    if len(names) > 1:
        shown = ", ".join(names[:10])[:200]
        raise ConfigError(f"{source} has receipt tokens in {shown}: name one with --column")


def form_of(suffix: str, first: str, column: str | None) -> TokenFormat:
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
            cells = tuple(text if name == TEXT else None for name in keep)
            yield from ((number, token, cells) for token in _tokens_in(text))


def _tokens_in(text: str) -> list[str]:
    bare = bare_token(text)
    tokens = _LOOSE.findall(bare) if re.search(r"\s", bare) else []
    return tokens or [bare]


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
            yield number, _token_in_json(line, column, source), _cells_of_json(line, keep)


def _token_in_json(line: str, column: str | None, source: str) -> str | None:
    try:
        value: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    if isinstance(value, dict):
        value = value.get(column or _member_with_token(value, source))
    return bare_token(value) if isinstance(value, str) else None


def _member_with_token(members: dict[str, Any], source: str) -> str:
    """Return the member that holds a token; refuse to choose among several."""
    names = [
        name
        for name, text in members.items()
        if isinstance(text, str) and _TOKEN.match(bare_token(text))
    ]
    require_one(names, source)
    return next(iter([*names, *(name for name in NAMES if name in members)]), "")


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
    table = _table_of([cells for _, cells in opening], column, source)
    names = column_names(table.opening, is_headed=table.is_headed)
    places = [names.index(name) if name in names else None for name in keep]
    for number, cells in chain(opening[table.first_row :], records):
        if any(cells):
            token = cells[table.place] if table.place < len(cells) else ""
            fitting = fit_cells(cells, len(names), separator) if places else []
            values = tuple(None if each is None else fitting[each] or None for each in places)
            yield number, bare_token(token) or None, values


def _csv_columns(lines: Iterator[str], source: str, column: str | None) -> list[str]:
    opening = [cells for _, cells in opening_of(split_records(lines)[1])]
    if not opening:
        return []
    table = _table_of(opening, column, source)
    return column_names(table.opening, is_headed=table.is_headed)


@dataclass(frozen=True)
class _Table:
    """Where the tokens of a CSV file stand."""

    opening: list[list[str]]  # its first records, from the header on where it has one
    is_headed: bool
    place: int  # of the cell with the token
    first_row: int  # among all records, behind titles and header


def _table_of(opening: list[list[str]], column: str | None, source: str) -> _Table:
    """Find the column of tokens, and the header: below titles, if there are any."""
    top = _header_in(opening, {column.lower()} if column else {*NAMES})
    if column is not None and top is None:
        shown = ", ".join(cell.strip() for cell in opening[0][:10])[:200]
        raise ConfigError(f"{source} has no column {column!r}; its first line has: {shown}")
    body = opening[top or 0 :]
    header = [cell.strip().lower() for cell in body[0]]
    holding = _holding(body)
    is_headed = top is not None or not any(map(_is_token, body[0]))
    if column is not None:
        place = _only(header, column.lower(), source)
    else:
        require_one([_shown(body, each, is_headed=is_headed) for each in holding], source)
        place = holding[0] if holding else _named(header, source)
    if top is None and holding and is_headed:
        top = _titles(body, place)
        body = body[top:]
    return _Table(body, is_headed, place, (top or 0) + is_headed)


def _header_in(opening: list[list[str]], wanted: set[str]) -> int | None:
    """Return which of the first lines is a header that has one of these names."""
    for place, cells in enumerate(opening[: _TITLES + 1]):
        if wanted & {cell.strip(_AROUND).lower() for cell in cells}:
            return place
        if any(map(_is_token, cells)):
            return None
    return None


def _holding(opening: list[list[str]]) -> list[int]:
    """Return the columns in which tokens stand."""
    return sorted(
        {place for cells in opening for place, cell in enumerate(cells) if _is_token(cell)}
    )


def _is_token(cell: str) -> bool:
    return bool(_TOKEN.match(bare_token(cell)))


def _titles(opening: list[list[str]], place: int) -> int:
    """Count the lines above the header: those that are too short to have the column."""
    short = (number for number, cells in enumerate(opening) if place < len(cells))
    return next(short, 0)


def _shown(opening: list[list[str]], place: int, *, is_headed: bool) -> str:
    names = column_names(opening, is_headed=is_headed)
    return names[place] if place < len(names) else f"column {place + 1}"


def _only(header: list[str], name: str, source: str) -> int:
    """Return the place of a column; refuse a name that two columns have."""
    if header.count(name) > 1:
        message = f"{source} has {header.count(name)} columns named {name!r}"
        raise ConfigError(f"{message}: give one another name, and name it with --column")
    return header.index(name)


def _named(header: list[str], source: str) -> int:
    """Return the place of a column with the name of a token, where none holds one yet."""
    for name in NAMES:
        if name in header:
            return header.index(name)
    raise ConfigError(f"no column of {source} holds receipt tokens: name it with --column")


_TEXT = TokenFormat(_text_rows, lambda lines, source, column: [TEXT])
_NDJSON = TokenFormat(_json_rows, _json_columns)
_CSV = TokenFormat(_csv_rows, _csv_columns)
_FORMS = {
    ".csv": _CSV,
    ".tsv": _CSV,
    ".ndjson": _NDJSON,
    ".jsonl": _NDJSON,
    ".txt": _TEXT,
    ".log": _TEXT,
}
