"""Tell whether a file in the words of another release says the same: numbers, names and parts."""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from svc_analytics.closing.diff import as_texts, read_csv
from svc_analytics.language.words import name_keys
from svc_analytics.render.contents import ID, Contents, Row
from svc_analytics.render.document import Document
from svc_analytics.render.folder import DEFINITIONS
from svc_analytics.warehouse.definitions import definitions_table

_NUMBER = re.compile(r"[\w.,:+-]*\d[\w.,:+%-]*")
_SENTENCE = re.compile(r"[^\W\d_]{2,}[,;:]?\s+\(?[^\W\d_]{2,}")
_FEW = 2  # letters of a number that any sentence may have
_WORDED = {"detail", "note", "unit", "name"}  # columns with words of the release

Labels = dict[str, str]  # of figures: each label's name


@dataclass(frozen=True)
class Known:
    """What a statement may say in any words: the texts of its tables, its names, its figures."""

    tables: dict[str, pa.Table]  # as texts
    names: tuple[str, ...]  # of its merchant and its coins
    own: Labels  # the labels of figures today
    sealed: Labels  # and those of the folder
    defined: tuple[str, ...]  # what the folder's definitions say

    @cached_property
    def texts(self) -> set[str]:
        """Every text of its tables."""
        columns = (
            table[name].to_pylist()
            for table in self.tables.values()
            for name in table.column_names
            if name not in _WORDED
        )
        return {text for column in columns for text in column if text}


def known_of(sealed: Document, folder: Path, altered: Collection[str]) -> Known:
    """Return the words and numbers that a sealed statement may hold."""
    today = definitions_table().to_pylist()
    coins = sealed.tables["summary"]["currency"].to_pylist()
    names = [str(sealed.merchant.get(name) or "") for name in (*name_keys().values(), "id")]
    rows = [] if DEFINITIONS in altered else _definitions(folder)
    own = {row["label"]: row["name"] for row in today}
    return Known(
        as_texts(sealed.tables),
        tuple(sorted(filter(None, {*coins, *names}), key=len, reverse=True)),
        own,
        own | {row["label"]: row["name"] for row in rows if {"label", "name"} <= row.keys()},
        tuple(text for row in rows for text in row.values()),
    )


def _definitions(folder: Path) -> list[dict[str, str]]:
    """Return the rows of a folder's definitions; none where they cannot be read."""
    try:
        rows: list[dict[str, str]] = read_csv(folder / DEFINITIONS).to_pylist()
    except (OSError, ValueError, csv.Error):
        return []  # the comparison of that file says so
    return rows


def contradictions(ours: Contents, theirs: Contents, known: Known) -> Iterator[str]:
    """List where a file of another release contradicts the same made again."""
    if added := theirs.parts - ours.parts:
        yield f": it has {sorted(added)[0]}"
    right, said = _values(ours, known, known.own), _values(theirs, known, known.sealed)
    for row in (Counter(said) - Counter(right)) or (Counter(right) - Counter(said)):
        yield f": {' | '.join(row)}"
    if [row for row in right if not _is_named(row)] != [row for row in said if not _is_named(row)]:
        yield ": its rows stand in another order"
    if _names(ours, known) != _names(theirs, known):
        yield ": it names others, or elsewhere"
    allowed = _numbers(ours.texts) | _numbers(cell for row in ours.rows for cell in row)
    for number in sorted(_numbers(_prose(theirs)) - allowed - _numbers(known.defined)):
        yield f": it says {number}"


def strange_numbers(definitions: pa.Table) -> list[str]:
    """Return the long numbers in a folder's definitions that those of today do not have."""
    texts = (cell for row in definitions.to_pylist() for cell in row.values())
    today = (cell for row in definitions_table().to_pylist() for cell in row.values())
    return sorted(each for each in _numbers(texts) - _numbers(today) if len(each) > _FEW)


def _values(contents: Contents, known: Known, labels: Labels) -> list[Row]:
    """Return the rows with a number, words left out; a figure's label stands for its name."""
    if contents.is_exact:
        return contents.rows
    rows = (tuple(_cells(row, known, labels)) for row in contents.rows)
    return [row for row in rows if any(map(_NUMBER.search, row))]


def _cells(row: Row, known: Known, labels: Labels) -> Iterator[str]:
    for cell in row:
        label = cell if cell in labels else cell.rpartition(", ")[0]
        if label in labels:
            yield f"{ID}{labels[label]}"
        elif cell in known.texts or cell.startswith(ID) or _is_number(cell):
            yield cell


def _is_number(cell: str) -> bool:
    """Whether a cell is an amount, an instant or an id, and no sentence with one in it."""
    return bool(_NUMBER.search(cell)) and not _SENTENCE.search(cell)


def _is_named(row: Row) -> bool:
    """Whether a row is a figure's, wherever it stands."""
    return row[0].startswith(ID)


def _prose(contents: Contents) -> Iterator[str]:
    """Yield every text, and the sentences in cells of tables."""
    yield from contents.texts
    yield from (cell for row in contents.rows for cell in row if _SENTENCE.search(cell))


def _numbers(texts: Iterable[str]) -> set[str]:
    return {number.strip(".,:") for text in texts for number in _NUMBER.findall(text)}


def _names(contents: Contents, known: Known) -> list[str]:
    """Return the names of the merchant and of coins, in the order in which they are said."""
    names = "|".join(map(re.escape, known.names))
    cells = [cell for row in contents.rows for cell in row]
    return re.findall(rf"(?<!\w)(?:{names})(?!\w)", "\n".join([*contents.texts, *cells]))
