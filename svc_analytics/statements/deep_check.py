"""Hold every month's statement against all rows of the lake.

A statement rests on the rows of its month, the totals of the others, and few rows of those.
Here each is made a second time, over every row there is: no table may differ by a cell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pyarrow as pa

from svc_analytics.errors import LakeBusy
from svc_analytics.lake.lake import Lake, known_months
from svc_analytics.periods import Period, known_until, month
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.reasons import read_until
from svc_analytics.statements.tables import read_tables
from svc_analytics.warehouse.models import Saying
from svc_analytics.warehouse.sources import Footers
from svc_analytics.warehouse.warehouse import open_warehouse

DIFFERENT = "statement_is_that_of_all_rows"
SAYINGS = {
    DIFFERENT: Saying(
        "month has other figures when every row of the lake is read",
        "months have other figures when every row of the lake is read",
    )
}

MOST_READINGS = 3

Note = Callable[[str], object]
Tables = dict[str, pa.Table]


def check_deeply(lake: Lake, schema: pa.Schema, note: Note = lambda text: None) -> pa.Table:
    """Return a finding for each UTC month whose tables differ from those over all rows.

    The findings have the columns of `schema`, those of the view `exceptions`. `note` is told
    which month is being checked.
    """
    return pa.Table.from_pylist(list(_findings(lake, note)), schema)


def _findings(lake: Lake, note: Note) -> Iterator[dict[str, str]]:
    clock = time.time_ns() // 1000
    for label in reversed(known_months(lake)):
        note(f"holding the statement of {label} against every row")
        period = month(label)
        near, whole = _tables_twice(lake, period, clock)
        if different := [name for name in near if not near[name].equals(whole[name])]:
            yield {
                "check_name": DIFFERENT,
                "severity": "blocking",
                "record_id": label,
                "month": label,
                "detail": f"differs in {', '.join(different)}: do not rely on it, and report it",
            }


def _tables_twice(lake: Lake, period: Period, clock: int) -> tuple[Tables, Tables]:
    """Read a month's tables in both ways, of one state of the lake: a run may be writing."""
    for _ in range(MOST_READINGS):
        (near, before), (whole, after) = (
            _tables(lake, period, clock, is_near=each) for each in (True, False)
        )
        if before == after:
            return near, whole
    raise LakeBusy(f"{lake.path} changed at each reading: run check --deep when no run writes")


def _tables(lake: Lake, period: Period, clock: int, *, is_near: bool) -> tuple[Tables, Footers]:
    """Read a month's tables, from its neighbourhood or from all rows, and of which state."""
    bounds = (period.start, period.end) if is_near else None
    with open_warehouse(lake, as_written=True, period=bounds) as warehouse:
        read_to = read_until(lake, warehouse.coverage(), None)
        known_to = known_until(period, read_to, max(clock, read_to))
        assertions = read_assertions(lake.path)
        tables = read_tables(warehouse, period, read_to, known_to, assertions)
        return tables, warehouse.sources.footers
