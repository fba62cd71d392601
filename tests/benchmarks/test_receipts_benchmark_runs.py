"""The receipts benchmark itself, without its times: that both ways verify every token."""

import pytest

from svc_analytics.schema import PAYMENTS
from tests.benchmarks.receipts_work import fill, is_proven, rows_of, verify_all, verify_plainly

TOKENS = 200


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("benchmark") / "lake", TOKENS)


def test_the_benchmark_verifies_every_token(lake):
    """What it times is a whole verification: each token of the lake, by its signature and facts."""
    assert verify_all(lake) == verify_all(lake) == TOKENS
    kept = {path.stem for path in (lake.path / "receipt_verdicts").iterdir()}
    assert kept == {"0000-00", *lake.months(PAYMENTS)}


def test_the_plain_loop_does_the_same_work(lake):
    """The floor proves as many, and would notice a forgery or an altered fact."""
    assert verify_plainly(lake) == TOKENS
    row = next(rows_of(lake))
    assert is_proven(row) and not is_proven(row | {"currency": "btc"})
    assert not is_proven(row | {"receipt": row["receipt"][:-2] + "AA"})
