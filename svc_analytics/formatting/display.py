"""Tables to display: cells with units, as HTML in notebooks and as plain text.

Numbers are exact, right-aligned, with thousands separators and their unit. An unknown
value is a dash, and the reasons are listed below. All text is escaped: payers wrote some.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from html import escape
from typing import Any

import pyarrow as pa

from svc_analytics.arguments import described
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.sanitize import escape_invisible, single_line
from svc_analytics.formatting.tables import align
from svc_analytics.formatting.values import display_text, is_exact_number, is_ratio, rows_of
from svc_analytics.money import EXACT

DASH = "\N{EN DASH}"

_USD_RATES = ("low", "median", "high")  # and every column whose name ends in rate
_NOT_MONEY = ("line_no", "entry_no", "days_to_refund", "version")


@dataclass(frozen=True)
class Cell:
    """One displayed value: its text, its unit, and a note as a tooltip."""

    text: str
    unit: str = ""
    note: str = ""
    is_number: bool = False
    is_fixed: bool = False  # never broken into two lines

    @property
    def look(self) -> str:
        """The CSS classes of its cell in a page."""
        kind = "n" if self.is_number else "fixed" if self.is_fixed else "text"
        return f"{kind} unknown" if self.note else kind

    @property
    def is_foreign(self) -> bool:
        """Whether its text may run from right to left, so that it must be isolated."""
        return not self.text.isascii() and not self.note


def cells_of(table: pa.Table, row: tuple[Any, ...], why: str = "unknown") -> list[Cell]:
    """Return a table's row as cells, its amounts with the row's currency as unit."""
    names = table.column_names
    currency = str(row[names.index("currency")] or "") if "currency" in names else ""
    return [
        cell_of(value, field, currency, why) for value, field in zip(row, table.schema, strict=True)
    ]


def cell_of(value: Any, field: pa.Field, currency: str, why: str = "unknown") -> Cell:
    """Return a value of a column as a cell; a NULL is a dash that says why."""
    is_number = is_exact_number(field)
    if value is None:
        return Cell(DASH, note=why if is_number else "none stated", is_number=is_number)
    if is_ratio(field):
        percentage = display_text(value.scaleb(2, EXACT), is_ratio=True)
        return Cell(percentage, "%", is_number=True)
    if is_number:
        text = str(value) if field.name in _NOT_MONEY else display_text(value)
        return Cell(text, unit_of(field, currency), is_number=True)
    return Cell(_plain(value), is_fixed=isinstance(value, date))


def unit_of(field: pa.Field, currency: str) -> str:
    """Return the unit of a column's amounts: a currency, or USD per coin."""
    if not pa.types.is_decimal(field.type) or field.name == "fee_percent":
        return ""
    if field.name.endswith("rate") or field.name in _USD_RATES:
        return f"USD per {currency}"
    return "USD" if field.name.startswith("usd_") else currency


def label(name: str) -> str:
    """Write a column's name for people.

    >>> label("usd_net_sales"), label("gross_sales")
    ('USD net sales', 'Gross sales')
    """
    words = name.replace("_", " ")
    return "USD" + words[3:] if words.startswith("usd ") else words[:1].upper() + words[1:]


def _plain(value: Any) -> str:
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.isoformat(sep=" ")
    return escape_invisible(display_text(value))


MOST_ROWS = 50
_NUMBER = "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"
_TEXT = "text-align:left"
_HEADING = "text-align:left;padding-top:1em"


@dataclass(frozen=True)
class DisplayTable:
    """A table to display: some of its rows as cells, and how many rows it has.

    A heading is printed above the row of its number; a row's hint, and a column's meaning,
    are tooltips.
    """

    title: str
    header: list[str]
    rows: list[list[Cell]]
    total: int
    headings: dict[int, str] = field(default_factory=dict)
    hints: dict[int, str] = field(default_factory=dict)
    meanings: list[str] = field(default_factory=list)
    footer: list[Cell] = field(default_factory=list)

    @property
    def is_cut(self) -> bool:
        """Whether it has more rows than are displayed."""
        return self.total > len(self.rows)

    @property
    def rights(self) -> list[bool]:
        """Which columns hold numbers."""
        return [any(row[place].is_number for row in self.rows) for place in range(len(self.header))]

    @property
    def notes(self) -> list[str]:
        """Why cells are dashes, each reason once, and how many rows are displayed."""
        dashes = {cell.note: cell.text for row in self.rows for cell in row if cell.note}
        notes = [single_line(f"{dash} {reason}") for reason, dash in dashes.items()]
        if self.is_cut:
            notes.append(f"the first {len(self.rows):,} of {self.total:,} rows")
        return notes if self.rows else ["no row"]


@dataclass(frozen=True)
class Display:
    """Lines and tables under a title: HTML in a notebook, plain text in print."""

    title: str
    lines: list[str] = field(default_factory=list)
    tables: list[DisplayTable] = field(default_factory=list)

    def __repr__(self) -> str:
        parts = [*filter(None, [self.title]), *map(single_line, self.lines)]
        return escape_invisible("\n".join([*parts, *map(_table_text, self.tables)]))

    def _repr_html_(self) -> str:
        title = f'<h4 dir="auto">{escape(self.title)}</h4>' if self.title else ""
        lines = "".join(f'<p dir="auto">{escape(single_line(line))}</p>' for line in self.lines)
        tables = "".join(map(_table_html, self.tables))
        return escape_invisible(f"<div>{title}{lines}{tables}</div>")


def arrow_of(table: Any) -> pa.Table:
    """Return a table or a frame as an Arrow table."""
    if isinstance(table, pa.Table):
        return table
    if not hasattr(table, "columns"):
        wanted = "give a frame, an Arrow table or a statement"
        raise ConfigError(f"the table is {described(table)}: {wanted}")
    return pa.Table.from_pandas(table, preserve_index=False)


def display_table(
    table: Any,
    title: str = "",
    *,
    why: str = "unknown",
    most: int = MOST_ROWS,
    only: Sequence[str] | None = None,
) -> DisplayTable:
    """Return a frame or an Arrow table as a table to display: exact, with units.

    `why` is the reason for NULL values; at most `most` rows and `only` these columns.
    """
    arrow = arrow_of(table)
    if only is not None:
        arrow = arrow.select(select_known(only, arrow.column_names))
    rows = [cells_of(arrow, row, why) for row in rows_of(arrow.slice(0, most))]
    return DisplayTable(title, arrow.column_names, rows, len(arrow))


def text_table(title: str, header: list[str], rows: Iterable[Iterable[str]]) -> DisplayTable:
    """Return texts as a table to display."""
    cells = [[Cell(text) for text in row] for row in rows]
    return DisplayTable(title, header, cells, len(cells))


def count_table(name: str, counts: Iterable[tuple[str, int]]) -> DisplayTable:
    """Return counts as a table of two columns, `name` and count."""
    rows = [[Cell(text), Cell(f"{count:,}", is_number=True)] for text, count in counts]
    return DisplayTable("", [name, "count"], rows, len(rows))


def names_of(merchant: dict[str, Any], most: int | None = None) -> str:
    """Return a merchant's names in one line, each cut to `most` letters if given."""
    keys = ("display_name", "display_name_fa")
    names = [single_line(str(merchant[key])) for key in keys if merchant.get(key)]
    cut = (f"{name[: most - 1]}…" if most and len(name) > most else name for name in names)
    return " · ".join(cut) or str(merchant["id"])


def cell_text(cell: Cell) -> str:
    """Write a cell as plain text, followed by its unit."""
    text = cell.text if cell.is_number else single_line(cell.text)
    return f"{text} {cell.unit}".rstrip()


def framed(table: DisplayTable, html: str) -> str:
    """Return a table's HTML with its title above and its notes below."""
    title = f'<div style="font-weight:bold">{escape(table.title)}</div>' if table.title else ""
    notes = "".join(f"<div><small>{escape(note)}</small></div>" for note in table.notes)
    return f'{title}<div style="overflow-x:auto">{html}</div>{notes}'


def select_known(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the names, or say which of them is not known."""
    for name in names:
        if name not in known:
            raise ConfigError(f"there is no {name!r} to show; there are {', '.join(known)}")
    return list(names)


def _table_text(table: DisplayTable) -> str:
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    header, rule, *body = align(table.header, rows, table.rights).splitlines()
    for place in sorted(table.headings, reverse=True):
        body.insert(place, table.headings[place])
    return "\n".join([*filter(None, [table.title]), header, rule, *body, *table.notes])


def _table_html(table: DisplayTable) -> str:
    looks = [_NUMBER if right else _TEXT for right in table.rights]
    header = "".join(
        f'<th style="{look}">{escape(name)}</th>'
        for name, look in zip(table.header, looks, strict=True)
    )
    rows = "".join(_rows_html(table, looks))
    return framed(table, f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>")


def _rows_html(table: DisplayTable, looks: list[str]) -> Iterator[str]:
    for number, row in enumerate(table.rows):
        if heading := table.headings.get(number):
            yield f'<tr><th colspan="{len(row)}" style="{_HEADING}">{escape(heading)}</th></tr>'
        hint = f' title="{escape(table.hints[number])}"' if table.hints.get(number) else ""
        yield f"<tr{hint}>{''.join(map(_cell_html, row, looks))}</tr>"


def _cell_html(cell: Cell, look: str) -> str:
    title = f' title="{escape(single_line(cell.note))}"' if cell.note else ""
    unit = f" <small>{escape(single_line(cell.unit))}</small>" if cell.unit else ""
    direction = ' dir="auto"' if cell.is_foreign else ""
    look += ";white-space:nowrap" * (cell.is_fixed and not cell.is_number)
    return f'<td style="{look}"{title}{direction}>{escape(single_line(cell.text))}{unit}</td>'
