"""What one snapshot of the lake tells of a period: a statement's tables, and up to when."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from svc_analytics.coverage import Coverage
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period, known_until
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.metadata import with_metadata
from svc_analytics.statements.reasons import read_until, require_begun
from svc_analytics.statements.tables import count_period, read_omissions, read_tables
from svc_analytics.warehouse.warehouse import Warehouse


@dataclass(frozen=True)
class Reading:
    """What was read of a period."""

    coverage: dict[str, Coverage]
    clock: int  # the later one of this machine's and the newest reading
    as_of: int
    known_to: int
    tables: dict[str, pa.Table]
    omissions: list[dict[str, Any]]


def read_period(
    lake: Lake, period: Period, local: int, as_of: int | None, names: tuple[str, ...]
) -> Reading:
    """Read every table of a period; `names` are properties of metadata to add to its lines."""
    return count_period(lake, period, partial(_read, lake, period, local, as_of, names))


def _read(
    lake: Lake,
    period: Period,
    local: int,
    as_of: int | None,
    names: tuple[str, ...],
    warehouse: Warehouse,
) -> Reading:
    coverage = warehouse.coverage()
    read_to = read_until(lake, coverage, as_of)
    clock = max(local, read_to)
    require_begun(period, clock)
    known_to, as_of = known_until(period, read_to, clock), read_to if as_of is None else as_of
    tables = read_tables(warehouse, period, as_of, known_to, read_assertions(lake.path))
    tables |= {"lines": with_metadata(warehouse, tables["lines"], names)}
    return Reading(coverage, clock, as_of, known_to, tables, read_omissions(warehouse, period))
