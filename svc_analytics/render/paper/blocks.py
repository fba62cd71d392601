"""Tables that are too wide for a sheet, in blocks that fit one below the other.

No column is cut or left out: what has no room beside the others stands in the next block, which
begins with the same heads of its rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import DisplayTable
from svc_analytics.language.catalogue import Language, without_marks
from svc_analytics.render.face.all_coins import ALL_COINS

UPRIGHT, ACROSS = 108, 174  # letters of a table's size that a sheet has room for
_LETTER = 0.68  # of the size of a text: a bold digit is the widest
_GAP = 3  # letters between columns
_NARROWEST, _WIDEST = 15, 60  # letters of a column of texts, which are broken into lines
_HEAD = 26  # letters of what a row of figures is called


@dataclass(frozen=True)
class BlockOfColumns:
    """Some columns of a table, by their places in it."""

    places: Sequence[int]
    widths: Sequence[int]  # in letters
    broken: frozenset[int]  # the places of those whose texts are broken into lines

    @property
    def columns(self) -> str:
        """The columns as Typst has them: texts share what numbers leave."""
        pairs = zip(self.places, self.widths, strict=True)
        return ", ".join(
            f"{width}fr" if place in self.broken else f"{width * _LETTER:.2f}em"
            for place, width in pairs
        )


def blocks_of_figures(
    table: DisplayTable, language: Language, room: int = UPRIGHT
) -> list[BlockOfColumns]:
    """Cut figures by coin into blocks, all coins together first where there is more than one."""
    header = table.header
    end = header.index(ALL_COINS) if ALL_COINS in header else len(header)
    coins, totals = range(1, end), range(end, len(header))
    needs = {place: _need(table, place, language) for place in range(1, len(header))}
    if _HEAD + sum(needs.values()) <= room:
        rows = [[*coins, *totals]]
    else:
        rows = _in_rows([*totals, *coins], needs, room - _HEAD)
    return [_block(row, {0: _HEAD} | needs, frozenset({0})) for row in rows]


def blocks_of_records(
    table: DisplayTable, language: Language, room: int = ACROSS
) -> list[BlockOfColumns]:
    """Cut a table of records into blocks; each begins with its first column."""
    widths = {place: _need(table, place, language) for place in range(len(table.header))}
    broken = frozenset(place for place in widths if _is_broken(table, place))
    needs = widths | {place: min(widths[place], _NARROWEST) for place in broken}
    rows = _in_rows([place for place in needs if place], needs, room - needs[0])
    wide = {place: min(width, _WIDEST) for place, width in widths.items()}
    return [_block(row, wide, broken) for row in rows]


def _block(row: Sequence[int], widths: Mapping[int, int], broken: frozenset[int]) -> BlockOfColumns:
    """Return a block of a row of columns behind the first one of their table."""
    return BlockOfColumns([0, *row], [widths[place] for place in (0, *row)], broken)


def _in_rows(places: Sequence[int], needs: Mapping[int, int], room: int) -> list[list[int]]:
    """Share columns out among blocks, in their order, as many in each as it has room for."""
    rows: list[list[int]] = [[]]
    for place in places:
        if rows[-1] and sum(needs[each] for each in rows[-1]) + needs[place] > room:
            rows.append([])
        rows[-1].append(place)
    return rows


def _is_broken(table: DisplayTable, place: int) -> bool:
    """Whether a column has texts that are broken into lines: no number is, and no day."""
    cells = [row[place] for row in table.rows]
    return any(not cell.is_number and len(cell.text) > _NARROWEST for cell in cells)


def _need(table: DisplayTable, place: int, language: Language) -> int:
    """Return how many letters a column needs that is not broken but in a long head."""
    cells = [row[place] for row in (*table.rows, table.footer) if row]
    head = without_marks(language.text(table.header[place]))
    words = [head] if len(head) < _NARROWEST else head.split()
    return max([*map(len, words), *map(_length, cells)]) + _GAP


def _length(cell: Cell) -> int:
    return len(cell.text) + len(cell.padding)
