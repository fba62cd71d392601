"""The records behind a month's figures, asked of views that stay open while it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, cached_property

import pyarrow as pa

from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period
from svc_analytics.statements.balance_assertions import Assertion, read_assertions
from svc_analytics.statements.explain import Origin, origin_of
from svc_analytics.warehouse.definitions import find_figure
from svc_analytics.warehouse.figures import Figure, select_one, select_records, stated_figures
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse

PAGE = 20  # records that are shown at a time
# Whether any of a record's values holds a text, as the lake has it.
_HOLDS = "contains(lower(records::varchar), $text)"
# What a record is looked up in, by its id.
_FORMS = {
    "payment": "from payments where payment_id = $id",
    "receipt": "from receipt_status where payment_id = $id",
    "payout or refund": "from payout_records where payout_id = $id",
}
IDS = ("record_id", "payment_id", "payout_id")  # the first that a row has names its record


@dataclass(frozen=True)
class Wanted:
    """A figure of a coin: of the month that is shown, or of another time, such as a day of it."""

    figure: str
    coin: str
    period: Period | None = None  # None: the month that is shown
    narrowed: str = ""  # a condition of SQL on its records
    title: str = ""  # of what time it is, and of what else


@dataclass(frozen=True)
class Order:
    """How records are ordered: by their time, or by the exact value of a column."""

    column: str = ""  # empty: by their time
    is_descending: bool = False


@dataclass(frozen=True)
class RecordPage:
    """A few of the records behind a figure, and how many there are in all."""

    table: pa.Table
    skipped: int
    count: int
    sql: str  # what yields the figure

    @property
    def ids(self) -> list[str]:
        """The ids of their records; empty where a row is none."""
        names = [name for name in IDS if name in self.table.column_names]
        return self.table[names[0]].to_pylist() if names else [""] * len(self.table)


class MonthRecords:
    """The records of one month. The lake may change meanwhile: these stay as they were."""

    def __init__(self, lake: Lake, period: Period) -> None:
        self._lake, self._period = lake, period
        self._stack = ExitStack()
        self._opened: dict[bool, Warehouse] = {}

    def behind(
        self, wanted: Wanted, order: Order = Order(), skipped: int = 0, text: str = ""
    ) -> RecordPage:
        """Return records behind a figure in an order, so many skipped, that hold a text."""
        figure, period = _narrowed(wanted), wanted.period or self._period
        is_within = self._period.start <= period.start and period.end <= self._period.end
        warehouse = self._warehouse(is_whole=figure.is_of_history or not is_within)
        origin = origin_of(period, wanted.coin, figure, self._assertions)
        query = f"from ({origin.records}) as records{f' where {_HOLDS}' if text else ''}"
        values = {"text": text.strip().lower()} if text else {}
        count = warehouse.query(f"select count(*) as found from ({query})", values)
        rows = warehouse.query(
            f"{query} order by {_by(order, origin)} limit {PAGE} offset {skipped:d}", values
        )
        return RecordPage(rows, skipped, count["found"][0].as_py(), origin.value)

    def find(self, record_id: str) -> dict[str, pa.Table]:
        """Return a record, and a payment's receipt, each by what it is; {} if it is not there."""
        for is_whole in (False, True):
            found = dict(_look_up(self._warehouse(is_whole=is_whole), record_id))
            if found:
                return found
        return {}

    def close(self) -> None:
        """Give back what it holds; it opens again when it is asked again."""
        self._opened.clear()
        self._stack.close()

    @cached_property
    def _assertions(self) -> list[Assertion]:
        return list(read_assertions(self._lake.path))

    def _warehouse(self, *, is_whole: bool) -> Warehouse:
        """Return the views of the month, or of all history, opened once."""
        if is_whole not in self._opened:
            bounds = None if is_whole else (self._period.start, self._period.end)
            views = open_warehouse(self._lake, _models(), as_written=True, period=bounds)
            self._opened[is_whole] = self._stack.enter_context(views)
        return self._opened[is_whole]


def _narrowed(wanted: Wanted) -> Figure:
    """Return the figure, of fewer records where that is wanted."""
    figure = find_figure(wanted.figure)
    return replace(figure, rows=" and ".join(filter(None, [figure.rows, wanted.narrowed])))


def _by(order: Order, origin: Origin) -> str:
    """Return the SQL that orders records; those of one value stand in the order of time."""
    if not order.column:
        first = origin.order.replace(",", " desc,", 1) if order.is_descending else origin.order
        return f"{first} nulls last"
    direction = "desc" if order.is_descending else "asc"
    return f'"{order.column}" {direction} nulls last, {origin.order}'


def _look_up(warehouse: Warehouse, record_id: str) -> Iterator[tuple[str, pa.Table]]:
    for form, query in _FORMS.items():
        found = warehouse.query(query, {"id": record_id})
        if len(found):
            yield form, found


@cache
def _models() -> frozenset[str] | None:
    """Return the views that any figure, its records or a record are read from."""
    return models_used_by(*_FORMS.values(), *(sql for f in stated_figures() for sql in _sql(f)))


def _sql(figure: Figure) -> tuple[str, str]:
    return select_one(figure), select_records(figure)
