"""Tokens in the texts of people: lines of words, mails, and CSV as people send it.

CSV comes with any separator, quotes that never close, rows too short or too long.
"""

import base64
import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

from svc_analytics.errors import ConfigError
from svc_analytics.receipts.find_tokens import (
    AROUND,
    NAMES,
    Row,
    are_words,
    every_token,
    has_words,
    holds_none,
    is_like_token,
    json_columns,
    json_rows,
    require_one,
    require_unique,
    tokens_in,
    unwrapped,
)
from svc_analytics.records.raw_json import begins_json

LONGEST_LINE = 1 << 20
OPENING = 100  # records of a file in which its columns are looked for
_OPENING_TEXT = 1 << 22  # characters and cells of them, at most
_TITLE_LINES = 10  # above a header, at most: they may hold no separator
_MOST_LINES_OF_A_ROW = 50  # a quote that never closes must not swallow the rest of a file
SEPARATORS = ",;\t"
_SEPARATOR_NAMED = re.compile(r'"?sep=([,;\t|])"?\s*\Z')
TEXT = "text"  # the one column of a text file: its lines
_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body|table|div|p)\b", re.IGNORECASE)
_IN_BASE64 = re.compile(r"content-transfer-encoding:\s*base64\s*\Z", re.IGNORECASE)
_CODED = re.compile(r"[A-Za-z0-9+/]{1,76}={0,2}\s*\Z", re.ASCII)
_MOST_LINES = 20_000  # of a body that is read: more is no text that a person wrote
_Cells = TypeVar("_Cells", bound=Sequence[str])  # of a record; or a line
Record = tuple[int, list[str]]  # the number of its first line, and its cells


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
    tokens = {place for cells in body for place, cell in enumerate(cells) if every_token(cell)}
    is_headed = top is not None or not any(map(every_token, body[0]))
    if column is not None:
        place = header.index(require_unique(header, column.lower(), source))
    else:
        columns = sorted(tokens)
        require_one([_shown(body, each, is_headed=is_headed) for each in columns], source)
        place = columns[0] if columns else _named(header, source)
    if top is None and tokens and is_headed:
        # Lines above the header are titles, too short to have the column.
        top = next((number for number, cells in enumerate(body) if place < len(cells)), 0)
        body = body[top:]
    return _Table(body, is_headed, place, (top or 0) + is_headed)


def _header_in(opening: list[list[str]], wanted: set[str]) -> int | None:
    """Return which of the first lines is a header that has one of these names."""
    for place, cells in enumerate(opening[: _TITLE_LINES + 1]):
        if wanted & {cell.strip(AROUND).lower() for cell in cells}:
            return place
        if any(map(every_token, cells)):
            return None
    return None


def _shown(opening: list[list[str]], place: int, *, is_headed: bool) -> str:
    names = column_names(opening, is_headed=is_headed)
    return names[place] if place < len(names) else f"column {place + 1}"


def _named(header: list[str], source: str) -> int:
    """Return the place of a column with the name of a token, where none holds one yet."""
    for name in NAMES:
        if name in header:
            return header.index(name)
    raise ConfigError(f"no column of {source} holds receipt tokens: name it with --column")


def split_records(lines: Iterator[str]) -> tuple[str, Iterator[Record]]:
    """Return the separator of a CSV file, and each of its records."""
    first = next(lines, None)
    if first is None:
        return ",", iter(())
    if match := _SEPARATOR_NAMED.match(first):  # as Excel reads it
        return match[1], ((number + 1, cells) for number, cells in _records(lines, match[1]))
    opening = [first, *islice(lines, _TITLE_LINES)]
    separator = separator_of(opening)
    return separator, _records(chain(opening, lines), separator)


def separator_of(opening: Sequence[str]) -> str:
    """Return the sign between cells: a bar, as databases print it, where nothing else is one.

    >>> [separator_of([line]) for line in ("id;receipt", "| id | receipt |", "id,a|b|c")]
    [';', '|', ',']
    """
    header = next((line for line in opening if line.strip()), "")
    if "|" in header and not any(each in header for each in SEPARATORS):
        return "|"
    return max(SEPARATORS, key=lambda each: _fitness(each, header, opening))


def _fitness(separator: str, header: str, opening: Sequence[str]) -> tuple[int, bool, int]:
    """Rank a separator: by how many lines have as many of it, whether the first has any, how many.

    A page within a cell has more semicolons than any header has commas.
    """
    counts = Counter(line.count(separator) for line in opening)
    del counts[0]
    return max(counts.values(), default=0), separator in header, max(counts, default=0)


def opening_of(records: Iterator[tuple[int, _Cells]]) -> Iterator[tuple[int, _Cells]]:
    """Take the first records or lines: fewer where they are long, to limit memory."""
    room = _OPENING_TEXT
    for number, cells in islice(records, OPENING):
        yield number, cells
        room -= len(cells) + sum(map(len, cells))
        if room <= 0:
            return


def column_names(opening: Sequence[list[str]], *, is_headed: bool) -> list[str]:
    """Return a different name for each column: a header's, or `column 2`.

    >>> column_names([["id", "note", "", "note"]], is_headed=True)
    ['id', 'note', 'column 3', 'note (2)']
    """
    width = len(opening[0]) if is_headed else max(map(len, opening), default=0)
    header = [cell.strip() for cell in opening[0]] if is_headed else [""] * width
    seen: Counter[str] = Counter()
    names = []
    for place, text in enumerate(header, 1):
        name = text or f"column {place}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def fit_cells(cells: list[str], width: int, separator: str) -> list[str]:
    """Return as many cells as there are columns: the last one holds what is too much."""
    if len(cells) > width:
        return [*cells[: width - 1], separator.join(cells[width - 1 :])]
    return [*cells, *[""] * (width - len(cells))]


def _records(lines: Iterator[str], separator: str) -> Iterator[Record]:
    numbered = enumerate(lines, 1)
    for number, line in numbered:
        if '"' in line:
            following = (text for _, text in islice(numbered, _MOST_LINES_OF_A_ROW - 1))
            yield from _quoted(number, _short_enough(chain([line], following)), separator)
        else:
            yield number, line.rstrip("\r\n").split(separator)


def _short_enough(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines until they are as long together as one may be."""
    room = LONGEST_LINE
    for line in lines:
        yield line
        room -= len(line)
        if room <= 0:
            return


def _quoted(number: int, lines: Iterator[str], separator: str) -> Iterator[Record]:
    """Read one record that has quotes; if one never closes, each line as a record."""
    taken: list[str] = []

    def take() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    try:
        yield number, next(csv.reader(take(), delimiter=separator, strict=True), [])
    except csv.Error:
        for place, line in enumerate(taken, number):
            yield place, [cell.strip(' "\r\n') for cell in line.split(separator)]


_TEXT = TokenFormat(_text_rows, lambda lines, source, column: [TEXT])
_JSON = TokenFormat(json_rows, json_columns)
_CSV = TokenFormat(_csv_rows, _csv_columns)


_FORMS = {
    **dict.fromkeys((".csv", ".tsv"), _CSV),
    **dict.fromkeys((".ndjson", ".jsonl", ".json"), _JSON),
    **dict.fromkeys((".txt", ".log", ".eml", ".mbox", ".htm", ".html"), _TEXT),
}
