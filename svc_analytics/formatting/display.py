"""Tables to display: as HTML in notebooks and as plain text.

Numbers stand at a readable scale, their points in one line; every digit is a hover or
`exact` away. An unknown value is a dash, and the reasons are listed below. Under the title
stand the period, zone and status of what the table is made of.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from html import escape
from itertools import accumulate, chain, zip_longest
from textwrap import wrap
from typing import Any

import pyarrow as pa

from svc_analytics.arguments import as_names, described
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.cells import (
    RATE,
    Cell,
    CellMaker,
    coin_scales,
    in_line,
    kind_of,
    plain_spaces,
    unit_name,
)
from svc_analytics.formatting.status_line import attach, status_line_of
from svc_analytics.formatting.tables import align
from svc_analytics.formatting.texts import (
    cut_short,
    escape_invisible,
    single_line,
    terminal_width,
    wrapped,
)
from svc_analytics.formatting.values import is_exact_number, rows_of
from svc_analytics.instants import in_words
from svc_analytics.language.catalogue import merchant_names
from svc_analytics.messages import Message, translated

MOST_ROWS = 50
_HIDES_DIGITS = "rounded, so a sum may miss by its last digit; every digit:"
POINTED = f"{_HIDES_DIGITS} point at it"
_EVERY_DIGIT = "--exact, in Python exact=True"  # a terminal has nothing to point at

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
    headings: dict[int, str] = field(default_factory=dict)
    hints: dict[int, str] = field(default_factory=dict)
    meanings: list[str] = field(default_factory=list)
    footer: list[Cell] = field(default_factory=list)
    totals: frozenset[int] = frozenset()  # the rows that are printed bold, under a rule
    subtotals: frozenset[int] = frozenset()  # those under a rule alone
    caption: str = ""
    # Of its columns or, where figures stand below each other, of its rows.
    names: Sequence[str] = ()
    sums: frozenset[int] = frozenset()  # columns of all others together: first, if cut into blocks
    keys: int = 1  # columns that say what a row is of: in each block
    count: int | None = None  # of all its rows, where these are the first of them

    @property
    def total(self) -> int:
        """How many rows it has, displayed or not."""
        return len(self.rows) if self.count is None else self.count

    @property
    def is_cut(self) -> bool:
        """Whether it has more rows than are displayed."""
        return self.total > len(self.rows)

    @property
    def rights(self) -> list[bool]:
        """Which columns hold numbers."""
        return [any(row[place].is_number for row in self.rows) for place in range(len(self.header))]

    @property
    def letters(self) -> int:
        """How many letters it is wide at least, so that paper can have smaller ones."""
        columns = [
            [_unbroken(name), *map(_least, cells)]
            for name, *cells in zip(self.header, *self.rows, strict=True)
        ]
        return sum(max(column) + _GAP for column in columns)

    @property
    def hides_digits(self) -> bool:
        """Whether it shows a rounded number."""
        return any(cell.exact and cell.is_number for cell in self._cells)

    @property
    def reasons(self) -> list[str]:
        """Why cells are dashes, each reason once."""
        dashes = {cell.note: cell.text for cell in self._cells if cell.note}
        return [_why(dash, reason) for reason, dash in dashes.items()]

    @property
    def _cells(self) -> list[Cell]:
        cells = [cell for row in (*self.rows, self.footer) for cell in row]
        return cells + [cell.below for cell in cells if cell.below]

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
    return Message("{DASH} {REASON}", dash=translated(dash), reason=translated(shown))


def cell_text(cell: Cell) -> str:
    """Write a cell as plain text."""
    if cell.is_number:
        return f"{cell.text}{cell.padding}"
    return cell.in_english if cell.at else single_line(cell.in_english)


def _least(cell: Cell) -> int:
    """Return how many letters of a cell must stand in one line."""
    text = cell_text(cell)
    return len(text) if cell.is_number or cell.is_fixed else _unbroken(text)


def _unbroken(text: str) -> int:
    """Return how wide a text is at least: its longest word, or a line of many words."""
    return max(min(len(text), _LINE), *map(len, text.split() or [""]))


def table_text(
    table: DisplayTable, *, is_wide: bool = False, every_digit: str = _EVERY_DIGIT
) -> str:
    """Write a table for a terminal, its title and caption above, its notes below.

    Unless it may be wide, long texts are broken where the terminal is narrow, and then columns
    stand in blocks.
    """
    above = map(wrapped, filter(None, [table.title, in_words(single_line(table.caption))]))
    notes = map(in_words, table.notes(f"{_HIDES_DIGITS} {every_digit}"))
    blocks = "\n\n".join(
        _block(table, *each) for each in _blocks(table, None if is_wide else terminal_width())
    )
    return "\n".join([*above, blocks, *map(wrapped, notes)])


def _blocks(table: DisplayTable, room: int | None) -> list[tuple[list[int], list[int]]]:
    """Return the columns of each block, and how wide they are: all in one, if there is room.

    The keys stand in each: they say what the others are of. What sums them up comes first.
    """
    columns = list(zip(table.header, *table.rows, strict=True))
    if not columns:
        return []
    widths = [max(map(len, map(_plain_text, column))) for column in columns]
    least = [max(_unbroken(head), *map(_least, cells), 1) for head, *cells in columns]
    whole = [*range(len(widths))]
    if room is None:
        return [(whole, widths)]
    while _width(widths) > room and (gives := max(map(int.__sub__, widths, least))) > 0:
        widths[[*map(int.__sub__, widths, least)].index(gives)] -= 1
    if _width(widths) <= room:
        return [(whole, widths)]
    # In blocks, what rows are of need not be broken.
    widths[0] = max(widths[0], min(max(map(len, map(_plain_text, columns[0]))), room // 3))
    keys = whole[: table.keys]
    blocks = [[*keys]]
    for place in sorted(whole[table.keys :], key=lambda place: place not in table.sums):
        is_new = len(blocks[-1]) == len(keys)
        if not is_new and _width([widths[each] for each in (*blocks[-1], place)]) > room:
            blocks.append([*keys])
        blocks[-1].append(place)
    return [(block, [widths[place] for place in block]) for block in blocks]


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _plain_text(cell: Cell | str) -> str:
    return single_line(cell) if isinstance(cell, str) else plain_spaces(cell_text(cell))


def _block(table: DisplayTable, places: Sequence[int], widths: Sequence[int]) -> str:
    """Write some columns of a table, long texts broken to their widths."""

    def lines(cells: Sequence[Cell | str]) -> list[list[str]]:
        texts = [_plain_text(cells[place]) for place in places]
        pairs = zip(texts, widths, strict=True)
        broken = [wrap(text, width) if len(text) > width else [text] for text, width in pairs]
        return [list(line) for line in zip_longest(*broken, fillvalue="")]

    rights = [table.rights[place] for place in places]
    head, rows = lines(table.header), list(map(lines, table.rows))
    header, *texts = align(head[0], [*head[1:], *chain(*rows)], rights, widths).splitlines()
    rule, more = texts[0], texts[1 : len(head)]
    body, at = texts[len(head) :], 0
    shown = [header, *more, rule]
    for number, row in enumerate(rows):
        shown += [table.headings[number]] if number in table.headings else []
        shown += body[at : at + len(row)]
        at += len(row)
    return "\n".join(shown)


@dataclass(frozen=True)
class Display:
    """Lines and tables under a title: HTML in a notebook, plain text in print."""

    title: str
    lines: list[str] = field(default_factory=list)
    tables: list[DisplayTable] = field(default_factory=list)
    folded: list[DisplayTable] = field(default_factory=list)  # to open; not in print

    def __repr__(self) -> str:
        lines = [in_words(single_line(line)) for line in self.lines]
        parts = map(wrapped, [*filter(None, [self.title]), *lines])
        return escape_invisible("\n".join([*parts, *map(table_text, self.tables)]))

    def _repr_html_(self) -> str:
        tables = [*map(table_html, self.tables), *map(folded_html, self.folded)]
        return titled_html(self.title, self.lines, tables)


def label(name: str) -> str:
    """Write a column's name for people.

    >>> label("usd_net_sales"), label("gross_sales"), label("price_usd")
    ('USD net sales', 'Gross sales', 'Price USD')
    """
    words = " ".join("USD" if word == "usd" else word for word in name.split("_"))
    return words[:1].upper() + words[1:]


def arrow_of(table: Any) -> pa.Table:
    """Return a table or a frame as an Arrow table."""
    if isinstance(table, pa.Table):
        return table
    if not hasattr(table, "columns"):
        wanted = "give a frame, an Arrow table or a statement"
        raise ConfigError(f"the table is {described(table)}: {wanted}")
    return attach(_of_frame(_with_index(table)), status_line_of(table))


def _of_frame(frame: Any) -> pa.Table:
    """Return a frame as it is, or say which of its columns no table holds."""
    if len(twins := frame.columns[frame.columns.duplicated()]):
        raise ConfigError(f"two columns are called {twins[0]!r}: rename one")
    columns = {}
    for name, column in frame.items():
        try:
            array = pa.array(column, from_pandas=True)
            is_stored = isinstance(array.type, pa.BaseExtensionType)  # a period, as a number
            columns[str(name)] = pa.array(column.astype(str)) if is_stored else array
        except (pa.ArrowException, TypeError, OverflowError) as error:
            why = f"the column {name!r} holds values that do not go together, or too large a one"
            raise ConfigError(f"{why}: make texts of it, by .map(str)") from error
    return pa.table(columns)


def _with_index(frame: Any) -> Any:
    """Return a frame with its index as columns: the keys of groups, but no numbers of rows."""
    index = frame.index
    if list(index.names) == [None] and index.dtype.kind in "iu":
        return frame
    missing = [n for n, name in enumerate(index.names) if name not in frame.columns]
    return frame.reset_index(level=missing) if missing else frame


def display_table(
    table: Any,
    title: str = "",
    *,
    why: str = "unknown",
    most: int = MOST_ROWS,
    only: Sequence[str] | None = None,
    exact: bool = False,
    label_of: Callable[[str], str] = label,
) -> DisplayTable:
    """Return a frame or an Arrow table as a table to display.

    `why` is the reason for NULL values; at most `most` rows and `only` these columns. With
    `exact`, every digit. Its heads are the labels of its columns, their hovers the names.
    """
    arrow = arrow_of(table)
    status_line = status_line_of(arrow)
    scales = status_line.scales or coin_scales([arrow])
    if only is not None:
        arrow = arrow.select(select_known(only, arrow.column_names))
    maker = CellMaker(arrow.schema, why, status_line, scales, exact)
    rows = [maker.row(row) for row in rows_of(arrow.slice(0, min(most, len(arrow))))]
    return DisplayTable(
        title,
        [head_of(each, label_of) for each in arrow.schema],
        lined_up(rows),
        meanings=arrow.column_names,
        caption=status_line.text,
        count=len(arrow),
    )


def head_of(column: pa.Field, label_of: Callable[[str], str] = label, currency: str = "") -> str:
    """Return the head of a column: its label, and the unit unless its label names it."""
    text = label_of(column.name)
    if not is_exact_number(column):
        return text
    kind = kind_of(column)
    return with_unit(text, unit_name(kind, currency) if currency or kind == RATE else "")


def with_unit(text: str, unit: str) -> str:
    """Return a label with a unit behind it, if there is one that the label does not name."""
    if not unit or unit in text:
        return text
    return Message("{COLUMN}, {UNIT}", column=translated(text), unit=translated(unit))


def lined_up(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return rows with the points of each column in one line."""
    columns = in_line(list(zip(*rows, strict=True)))
    return [list(row) for row in zip(*columns, strict=True)]


def text_table(title: str, header: list[str], rows: Iterable[Iterable[str]]) -> DisplayTable:
    """Return texts as a table to display."""
    cells = [[Cell(text) for text in row] for row in rows]
    return DisplayTable(title, header, cells)


def count_table(name: str, counts: Iterable[tuple[str, int]]) -> DisplayTable:
    """Return counts as a table of two columns, `name` and count."""
    rows = [[Cell(text), Cell(f"{count:,}", is_number=True)] for text, count in counts]
    return DisplayTable("", [name, "count"], rows)


def names_of(merchant: dict[str, Any], most: int | None = None, own: str = "") -> str:
    """Return a merchant's names in one line, each cut to `most` letters if given.

    The name in the language `own` is the first.
    """
    names = [single_line(name) for _, name in merchant_names(merchant, own)]
    return " · ".join(cut_short(name, most or len(name)) for name in names) or str(merchant["id"])


def select_known(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the names, or say which of them is not known; one text is one name."""
    names = (names,) if isinstance(names, str) else as_names("what to show", names, *known[:1])
    for name in names:
        if name not in known:
            raise ConfigError(f"there is no {name!r} to show; there are {', '.join(known)}")
    return list(names)


# ---------- Tables as HTML, for notebooks and letters
# All text is escaped: payers wrote some.


_FIGURES = "font-variant-numeric:tabular-nums lining-nums;white-space:nowrap;direction:ltr"
_NUMBER = f"text-align:right;{_FIGURES}"
_TEXT = "text-align:start"
_HEADING = "text-align:start;padding-top:1em"
# The first column stays in sight when a wide table is moved sideways; it has its row's stripe.
_STICKY = ";position:sticky;inset-inline-start:0;background:inherit"
_TOTAL = ";font-weight:bold;border-top:1px solid"
_STRIPES = (
    "var(--jp-layout-color0,Canvas)",
    "var(--jp-rendermime-table-row-background,light-dark(#f5f5f5,#242424))",
)


def _cell_text(cell: Cell) -> str:
    return escape(cell_text(replace(cell, padding="")))


def shown_html(text: str) -> str:
    """Return a text as HTML, with its days as people say them."""
    return escape(in_words(text))


@dataclass(frozen=True)
class TableWords:
    """How the texts of a table are written as HTML: shown, on pointing, and in a cell."""

    shown: Callable[[str], str] = shown_html
    hint: Callable[[str], str] = escape
    cell: Callable[[Cell], str] = _cell_text
    hides_digits: str = f"{POINTED}, or exact=True"  # how those are seen that a cell hides


_PLAIN = TableWords()


def titled_html(title: str, lines: Iterable[str], tables: Iterable[str]) -> str:
    """Return a title, lines of text and tables as one element."""
    head = f'<h4 dir="auto">{escape(title)}</h4>' if title else ""
    texts = "".join(f'<p dir="auto">{shown_html(single_line(line))}</p>' for line in lines)
    return escape_invisible(f"<div>{head}{texts}{''.join(tables)}</div>")


def framed(table: DisplayTable, html: str, words: TableWords = _PLAIN) -> str:
    """Return a table's HTML with its title and caption above and its notes below."""
    head = words.shown(table.title)
    title = f'<div style="font-weight:bold">{head}</div>' if table.title else ""
    caption = table.caption
    above = words.shown(caption if isinstance(caption, Message) else single_line(caption))
    caption = f"<div><small>{above}</small></div>"
    notes = "".join(
        f"<div><small>{words.shown(note)}</small></div>" for note in table.notes(words.hides_digits)
    )
    above = title + caption * bool(table.caption)
    box = f'<div style="overflow-x:auto;--letters:{table.letters}">{html}</div>'
    return f"{above}{box}{notes}"


def table_html(table: DisplayTable, words: TableWords = _PLAIN) -> str:
    """Return a table with what stands above and below it."""
    looks = [_NUMBER if right else _TEXT for right in table.rights]
    meanings = table.meanings or [""] * len(table.header)
    header = "".join(
        f'<th style="{look}{_STICKY * (not place)}"{_title(meaning, words)}>{name}</th>'
        for place, (name, look, meaning) in enumerate(
            zip(map(words.shown, table.header), looks, meanings, strict=True)
        )
    )
    rows = "".join(_rows_html(table, looks, words))
    html = f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"
    return framed(table, html, words)


def folded_html(table: DisplayTable) -> str:
    """Return a table to open by its title."""
    html = table_html(replace(table, title=""))
    return f"<details><summary>{escape(table.title)}</summary>{html}</details>"


def _rows_html(table: DisplayTable, looks: list[str], words: TableWords) -> Iterator[str]:
    for number, row in enumerate(table.rows):
        if heading := table.headings.get(number):
            head = words.shown(heading)
            yield f'<tr><th colspan="{len(row)}" style="{_HEADING}">{head}</th></tr>'
        hint = _title(table.hints.get(number, ""), words)
        styles = [looks[0] + _STICKY, *looks[1:]]
        styles = [style + _TOTAL * (number in table.totals) for style in styles]
        first, *others = (_cell_html(*each, words) for each in zip(row, styles, strict=True))
        stripe = f' style="background:{_STRIPES[number % 2]}"'
        yield f"<tr{hint}{stripe}>{first}{''.join(others)}</tr>"


def _cell_html(cell: Cell, look: str, words: TableWords) -> str:
    direction = ' dir="auto"' if cell.is_foreign else ""
    look += ";white-space:nowrap" * (cell.is_fixed and not cell.is_number)
    text = words.cell(cell) + cell.padding
    return f'<td style="{look}"{_title(cell.hover, words)}{direction}>{text}</td>'


def _title(text: str, words: TableWords) -> str:
    shown = text if isinstance(text, Message) else single_line(text)
    return f' title="{words.hint(shown)}"' if text else ""
