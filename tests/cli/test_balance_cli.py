"""`assert`: a balance is written down, and compared with the records at once."""

import json
from pathlib import Path

import pytest

from svc_analytics.cli.app import cli
from svc_analytics.errors import ConfigError
from svc_analytics.statements.statement import statement
from tests.statements.test_statement import LEDGER
from tests.support.desks import Desk
from tests.support.prepared import extracted


@pytest.fixture
def read(desk) -> Desk:
    """A lake into which a small ledger was read."""
    desk.serve(LEDGER)
    return extracted(desk)


def run(lake: Path, *words: str) -> None:
    cli.main(["assert", *words, "--data-dir", str(lake)], standalone_mode=False)


def test_the_records_explain_a_part_and_the_rest_is_told(read, capsys):
    """3 btc were seen and 2.7 are the records': the statement gives the same 0.3."""
    run(read.lake.path, "2026-11-01", "btc", "3", "--note", "seen by Sara")
    assert capsys.readouterr().out == (
        "asserted balance, 2026-11-01T00:00:00Z             3   btc\n"
        "explained by payments, refunds and payouts         2.7 btc\n"
        "not explained: deposits, withdrawals, conversions  0.3 btc\n"
    )
    written = (read.lake.path / "assertions.csv").read_text()
    assert written == "at,currency,balance,note\n2026-11-01T00:00:00Z,btc,3,seen by Sara\n"
    assert [f"{each:f}" for each in statement(read.lake, "2026-10").balances["explained"]] == [
        "2.700000000000000000"
    ]


def test_a_date_is_its_midnight_in_the_zone(read, capsys):
    """Tehran is three and a half hours before UTC."""
    run(read.lake.path, "2026-11-01", "btc", "3", "--zone", "Asia/Tehran", "--json")
    assert json.loads(capsys.readouterr().out)["at"] == "2026-10-31T20:30:00Z"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("2026-11-01", "xrp", "1"), "no payment, refund .* knows btc, eth, sol, usdt;"),
        (("2026-11-01", "btc", "31,907.35"), "write the balance as 31907.35, without separators"),
        (("2026-02-30", "btc", "1"), "'2026-02-30' is not a date or an instant"),
        (("0001-01-01", "btc", "1"), "0001-01-01T00:00:00Z is before 1970"),
        (("2999-01-01", "btc", "1"), "2999-01-01T00:00:00Z is still to come"),
    ],
)
def test_what_cannot_be_compared_is_not_written(read, words, told):
    """One line that names the fault, and no file."""
    with pytest.raises(ConfigError, match=told):
        run(read.lake.path, *words)
    assert not (read.lake.path / "assertions.csv").exists()


def test_a_time_that_was_not_read_leaves_the_rest_unknown(read, capsys):
    """The balance is written all the same."""
    run(read.lake.path, "now", "btc", "3")
    assert "what the records explain of it is unknown" in capsys.readouterr().out
    assert (read.lake.path / "assertions.csv").exists()
