"""The benchmark itself, without its times: that it measures a whole and true extraction."""

import duckdb
import pytest

from tests.benchmarks.bare_server import payment_id, serve
from tests.benchmarks.extract_benchmark import extract_all, fetch_all

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
