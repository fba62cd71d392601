"""The benchmark itself, without its times: that it measures a whole and true extraction."""

import duckdb
import pytest

from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.benchmarks.bare_server import payment_id, serve
from tests.benchmarks.extract_benchmark import extract_all, fetch_all
from tests.benchmarks.statement_benchmark import generate

PAYMENTS = 500


@pytest.fixture(scope="module")
def base_url():
    with serve(PAYMENTS) as base_url:
        yield base_url


def test_the_benchmark_extracts_exactly_the_payments_served(base_url, tmp_path):
    """
    What the benchmark times is a whole extraction: the lake holds every id served, once.

    A worker that takes a part of a window over reads its edge once more.
    """
    assert extract_all(base_url, tmp_path / "lake") >= PAYMENTS

    files = str(tmp_path / "lake" / "payments" / "*.parquet")
    held = duckdb.sql("select id from read_parquet(?)", params=[files]).fetchall()
    assert sorted(row[0] for row in held) == sorted(map(payment_id, range(PAYMENTS)))


def test_the_floor_fetches_every_page(base_url):
    """The floor is the same work on the wire: every page of the list, and not one more."""
    assert fetch_all(base_url) == PAYMENTS / 100


def test_the_generated_lake_is_a_whole_one(tmp_path):
    """What the statement benchmark times is a true summary: every month's rows, all known."""
    lake = Lake(tmp_path / "lake")
    period = generate(lake, 3_600, 3)
    with open_warehouse(lake) as warehouse:
        bounds = {"s": period.start, "e": period.end}
        query = "from statement_summary(make_timestamptz($s::bigint), make_timestamptz($e::bigint))"
        rows = warehouse.query(query, bounds).to_pylist()
    assert sum(row["payments_count"] for row in rows) == 1_200
    assert all(row["opening_position"] is not None for row in rows)
