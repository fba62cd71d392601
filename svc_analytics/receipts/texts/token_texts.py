"""How tokens stand in texts: alone on a line, among words, in CSV, in JSON.

Each form yields rows, and tells which columns it has besides. Files may be broken or
hostile: a row that cannot be read has no token but never ends the run.
"""

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from svc_analytics.errors import ConfigError
from svc_analytics.formatting.json_values import begins_json
from svc_analytics.receipts.texts.csv_records import (
    column_names,
    fit_cells,
    opening_of,
    separator_of,
    split_records,
)
from svc_analytics.receipts.texts.json_tokens import json_columns, json_rows
from svc_analytics.receipts.texts.token_rows import (
    NAMES,
    Row,
    holds_none,
    require_one,
    require_unique,
)
from svc_analytics.receipts.texts.worded_tokens import (
    AROUND,
    are_words,
    every_token,
    has_words,
    is_like_token,
    tokens_in,
    unwrapped,
)

# ---------- Mails as programs save them
# A body in base64 is the text that a person reads.


_IN_BASE64 = re.compile(r"content-transfer-encoding:\s*base64\s*\Z", re.IGNORECASE)
_CODED = re.compile(r"[A-Za-z0-9+/]{1,76}={0,2}\s*\Z", re.ASCII)
_MOST_LINES = 20_000  # of a body that is read: more is no text that a person wrote


def readable_bodies(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines of a mail; the whole text of a body in base64 stands in its first line.

    Its other lines are left blank, so that each line keeps its number.

    >>> mail = ["Content-Transfer-Encoding: base64\\n", "\\n", "UmVj\\n", "ZWlwdA==\\n", "\\n"]
    >>> list(readable_bodies(iter(mail)))[2:]
    ['Receipt', '\\n', '\\n']
    """
    for line in lines:
        yield line
        if _IN_BASE64.match(line):
            yield from _head(lines)
            yield from _body(lines)


def _head(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines up to the blank one behind the fields."""
    for line in lines:
        yield line
        if not line.strip():
            return


def _body(lines: Iterator[str]) -> Iterator[str]:
    coded: list[str] = []
    behind = ""
    for line in lines:
        if not _CODED.match(line) or len(coded) == _MOST_LINES:
            behind = line
            break
        coded.append(line)
    try:
        text = base64.b64decode("".join(coded)).decode("utf-8", "replace")
    except ValueError:  # torn: as it stands
        yield from coded
    else:
        yield from [text, *["\n"] * (len(coded) - 1)] if coded else []
    if behind:
        yield behind


# ---------- How tokens stand in texts


TEXT = "text"  # the one column of a text file: its lines

_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body|table|div|p)\b", re.IGNORECASE)
_TITLES = 10  # lines above a header, at most


@dataclass(frozen=True)
class TokenFormat:
    """How files of one kind are read: their rows, and the names of their columns."""

    rows: Callable[[Iterator[str], str, str | None, tuple[str, ...]], Iterator[Row]]
    columns: Callable[[Iterator[str], str, str | None], list[str]]


def form_of(suffix: str, opening: list[str], column: str | None) -> TokenFormat:
    """Return the form of a file by how it begins, by its suffix, or else by its first lines."""
    first, second = [*opening, "", ""][:2]
    if begins_json(first):
        return _JSON
    if _PAGE.match(first):
        return _TEXT
    if suffix in _FORMS:
        return _FORMS[suffix]
    if first.startswith('"v1.'):
        return _JSON
    is_header = bool({cell.strip(AROUND).lower() for cell in re.split("[,;\t|]", first)} & {*NAMES})
    return _CSV if column or is_header or _are_cells(first, second) else _TEXT


def _are_cells(first: str, second: str) -> bool:
    """Tell whether two lines are a header and a row, and not words with commas."""
    if every_token(first) or re.match(r"[\w-]+: ", first):
        return False
    separator = separator_of([first])
    return 0 < first.count(separator) == second.count(separator)


# ---------- text


def _text_rows(
    lines: Iterator[str], source: str, column: str | None, keep: tuple[str, ...]
) -> Iterator[Row]:
    """Read tokens that stand alone on a line, in a link, or among words.

    In a list of them each other line is a row too; among words it is none.
    """
    seen = enumerate(unwrapped(readable_bodies(lines)), 1)
    numbered = ((number, line) for number, line in seen if line.strip())
    opening = list(opening_of(numbered))
    is_list = _is_list([line for _, line in opening])
    is_empty = True
    for number, line in chain(opening, numbered):
        text = line.strip(" \t\r\n")
        cells = tuple(text if name == TEXT else None for name in keep)
        for token in tokens_in(line) if is_list or is_like_token(line) else ():
            yield number, token, cells
            is_empty = False
    if is_empty:
        raise holds_none(source)


def _is_list(opening: list[str]) -> bool:
    """Tell whether a file is a list: of no words at all, or of tokens in half of its lines."""
    like = [is_like_token(line) for line in opening]
    is_begun = bool(like and like[0] and 2 * sum(like) >= len(like))
    return is_begun or not any(map(has_words, opening))


# ---------- CSV


def _csv_rows(
    lines: Iterator[str], source: str, column: str | None, keep: tuple[str, ...]
) -> Iterator[Row]:
    separator, records = split_records(_of_one_column(lines))
    opening = list(opening_of(records))
    if not opening:
        return
    table = _table_of([cells for _, cells in opening], column, source)
    names = column_names(table.opening, is_headed=table.is_headed)
    places = [names.index(name) if name in names else None for name in keep]
    rule = " -:+" if separator == "|" else " "  # what Markdown and databases draw below a header
    is_worded = are_words(cells[table.place] for _, cells in opening if len(cells) > table.place)
    for number, cells in chain(opening[table.first_row :], records):
        if any(cell.strip(rule) for cell in cells):
            fitting = fit_cells(cells, len(names), separator)
            if column is None:
                require_one(
                    _columns_holding(fitting, names, table.place), f"{source} line {number}"
                )
            values = tuple(None if each is None else fitting[each] or None for each in places)
            text = fitting[table.place] if table.place < len(fitting) else ""
            tokens = tokens_in(text) if not is_worded or is_like_token(text) else ()
            yield from ((number, token or None, values) for token in tokens)


def _of_one_column(lines: Iterator[str]) -> Iterator[str]:
    """Return lines; of a file of one column with each wrapped token whole."""
    first = next(lines, "")
    together = chain([first] if first else [], lines)
    return together if re.search(r'[,;\t|"]', first) else unwrapped(together)


def _columns_holding(cells: list[str], names: list[str], place: int) -> list[str]:
    """Return in which columns of a row tokens stand, if not only in the one of tokens."""
    others = (each for each, cell in enumerate(cells) if each != place and "v1." in cell)
    holding = [names[each] for each in others if every_token(cells[each])]
    return [names[place], *holding] if holding and place < len(names) else []


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
    is_headed = top is not None or not any(map(every_token, body[0]))
    if column is not None:
        place = header.index(require_unique(header, column.lower(), source))
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
        if wanted & {cell.strip(AROUND).lower() for cell in cells}:
            return place
        if any(map(every_token, cells)):
            return None
    return None


def _holding(opening: list[list[str]]) -> list[int]:
    """Return the columns in which tokens stand."""
    return sorted(
        {place for cells in opening for place, cell in enumerate(cells) if every_token(cell)}
    )


def _titles(opening: list[list[str]], place: int) -> int:
    """Count the lines above the header: those that are too short to have the column."""
    short = (number for number, cells in enumerate(opening) if place < len(cells))
    return next(short, 0)


def _shown(opening: list[list[str]], place: int, *, is_headed: bool) -> str:
    names = column_names(opening, is_headed=is_headed)
    return names[place] if place < len(names) else f"column {place + 1}"


def _named(header: list[str], source: str) -> int:
    """Return the place of a column with the name of a token, where none holds one yet."""
    for name in NAMES:
        if name in header:
            return header.index(name)
    raise ConfigError(f"no column of {source} holds receipt tokens: name it with --column")


_TEXT = TokenFormat(_text_rows, lambda lines, source, column: [TEXT])
_JSON = TokenFormat(json_rows, json_columns)
_CSV = TokenFormat(_csv_rows, _csv_columns)
_FORMS = {
    **dict.fromkeys((".csv", ".tsv"), _CSV),
    **dict.fromkeys((".ndjson", ".jsonl", ".json"), _JSON),
    **dict.fromkeys((".txt", ".log", ".eml", ".mbox", ".htm", ".html"), _TEXT),
}
