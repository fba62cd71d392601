"""The summed tables of a statement, and which records each of their figures is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from typing import Any, TypeVar

from svc_analytics.formatting.display import DisplayTable, display_table, lined_up
from svc_analytics.formatting.standing import Standing, attach, standing_of
from svc_analytics.messages import Message, joined
from svc_analytics.notebook.desk.records import Wanted
from svc_analytics.periods import Period, month
from svc_analytics.render.face import ALL_COINS
from svc_analytics.render.figures import FigureCells, figures_table, meaning, unknown_reason
from svc_analytics.render.tables import StatementTables
from svc_analytics.statements.explain import instant_literal
from svc_analytics.statements.statement import Statement
from svc_analytics.warehouse.figures import label_of

T = TypeVar("T")
Row = dict[str, Any]
WantedOf = Callable[[Row, str], Wanted | None]  # of a row and the name of a column
# What a column of a summed table is of, where it is no figure by its own name.
_POSITION = {
    "opening": "opening_position",
    "movement": "rail_movement",
    "closing": "closing_position",
}
_WORTH = {
    "position": "closing_position",
    "implied_rate": "implied_rate",
    "implied_rate_at": "implied_rate",
    "usd_exposure": "usd_exposure",
    "share": "usd_exposure",
    "concentration": "usd_exposure",
}
_DAILY = (
    *("payments_count", "gross_sales", "payment_fees", "net_sales", "refunds_count"),
    *("refunds_debited", "payouts_count", "payouts_debited", "net_settlement", "rail_movement"),
)
_RETURNED = ("refunds_count", "refunds_paid", "ratio")


@dataclass(frozen=True)
class StatementTable:
    """A table to press: `wanted` says what a cell is made of, None where it is no figure."""

    title: str
    table: DisplayTable
    wanted: Callable[[int, int], Wanted | None]

    def name(self, row: int, column: int) -> str:
        """Return the name of a figure for a screen reader; empty where it is none."""
        wanted = self.wanted(row, column)
        return called(wanted) if wanted else ""


def called(wanted: Wanted) -> str:
    """Return the name of a figure, its coin and its time."""
    parts = filter(None, [label_of(wanted.figure), wanted.coin, wanted.title])
    return joined("list.comma", [*parts])


def statement_tables(statement: Statement) -> Iterator[StatementTable]:
    """Yield the summed tables of a statement, those without a row left out."""
    if not len(statement.tables["summary"]):
        return
    tables, period = StatementTables(statement, _standing(statement)), statement.period
    shown = figures_table(statement, "Figures", standing=tables.standing, has_total=False)
    groups = FigureCells(statement, tables.standing.scales).groups
    yield _of_figures(shown, [name for names in groups.values() for name in names])
    yield from (_of_figures(table, table.names) for table in tables.more_figures())
    makers: dict[str, tuple[str, WantedOf]] = {
        "daily": ("By day", partial(_of_day, period, {name: name for name in _DAILY})),
        "position": ("Position by day", partial(_of_day, period, _POSITION)),
        "cohorts": ("Refunds by month of payment", partial(_of_cohort, period)),
        "exposure": ("Worth in USD", _of_coin),
    }
    for name, (title, wanted_of) in makers.items():
        if len(statement.tables[name]):
            yield _of_rows(statement, name, title, wanted_of)


def _standing(statement: Statement) -> Standing:
    return standing_of(statement.tables["summary"])


def _of_figures(table: DisplayTable, names: Sequence[str]) -> StatementTable:
    """Return a table with figures down and coins across."""
    _, *coins = table.header
    wanted = {
        (row, column): Wanted(name, coin)
        for row, name in enumerate(names)
        for column, coin in enumerate(coins, 1)
        if coin != ALL_COINS
    }
    shown = replace(table, rows=lined_up(table.rows))
    return StatementTable(table.title, shown, lambda *place: wanted.get(place))


def _of_rows(statement: Statement, name: str, title: str, wanted_of: WantedOf) -> StatementTable:
    """Return a table of the statement; in one of days, the days of each coin stand below it."""
    table = statement.tables[name]
    has_days = "day" in table.column_names
    if has_days:
        table = table.sort_by([("currency", "ascending"), ("day", "ascending")])
    rows, why = table.to_pylist(), unknown_reason(statement)
    shown = display_table(
        attach(table, _standing(statement)), title, why=why, most=len(rows), label_of=label_of
    )
    columns = table.column_names
    shown = replace(shown, meanings=[meaning(name, column) for column in columns])
    if has_days:
        shown = _below_coins(shown, columns.index("currency"), [row["currency"] for row in rows])
        columns = [column for column in columns if column != "currency"]
    return StatementTable(title, shown, lambda row, column: wanted_of(rows[row], columns[column]))


def _below_coins(table: DisplayTable, place: int, coins: list[str]) -> DisplayTable:
    """Return a table with each coin as a heading, not in a column, which may move out of sight."""
    return replace(
        table,
        header=_without(table.header, place),
        rows=[_without(row, place) for row in table.rows],
        meanings=_without(table.meanings, place),
        headings={n: coin for n, coin in enumerate(coins) if n == 0 or coins[n - 1] != coin},
    )


def _without(values: list[T], place: int) -> list[T]:
    return values[:place] + values[place + 1 :]


def _of_day(period: Period, figures: dict[str, str], row: Row, column: str) -> Wanted | None:
    """Return a figure of one day of the period, which clocks of its zone begin and end."""
    if column not in figures:
        return None
    day: date = row["day"]
    start, end = map(period.clock.midnight, (day, day + timedelta(days=1)))
    bounds = replace(period, start=start, end=end)
    return Wanted(figures[column], row["currency"], bounds, title=period.day_text(day))


def _of_cohort(period: Period, row: Row, column: str) -> Wanted | None:
    """Return refunds of one month of payments that one month paid, or those payments."""
    paid, settled = (
        month(row[name], period.zone, period.calendar) for name in ("payment_month", "refund_month")
    )
    if column == "charged_total":
        return Wanted(column, row["currency"], paid, title=paid.label)
    if column not in _RETURNED:
        return None
    first, last = instant_literal(paid.start), instant_literal(paid.end)
    narrowed = (
        f"payment_paid_at >= {first} and payment_paid_at < {last} and payment_currency = currency"
    )
    figure = "refunds_count" if column == "refunds_count" else "refunds_paid"
    title = Message("paid in {old}, refunded in {new}", old=paid.label, new=settled.label)
    return Wanted(figure, row["currency"], settled, narrowed, title)


def _of_coin(row: Row, column: str) -> Wanted | None:
    figure = _WORTH.get(column)
    return Wanted(figure, row["currency"]) if figure else None
