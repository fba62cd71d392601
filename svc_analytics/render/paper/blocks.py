"""Tables that are too wide for a sheet, in blocks that fit one below the other.

No column is cut or left out: what has no room beside the others stands in the next block, which
begins with the same heads of its rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from svc_analytics.render.face.all_coins import ALL_COINS
from svc_analytics.render.page.tables import PageCell, PageTable

UPRIGHT, ACROSS = 112, 176  # letters of a table's size that a sheet has room for
_GAP = 3  # letters between columns
_NARROWEST, _WIDEST = 15, 60  # letters of a column of texts, which are broken into lines
_HEAD = 26  # letters of what a row of figures is called


@dataclass(frozen=True)
class BlockOfColumns:
    """Some columns of a table: their places in it, and whether each is of texts."""

    places: Sequence[int]
    widths: Sequence[int]  # in letters; 0 for a column of numbers, which takes what it needs

    @property
    def columns(self) -> str:
        """The columns as Typst has them: texts share what numbers leave."""
        return ", ".join(f"{width}fr" if width else "auto" for width in self.widths)


def blocks_of_figures(table: PageTable, room: int = UPRIGHT) -> list[BlockOfColumns]:
    """Cut figures by coin into blocks, all coins together first where there is more than one."""
    header = table.table.header
    coins = [place for place, head in enumerate(header) if 0 < place < _end_of_coins(header)]
    totals = [place for place in range(1, len(header)) if place not in coins]
    needs = {place: _need(table, place) for place in range(1, len(header))}
    if _HEAD + sum(needs.values()) <= room:
        return [_figures([*coins, *totals])]
    return [_figures(places) for places in _in_rows([*totals, *coins], needs, room - _HEAD)]


def blocks_of_records(table: PageTable, room: int = ACROSS) -> list[BlockOfColumns]:
    """Cut a table of records into blocks; each begins with its first column."""
    rights = table.table.rights
    needs = {
        place: min(_need(table, place), _NARROWEST)
        if _is_broken(table, place)
        else _need(table, place)
        for place in range(len(rights))
    }
    rest = [place for place in needs if place]
    rows = _in_rows(rest, needs, room - needs[0]) if rest else [[]]
    blocks = [[0, *row] for row in rows]
    widths = [
        min(_need(table, place), _WIDEST) if _is_broken(table, place) else 0
        for place in range(len(rights))
    ]
    return [BlockOfColumns(block, [widths[place] for place in block]) for block in blocks]


def _is_broken(table: PageTable, place: int) -> bool:
    """Whether a column has texts that are broken into lines: no number is, and no day."""
    cells = [row[place].cell for row in table.rows]
    return any(not cell.is_number and len(cell.text) > _NARROWEST for cell in cells)


def _figures(places: Sequence[int]) -> BlockOfColumns:
    return BlockOfColumns([0, *places], [1, *[0] * len(places)])


def _end_of_coins(header: Sequence[str]) -> int:
    return header.index(ALL_COINS) if ALL_COINS in header else len(header)


def _in_rows(places: Sequence[int], needs: dict[int, int], room: int) -> list[list[int]]:
    """Share columns out among blocks, in their order, as many in each as it has room for."""
    rows: list[list[int]] = [[]]
    for place in places:
        if rows[-1] and sum(needs[each] for each in rows[-1]) + needs[place] > room:
            rows.append([])
        rows[-1].append(place)
    return rows


def _need(table: PageTable, place: int) -> int:
    """Return how many letters a column needs that is not broken but in its head."""
    cells = [row[place] for row in (*table.rows, table.footer) if row]
    head = map(len, str(table.table.header[place]).split())
    return max([*head, *map(_length, cells)]) + _GAP


def _length(shown: PageCell) -> int:
    return len(shown.cell.text) + len(shown.cell.padding)
