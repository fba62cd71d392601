"""A table to display, as values, and its plain text."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import accumulate

from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.numbers import ROUNDED, plain_spaces
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.tables import align
from svc_analytics.messages import Message

_HIDES_DIGITS = f"{ROUNDED} rounded for display; every digit:"
POINTED = f"{_HIDES_DIGITS} point at it, or exact=True"
_TYPED = f"{_HIDES_DIGITS} --exact, in Python exact=True"  # a terminal has nothing to point at

_GAP = 2  # letters between columns
_LINE = 24  # letters of a text that is broken into lines, if it is long


@dataclass(frozen=True)
class DisplayTable:
    """A table to display: some of its rows as cells, and how many rows it has.

    Every form is a renderer of it. The caption says what it is made of. A heading is printed above
    the row of its number; a row's hint, and a column's meaning, are tooltips.
    """

    title: str
    header: list[str]
    rows: list[list[Cell]]
    total: int
    headings: dict[int, str] = field(default_factory=dict)
    hints: dict[int, str] = field(default_factory=dict)
    meanings: list[str] = field(default_factory=list)
    footer: list[Cell] = field(default_factory=list)
    totals: frozenset[int] = frozenset()  # the rows that are printed bold, under a rule
    subtotals: frozenset[int] = frozenset()  # those under a rule alone
    caption: str = ""
    names: Sequence[
        str
    ] = ()  # of its columns or, where figures stand below each other, of its rows

    @property
    def is_cut(self) -> bool:
        """Whether it has more rows than are displayed."""
        return self.total > len(self.rows)

    @property
    def heads(self) -> list[str]:
        """The heads of its columns, with a mark where digits of a number are hidden."""
        columns = zip(self.header, *self.rows, strict=True)
        return [
            Message("{MARK} {COLUMN}", MARK=ROUNDED, COLUMN=head)
            if any(c.exact for c in cells)
            else head
            for head, *cells in columns
        ]

    @property
    def rights(self) -> list[bool]:
        """Which columns hold numbers."""
        return [any(row[place].is_number for row in self.rows) for place in range(len(self.header))]

    @property
    def letters(self) -> int:
        """How many letters it is wide at least, so that paper can have smaller ones."""
        columns = [
            [_unbroken(name), *map(_least, cells)]
            for name, *cells in zip(self.heads, *self.rows, strict=True)
        ]
        return sum(max(column) + _GAP for column in columns)

    @property
    def hides_digits(self) -> bool:
        """Whether it shows a rounded number."""
        return any(cell.exact for cell in self._cells)

    @property
    def reasons(self) -> list[str]:
        """Why cells are dashes, each reason once."""
        dashes = {cell.note: cell.text for cell in self._cells if cell.note}
        return [_why(dash, reason) for reason, dash in dashes.items()]

    @property
    def _cells(self) -> list[Cell]:
        return [cell for row in (*self.rows, self.footer) for cell in row]

    def notes(self, hides_digits: str) -> list[str]:
        """Return why cells are dashes, whether digits are hidden, and how many rows there are."""
        notes = [*self.reasons, *[hides_digits] * self.hides_digits]
        if self.is_cut:
            notes.append(f"the first {len(self.rows):,} of {self.total:,} rows")
        return notes if self.rows else ["no row"]


def headings_of(groups: Mapping[str, Sized]) -> dict[int, str]:
    """Return the heading of each group by the number of its first row.

    >>> headings_of({"Sales": ["a", "b"], "Refunds": ["c"]})
    {0: 'Sales', 2: 'Refunds'}
    """
    return dict(zip(accumulate(map(len, groups.values()), initial=0), groups, strict=False))


def _why(dash: str, reason: str) -> Message:
    shown = reason if isinstance(reason, Message) else single_line(reason)
    return Message("{DASH} {REASON}", DASH=dash, REASON=shown)


def cell_text(cell: Cell) -> str:
    """Write a cell as plain text."""
    return f"{cell.text}{cell.padding}" if cell.is_number else single_line(cell.text)


def _least(cell: Cell) -> int:
    """Return how many letters of a cell must stand in one line."""
    text = cell_text(cell)
    return len(text) if cell.is_number or cell.is_fixed else _unbroken(text)


def _unbroken(text: str) -> int:
    """Return how wide a text is at least: its longest word, or a line of many words."""
    return max(min(len(text), _LINE), *map(len, text.split() or [""]))


def table_text(table: DisplayTable) -> str:
    """Write a table for a terminal, its title and caption above, its notes below."""
    rows = [[plain_spaces(cell_text(cell)) for cell in row] for row in table.rows]
    header, rule, *body = align(table.heads, rows, table.rights).splitlines()
    for place in sorted(table.headings, reverse=True):
        body.insert(place, table.headings[place])
    above = filter(None, [table.title, single_line(table.caption)])
    return "\n".join([*above, header, rule, *body, *table.notes(_TYPED)])
