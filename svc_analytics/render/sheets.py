"""How our own objects look when they show themselves: a lake, a statement, what was read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from svc_analytics.coverage import describe_span
from svc_analytics.errors import SvcError
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.sheet import Cell, Display, DisplayTable
from svc_analytics.instants import BEGINNING, DAY, HOUR, MINUTE, SECOND, format_instant
from svc_analytics.notebook.show import show
from svc_analytics.render.figures import figures_grid

if TYPE_CHECKING:
    from svc_analytics.coverage import Coverage
    from svc_analytics.extraction.plan import ExtractionResult
    from svc_analytics.lakehouse import Lakehouse
    from svc_analytics.receipts.verify_lake import VerificationResult
    from svc_analytics.signing.receipts import Verdict
    from svc_analytics.statements.statement import Statement

OFFER = (
    "Nothing is here yet. One call fills it with a made-up merchant, without account or key: "
    "lake = svc.demo_lake({path!r}). With your keys in the settings, svc.extract(lake) does."
)
_AGO = (("day", DAY), ("hour", HOUR), ("minute", MINUTE), ("second", SECOND))
_HELD = """
    select stream, rows, first_at, last_at, quarantined
    from (
        select
            stream,
            sum(rows)::bigint as rows,
            sum(quarantined)::bigint as quarantined
        from coverage
        group by stream
    )
    left join (
        select 'payments' as stream, min(paid_at) as first_at, max(paid_at) as last_at from payments
        union all
        select 'payout_records' as stream, min(created_at) as first_at, max(created_at) as last_at
        from payout_records
    ) using (stream)
    order by stream
"""


def sheet_of(shown: Any) -> Display:
    """Return how an object looks; where it cannot be read, the reason in one line."""
    kinds = [kind.__name__ for kind in type(shown).__mro__]
    make = next(_SHEETS[kind] for kind in kinds if kind in _SHEETS)
    try:
        return make(shown)
    except SvcError as error:
        return Display(repr(shown), [f"{type(error).__name__}: {error}"])


def statement_sheet(statement: Statement) -> Display:
    """Return a statement: its status with reasons, then every figure of every coin."""
    period = statement.period
    lines = [
        f"{statement.status}; {len(statement.tables['lines']):,} movements; "
        f"{format_instant(period.start)} .. {format_instant(period.end)} ({period.zone}); "
        f"data as of {format_instant(statement.as_of)}"
    ]
    lines += [f"provisional: {reason.text}" for reason in statement.reasons]
    grid = figures_grid(statement)
    title = single_line(f"Statement {period.folder} of {names_of(statement.merchant)}")
    return Display(title, lines, [grid] if grid.rows else [])


def lake_sheet(lake: Lakehouse) -> Display:
    """Return what a lake holds, how fresh and how complete; of an empty one, what to do."""
    if not lake.exists:
        return Display(f"Lake {lake.path}", [OFFER.format(path=str(lake.path))])
    from svc_analytics.schema import STREAMS
    from svc_analytics.warehouse.warehouse import open_warehouse

    merchant = lake.merchant
    with open_warehouse(lake) as warehouse:
        found, held = warehouse.coverage(), warehouse.query(_HELD)
    (grid,) = show(held, "what is held", why="no record").grids
    coverage = DisplayTable("what was read", ["stream", "state", "interval"], [], 0)
    for name in STREAMS:
        coverage.rows.extend([Cell(name), *row] for row in _span_rows(found[name]))
    lines = [f"of {names_of(merchant)}"]
    lines += [f"{name}: {_completeness(found[name])}" for name in STREAMS]
    grids = [grid, DisplayTable(coverage.title, coverage.header, coverage.rows, len(coverage.rows))]
    return Display(f"Lake {lake.path}", lines, grids)


def coverage_sheet(coverage: Coverage) -> Display:
    """Return the time that was read of a stream."""
    rows = _span_rows(coverage)
    lines = [] if rows else ["nothing was read"]
    return Display(
        "Coverage", lines, [DisplayTable("", ["state", "interval"], rows, len(rows))] * bool(rows)
    )


def run_sheet(run: VerificationResult) -> Display:
    """Return what a verification of the lake's receipts did."""
    rows = [("checked now", run.checked), ("unchanged since they were checked", run.unchanged)]
    return Display("Verification of receipts", [], [_counts("receipts", rows)])


def verdict_sheet(verdict: Verdict) -> Display:
    """Return what a check of one receipt found: the reason, what differs, what it states."""
    lines = [f"{'proven' if verdict.is_proven else 'not proven'}: {verdict.reason}"]
    grids = []
    if verdict.differences:
        found = [
            [Cell(each.fact), Cell(each.in_receipt), Cell(each.in_record or "nothing")]
            for each in verdict.differences
        ]
        grids.append(
            DisplayTable("what differs", ["fact", "in the receipt", "in the record"], found, 0)
        )
    if verdict.receipt:
        facts = [[Cell(name), Cell(text)] for name, text in verdict.receipt.facts.items()]
        grids.append(DisplayTable("what it states", ["fact", "in the receipt"], facts, len(facts)))
    return Display(f"Receipt: {verdict.verdict}", lines, grids)


def extraction_sheet(done: ExtractionResult) -> Display:
    """Return what an extraction read, and what a person should look at."""
    rows = list(done.rows.items())
    rows += [("month files written", done.published.files), ("pages", done.pages)]
    found = done.published
    lines = [f"read up to {format_instant(done.read_to)}"]
    lines += [f"{found.quarantined:,} records were set aside"] * bool(found.quarantined)
    lines += [f"{found.changed:,} records changed since they were read"] * bool(found.changed)
    lines += [f"{name} were not extracted: {why}" for name, why in done.not_extracted.items()]
    return Display("ExtractionResult", lines, [_counts("read", rows)])


def closed_sheet(closed: Any) -> Display:
    """Return what became of a month: sealed or why not, and where it is."""
    lines = [f"{closed.state}, version {closed.version}, in {closed.folder}"]
    lines += [f"seal {closed.seal}"] * bool(closed.seal)
    lines += [reason.text for reason in closed.reasons]
    lines += [f"note: {closed.note}"] if closed.note else []
    grids = [] if closed.table is None else show(closed.table, "what differs").grids
    return Display(f"Month {closed.label}", lines, grids)


def names_of(merchant: dict[str, Any], most: int | None = None) -> str:
    """Return a merchant's names for people, the Persian one set apart from what stands by it.

    Where there is little room each is cut to `most` letters.
    """
    keys = ("display_name", "display_name_fa")
    names = [single_line(str(merchant[key])) for key in keys if merchant.get(key)]
    cut = (f"{name[: most - 1]}…" if most and len(name) > most else name for name in names)
    return " · ".join(cut) or str(merchant["id"])


def _span_rows(coverage: Coverage) -> list[list[Cell]]:
    spans = [(span, "complete") for span in coverage.complete]
    spans += [(span, "provisional") for span in coverage.provisional]
    return [[Cell(state), Cell(describe_span(span))] for span, state in sorted(spans)]


def _completeness(coverage: Coverage) -> str:
    """Say in a line how complete and how fresh a stream is."""
    if not coverage.read:
        return "never extracted, so what needs it is unknown"
    start = "the beginning" if coverage.read[0][0] == BEGINNING else "later than the beginning"
    gaps = len(coverage.read) - 1
    end = coverage.read[-1][1]
    told = "without a gap" if not gaps else f"with {gaps} gap{'s' * (gaps > 1)}"
    return f"read from {start} up to {format_instant(end)} {told}, {ago(end)}"


def ago(micros: int) -> str:
    """Say how long ago an instant was, in the largest unit that fits."""
    passed = max(time.time_ns() // 1000 - micros, 0)
    for name, unit in _AGO:
        if passed >= unit:
            return f"{passed // unit} {name}{'s' * (passed // unit > 1)} ago"
    return "just now"


def _counts(name: str, counts: Iterable[tuple[str, int]]) -> DisplayTable:
    rows = [[Cell(text), Cell(f"{count:,}", is_number=True)] for text, count in counts]
    return DisplayTable("", [name, "count"], rows, len(rows))


_SHEETS: dict[str, Callable[[Any], Display]] = {
    "Lakehouse": lake_sheet,
    "Closed": closed_sheet,
    "Coverage": coverage_sheet,
    "ExtractionResult": extraction_sheet,
    "Statement": statement_sheet,
    "Verdict": verdict_sheet,
    "VerificationResult": run_sheet,
}
