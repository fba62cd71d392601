"""Benchmarks without their times: what they time is a whole extraction, verification or proof."""

import duckdb
import pytest

from svc_analytics.errors import LakeError
from svc_analytics.lake.lake import Lake
from svc_analytics.schema import PAYMENTS as STREAM
from tests.benchmarks.bare_server import payment_id, serve
from tests.benchmarks.extract_benchmark import extract_all, fetch_all
from tests.benchmarks.proofs_benchmark import hash_plainly, prove_middle, sealed_beside
from tests.benchmarks.receipts_work import is_proven, rows_of, verify_all, verify_plainly
from tests.support.packages import row, seal_rows

PAYMENTS = 500


@pytest.fixture(scope="module")
def base_url():
    with serve(PAYMENTS) as base_url:
        yield base_url


@pytest.fixture(scope="module")
def lake(base_url, tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmark") / "lake"
    assert extract_all(base_url, folder) >= PAYMENTS
    return Lake(folder)


def test_the_benchmark_extracts_exactly_the_payments_served(lake):
    """
    What the benchmark times is a whole extraction: the lake holds every id served, once.

    A worker that takes a part of a window over reads its edge once more.
    """

    files = str(lake.path / "payments" / "*.parquet")
    held = duckdb.sql("select id from read_parquet(?)", params=[files]).fetchall()
    assert sorted(row[0] for row in held) == sorted(map(payment_id, range(PAYMENTS)))


def test_the_floor_fetches_every_page(base_url):
    """The floor is the same work on the wire: every page of the list, and not one more."""
    assert fetch_all(base_url) == PAYMENTS / 100


def test_the_benchmark_verifies_every_token(lake):
    """What it times is a whole verification: each token of the lake, by its signature and facts."""
    assert verify_all(lake) == verify_all(lake) == PAYMENTS
    kept = {path.stem for path in (lake.path / "receipt_verdicts").iterdir()}
    assert kept == {"0000-00", *lake.months(STREAM)}


def test_the_plain_loop_does_the_same_work(lake):
    """The floor proves as many, and would notice a forgery or an altered fact."""
    assert verify_plainly(lake) == PAYMENTS
    held = next(rows_of(lake))
    assert is_proven(held) and not is_proven(held | {"currency": "btc"})
    assert not is_proven(held | {"receipt": held["receipt"][:-2] + "AA"})


def test_the_benchmark_proves_a_line_of_all(tmp_path):
    """What it times is a whole proof, with all lines hashed or few: an altered line ends either."""
    made = seal_rows(tmp_path / "lines", map(row, range(1, 2001)))
    storage = sealed_beside(made)
    prove_middle(made, 2000, storage)
    prove_middle(made, 2000)
    hash_plainly(made.folder)
    path = made.folder / "lines.csv"
    path.write_bytes(path.read_bytes().replace(b"SVC-1999", b"SVC-1998"))
    for kept in (storage, None):
        with pytest.raises(LakeError, match="not those that were sealed"):
            prove_middle(made, 2000, kept)
