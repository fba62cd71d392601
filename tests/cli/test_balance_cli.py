"""`assert`: a balance is written down, and compared with the records at once."""

import json

import pytest

from svc_analytics.statements.statement import statement
from tests.statements.test_statement import LEDGER
from tests.support.desks import Desk
from tests.support.prepared import extracted


@pytest.fixture
def read(desk) -> Desk:
    """A lake into which a small ledger was read."""
    desk.serve(LEDGER)
    return extracted(desk)


def test_the_records_explain_a_part_and_the_rest_is_told(read, run):
    """3 btc were seen and 2.7 are the records': the statement gives the same 0.3."""
    assert run("assert", "2026-11-01", "btc", "3", "--note", "seen by Sara").out == (
        "asserted balance, 2026-11-01T00:00:00Z             3   btc\n"
        "explained by payments, refunds and payouts         2.7 btc\n"
        "not explained: deposits, withdrawals, conversions  0.3 btc\n"
    )
    written = (read.lake.path / "assertions.csv").read_text()
    assert written == "at,currency,balance,note\n2026-11-01T00:00:00Z,btc,3,seen by Sara\n"
    assert [f"{each:f}" for each in statement(read.lake, "2026-10").balances["explained"]] == [
        "2.700000000000000000"
    ]


def test_a_date_is_its_midnight_in_the_zone(read, run):
    """Tehran is three and a half hours before UTC."""
    done = run("assert", "2026-11-01", "btc", "3", "--zone", "Asia/Tehran", "--json")
    assert json.loads(done.out)["at"] == "2026-10-31T20:30:00Z"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("2026-11-01", "xrp", "1"), "is in 'xrp': it knows btc, eth, sol, usdt;"),
        (("2026-11-01", "btc", "31,907.35"), "write the balance as 31907.35, without separators"),
        (("0001-01-01", "btc", "1"), "0001-01-01T00:00:00Z is before 1970"),
        (("2999-01-01", "btc", "1"), "2999-01-01T00:00:00Z is still to come"),
    ],
)
def test_what_cannot_be_compared_is_not_written(read, run, words, told):
    """One line that names the fault, and no file."""
    done = run("assert", *words)
    assert done.code == 2 and len(done.lines) == 1 and told in done.err
    assert not (read.lake.path / "assertions.csv").exists()


def test_a_time_that_was_not_read_leaves_the_rest_unknown(read, run):
    """The balance is written all the same."""
    assert "what the records explain of it is unknown" in run("assert", "now", "btc", "3").out
    assert (read.lake.path / "assertions.csv").exists()
