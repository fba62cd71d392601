"""What keeps months from a seal, of all of them in one reading of the lake.

A statement of each would say the same, for a second of processor time apiece.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.coverage import Span
from svc_analytics.instants import from_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period, known_until
from svc_analytics.render.document import Reason
from svc_analytics.statements.explain import fill, instant_literal
from svc_analytics.statements.finality import find_reasons, read_until
from svc_analytics.statements.rules import hold_shared
from svc_analytics.statements.tables import materialize_accepted
from svc_analytics.warehouse.acknowledgements import Acceptances
from svc_analytics.warehouse.counting import count
from svc_analytics.warehouse.models import Check, models_used_by, read_statement_checks
from svc_analytics.warehouse.view_builder import findings_of
from svc_analytics.warehouse.warehouse import Warehouse


def reasons_of_months(
    lake: Lake, periods: Sequence[Period], clock: int
) -> list[tuple[Reason, ...]]:
    """List for each month that is over why its statement would be provisional, in their order.

    These are unread time and findings of the rules over records and files. What a finished
    statement's tables say of one another, and of the statement before it, `close` looks at.
    """
    bounds = (min(each.start for each in periods), max(each.end for each in periods))
    work = partial(_read, lake, periods, clock, bounds)
    return count(lake, _models(), work, as_written=True, period=bounds)


def _read(
    lake: Lake, periods: Sequence[Period], clock: int, bounds: Span, warehouse: Warehouse
) -> list[tuple[Reason, ...]]:
    coverage = warehouse.coverage()
    read_to = read_until(lake, coverage, None)
    acceptances = Acceptances.of(lake)
    materialize_accepted(warehouse, acceptances.table())
    findings = acceptances.applied_to(_read_findings(warehouse, bounds))
    return [
        find_reasons(
            period,
            coverage,
            findings.filter(_is_of(period, findings)),
            known_until(period, read_to, max(clock, read_to)),
            is_over=True,
        )
        for period in periods
    ]


def _read_findings(warehouse: Warehouse, bounds: Span) -> pa.Table:
    """Read what breaks a blocking rule; of many records one rule after another, in less memory."""
    places = dict(zip(("starts_at", "ends_at"), map(instant_literal, bounds), strict=True))
    if warehouse.is_held:
        hold_shared(warehouse, _models())
    queries = [fill(findings_of(rule), places) for rule in _blocking_rules()]
    if not warehouse.is_large:
        queries = [" union all ".join(queries)]
    return pa.concat_tables(warehouse.query(query) for query in queries)


def _is_of(period: Period, findings: pa.Table) -> pa.ChunkedArray:
    """Say of each finding whether it concerns a period; one of no instant concerns all."""
    begins = pc.less(findings["occurred_at"], from_micros(period.end))
    ends = pc.greater_equal(findings["last_at"], from_micros(period.start))
    return pc.fill_null(pc.and_(begins, ends), True)


@cache
def _blocking_rules() -> tuple[Check, ...]:
    return tuple(rule for rule in read_statement_checks() if rule.severity == "blocking")


@cache
def _models() -> frozenset[str] | None:
    return models_used_by(*map(findings_of, _blocking_rules()), "stg_accepted", "stg_spans")
