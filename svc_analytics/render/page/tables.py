"""The tables of a statement's page: each number as it is shown, and with every digit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.cells import Cell, CellMaker, number_cell, unknown_cell
from svc_analytics.formatting.display import head_of, label, lined_up
from svc_analytics.formatting.display_table import DisplayTable, headings_of
from svc_analytics.formatting.numbers import COIN, COUNT, RATE, USD, exact_text, kind_of
from svc_analytics.formatting.standing import RUNNING, Standing, attach
from svc_analytics.formatting.values import rows_of
from svc_analytics.messages import KEPT, Message, stored_text
from svc_analytics.money import as_decimal
from svc_analytics.periods import GREGORIAN
from svc_analytics.render.document import Document
from svc_analytics.render.external import FIGURES, ExternalFigures
from svc_analytics.render.face.all_coins import ALL_COINS
from svc_analytics.render.face.face import EXTERNAL, UNPRICED, UNPRICED_LABEL, Face, FaceRow
from svc_analytics.render.face.restated import RESTATEMENT, SHOWN, difference_cell, records_first
from svc_analytics.render.figures import (
    FigureCells,
    definition_groups,
    meaning,
    summary_groups,
    unknown_reason,
    why_unknown,
)
from svc_analytics.render.findings import CHECKS, shown_findings
from svc_analytics.warehouse.figures import label_of, read_figures

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


# ---------- The tables of a statement's figures on its page
# The face, then the details by coin.


_EMPTY = Cell("")


@dataclass(frozen=True)
class FigureTables:
    """Makes the two tables of a summary's figures; all coins in USD stand in the last column."""

    statement: Document
    standing: Standing

    @cached_property
    def face(self) -> Face:
        """The main figures in the order of a statement."""
        return Face(self.statement)

    @cached_property
    def _cells(self) -> FigureCells:
        return FigureCells(self.statement, self.standing.scales)

    def main(self) -> PageTable:
        """Return the face: sales, refunds, payouts and positions."""
        groups = self.face.groups
        rows = [row for group in groups.values() for row in group]
        table = self._table("Figures", groups, map(self._face_row, rows))
        return figures_of_kinds(table, self.face.names, [row.weight for row in rows])

    def details(self) -> PageTable:
        """Return the summary's other figures; of those in USD all coins add up."""
        columns = self.statement.tables["summary"].column_names
        known = {*self.face.names}
        groups = {
            title: [name for name in names if name not in known]
            for title, names in summary_groups(columns).items()
        }
        names = [name for group in groups.values() for name in group]
        return figures_of_kinds(self._table("", groups, map(self._detail_row, names)), names)

    def _table(
        self, title: str, groups: Mapping[str, Sequence[object]], rows: Iterable[list[Cell]]
    ) -> DisplayTable:
        groups = {title: group for title, group in groups.items() if group}
        cells, coins = list(rows), [str(row["currency"]) for row in self._cells.rows]
        return DisplayTable(
            title,
            ["figure", *coins, ALL_COINS, *self._external_head()],
            cells,
            len(cells),
            headings_of(groups),
            caption=self.standing.text,
        )

    def _face_row(self, row: FaceRow) -> list[Cell]:
        head = Cell(UNPRICED_LABEL) if row.name == UNPRICED else self._cells.head(row.name)
        values = zip(self._cells.rows, row.values, strict=True)
        coins = [self._coin_cell(str(coin["currency"]), row.name, value) for coin, value in values]
        total = self._total_cell(row)
        if (external := self.statement.external) is None:
            return [head, *coins, total]
        is_shown = row.usd and row.has_total
        other = self._in_currency(external, row.external, total.note) if is_shown else _EMPTY
        return [head, *coins, total, other]

    def _coin_cell(self, coin: str, name: str, value: Decimal | int | None) -> Cell:
        if value is None:
            return unknown_cell(self._why(coin, name), is_number=True)
        if name == UNPRICED:
            return number_cell(value, COUNT)
        kind: str = kind_of(self.statement.tables["summary"].schema.field(name))
        if kind == RATE and value >= 1:
            kind = USD
        return number_cell(value, kind, self.standing.scales.get(coin))

    def _total_cell(self, row: FaceRow) -> Cell:
        if not row.has_total:
            return _EMPTY
        if row.total is None:
            why = self._cells.why_no_total(row.usd or row.name)
            return unknown_cell(why, is_number=True)
        return number_cell(row.total, COUNT if isinstance(row.total, int) else USD)

    def _detail_row(self, name: str) -> list[Cell]:
        usd = self._usd_row(name)
        external, coins = self.statement.external, self.face.in_currency
        if external is None or coins is None:
            return usd
        if name not in FIGURES:
            return [*usd, _EMPTY]
        return [*usd, self._in_currency(external, coins.usd(name), usd[-1].note)]

    def external(self, external: ExternalFigures) -> PageTable:
        """Return each figure in USD, and below it the same in another currency."""
        names = [name for name in FIGURES if name in self.statement.tables["summary"].column_names]
        rows = [row for name in names for row in self._pair(external, name)]
        coins = [str(row["currency"]) for row in self._cells.rows]
        header = ["figure", *coins, "All coins"]
        table = DisplayTable("", header, rows, len(rows), caption=self.standing.text)
        return figures_of_kinds(table, [f"{row[0].text}" for row in rows])

    def _pair(self, external: ExternalFigures, name: str) -> Iterator[list[Cell]]:
        """Yield a figure in USD, and the same in another currency."""
        usd, coins = self._usd_row(name), self.face.in_currency
        values = [external.amounts.get((str(row["currency"]), name)) for row in self._cells.rows]
        values.append(coins.usd(name) if coins else None)
        notes = [cell.note for cell in usd[1:]]
        head = Cell(Message("in {CURRENCY}, external rates", CURRENCY=external.rates.name))
        yield usd
        yield [head, *map(partial(self._in_currency, external), values, notes)]

    def _external_head(self) -> list[str]:
        external = self.statement.external
        return [Message(EXTERNAL, CURRENCY=external.rates.name)] if external else []

    @staticmethod
    def _in_currency(external: ExternalFigures, value: Decimal | int | None, why: str = "") -> Cell:
        """Return an amount of the other currency, rounded to its places."""
        if value is None:
            return unknown_cell(why, is_number=True)
        return number_cell(value, COIN, external.rates.places)

    def _usd_row(self, name: str) -> list[Cell]:
        return self._cells.row(self._cells.rows, name, has_total=True)

    def _why(self, coin: str, name: str) -> str:
        row = next(each for each in self._cells.rows if each["currency"] == coin)
        return why_unknown(self.statement, row, name)


# ---------- The part of a page that shows a statement's USD in another currency
# And by which rates.


_NAMES = ("day", "rate", "source")


@dataclass(frozen=True)
class ExternalPart:
    """Figures in another currency below those in USD, and the rates that they rest on."""

    currency: str
    figures: PageTable
    rates: PageTable


def external_part(tables: FigureTables) -> ExternalPart | None:
    """Return the part of another currency; None where none was asked for."""
    external = tables.statement.external
    if external is None:
        return None
    days = pa.array([each.day for each in external.rates.by_day.values()], pa.date32())
    maker = CellMaker(pa.schema([("day", days.type)]), standing=tables.standing)
    rows = [
        [*maker.row([each.day]), Cell(exact_text(rate), is_number=True), Cell(each.said_by)]
        for each in external.rates.by_day.values()
        for rate in [as_decimal(each.per_usd)]
    ]
    head = ["Day", Message("1 USD in {CURRENCY}", CURRENCY=external.rates.name), "Source"]
    shown = DisplayTable(
        "", head, rows, len(rows), meanings=["", "", ""], caption=tables.standing.text
    )
    return ExternalPart(external.rates.name, tables.external(external), page_table(shown, _NAMES))


# ---------- The part of a page with the sentences that people wrote on what moved


TITLE = "Sentences on what moved"
HEADS = ("figure", "coin", "compared with", "why", "prepared by", "reviewed by")
NAMES = ("figure", "currency", "before", "sentence", "prepared_by", "reviewed_by")


def sentences_part(statement: Document, standing: Standing) -> PageTable | None:
    """Return the table of the sentences; None where there are none."""
    rows = [
        [
            Cell(Message(label_of(row["figure"])), is_fixed=True),
            Cell(row["currency"], is_fixed=True),
            *(Cell(row[name]) for name in NAMES[2:]),
        ]
        for row in statement.sentences
    ]
    shown = DisplayTable(
        "", [*HEADS], rows, len(rows), meanings=[""] * len(HEADS), caption=standing.text
    )
    return page_table(shown, NAMES) if rows else None
