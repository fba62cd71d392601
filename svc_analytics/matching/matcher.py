"""The one matcher: SQL over the lake and a list of somebody else, to a remainder of zero.

Of each kind of list one thing is on one side and may have many on the other: an order its
payments, a payout its arrivals, an entry of the books those of the ledger.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

import pyarrow as pa

from svc_analytics.coverage import gaps
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.formatting.values import python_values
from svc_analytics.instants import from_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.matching.headings import BOOKS, ORDERS, PAYOUTS
from svc_analytics.periods import Period
from svc_analytics.warehouse.counting import of_one_snapshot
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse

ONE, MANY = "one", "many"
WINDOW = 3  # days between the two sides of what is known by its amount alone
_THEIRS = {ORDERS: ONE, PAYOUTS: MANY, BOOKS: MANY}
_REST = {ORDERS: "no_order", PAYOUTS: "not_sent", BOOKS: "entry_foreign"}  # of the many alone
_STREAMS = {ORDERS: ("payments", "payout_records"), PAYOUTS: ("payout_records",)}
_SOURCES = {ORDERS: "payments payout_records stg_spans", PAYOUTS: "payout_records stg_spans"}
_BEHIND_PAIRS = ("due", "verdicts")


@dataclass(frozen=True)
class Asked:
    """What is matched: a kind of list for a period, and how far apart two things may be."""

    kind: str
    period: Period
    within: Decimal = Decimal(0)
    window: int = WINDOW
    currency: str = "usd"  # of the books
    preset: str | None = None  # the ledger that they are for

    def values(self) -> dict[str, Any]:
        """Return the values of the queries, by name."""
        first, behind = self.period.days
        theirs = _THEIRS[self.kind]
        values: dict[str, Any] = {"first": first, "behind": behind, "zone": str(self.period.zone)}
        values |= {"start": from_micros(self.period.start), "end": from_micros(self.period.end)}
        values |= {"within": self.within, "window": self.window, "currency": self.currency}
        values |= {"theirs": theirs, "ours": MANY if theirs == ONE else ONE}
        return values | {"rest": _REST[self.kind], "kind": self.kind}


@dataclass(frozen=True)
class Matched:
    """The rows of a match, and whether the time that it needs was read whole."""

    rows: pa.Table
    notes: tuple[str, ...] = field(default=())


@cache
def _steps(name: str) -> dict[str, str]:
    """Return the queries of a file, by the tables that they make."""
    text = files(__package__).joinpath("sql", f"{name}.sql").read_text("utf-8")
    parts = (part.strip() for part in text.split("\n;\n"))
    return {part.partition(":")[0].removeprefix("-- "): part.rstrip(";") for part in parts}


def match_tables(lake: Lake, asked: Asked, tables: Mapping[str, pa.Table]) -> Matched:
    """Match the tables of a list with a lake; raise `ConfigError` where nothing is in common."""
    sources = models_used_by(_SOURCES.get(asked.kind, "stg_spans"))

    def work() -> Matched:
        with open_warehouse(lake, sources) as warehouse:  # here, whatever engine the lake names
            notes = tuple(_unread(warehouse, asked))
            return Matched(_matched(warehouse, asked, tables), notes)

    return of_one_snapshot(work)


def _unread(warehouse: Warehouse, asked: Asked) -> Iterator[str]:
    """Yield a note where the month was not read whole; refuse one that was not read at all."""
    label, period, coverage = asked.period.folder, asked.period, warehouse.coverage()
    for place, stream in enumerate(_STREAMS.get(asked.kind, ())):
        missing = gaps(coverage[stream], period.start, period.end)
        if missing == ((period.start, period.end),) and not place:
            raise ConfigError(f"{stream} of {label} were not read: run svc-analytics extract")
        if missing:
            what = "what was refunded is not known" if place else "what seems to lack may be there"
            yield f"{stream} of {label} were not read whole: {what}"


def _matched(warehouse: Warehouse, asked: Asked, tables: Mapping[str, pa.Table]) -> pa.Table:
    values, own = asked.values(), _steps(asked.kind)

    def keep(steps: Mapping[str, str]) -> None:
        for name, query in steps.items():
            used = {key: value for key, value in values.items() if f"${key}" in query}
            warehouse.keep(name, query, used, "", tables)

    keep({name.removeprefix("given_"): f"from {name}" for name in tables if name != "given_list"})
    keep(_steps("list"))
    _refuse_unclear(warehouse)
    keep({name: own[name] for name in own if name not in _BEHIND_PAIRS})
    keep(_steps("pairs"))
    _require_in_common(warehouse, asked)
    keep({name: own[name] for name in _BEHIND_PAIRS} | _steps("rows"))
    if broken := _one(warehouse, "select count(*) from broken"):
        raise LakeError(f"{broken} of the match are on no side or on two: a fault of the matcher")
    return warehouse.query("select * from matched", is_long=True)


def _one(warehouse: Warehouse, query: str) -> Any:
    [value] = python_values(warehouse.query(query, is_short=True).column(0), "value")
    return value


def _refuse_unclear(warehouse: Warehouse) -> None:
    """Refuse the first row that could be meant in two ways, or in none."""
    for row in warehouse.query("from unclear order by line limit 1", is_short=True).to_pylist():
        raise ConfigError(f"the list, line {row['line']}: {row['why']}")


def _require_in_common(warehouse: Warehouse, asked: Asked) -> None:
    """Refuse the list of another shop: one that has keys, of which the lake knows none."""
    paired = _one(warehouse, "select count(*) from pairs")
    sides = f"select exists (select 1 from {ONE}) and exists (select 1 from {MANY})"
    if asked.kind == PAYOUTS:
        is_strange = not paired
    else:
        keyed = "select exists (select 1 from one_keys) and not exists (select 1 from matches)"
        is_strange = _one(warehouse, keyed)
    if is_strange and _one(warehouse, sides):
        raise ConfigError(
            f"no row of the list has a key that {asked.period.folder} knows: is it of another shop?"
        )
