"""The tables of a statement, as its page, its PDF and its workbook show them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.cells import COIN, RATIO, SHADES, Cell, CellMaker, number_cell
from svc_analytics.formatting.display import DisplayTable, head_of, headings_of, label, lined_up
from svc_analytics.formatting.status_line import RUNNING, StatusLine, attach, running
from svc_analytics.formatting.values import rows_of
from svc_analytics.messages import MESSAGE_COLUMN, Message, stored_text, translated
from svc_analytics.money import as_decimal, format_amount
from svc_analytics.periods import GREGORIAN
from svc_analytics.render.differences import MOST_ROWS, RESTATEMENT, SHOWN, differences_table
from svc_analytics.render.document import Document
from svc_analytics.render.external import FIGURES, ExternalFigures
from svc_analytics.render.figures import FigureCells, by_group, meaning, unknown_reason
from svc_analytics.render.findings import CHECKS, shown_findings
from svc_analytics.render.summary_page import EXTERNAL, SUBTOTALS, TOTALS, SummaryPage
from svc_analytics.warehouse.figures import as_moved, label_of, moved_table, read_figures

_DAYS = ("day", "occurred_at_local")
MOST_MONTHS = 12  # of cohorts; older ones are in the table itself
MOST_PLACES = 8  # of an amount below a share, so that twelve months fit the paper
TITLE = "Sentences on what moved"
_HEADS = ("figure", "coin", "compared with", "why", "prepared by", "reviewed by")
_NAMES = ("figure", "currency", "before", "sentence", "prepared_by", "reviewed_by")
_EMPTY = Cell("")


@dataclass(frozen=True)
class ExternalPart:
    """Figures in another currency below those in USD, and the rates that they rest on."""

    currency: str
    figures: DisplayTable
    rates: DisplayTable


@dataclass(frozen=True)
class StatementTables:
    """Makes the tables of a statement to display; each says what the statement is worth.

    Of figures, all coins in USD stand in the last column.
    """

    statement: Document
    status_line: StatusLine

    @cached_property
    def why(self) -> str:
        """Why values of what was not read are unknown."""
        return unknown_reason(self.statement)

    def source(self, name: str) -> pa.Table:
        """Return a table of the statement that carries the standing of the page."""
        return attach(self.statement.tables[name], self.status_line)

    def table(self, name: str, only: Sequence[str] = ()) -> DisplayTable:
        """Return one of the statement's tables, or some of its columns."""
        table = self.statement.tables[name]
        table = shown_findings(table) if name == CHECKS else moved_table(table)
        columns = [each for each in only if each in table.column_names] or table.column_names
        columns = [each for each in columns if each != MESSAGE_COLUMN]
        return self.of_rows(name, table, label(name), columns)

    def more_figures(self) -> Iterator[DisplayTable]:
        """Yield the figures that the summary has not, figures down too, if there are any."""
        table = moved_table(self.statement.tables["figures"])
        rows = {(row["name"], row["currency"]): row for row in table.to_pylist()}
        coins = list(dict.fromkeys(currency for _, currency in rows))
        groups = by_group(dict.fromkeys(name for name, _ in rows))
        names = [name for group in groups.values() for name in group]
        maker = CellMaker(table.schema, self.why, self.status_line)
        cells = [
            [Cell(label_of(name)), *(_value(maker, rows, name, coin) for coin in coins)]
            for name in names
        ]
        if cells:
            yield DisplayTable(
                "More figures",
                ["figure", *coins],
                cells,
                headings_of(groups),
                caption=self.status_line.text,
                names=names,
            )

    def restated(self) -> DisplayTable:
        """Return the differences from the version before: records, then the figures they moved."""
        columns = ("table_name", *SHOWN)
        tables = self.statement.tables
        restated, lines = tables[RESTATEMENT], tables["lines"]
        shown = differences_table(restated, label(RESTATEMENT), columns, lines)
        return replace(shown, caption=self.status_line.text)

    def days(self) -> Iterator[DisplayTable]:
        """Yield a table of days for each coin, with the summary's own figures as its footer."""
        daily = moved_table(self.statement.tables["daily"])
        columns = [name for name in daily.column_names if name != "currency"]
        for row in moved_table(self.statement.tables["summary"]).to_pylist():
            currency = str(row["currency"])
            own = daily.filter(pc.equal(daily["currency"], currency))
            if own.num_rows:
                yield self.of_rows("daily", own, currency, columns, row)

    def of_rows(
        self,
        name: str,
        table: pa.Table,
        title: str,
        columns: Sequence[str],
        summary: Mapping[str, Any] | None = None,
    ) -> DisplayTable:
        """Return some columns of a table; above a footer, they are of the summary's coin."""
        maker = CellMaker(table.schema, self.why, self.status_line)
        fields = [table.schema.field(name) for name in columns]
        first = rows_of(table.slice(0, MOST_ROWS))
        rows = [dict(zip(table.column_names, values, strict=True)) for values in first]
        coin = str(summary["currency"]) if summary else ""
        cells = [[maker.cell(row, each) for each in fields] for row in rows]
        cells = lined_up([*cells, *([self._footer(maker, fields, summary)] if summary else [])])
        return DisplayTable(
            title,
            [self._head(each, coin) for each in fields],
            cells[: len(rows)],
            meanings=[meaning(name, column) for column in columns],
            footer=cells[-1] if summary else [],
            caption=self.status_line.text,
            names=columns,
            count=table.num_rows,
        )

    def _head(self, column: pa.Field, coin: str) -> str:
        text, calendar = head_of(column, label_of, coin), self.statement.period.calendar
        is_other = column.name in _DAYS and calendar != GREGORIAN
        if not is_other:
            return text
        return Message(
            "{COLUMN}, {CALENDAR} (Gregorian)",
            column=translated(text),
            calendar=translated(calendar.capitalize()),
        )

    def _footer(
        self, maker: CellMaker, fields: Sequence[pa.Field], summary: Mapping[str, Any]
    ) -> list[Cell]:
        """Return the summary's figures of a coin, below its days."""
        is_running = self.status_line.is_running(self.statement.period.label)
        head = f"so far {RUNNING}" if is_running else "whole period"
        cells = [maker.cell({each.name: None} | dict(summary), each) for each in fields[1:]]
        return [Cell(head, is_fixed=True), *cells]

    def cohorts(self) -> Iterator[tuple[DisplayTable, bool]]:
        """Yield for each coin which share of each month's payments came back in which month.

        Months of payment stand down, months of refund across; with whether older ones are left out.
        """
        rows = self.statement.tables["cohorts"].to_pylist()
        for coin in sorted({row["currency"] for row in rows}):
            yield self._cohorts(coin, [row for row in rows if row["currency"] == coin])

    def _cohorts(self, coin: str, rows: Sequence[Mapping[str, Any]]) -> tuple[DisplayTable, bool]:
        across = sorted({row["refund_month"] for row in rows})
        down = sorted({row["payment_month"] for row in rows})
        is_cut = max(len(across), len(down)) > MOST_MONTHS
        across, down = across[-MOST_MONTHS:], down[-MOST_MONTHS:]
        charged = {row["payment_month"]: row["charged_total"] for row in rows}
        most: Decimal = max(row["ratio"] or Decimal() for row in rows)
        scale = self.status_line.scales.get(coin)
        crossings = {
            (row["payment_month"], row["refund_month"]): _crossing(row, most, scale) for row in rows
        }
        totals = [[number_cell(charged[paid], COIN, scale, why="unknown")] for paid in down]
        cells = [
            [
                Cell(self._month(paid), is_fixed=True),
                *total,
                *(crossings.get((paid, back), _EMPTY) for back in across),
            ]
            for paid, total in zip(down, lined_up(totals), strict=True)
        ]
        heads = ["Paid in", Message("Total charged, {coin}", coin=coin)]
        heads += map(self._month, across)
        return DisplayTable(coin, heads, cells, caption=self.status_line.text), is_cut

    def _month(self, month: str) -> str:
        return running(month) if self.status_line.is_running(month) else month

    def sentences(self) -> DisplayTable | None:
        """Return the sentences that people wrote on what moved; None where there are none."""
        rows = [
            [
                Cell(Message(label_of(row["figure"])), is_fixed=True),
                Cell(row["currency"], is_fixed=True),
                *(Cell(row[name]) for name in _NAMES[2:]),
            ]
            for row in self.statement.sentences
        ]
        shown = DisplayTable("", [*_HEADS], rows, caption=self.status_line.text, names=_NAMES)
        return shown if rows else None

    def external(self) -> ExternalPart | None:
        """Return the part of another currency; None where none was asked for."""
        external = self.statement.external
        if external is None:
            return None
        days = pa.array([each.day for each in external.rates.by_day.values()], pa.date32())
        maker = CellMaker(pa.schema([("day", days.type)]), status_line=self.status_line)
        rows = [
            [*maker.row([each.day]), _rate_cell(as_decimal(each.per_usd)), Cell(each.quoted_by)]
            for each in external.rates.by_day.values()
        ]
        head = [
            "Day",
            Message("1 USD in {CURRENCY}", currency=translated(external.rates.name)),
            "Source",
        ]
        rates = DisplayTable(
            "",
            head,
            lined_up(rows),
            caption=self.status_line.text,
            names=("day", "rate", "source"),
        )
        return ExternalPart(external.rates.name, self._in_both(external), rates)

    @property
    def summary_page(self) -> SummaryPage:
        """The main figures in the order of a statement."""
        return self._cells.summary_page

    @cached_property
    def _cells(self) -> FigureCells:
        return FigureCells(self.statement, self.status_line.scales)

    def main(self) -> DisplayTable:
        """Return the face: sales, refunds, payouts and positions."""
        return self._of_figures("Figures", self.summary_page.groups)

    def details(self) -> DisplayTable:
        """Return the summary's other figures; of those in USD all coins add up."""
        return self._of_figures("", self._cells.details)

    def whole(self) -> DisplayTable:
        """Return all figures below one head, the face first."""
        first, more = self.main(), self.details()
        below = {len(first.rows) + place: title for place, title in more.headings.items()}
        return replace(
            first,
            title="",
            rows=[*first.rows, *more.rows],
            headings=first.headings | below,
            names=[*first.names, *more.names],
        )

    def _of_figures(self, title: str, groups: Mapping[str, Sequence[str]]) -> DisplayTable:
        groups = {title: group for title, group in groups.items() if group}
        names = [name for group in groups.values() for name in group]
        coins = [str(row["currency"]) for row in self._cells.rows]
        return DisplayTable(
            title,
            ["figure", *coins, self.summary_page.coins.head, *self._external_head()],
            list(map(self._row, names)),
            headings_of(groups),
            totals=frozenset(place for place, name in enumerate(names) if name in TOTALS),
            subtotals=frozenset(place for place, name in enumerate(names) if name in SUBTOTALS),
            caption=self.status_line.text,
            names=names,
            sums=frozenset({len(coins) + 1}),
        )

    def _row(self, name: str) -> list[Cell]:
        """Return a figure of each coin and of all, and what it is in the other currency."""
        cells, external = self._usd_row(name), self.statement.external
        if external is None:
            return cells
        is_of_face = name in self.summary_page.names
        if not (self.summary_page.usd_name(name) if is_of_face else name in FIGURES):
            return [*cells, _EMPTY]
        value = self.summary_page.external(name)
        return [*cells, self._in_currency(external, value, cells[-1].note)]

    def _in_both(self, external: ExternalFigures) -> DisplayTable:
        """Return each figure in USD, and below it the same in another currency."""
        names = [name for name in FIGURES if name in self.statement.tables["summary"].column_names]
        rows = [row for name in names for row in self._pair(external, name)]
        coins = [str(row["currency"]) for row in self._cells.rows]
        header = ["figure", *coins, "All coins"]
        names = [str(row[0].text) for row in rows]
        return DisplayTable("", header, rows, caption=self.status_line.text, names=names)

    def _pair(self, external: ExternalFigures, name: str) -> Iterator[list[Cell]]:
        """Yield a figure in USD, and the same in another currency."""
        usd, coins = self._usd_row(name), self.summary_page.in_currency
        values = [external.amounts.get((str(row["currency"]), name)) for row in self._cells.rows]
        values.append(coins.usd(name) if coins else None)
        values = [as_moved(name, value) for value in values]
        notes = [cell.note for cell in usd[1:]]
        head = Cell(
            Message("in {CURRENCY}, external rates", currency=translated(external.rates.name))
        )
        yield usd
        yield [head, *map(partial(self._in_currency, external), values, notes)]

    def _external_head(self) -> list[str]:
        external = self.statement.external
        return [Message(EXTERNAL, currency=translated(external.rates.name))] if external else []

    @staticmethod
    def _in_currency(external: ExternalFigures, value: Decimal | int | None, why: str = "") -> Cell:
        """Return an amount of the other currency, rounded to its places."""
        return number_cell(value, COIN, external.rates.places, why=why)

    def _usd_row(self, name: str) -> list[Cell]:
        return self._cells.row(self._cells.rows, name, has_total=True)


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
        stored_text(note, each.get(MESSAGE_COLUMN))
        for each, known in notes
        if (note := str(each["note"] or "")) not in ("", known)
    ]
    return replace(maker, why=[*reasons, maker.why][0]).cell(row, maker.schema.field("value"))


def _rate_cell(rate: Decimal) -> Cell:
    """Return a rate with every digit that a person gave it."""
    return number_cell(rate, COIN, len(format_amount(rate).partition(".")[2]))


def _crossing(row: Mapping[str, Any], most: Decimal, scale: int | None) -> Cell:
    """Return a share that was refunded, the darker the higher, with the amount below."""
    ratio: Decimal | None = row["ratio"]
    places = None if scale is None else min(scale, MOST_PLACES)
    share = number_cell(ratio, RATIO, why="undefined: nothing was charged")
    amount = number_cell(row["refunds_paid"], COIN, places, why="unknown")
    shade = -(-SHADES * ratio // most) if ratio and most else 0
    return replace(share, below=amount, shade=int(shade))
