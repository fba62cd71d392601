"""Tables and pictures that show themselves: one value, as HTML and as plain text alike.

Numbers are exact, to the right, thousands apart, their unit beside them. What is unknown
is a dash, and the reasons stand below. All text is escaped: it comes from payers too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from html import escape
from typing import Any

import pyarrow as pa

from svc_analytics.errors import ConfigError
from svc_analytics.formatting.sanitize import escape_invisible, single_line
from svc_analytics.formatting.tables import align
from svc_analytics.formatting.values import display_text, is_ratio, rows_of
from svc_analytics.money import EXACT

DASH = "\N{EN DASH}"

_USD_RATES = ("low", "median", "high")  # besides those whose name ends in rate
_NOT_MONEY = ("line_no", "entry_no", "days_to_refund", "version")


@dataclass(frozen=True)
class Cell:
    """One value as it is shown: its text, its unit, and a note for who points at it."""

    text: str
    unit: str = ""
    note: str = ""
    is_number: bool = False
    is_fixed: bool = False  # never broken into two lines

    @property
    def look(self) -> str:
        """The classes of its place in a page."""
        kind = "n" if self.is_number else "fixed" if self.is_fixed else "text"
        return f"{kind} unknown" if self.note else kind

    @property
    def is_foreign(self) -> bool:
        """Whether its text may run from right to left and must be set apart."""
        return not self.text.isascii() and not self.note


def cells_of(table: pa.Table, row: tuple[Any, ...], why: str = "unknown") -> list[Cell]:
    """Return a table's row as cells, with its own currency beside its amounts."""
    names = table.column_names
    currency = str(row[names.index("currency")] or "") if "currency" in names else ""
    return [
        cell_of(value, field, currency, why) for value, field in zip(row, table.schema, strict=True)
    ]


def cell_of(value: Any, field: pa.Field, currency: str, why: str = "unknown") -> Cell:
    """Show a value of a column; a NULL is a dash that says why."""
    is_number = bool(pa.types.is_decimal(field.type) or pa.types.is_integer(field.type))
    if value is None:
        return Cell(DASH, note=why if is_number else "none stated", is_number=is_number)
    if is_ratio(field):
        percentage = display_text(value.scaleb(2, EXACT), is_ratio=True)
        return Cell(percentage, "%", is_number=True)
    if is_number:
        is_whole = field.name in _NOT_MONEY
        text = str(value) if is_whole else display_text(value)
        return Cell(text, unit_of(field, currency), is_number=True)
    return Cell(_plain(value), is_fixed=isinstance(value, date))


def unit_of(field: pa.Field, currency: str) -> str:
    """Return what an amount of a column is counted in."""
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
    """A table as it is shown.

    `headings` stand above the rows of these numbers, `hints` are told of a row when
    it is pointed at.
    """

    title: str
    header: list[str]
    rows: list[list[Cell]]
    total: int
    headings: dict[int, str] = field(default_factory=dict)
    hints: dict[int, str] = field(default_factory=dict)

    @property
    def rights(self) -> list[bool]:
        """Which columns hold numbers."""
        return [any(row[place].is_number for row in self.rows) for place in range(len(self.header))]

    @property
    def notes(self) -> list[str]:
        """Why cells are dashes, each reason once, and how many rows are not shown."""
        dashes = {cell.note: cell.text for row in self.rows for cell in row if cell.note}
        notes = [single_line(f"{dash} {reason}") for reason, dash in dashes.items()]
        if self.total > len(self.rows):
            notes.append(f"the first {len(self.rows):,} of {self.total:,} rows")
        return notes if self.rows else ["no row"]


@dataclass(frozen=True)
class Display:
    """Lines and tables under a title; shows itself in notebooks, and prints as plain text."""

    title: str
    lines: list[str] = field(default_factory=list)
    grids: list[DisplayTable] = field(default_factory=list)

    def __repr__(self) -> str:
        parts = [*filter(None, [self.title]), *map(single_line, self.lines)]
        return escape_invisible("\n".join(parts + [_grid_text(grid) for grid in self.grids]))

    def _repr_html_(self) -> str:
        title = f'<h4 dir="auto">{escape(self.title)}</h4>' if self.title else ""
        lines = "".join(f'<p dir="auto">{escape(single_line(line))}</p>' for line in self.lines)
        return escape_invisible(f"<div>{title}{lines}{''.join(map(_grid_html, self.grids))}</div>")


def arrow_of(table: Any) -> pa.Table:
    """Return a table or a frame as an Arrow table."""
    if isinstance(table, pa.Table):
        return table
    if not hasattr(table, "columns"):
        raise ConfigError(f"a frame or an Arrow table can be shown, not a {type(table).__name__}")
    return pa.Table.from_pandas(table, preserve_index=False)


def display_table(
    table: Any,
    title: str = "",
    *,
    why: str = "unknown",
    most: int = MOST_ROWS,
    only: Sequence[str] | None = None,
) -> DisplayTable:
    """Return a frame or an Arrow table as it is displayed: exact, with units.

    `why` is the reason given for NULLs; `most` rows are shown, `only` some columns.
    """
    arrow = arrow_of(table)
    if only is not None:
        arrow = arrow.select(select_known(only, arrow.column_names))
    rows = [cells_of(arrow, row, why) for row in rows_of(arrow.slice(0, most))]
    return DisplayTable(title, arrow.column_names, rows, len(arrow))


def count_table(name: str, counts: Iterable[tuple[str, int]]) -> DisplayTable:
    """Return counts as a table of two columns, `name` and count."""
    rows = [[Cell(text), Cell(f"{count:,}", is_number=True)] for text, count in counts]
    return DisplayTable("", [name, "count"], rows, len(rows))


def names_of(merchant: dict[str, Any], most: int | None = None) -> str:
    """Return a merchant's names for people, the Persian one set apart from its neighbours.

    Where there is little room each is cut to `most` letters.
    """
    keys = ("display_name", "display_name_fa")
    names = [single_line(str(merchant[key])) for key in keys if merchant.get(key)]
    cut = (f"{name[: most - 1]}…" if most and len(name) > most else name for name in names)
    return " · ".join(cut) or str(merchant["id"])


def cell_text(cell: Cell) -> str:
    """Write a cell as plain text, its unit behind it."""
    text = cell.text if cell.is_number else single_line(cell.text)
    return f"{text} {cell.unit}".rstrip()


def framed(grid: DisplayTable, table: str) -> str:
    """Set a table between its title and its notes; too wide for the page, it can be moved."""
    title = f'<div style="font-weight:bold">{escape(grid.title)}</div>' if grid.title else ""
    notes = "".join(f"<div><small>{escape(note)}</small></div>" for note in grid.notes)
    return f'{title}<div style="overflow-x:auto">{table}</div>{notes}'


def select_known(names: Sequence[str], there: Sequence[str]) -> list[str]:
    for name in names:
        if name not in there:
            raise ConfigError(f"there is no {name!r} to show; there are {', '.join(there)}")
    return list(names)


def _grid_text(grid: DisplayTable) -> str:
    rows = [[cell_text(cell) for cell in row] for row in grid.rows]
    header, rule, *body = align(grid.header, rows, grid.rights).splitlines()
    for place in sorted(grid.headings, reverse=True):
        body.insert(place, grid.headings[place])
    return "\n".join([*filter(None, [grid.title]), header, rule, *body, *grid.notes])


def _grid_html(grid: DisplayTable) -> str:
    looks = [_NUMBER if right else _TEXT for right in grid.rights]
    header = "".join(
        f'<th style="{look}">{escape(name)}</th>'
        for name, look in zip(grid.header, looks, strict=True)
    )
    rows = "".join(_rows_html(grid, looks))
    return framed(grid, f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>")


def _rows_html(grid: DisplayTable, looks: list[str]) -> Iterator[str]:
    for number, row in enumerate(grid.rows):
        if heading := grid.headings.get(number):
            yield f'<tr><th colspan="{len(row)}" style="{_HEADING}">{escape(heading)}</th></tr>'
        hint = f' title="{escape(grid.hints[number])}"' if grid.hints.get(number) else ""
        yield f"<tr{hint}>{''.join(map(_cell_html, row, looks))}</tr>"


def _cell_html(cell: Cell, look: str) -> str:
    title = f' title="{escape(single_line(cell.note))}"' if cell.note else ""
    unit = f" <small>{escape(single_line(cell.unit))}</small>" if cell.unit else ""
    aside = ' dir="auto"' if cell.is_foreign else ""
    look += ";white-space:nowrap" * (cell.is_fixed and not cell.is_number)
    return f'<td style="{look}"{title}{aside}>{escape(single_line(cell.text))}{unit}</td>'
