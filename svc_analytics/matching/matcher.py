"""The one matcher: SQL over the lake and a list of somebody else, to a remainder of zero.

Of each kind of list one thing is on one side and may have many on the other: an order its
payments, a payout its arrivals, an entry of the books those of the ledger.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pyarrow as pa

from svc_analytics.coverage import gaps
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.formatting.values import python_values
from svc_analytics.instants import from_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.matching.headings import BOOKS, ORDERS, PAYOUTS, Headings
from svc_analytics.matching.list_file import ListFile
from svc_analytics.messages import Message
from svc_analytics.periods import Period
from svc_analytics.periods.calendars import JALALI, find_calendar
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import Warehouse, of_one_snapshot, open_warehouse

ONE, MANY = "one", "many"
WINDOW = 3  # days between the two sides of what is known by its amount alone
_THEIRS = {ORDERS: ONE, PAYOUTS: MANY, BOOKS: MANY}
_REST = {ORDERS: "no_order", PAYOUTS: "not_sent", BOOKS: "entry_foreign"}  # of the many alone
_STREAMS = {ORDERS: ("payments", "payout_records"), PAYOUTS: ("payout_records",)}
_SOURCES = {ORDERS: "payments payout_records stg_spans", PAYOUTS: "payout_records stg_spans"}
_MOST_MEMORY = "640 MiB"  # of the queries: a million of each side fit half of it
_BEHIND_PAIRS = ("due", "verdicts")
_ANSWERS = ("list", "unclear", "span", "matched", "sums", "broken")


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


@cache
def steps_of(name: str) -> dict[str, str]:
    """Return the queries of a file, by the tables that they make."""
    text = files(__package__).joinpath("sql", f"{name}.sql").read_text("utf-8")
    parts = (part.strip() for part in text.split("\n;\n"))
    return {part.partition(":")[0].removeprefix("-- "): part.rstrip(";") for part in parts}


def match_tables(
    lake: Lake, asked: Asked, theirs: ListFile, headings: Headings, tables: Mapping[str, pa.Table]
) -> tuple[pa.Table, pa.Table, tuple[str, ...]]:
    """Match a list, and tables beside it, with a lake; refuse what can be meant in two ways.

    Returns:
        The rows, their sums, and notes where the time that it needs was not read whole.
    """
    sources = models_used_by(_SOURCES.get(asked.kind, "stg_spans"))

    def work() -> tuple[pa.Table, pa.Table, tuple[str, ...]]:
        # Here, whatever engine the lake names.
        with open_warehouse(lake, sources, most_memory=_MOST_MEMORY) as warehouse:
            notes = tuple(_unread(warehouse, asked))
            Matcher(warehouse, asked, theirs, headings, tables).match()
            rows = warehouse.query("from matched", is_long=True)
            sums = warehouse.query("from sums order by all", is_short=True)
            return rows, sums, notes

    return of_one_snapshot(work)


def _unread(warehouse: Warehouse, asked: Asked) -> Iterator[str]:
    """Yield a note where the month was not read whole; refuse one that was not read at all."""
    label, period, coverage = asked.period.folder, asked.period, warehouse.coverage()
    for place, stream in enumerate(_STREAMS.get(asked.kind, ())):
        missing = gaps(coverage[stream], period.start, period.end)
        if missing == ((period.start, period.end),) and not place:
            raise ConfigError(f"{stream} of {label} were not read: run svc-analytics extract")
        if missing:
            code = "match.refunds_unread" if place else "match.ours_unread"
            yield Message(code, stream=stream, month=label)


@dataclass(frozen=True)
class Matcher:
    """The steps of a match: each makes a table of those before it."""

    warehouse: Warehouse
    asked: Asked
    theirs: ListFile
    headings: Headings
    tables: Mapping[str, pa.Table]

    def match(self) -> None:
        """Make the table `matched`, and `sums` of it; refuse what can be meant in two ways."""
        own = steps_of(self.asked.kind)
        steps = steps_of("list") | {name: own[name] for name in own if name not in _BEHIND_PAIRS}
        steps |= steps_of("pairs") | {name: own[name] for name in _BEHIND_PAIRS}
        self.make(steps | steps_of("rows"))
        if broken := self._one("select count(*) from broken"):
            say = "of the match are on no side or on two: a fault of the matcher"
            raise LakeError(f"{broken} {say}")

    def make(self, steps: Mapping[str, str]) -> None:
        """Make a table by each of these steps, after those that are given."""
        rows = self.theirs.reader(self.headings.columns)
        sources = {"cells": rows, "words": self.headings.words, "jalali": _jalali_months()}
        for name, table in (sources | dict(self.tables)).items():
            self.warehouse.keep(name, "from source", {}, "", {"source": table})
        values = self.asked.values() | self.headings.values()
        last = "pairs" if self.asked.kind == PAYOUTS else "matches"  # it may be known by amounts
        checks = {"span": self._refuse_unclear, last: self._require_in_common}
        tables, queries = [*sources, *self.tables], list(steps.values())
        for place, (name, query) in enumerate(steps.items(), 1):
            used = {key: value for key, value in values.items() if f"${key}" in query}
            self.warehouse.keep(name, query, used, "")
            checks.get(name, bool)()
            tables = self._still_read([*tables, name], "\n".join(queries[place:]))

    def _still_read(self, tables: Sequence[str], later: str) -> list[str]:
        """Let go of tables that no later step reads, as memory is short; return the others."""
        words = {*re.findall(r"\w+", later), *_ANSWERS}
        for name in {*tables} - words:
            self.warehouse.keep(name, "select null as gone", {}, "")
        return [name for name in tables if name in words]

    def _one(self, query: str) -> Any:
        [value] = python_values(self.warehouse.query(query, is_short=True).column(0), "value")
        return value

    def _refuse_unclear(self) -> None:
        """Refuse a row that could be meant in two ways, and a list without one of the month."""
        unclear = "from unclear order by line, cell nulls last, why limit 1"
        for row in self.warehouse.query(unclear, is_short=True).to_pylist():
            cell = f"{row['cell'][:40]!r} " if row["cell"] else ""
            raise ConfigError(f"{self.theirs.name}, line {row['line']}: {cell}{row['why']}")
        name, label = self.theirs.name, self.asked.period.folder
        [span] = self.warehouse.query("from span", is_short=True).to_pylist()
        if not span["rows"]:
            raise ConfigError(f"{name} is empty: it has headings, and no row")
        if span["days"] and not span["days_of_month"]:
            of = f"{span['earliest']} to {span['latest']}"
            raise ConfigError(f"{name} has no row of {label}: it is of {of}")

    def _require_in_common(self) -> None:
        """Refuse the list of another shop: one that has keys, of which the lake knows none."""
        if self.asked.kind == PAYOUTS:
            is_strange = not self._one("select count(*) from pairs")
        else:
            is_strange = self._one("select exists (from one_keys) and not exists (from matches)")
        if is_strange and self._one("select exists (from one) and exists (from many)"):
            label = self.asked.period.folder
            say = f"no row of the list has a key that {label} knows: is it of another shop?"
            raise ConfigError(f"{self.theirs.name}: {say}")


@cache
def _jalali_months() -> pa.Table:
    """Return the first day of each Jalali month that an export of today may name."""
    first_day = find_calendar(JALALI).first_day
    months = [(year, month) for year in range(1390, 1431) for month in range(1, 13)]
    starts = [first_day(year, month) for year, month in [*months, (1431, 1)]]
    rows = [
        {"year": year, "month": month, "starts_on": start, "days": (behind - start).days}
        for (year, month), (start, behind) in zip(months, pairwise(starts), strict=True)
    ]
    return pa.Table.from_pylist(rows)
