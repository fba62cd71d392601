"""CSV as people send it: any separator, quotes that never close, rows too short or too long."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar

LONGEST_LINE = 1 << 20
SEPARATORS = ",;\t"
OPENING = 100  # records of a file in which its columns are looked for
_OPENING_TEXT = 1 << 22  # characters and cells of them, at most
_TITLE_LINES = 10  # above a header, at most: they may hold no separator
_SEPARATOR_TOLD = re.compile(r'"?sep=([,;\t|])"?\s*\Z')
_MOST_LINES_OF_A_ROW = 50  # a quote that never closes must not swallow the rest of a file

Cells = TypeVar("Cells", bound=Sequence[str])  # of a record; or a line
Record = tuple[int, list[str]]  # the number of its first line, and its cells


def split_records(lines: Iterator[str]) -> tuple[str, Iterator[Record]]:
    """Return the separator of a CSV file, and each of its records."""
    first = next(lines, None)
    if first is None:
        return ",", iter(())
    if match := _SEPARATOR_TOLD.match(first):  # as Excel reads it
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


def opening_of(records: Iterator[tuple[int, Cells]]) -> Iterator[tuple[int, Cells]]:
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
