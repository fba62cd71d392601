"""Tell whether a file of another release says what was sealed, in whatever words and layout.

Its words, its headings, and which rows and columns it has in which order, are its own. What it
says must follow from the sealed statement, or from the same file as it is made today:

- beside a figure's label stand that figure's values, and below a coin that of the coin;
- any other row says what one record does, each number under a heading that is known in its column;
- a number in a sentence is one that the statement knows;
- each figure that the sealed definitions name is there, for each coin.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.closing.restatement.diff import as_texts, read_csv
from svc_analytics.closing.verification.layouts import is_layout
from svc_analytics.closing.verification.sources import NamedCell, SealedTexts
from svc_analytics.closing.verification.tokens import Value, known_texts, values_of
from svc_analytics.formatting.cells import DASH
from svc_analytics.formatting.display import label
from svc_analytics.formatting.numbers import ROUNDED
from svc_analytics.language.catalogue import Language
from svc_analytics.language.words import name_keys
from svc_analytics.messages import Message
from svc_analytics.render.contents import ID, Contents, Row
from svc_analytics.render.document import Document
from svc_analytics.render.face.restated import RESTATEMENT
from svc_analytics.render.folder import DEFINITIONS
from svc_analytics.warehouse.definitions import SIGNS, definitions_table

_SENTENCE = re.compile(r"[^\W\d_]{2,}[,;:]?\s+\(?[^\W\d_]{2,}")
_MARKS = re.compile("[\u2066-\u2069]")
_DIGIT = re.compile(r"\d")
_ROW = f"{ID}row-"
_FEW = 2  # letters of a number that any sentence may have
_PAIR = 2  # cells: a label and what stands beside it
Figure = tuple[str, str]  # a figure's name and a coin


@dataclass(frozen=True)
class Known:
    """The contents of a sealed statement: its tables, names, facts and definitions."""

    tables: Mapping[str, pa.Table]  # as texts
    merchant: tuple[str, ...]  # its names
    facts: dict[str, Any]
    labels: dict[str, str]  # names of figures and columns by their label
    outgoing: frozenset[str]  # figures that leave the wallet, by their definitions
    defined: tuple[dict[str, str], ...]  # rows of the folder's definitions

    @cached_property
    def coins(self) -> tuple[str, ...]:
        """Its coins."""
        return tuple(self.tables["summary"]["currency"].to_pylist())

    @cached_property
    def figures(self) -> dict[Figure, str | None]:
        """The value of each figure and coin."""
        rows = self.tables["summary"].to_pylist()
        wide = {(name, row["currency"]): row[name] for row in rows for name in row}
        more = self.tables["figures"].to_pylist() if "figures" in self.tables else []
        return wide | {(row["name"], row["currency"]): row["value"] for row in more}

    @cached_property
    def names(self) -> set[str]:
        """The names of its figures."""
        return {name for name, _ in self.figures} - {"currency", "period"}

    @cached_property
    def sources(self) -> SealedTexts:
        """The records that a row may be of."""
        return SealedTexts({**self.tables, **_fact_tables(self.facts)}, self.outgoing)

    def named(self, text: str) -> str | None:
        """Return the figure or column of a label, whatever stands behind its comma."""
        text = text.removeprefix(f"{ROUNDED} ")
        while text:
            if text in self.labels:
                return self.labels[text]
            text = max((text.rpartition(comma)[0] for comma in (", ", "، ")), key=len)
        return None

    def coin_in(self, text: str) -> str | None:
        """Return the coin that a heading is of."""
        words = set(re.findall(r"[^\s,()]+", text))
        return next((coin for coin in self.coins if coin in words), None)


def _fact_tables(facts: dict[str, Any]) -> dict[str, pa.Table]:
    """Return the facts that have facts of their own as tables, a row for each."""
    tables = {}
    for name, value in facts.items():
        if isinstance(value, dict) and any(isinstance(each, dict) for each in value.values()):
            rows = [{"name": key, **dict(_leaves(each))} for key, each in value.items()]
            columns = dict.fromkeys(key for row in rows for key in row)
            schema = pa.schema([(key, pa.string()) for key in columns])
            tables[f"facts {name}"] = pa.Table.from_pylist(rows, schema=schema)
    return tables


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the values in a fact as texts, with where they stand."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in pairs:
            yield from _leaves(each, f"{path}.{key}" if path else str(key))
    elif value is not None:
        yield path, str(value)


def known_of(
    sealed: Document,
    facts: dict[str, Any],
    folder: Path,
    altered: Collection[str],
    language: Language,
) -> Known:
    """Return the facts, names and numbers of a sealed statement, by its own labels too."""
    rows = [] if DEFINITIONS in altered else _definitions(folder)
    today = definitions_table().to_pylist()
    tables = as_texts(sealed.tables)
    if RESTATEMENT in sealed.tables:
        tables |= as_texts({f"{RESTATEMENT} ": sealed.tables[RESTATEMENT]})
    names = {label(name): name for table in tables.values() for name in table.column_names}
    for row in (*today, *rows):
        names |= {row["name"]: row["name"], row["label"]: row["name"]}
    translated = {_plain(language.text(each)): name for each, name in names.items()}
    merchant = (sealed.merchant.get(name) for name in (*name_keys().values(), "id"))
    return Known(
        tables,
        tuple(str(name) for name in merchant if name),
        facts,
        translated | names,
        frozenset(row["name"] for row in (*today, *rows) if row.get("sign") == SIGNS["out"]),
        tuple(rows),
    )


def _definitions(folder: Path) -> list[dict[str, str]]:
    """Return the rows of a folder's definitions; none where they cannot be read."""
    try:
        rows: list[dict[str, str]] = read_csv(folder / DEFINITIONS).to_pylist()
    except (OSError, ValueError, csv.Error):
        return []  # the comparison of that file says so
    return [row for row in rows if {"label", "name"} <= row.keys()]


def strange_numbers(definitions: pa.Table) -> list[str]:
    """Return the long numbers in a folder's definitions that those of today do not have."""
    theirs, ours = (
        {
            value.key
            for row in table.to_pylist()
            for cell in row.values()
            for value in values_of(cell)
        }
        for table in (definitions, definitions_table())
    )
    return sorted(each for each in theirs - ours if len(each) > _FEW)


def contradictions(ours: Contents, theirs: Contents, known: Known) -> Iterator[Message]:
    """List where a file of another release says what does not follow from the sealed statement."""
    reading = _FormComparison(ours, theirs, known)
    if theirs.is_exact:
        yield from _other_rows(ours.rows, theirs.rows)
    else:
        parts = (part for part in theirs.parts - ours.parts if not is_layout(part))
        yield from (Message("seal.part", part=part) for part in sorted(parts))
        yield from reading.other_figures()
    yield from reading.strange_numbers()
    yield from _other_names(ours, theirs, known)


def _other_rows(ours: list[Row], theirs: list[Row]) -> Iterator[Message]:
    """Yield where rows that programs read are not those that they must be."""
    if ours != theirs:
        pairs = zip(ours, theirs, strict=False)
        other = next((_said(row) for right, row in pairs if right != row), None)
        yield other or Message("seal.row_count")


def _said(row: Row) -> Message:
    return Message("seal.row", row=" | ".join(row))


def _other_names(ours: Contents, theirs: Contents, known: Known) -> Iterator[Message]:
    """Yield the names where the merchant's stand, and that are not its own; and those left out."""
    for name in theirs.names:
        if _plain(name) not in map(_plain, (*known.merchant, *ours.names)):
            yield Message("seal.other_name", name=name)
    texts = ["\n".join((*each.texts, *map(" ".join, each.rows))) for each in (ours, theirs)]
    for name in known.merchant:
        if name in texts[0] and name not in texts[1]:
            yield Message("seal.no_name", name=name)


@dataclass(frozen=True)
class _LabelledRow:
    """A row with what the heading above each cell names."""

    row: Row
    coins: tuple[str | None, ...]
    names: tuple[str | None, ...]


@dataclass(frozen=True)
class _FormComparison:
    """A file of another release beside the same file made today."""

    ours: Contents
    theirs: Contents
    known: Known

    def other_figures(self) -> Iterator[Message]:
        """Yield the rows that do not follow, and the figures that are left out."""
        said: set[Figure] = set()
        for line in _lines(self.theirs, self.known):
            figure = _figure(line.row, self.known)
            if figure and (self._is_pivot(line) or self._coin(line) or _is_pair(line.row)):
                yield from self._figure_faults(line, figure, said)
            elif line not in self._ours and not self._follows(line):
                yield _said(line.row)
        for name, coin in self._left_out(said):
            yield Message("seal.left_out", name=name, coin=coin)

    def strange_numbers(self) -> Iterator[Message]:
        """Yield the numbers outside of tables, and in their sentences, that nothing gives."""
        for text in _prose(self.theirs):
            if wrong := [value.text for value in values_of(text) if not self._is_known(value)]:
                yield Message("seal.says_in", number=wrong[0], text=text[:60])

    def _is_known(self, value: Value) -> bool:
        return value.is_in(self._few) or value.is_in(self._many)

    def _is_pivot(self, line: _LabelledRow) -> bool:
        """Whether a figure's row has coins above its cells."""
        return any(coin for coin, cell in zip(line.coins, line.row, strict=False) if cell)

    def _coin(self, line: _LabelledRow) -> str | None:
        return next((cell for cell in line.row if cell in self.known.coins), None)

    def _cells(self, line: _LabelledRow) -> Iterator[tuple[str | None, str]]:
        """Yield the cells beside a figure's label, each with the coin that it is of."""
        coin, start = self._coin(line), 2 if line.row[0].startswith(ID) else 1
        for head, cell in list(zip(line.coins, line.row, strict=True))[start:]:
            if cell and cell != coin and not _SENTENCE.search(cell):
                yield head or coin or self.known.coin_in(cell), cell

    def _figure_faults(self, line: _LabelledRow, name: str, said: set[Figure]) -> Iterator[Message]:
        """Yield where a figure's row says another value; note which coins it tells of."""
        label = _name_of_id(line.row)
        if label and label != name:
            yield _said(line.row)
        wrong = [
            cell for coin, cell in self._cells(line) if not self._is_value(name, coin, cell, said)
        ]
        if wrong and (self._is_pivot(line) or not self._follows(line, name)):
            yield _said(line.row)

    def _is_value(self, name: str, coin: str | None, cell: str, said: set[Figure]) -> bool:
        """Whether a cell says what a figure is: of its coin, or of any where none is above it."""
        values = list(_values(cell))
        if coin is None or (name, coin) not in self.known.figures:
            pairs = [(name, each) for each in (*self.known.coins, "")]
        else:
            pairs = [(name, coin)]
            if values or cell == DASH or not self.known.figures[name, coin]:
                said.add((name, coin))
        texts = set[str]().union(*map(self._may_say, pairs))
        if not values:
            return cell != DASH or coin is None or not self.known.figures.get(pairs[0])
        return all(value.is_in(texts) for value in values)

    def _may_say(self, figure: Figure) -> set[str]:
        """Return each way to write a figure: its value, and that of the file made today."""
        text = self.known.figures.get(figure)
        sealed = self.known.sources.said(figure[0], text) if text else set()
        return sealed | self._today.get(figure, set())

    def _follows(self, line: _LabelledRow, name: str | None = None) -> bool:
        """Whether one record says all that a row does; beside a label, whether it is known."""
        if name is None and _is_pair(line.row):
            known = all(self._is_known(value) for cell in line.row for value in _values(cell))
            return known and all(self._is_fact(line.row[0], cell) for cell in line.row[1:])
        coin = self._coin(line)
        cells = [
            NamedCell(values, head or coin, named)
            for cell, head, named in zip(line.row, line.coins, line.names, strict=True)
            if (values := list(_values(cell))) and cell not in self.known.coins
        ]
        named = [name] if name else []
        return not cells or self.known.sources.explain(cells, [*named, *([coin] if coin else [])])

    def _is_fact(self, name: str, cell: str) -> bool:
        """Whether what stands beside the name of a fact is that fact."""
        fact = name.replace(" ", ".")
        texts = [text for path, text in self._facts if path == fact or path.startswith(f"{fact}.")]
        return not texts or all(value.is_in(known_texts(texts)) for value in values_of(cell))

    def _left_out(self, said: set[Figure]) -> list[Figure]:
        """Return the figures that the sealed definitions name, and nothing was said of."""
        defined = {row["name"] for row in self.known.defined}
        return sorted(
            figure
            for figure in self._today
            if figure[1] and figure[0] in defined and figure not in said
        )

    @cached_property
    def _facts(self) -> list[tuple[str, str]]:
        return list(_leaves(self.known.facts))

    @cached_property
    def _ours(self) -> set[_LabelledRow]:
        return set(_lines(self.ours, self.known))

    @cached_property
    def _today(self) -> dict[Figure, set[str]]:
        """The values of each figure and coin in today's file, and elsewhere in its row."""
        said: dict[Figure, set[str]] = defaultdict(set)
        for line in _lines(self.ours, self.known):
            if name := _figure(line.row, self.known):
                is_pivot = self._is_pivot(line)
                for coin, cell in self._cells(line):
                    values = _values(cell) if is_pivot else ()
                    said[name, coin or ""].update(value.key for value in values)
        return {each: texts for each, texts in said.items() if each[0] in self.known.names}

    @cached_property
    def _few(self) -> set[str]:
        """The values that any sentence may state: of today's, facts, definitions and figures."""
        sentences = (value.key for text in _prose(self.ours) for value in values_of(text))
        defined = (text for row in self.known.defined for text in row.values() if text)
        figures = (text for text in self.known.figures.values() if text)
        facts = (text for _, text in self._facts)
        return {*sentences, *known_texts((*defined, *figures, *facts))}

    @cached_property
    def _many(self) -> set[str]:
        """And what the cells of today's file say."""
        return {value.key for row in self.ours.rows for cell in row for value in values_of(cell)}


def _lines(contents: Contents, known: Known) -> Iterator[_LabelledRow]:
    """Yield the rows of a file, with the heading that stands above them."""
    coins: tuple[str | None, ...] = ()
    names: tuple[str | None, ...] = ()
    for place, cells in enumerate(contents.rows):
        row = tuple(map(_plain, cells))
        if not row:
            coins, names = (), ()
        elif _is_heading(row, known, is_told=place in contents.heads):
            coins, names = tuple(map(known.coin_in, row)), tuple(map(known.named, row))
        else:
            shift = (None,) if row[0].startswith(ID) else ()
            yield _LabelledRow(row, *(_as_long(row, shift + heads) for heads in (coins, names)))


def _as_long(row: Row, heads: tuple[str | None, ...]) -> tuple[str | None, ...]:
    return (*heads, *[None] * len(row))[: len(row)]


def _is_heading(row: Row, known: Known, *, is_told: bool) -> bool:
    """Whether a row has the headings of those below: words alone, in several cells."""
    cells = [cell for cell in row if cell]
    if len(cells) < _PAIR or row[0].startswith(ID) or DASH in cells:
        return False
    if _figure(row, known) and any(cell in known.coins for cell in cells):
        return False
    bare = (cell.replace(known.coin_in(cell) or "\n", "") for cell in cells)
    return is_told or not any(map(_DIGIT.search, bare))


def _is_pair(row: Row) -> bool:
    """Whether a row is a label with one text beside it, or less; sentences behind it aside."""
    cells = [cell for place, cell in enumerate(row) if place < _PAIR or not _SENTENCE.search(cell)]
    return sum(map(bool, cells)) <= _PAIR


def _figure(row: Row, known: Known) -> str | None:
    """Return the figure whose row it is, by its label; else by its id."""
    cells = row[1:] if row and row[0].startswith(ID) else row
    name = known.named(cells[0]) if cells else None
    return name if name in known.names else _name_of_id(row)


def _name_of_id(row: Row) -> str | None:
    return row[0].removeprefix(_ROW) if row and row[0].startswith(_ROW) else None


def _values(cell: str) -> Iterable[Value]:
    """Return the values in a cell, unless it is a sentence or names its row."""
    is_cell = _DIGIT.search(cell) and not cell.startswith(ID) and not _SENTENCE.search(cell)
    return values_of(cell) if is_cell else ()


def _prose(contents: Contents) -> Iterator[str]:
    """Yield the texts outside of tables, and the sentences in them."""
    yield from contents.texts
    for row in contents.rows:
        yield from (cell for cell in row if _DIGIT.search(cell) and _SENTENCE.search(cell))


def _plain(text: str) -> str:
    """Return a text without the marks of a script's direction."""
    return text if text.isascii() else " ".join(_MARKS.sub(" ", text).split())
