"""How often the summary of a long period reads its payments: growth is the cost of its readings."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.figure_sql import counted_apart
from svc_analytics.warehouse.figures import summary_figures
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse
from tests.benchmarks.growth_lakes import NEWEST, Shape, make_lake

PAYMENTS = 24_000
START, END = NEWEST.shift(-11).start, NEWEST.end
BOUNDS = "(make_timestamptz($start::bigint), make_timestamptz($end::bigint))"
EDGES = {"start": START, "end": END}


def scans(step: dict[str, Any]) -> Iterator[int]:
    """Yield how many rows each reading of files took, of a step of a query and those below it."""
    yield step.get("rows_scanned", 0)
    for below in step.get("children", []):
        yield from scans(below)


def whole_readings(warehouse: Warehouse, query: str) -> int:
    """Answer a query, and return how often it read all payments."""
    explained = f"explain (analyze, format json) {query}"
    [(_, profile)] = warehouse._connection.execute(explained, EDGES).fetchall()
    steps = json.loads(profile)["operator"]
    return sum(rows >= PAYMENTS for step in steps for rows in scans(step))


@pytest.mark.thorough
def test_a_years_summary_reads_its_payments_twice(tmp_path):
    """Once for its sums and once for its customers."""
    make_lake(Lake(tmp_path), Shape(PAYMENTS, months=12, newest=1 / 12))
    readings = 0
    with open_warehouse(Lake(tmp_path), period=(START, END)) as warehouse:
        for name, signature in counted_apart(summary_figures()).items():
            query = f"from {name}{BOUNDS}"
            readings += whole_readings(warehouse, query)
            warehouse.keep(name, query, EDGES, signature)
        readings += whole_readings(warehouse, f"from statement_summary{BOUNDS}")
    assert readings == 2
