"""The tables of a statement's page: each number as it is shown, and with every digit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.cells import Cell, CellMaker
from svc_analytics.formatting.display import head_of, label, lined_up
from svc_analytics.formatting.display_table import DisplayTable, headings_of
from svc_analytics.formatting.standing import RUNNING, Standing, attach
from svc_analytics.formatting.values import rows_of
from svc_analytics.messages import KEPT, Message, stored_text
from svc_analytics.periods import GREGORIAN
from svc_analytics.render.document import Document
from svc_analytics.render.face.restated import (
    RESTATEMENT,
    SHOWN,
    difference_cell,
    records_first,
)
from svc_analytics.render.figures import (
    definition_groups,
    meaning,
    unknown_reason,
)
from svc_analytics.render.findings import CHECKS, shown_findings
from svc_analytics.warehouse.definitions import label_of
from svc_analytics.warehouse.figures import read_figures

MOST_ROWS = 200  # of one table; the rest is in the other forms
_DAYS = ("day", "occurred_at_local")


@dataclass(frozen=True)
class PageCell:
    """A cell as it is shown, and what pads its exact text when every digit is shown."""

    cell: Cell
    exact_padding: str


@dataclass(frozen=True)
class PageTable:
    """A table of the page; `names` are those of its columns or, of figures, of its rows."""

    table: DisplayTable
    names: Sequence[str]
    rows: list[list[PageCell]]
    footer: list[PageCell] = field(default_factory=list)
    weights: Sequence[str] = ()  # of the rows of a statement's face: subtotals and totals

    @property
    def cells(self) -> list[Cell]:
        """All its cells, those of the footer last."""
        return [each.cell for row in (*self.rows, self.footer) for each in row]

    @property
    def reasons(self) -> list[str]:
        """Why its dashes are dashes, each reason once."""
        return [note for note in dict.fromkeys(cell.note for cell in self.cells) if note]

    @property
    def hides_digits(self) -> bool:
        """Whether it shows a rounded number."""
        return any(cell.exact for cell in self.cells)


def page_table(table: DisplayTable, names: Sequence[str]) -> PageTable:
    """Return a table as the page holds it, its footer in line with its rows.

    One sentence of the page says that numbers are rounded, so that none needs a mark.
    """
    rows = [*table.rows, *([table.footer] if table.footer else [])]
    bare = [[replace(cell, padding="") for cell in row] for row in rows]
    exact = [[replace(cell, text=cell.exact or cell.text) for cell in row] for row in bare]
    both = [
        [PageCell(cell, whole.padding) for cell, whole in zip(*pair, strict=True)]
        for pair in zip(lined_up(bare), lined_up(exact), strict=True)
    ]
    return PageTable(table, names, both[: len(table.rows)], both[-1] if table.footer else [])


def figures_of_kinds(
    table: DisplayTable, names: Sequence[str], weights: Sequence[str] = ()
) -> PageTable:
    """Return figures as the page holds them: of several kinds, each ends at the right."""
    rows = [[PageCell(replace(cell, padding=""), "") for cell in row] for row in table.rows]
    return PageTable(table, names, rows, weights=weights)


@dataclass(frozen=True)
class PageTables:
    """Makes the tables of a statement's page; each says what the statement is worth."""

    statement: Document
    standing: Standing

    @cached_property
    def why(self) -> str:
        """Why values of what was not read are unknown."""
        return unknown_reason(self.statement)

    def source(self, name: str) -> pa.Table:
        """Return a table of the statement that carries the standing of the page."""
        return attach(self.statement.tables[name], self.standing)

    def table(self, name: str, only: Sequence[str] = ()) -> PageTable:
        """Return one of the statement's tables, or some of its columns."""
        table = self.statement.tables[name]
        table = shown_findings(table) if name == CHECKS else table
        columns = [each for each in only if each in table.column_names] or table.column_names
        columns = [each for each in columns if each != KEPT]
        return self._of_rows(name, table, label(name), columns)

    def more_figures(self) -> Iterator[PageTable]:
        """Yield the figures that the summary has not, figures down too, if there are any."""
        table = self.statement.tables["figures"]
        rows = {(row["name"], row["currency"]): row for row in table.to_pylist()}
        coins = list(dict.fromkeys(currency for _, currency in rows))
        groups = _grouped([name for name, _ in rows])
        names = [name for group in groups.values() for name in group]
        maker = CellMaker(table.schema, self.why, self.standing)
        cells = [
            [Cell(label_of(name)), *(_value(maker, rows, name, coin) for coin in coins)]
            for name in names
        ]
        shown = DisplayTable("More figures", ["figure", *coins], cells, len(cells))
        if cells:
            shown = replace(shown, headings=headings_of(groups), caption=self.standing.text)
            yield figures_of_kinds(shown, names)

    def restated(self) -> PageTable:
        """Return the differences from the version before: records, then the figures they moved."""
        table, columns = self.statement.tables[RESTATEMENT], ("table_name", *SHOWN)
        rows = records_first(table, MOST_ROWS).to_pylist()
        shown = DisplayTable(
            label(RESTATEMENT),
            list(map(label, columns)),
            [[difference_cell(row, each) for each in columns] for row in rows],
            table.num_rows,
            meanings=[meaning(RESTATEMENT, each) for each in columns],
            caption=self.standing.text,
        )
        return page_table(shown, columns)

    def days(self) -> Iterator[PageTable]:
        """Yield a table of days for each coin, with the summary's own figures as its footer."""
        daily = self.statement.tables["daily"]
        columns = [name for name in daily.column_names if name != "currency"]
        for row in self.statement.tables["summary"].to_pylist():
            currency = str(row["currency"])
            own = daily.filter(pc.equal(daily["currency"], currency))
            if own.num_rows:
                yield self._of_rows("daily", own, currency, columns, row)

    def _of_rows(
        self,
        name: str,
        table: pa.Table,
        title: str,
        columns: Sequence[str],
        summary: Mapping[str, Any] | None = None,
    ) -> PageTable:
        """Return some columns of a table; above a footer, they are of the summary's coin."""
        maker = CellMaker(table.schema, self.why, self.standing)
        fields = [table.schema.field(name) for name in columns]
        first = rows_of(table.slice(0, MOST_ROWS))
        rows = [dict(zip(table.column_names, values, strict=True)) for values in first]
        coin = str(summary["currency"]) if summary else ""
        shown = DisplayTable(
            title,
            [self._head(each, coin) for each in fields],
            [[maker.cell(row, each) for each in fields] for row in rows],
            table.num_rows,
            meanings=[meaning(name, column) for column in columns],
            footer=self._footer(maker, fields, summary) if summary else [],
            caption=self.standing.text,
        )
        return page_table(shown, columns)

    def _head(self, column: pa.Field, coin: str) -> str:
        text, calendar = head_of(column, label_of, coin), self.statement.period.calendar
        is_other = column.name in _DAYS and calendar != GREGORIAN
        if not is_other:
            return text
        return Message(
            "{COLUMN}, {CALENDAR} (Gregorian)", COLUMN=text, CALENDAR=calendar.capitalize()
        )

    def _footer(
        self, maker: CellMaker, fields: Sequence[pa.Field], summary: Mapping[str, Any]
    ) -> list[Cell]:
        """Return the summary's figures of a coin, below its days."""
        is_running = self.standing.is_running(self.statement.period.label)
        head = f"so far {RUNNING}" if is_running else "whole period"
        cells = [maker.cell({each.name: None} | dict(summary), each) for each in fields[1:]]
        return [Cell(head, is_fixed=True), *cells]


def _grouped(names: Sequence[str]) -> dict[str, list[str]]:
    """Return names of figures by group, in the order of the glossary."""
    defined = definition_groups()
    groups = {title: [row["name"] for row in rows] for title, rows in defined.items()}
    known = {name for group in groups.values() for name in group}
    groups["Other"] = list(dict.fromkeys(name for name in names if name not in known))
    chosen = {title: [name for name in group if name in names] for title, group in groups.items()}
    return {title: group for title, group in chosen.items() if group}


def _value(
    maker: CellMaker, rows: Mapping[tuple[str, str], Mapping[str, Any]], name: str, coin: str
) -> Cell:
    """Return the value of a figure of one coin; an unknown one says why."""
    row = rows.get((name, coin))
    if row is None:
        return Cell("")
    figure = read_figures().get(name)
    # Its own note says why, or that of a figure it is made of; else the note is its meaning.
    notes = [(row, figure.meaning if figure else "")]
    for operand in figure.operands if figure else ():
        if made_of := rows.get((operand, coin)):
            notes.append((made_of, read_figures()[operand].meaning))
    reasons = [
        stored_text(note, each.get(KEPT))
        for each, known in notes
        if (note := str(each["note"] or "")) not in ("", known)
    ]
    return replace(maker, why=[*reasons, maker.why][0]).cell(row, maker.schema.field("value"))
