"""The figures of a month to press, in their tables, and the records that each is made of."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import cache, cached_property, partial
from typing import Any, TypeVar

import pyarrow as pa

from svc_analytics.formatting.cells import ROUNDED, USD_PLACES
from svc_analytics.formatting.display import DisplayTable, display_table, lined_up
from svc_analytics.formatting.status_line import StatusLine, attach, status_line_of
from svc_analytics.instants import in_digits, to_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, joined
from svc_analytics.periods import Period, month
from svc_analytics.render.figures import meaning, unknown_reason
from svc_analytics.render.summary_page import (
    ALL_COINS,
    UNPRICED,
    AllCoins,
    SummaryPage,
    parts_of,
)
from svc_analytics.render.tables import StatementTables
from svc_analytics.statements import explain
from svc_analytics.statements.balance_assertions import Assertion, read_assertions
from svc_analytics.statements.statement import Statement
from svc_analytics.warehouse.figures import (
    Figure,
    as_moved,
    find_figure,
    label_of,
    moved_table,
    read_figures,
    select_one,
    stated_figures,
)
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.sql_text import instant_literal
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse

PAGE = 20  # records that are shown at a time
# Where a record is looked up, by its id.
_PAYMENT = "select *, customer_in(metadata) as customer from payments where payment_id = $id"
_RECEIPT = "from receipt_status where payment_id = $id"
_PAYOUT_RECORD = "from payout_records where payout_id = $id"
# What was received of a record that could not be held.
SET_ASIDE = "set aside"
_SET_ASIDE = "from stg_quarantine where record_id = $id"
_TOKENS = ("receipt", "extra")  # columns of letters that nobody reads, so that nobody finds them
T = TypeVar("T")
Row = dict[str, Any]
# What a column of a summed table is of, where it is no figure by its own name.
_POSITION = {
    "opening": "opening_position",
    "movement": "rail_movement",
    "closing": "closing_position",
}
_DAILY = (
    *("payments_count", "gross_sales", "payment_fees", "net_sales", "refunds_count"),
    *("refunds_debited", "payouts_count", "payouts_debited", "net_settlement", "rail_movement"),
)
_RETURNED = ("refunds_count", "refunds_paid", "ratio")


@dataclass(frozen=True)
class Wanted:
    """A figure of a coin: of the month that is shown, or of another time, such as a day of it."""

    figure: str
    coin: str  # empty: all coins together, in USD
    period: Period | None = None  # None: the month that is shown
    narrowed: str = "true"  # a condition of SQL on its records
    title: str = ""  # of what time it is, and of what else
    is_known: bool = True  # whether the statement states it
    all_coins: str = ALL_COINS  # what all coins together are called: some may be left out
    is_signed: bool = True  # whether what leaves the wallet has a minus: all but ratios' parts

    @property
    def is_negated(self) -> bool:
        """Whether it stands there with the other sign than in files and in SQL."""
        return self.is_signed and as_moved(self.figure, Decimal(1)) < 0


@dataclass(frozen=True)
class FigurePart:
    """What a figure is made of: other figures, or records of a kind, or what a coin adds."""

    name: str
    value: Any
    unit: str
    count: int | None = None  # of records
    unpriced: int | None = None  # of them, those that have no value in USD
    wanted: Wanted | None = None  # where it leads


@dataclass(frozen=True)
class View:
    """Which records are shown: those that hold a text, by their time or the value of a column."""

    text: str = ""
    column: str = ""  # that orders them; empty: by their time
    is_descending: bool = False
    skipped: int = 0


@dataclass(frozen=True)
class RecordPage:
    """A few of the records behind a figure, how many there are in all, and their sums."""

    figure: Figure
    table: pa.Table
    view: View
    count: int
    totals: dict[str, Any]  # of all records that hold the text, by column
    value: Any  # of the figure; None where it is unknown
    sql: str  # what yields the figure
    parts: Sequence[FigurePart] = ()  # what it is made of

    def record(self, row: int) -> tuple[str, str]:
        """Return the kind and the id of a record; both are empty where a row is none."""
        [shown] = self.table.slice(row, 1).to_pylist()
        return shown.get("kind", ""), shown.get("record_id", "")


@dataclass(frozen=True)
class _Views:
    """Open views, and what they need of payments that are of no month of theirs."""

    warehouse: Warehouse
    elsewhere: pa.Table

    def ask(self, query: str, text: str = "") -> pa.Table:
        values = {"text": _sought(text)} if text else {}
        return self.warehouse.query(query, values, {explain.ELSEWHERE: self.elsewhere})


class MonthRecords:
    """The records of one month. The lake may change meanwhile: these stay as they were."""

    def __init__(self, lake: Lake, period: Period) -> None:
        self._lake, self._period = lake, period
        self._stack = ExitStack()
        self._opened: dict[bool, _Views] = {}
        self._values: dict[Wanted, Any] = {}

    def behind(self, wanted: Wanted, view: View = View()) -> RecordPage:
        """Return a page of the records behind a figure."""
        views, origin = self._views(wanted), self._origin(wanted)
        records, figure = _holding(views, origin, view.text), find_figure(wanted.figure)
        names = explain.summed_columns(figure)
        sums = "".join(f", total({name}) as {name}" for name in names)
        counted = views.ask(f"select count(*) as found{sums} from ({records})", view.text)
        [totals] = counted.to_pylist()
        page = f"from ({records}) order by {_by(view, origin)} limit {PAGE} offset {view.skipped:d}"
        rows, value = views.ask(page, view.text), self._value(wanted, origin)
        count, parts = totals.pop("found"), self._parts(wanted, figure)
        if figure.is_sum and not parts and "kind" in rows.column_names:
            by_kind = f"select kind, count(*) as found{sums} from ({origin.records}) group by kind"
            parts = [
                _part_of(row, figure) for row in views.ask(f"{by_kind} order by kind").to_pylist()
            ]
        return RecordPage(figure, rows, view, count, totals, value, origin.value, parts)

    def _parts(self, wanted: Wanted, figure: Figure) -> list[FigurePart]:
        """Return the figures that one is made of, each with its value and where it leads."""
        names = [name for name in figure.operands if read_figures()[name].is_stated]
        if len(names) < len(figure.operands):
            names.append("implied_rate")  # its steps are no figures that anybody reads
        is_signed = wanted.is_signed and figure.unit != "ratio"
        leads = [replace(wanted, figure=name, is_signed=is_signed) for name in names]
        return [
            FigurePart(
                label_of(each.figure),
                self._value(each, self._origin(each)),
                find_figure(each.figure).unit,
                wanted=each,
            )
            for each in leads
        ]

    def all(self, wanted: Wanted, view: View) -> pa.Table:
        """Return all records behind a figure that hold the text, in the same order."""
        views, origin = self._views(wanted), self._origin(wanted)
        records = _holding(views, origin, view.text)
        return views.ask(f"from ({records}) order by {_by(view, origin)}", view.text)

    def find(self, kind: str, record_id: str) -> dict[str, pa.Table]:
        """Return a record by its kind, a refund's payment with it, and the receipt of either.

        Each stands under what it is. Without a kind, it is whatever has the id; {} if nothing has.
        """
        tables = _look_up(self._open(is_whole=False).warehouse, kind, record_id)
        if not tables or not self._is_whole(tables):
            tables = _look_up(self._open(is_whole=True).warehouse, kind, record_id)
        return tables

    def close(self) -> None:
        """Give back what it holds; it opens again when it is asked again."""
        self._opened.clear()
        self._values.clear()
        self._stack.close()

    def _is_whole(self, tables: dict[str, pa.Table]) -> bool:
        """Tell whether the month has all of a record: it has no receipts of other months."""
        if "payment" not in tables:
            return "refund" not in tables
        paid_at = tables["payment"]["paid_at"][0].as_py()
        return self._period.start <= to_micros(paid_at) < self._period.end

    @cached_property
    def _assertions(self) -> list[Assertion]:
        return list(read_assertions(self._lake.path))

    def _origin(self, wanted: Wanted) -> explain.Origin:
        figure, period = find_figure(wanted.figure), wanted.period or self._period
        origin = explain.origin_of(period, wanted.coin, figure, self._assertions, wanted.narrowed)
        names = explain.summed_columns(figure) if wanted.is_negated else []
        turned = [f"-{name} as {name}" for name in names]
        if wanted.is_signed and explain.has_movements(figure):
            turned.append("if(kind = 'payment', usd_value, -usd_value) as usd_value")
        records = f"select * replace ({', '.join(turned)}) from ({origin.records})"
        return replace(origin, records=records) if turned else origin

    def _value(self, wanted: Wanted, origin: explain.Origin) -> Any:
        """Return the value of a figure, which is counted once."""
        if wanted.is_known and wanted not in self._values:
            value = self._views(wanted).ask(origin.value)[0][0].as_py()
            is_turned = wanted.is_negated and isinstance(value, Decimal)
            self._values[wanted] = value.copy_negate() if is_turned and value else value
        return self._values.get(wanted)

    def _views(self, wanted: Wanted) -> _Views:
        """Return the views of the month, or those of all history where the figure needs them."""
        period = wanted.period or self._period
        is_within = self._period.start <= period.start and period.end <= self._period.end
        return self._open(is_whole=find_figure(wanted.figure).is_of_history or not is_within)

    def _open(self, *, is_whole: bool) -> _Views:
        if is_whole not in self._opened:
            bounds = None if is_whole else (self._period.start, self._period.end)
            views = open_warehouse(self._lake, _models(), as_written=True, period=bounds)
            warehouse = self._stack.enter_context(views)
            self._opened[is_whole] = _Views(warehouse, explain.refunded_elsewhere(warehouse))
        return self._opened[is_whole]


_KINDS = {"payment": "payments_count", "refund": "refunds_count", "payout": "payouts_count"}


def _part_of(row: Row, figure: Figure) -> FigurePart:
    """Return the records of a kind as a part of a figure that they add up to."""
    kind = row["kind"]
    name = label_of(_KINDS[kind]) if kind in _KINDS else str(kind)
    return FigurePart(name, row.get(explain.CONTRIBUTION), figure.unit, count=row["found"])


def parts_in_usd(page: SummaryPage, name: str) -> list[FigurePart]:
    """Return the parts of a figure of all coins in USD: other such figures, or each coin's."""
    usd = page.usd_name(name)
    coins = page.opened if name == _POSITION["opening"] else page.coins
    if coins is None:
        return []
    if (parts := parts_of(usd)) != (usd,):
        first, *others = ((part, coins.usd(part)) for part in parts)
        turned = [(part, value and value.copy_negate()) for part, value in others]
        return [FigurePart(label_of(part), value, "USD") for part, value in (first, *turned)]
    sign = -1 if find_figure(name).sign == "out" else 1
    return [_part_in_usd(row, usd, name, sign) for row in coins.rows]


def _part_in_usd(row: Mapping[str, Any], usd: str, name: str, sign: int) -> FigurePart:
    coin, value = str(row["currency"]), row.get(usd)
    is_past = name == _POSITION["opening"]  # that of the month before: it leads nowhere here
    return FigurePart(
        coin,
        value.copy_negate() if value and sign < 0 else value,
        "USD",
        unpriced=AllCoins([row]).unpriced_behind(usd),
        wanted=None if is_past else Wanted(usd, coin),
    )


def _holding(views: _Views, origin: explain.Origin, text: str) -> str:
    """Return the SQL of the records that hold a text in any of their columns."""
    if not text:
        return origin.records
    columns = views.ask(f"from ({origin.records}) limit 0").schema
    words = [f'"{field.name}"' for field in columns if field.name not in _TOKENS]
    amounts = [field.name for field in columns if pa.types.is_decimal(field.type)]
    words += [f'round("{name}", {USD_PLACES})' for name in amounts]  # as those in USD are shown
    searched = f"lower(concat_ws(' ', {', '.join(words)}))"
    return f"from ({origin.records}) where contains({searched}, $text)"


def _sought(text: str) -> str:
    """Return a text that somebody read off a table as records hold it.

    >>> _sought("2,000.5"), _sought("1 Oct 2026 08:30Z"), _sought(" SVC-1")
    ('2000.5', '2026-10-01 08:30', 'svc-1')
    """
    plain = in_digits(text.strip().removeprefix(ROUNDED).lower())
    if re.fullmatch(r"-?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?", plain):
        return plain.replace(",", "")
    return re.sub(r"(?<=[0-9:.]{5})z$", "", plain)


def _by(view: View, origin: explain.Origin) -> str:
    """Return the SQL that orders records; those of one value stand in the order of time."""
    way = "desc" if view.is_descending else "asc"
    if not view.column:
        moment, *ids = origin.order.split(", ")
        return ", ".join([f"{moment} {way} nulls last", *ids])
    return f'"{view.column}" {way} nulls last, {origin.order}'


def _look_up(warehouse: Warehouse, kind: str, record_id: str) -> dict[str, pa.Table]:
    """Return a record, its payment and its receipt, as far as these views have them."""
    tables: dict[str, pa.Table] = {}
    payment_id: str | None = record_id
    if kind != "payment":
        rows = warehouse.query(_PAYOUT_RECORD, {"id": record_id})
        if kind and not len(rows):
            return {}
        for row in rows.slice(0, 1).to_pylist():
            tables[row["kind"]], payment_id = rows, row["payment_id"]
    for name, query in (("payment", _PAYMENT), ("receipt", _RECEIPT)):
        rows = warehouse.query(query, {"id": payment_id})
        if len(rows):
            tables[name] = rows
    if not tables and len(rows := warehouse.query(_SET_ASIDE, {"id": record_id})):
        tables[SET_ASIDE] = rows.slice(0, 1)
    return tables


@cache
def _models() -> frozenset[str] | None:
    """Return the views that any figure, its records or a record are read from."""
    figures = stated_figures()
    read = [sql for each in figures for sql in (select_one(each), explain.select_records(each))]
    return models_used_by(_PAYMENT, _RECEIPT, _PAYOUT_RECORD, _SET_ASIDE, explain.PARENTS, *read)


WantedOf = Callable[[Row, str], Wanted | None]  # of a row and the name of a column


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
    parts = filter(None, [label_of(wanted.figure), wanted.coin or wanted.all_coins, wanted.title])
    return joined("list.comma", [*parts])


def statement_tables(statement: Statement) -> Iterator[StatementTable]:
    """Yield the tables of a statement, its face first; those without a row are left out."""
    if not len(statement.tables["summary"]):
        return
    tables, period = StatementTables(statement, _status_line(statement)), statement.period
    in_usd = {name for name in tables.summary_page.names if tables.summary_page.usd_name(name)}
    known = {str(coin) for coin in statement.tables["summary"]["currency"].to_pylist()}
    yield _of_figures(tables.main(), known, in_usd)
    yield _of_figures(replace(tables.details(), title="Other figures"), known)
    yield from (_of_figures(table, known) for table in tables.more_figures())
    makers: dict[str, tuple[str, WantedOf]] = {
        "daily": ("By day", partial(_of_day, period, {name: name for name in _DAILY})),
        "position": ("Position by day", partial(_of_day, period, _POSITION)),
        "cohorts": ("Refunds by month of payment", partial(_of_cohort, period)),
    }
    for name, (title, wanted_of) in makers.items():
        if len(statement.tables[name]):
            yield _of_rows(statement, name, title, wanted_of)


def _status_line(statement: Statement) -> StatusLine:
    return status_line_of(statement.tables["summary"])


def _of_figures(
    table: DisplayTable,
    known: Collection[str],
    in_usd: Collection[str] = (),
) -> StatementTable:
    """Return a table with figures down and coins across, and all coins where they are `in_usd`."""
    _, *coins = table.header
    wanted = {
        (row, column): Wanted(name, coin) if coin in known else Wanted(name, "", all_coins=coin)
        for row, name in enumerate(table.names)
        for column, coin in enumerate(coins, 1)
        if name != UNPRICED and (coin in known or name in in_usd)
    }
    shown = replace(table, rows=lined_up(table.rows))
    return StatementTable(table.title, shown, lambda *place: wanted.get(place))


def _of_rows(statement: Statement, name: str, title: str, wanted_of: WantedOf) -> StatementTable:
    """Return a table of the statement; in one of days, the days of each coin stand below it."""
    table = moved_table(statement.tables[name])
    has_days = "day" in table.column_names
    if has_days:
        table = table.sort_by([("currency", "ascending"), ("day", "ascending")])
    rows, why = table.to_pylist(), unknown_reason(statement)
    shown = display_table(
        attach(table, _status_line(statement)), title, why=why, most=len(rows), label_of=label_of
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
