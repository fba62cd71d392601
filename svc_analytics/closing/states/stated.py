"""Statements and comparisons that know what became of their months: what people call."""

import time
from functools import wraps
from typing import Unpack

from svc_analytics.arguments import Instant, as_instant
from svc_analytics.closing.states.month_states import with_state
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import TO_DATE
from svc_analytics.statements import comparison as comparisons
from svc_analytics.statements import statement as statements
from svc_analytics.statements.comparison import CompareOptions, Comparison
from svc_analytics.statements.statement import Statement, StatementOptions


@wraps(statements.statement)
def statement(lake: Lake, month: str, **options: Unpack[StatementOptions]) -> Statement:
    """Make the statement of a month; that of a sealed month says so."""
    made = statements.statement(lake, month, **options)
    return made if options.get("as_of") is not None else _stated(lake, made, options.get("now"))


@wraps(comparisons.compare)
def compare(
    lake: Lake,
    before: str | None = None,
    after: str | None = None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Compare two periods; a sealed one is called so."""
    both = comparisons.compare(lake, before, after, **options)
    old, new = (_stated(lake, made, options.get("now")) for made in (both.old, both.new))
    return both.of_statements(old, new)


def _stated(lake: Lake, made: Statement, now: Instant | None) -> Statement:
    """Return a statement with the state of its period; a year to date is never closed."""
    if made.period.kind == TO_DATE:
        return made
    clock = time.time_ns() // 1000 if now is None else as_instant("now", now)
    return with_state(lake, made, clock)
