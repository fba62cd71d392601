"""Compare every month's statement with all rows of the lake.

A statement rests on the rows of its month, the totals of the others, and few rows of those.
Here each is made a second time, over every row there is, and all totals are summed from rows: no
table may differ by a cell. Besides UTC's months these are two of Tehran, whose bounds cut files.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa

from svc_analytics.errors import LakeBusy
from svc_analytics.instants import now as machine_clock
from svc_analytics.lake.lake import Lake, known_months
from svc_analytics.messages import Message
from svc_analytics.periods import CALENDARS, Period, known_until, month, month_of
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.finality import read_until
from svc_analytics.statements.tables import read_tables
from svc_analytics.warehouse.acknowledgements import content_of
from svc_analytics.warehouse.sources import Footers
from svc_analytics.warehouse.warehouse import open_warehouse

DIFFERENT = "statement_is_that_of_all_rows"
MOST_READINGS = 3
_TOTALS = "month_file_matches_its_totals"  # the rule that all statements rest on
_ZONE = "Asia/Tehran"

Note = Callable[[str], object]
Tables = dict[str, pa.Table]


def check_deeply(lake: Lake, known: pa.Table, note: Note = lambda text: None) -> pa.Table:
    """Return a finding for each month whose tables differ from those over all rows.

    `known` are the findings of `check`. Where a file's totals are not those of its rows, every
    later month would differ for that alone: the file is named once, and no month is checked.
    `note` is told which month is being checked.
    """
    broken = {row["record_id"] for row in known.to_pylist() if row["check_name"] == _TOTALS}
    wrong = Message("finding.other_totals")
    findings = [_finding(label, wrong) for label in sorted(broken)] or [*_findings(lake, note)]
    return pa.Table.from_pylist(findings, known.schema)


def _findings(lake: Lake, note: Note) -> Iterator[dict[str, str | None]]:
    clock = machine_clock()
    for period in _periods(lake):
        note(f"checking the statement of {period.folder} against every row")
        near, whole = _tables_twice(lake, period, clock)
        if different := [name for name in near if not near[name].equals(whole[name])]:
            text = Message("finding.other_tables", tables=", ".join(different))
            yield _finding(period.folder, text) | {"content": content_of(*different)}


def _periods(lake: Lake) -> Iterator[Period]:
    """Yield each UTC month, and of each calendar the month of Tehran in which the newest begins."""
    labels = known_months(lake)
    yield from map(month, reversed(labels))
    for calendar in CALENDARS:
        yield month_of(month(labels[0]).start, _ZONE, calendar)


def _finding(name: str, detail: Message) -> dict[str, str | None]:
    return {
        "check_name": DIFFERENT,
        "severity": "blocking",
        "record_id": name,
        "month": None if "@" in name else name,  # UTC months alone
        "detail": detail,
    }


def _tables_twice(lake: Lake, period: Period, clock: int) -> tuple[Tables, Tables]:
    """Read a month's tables in both ways, of one state of the lake: a run may be writing."""
    for _ in range(MOST_READINGS):
        (near, before), (whole, after) = (
            _tables(lake, period, clock, is_near=each) for each in (True, False)
        )
        if before == after:
            return near, whole
    raise LakeBusy(f"{lake.place} changed at each reading: run check --deep when no run writes")


def _tables(lake: Lake, period: Period, clock: int, *, is_near: bool) -> tuple[Tables, Footers]:
    """Read a month's tables, from what it rests on or from all rows, and of which state."""
    bounds = (period.start, period.end) if is_near else None
    with open_warehouse(lake, as_written=True, period=bounds) as warehouse:
        read_to = read_until(lake, warehouse.coverage(), None)
        known_to = known_until(period, read_to, max(clock, read_to))
        assertions = read_assertions(lake.path)
        tables = read_tables(
            warehouse, period, read_to, known_to, assertions, sums_rows=not is_near
        )
        return tables, warehouse.sources.footers
