"""The terminal on a bad day: findings by rule, tables that fit, all that blocks at once."""

import csv
import io
import json
import sys
from decimal import Decimal

import pytest

from tests.support.desks import runner
from tests.support.dirty_month import make_dirty_lake

HELD = "record_could_be_held"
WIDTHS = (80, 100, 140)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command on the dirty lake; with a width, on a terminal so wide."""
    make_dirty_lake(tmp_path / "data")
    said = runner(monkeypatch, capsys)

    def run(*words, width=0):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: bool(width))
        monkeypatch.setenv("COLUMNS", str(width))
        return said(*words)

    return run


def test_check_counts_by_rule_and_lists_what_holds_up_a_close(run):
    """What is wrong with each blocking record stands whole; notes are one line a rule."""
    done = run("check")
    assert done.code == 3 and "350 findings, 3 of them blocking" in done.err
    assert "2 records could not be read exactly. Held up: the close of 2026-08\n" in done.out
    assert done.out.count("at most 18 can be kept exactly") == 2
    [note] = [line for line in done.out.splitlines() if line.startswith("175 payments do not")]
    assert note.endswith("btc, doge, eth, pepe, sol, trx, usdt  2026-06 to 2026-10")
    assert "fee_bearer_is_known" not in done.out and "blocking" not in done.out


def test_all_rows_and_their_csv_are_a_word_away(run):
    """Amounts have no zeros behind them; a CSV has the rows of the JSON."""
    rows = run("check", "--all").out
    assert rows.count("that day's rate is 1%") == 105 and "fee 6.196301112 is 0.8% of" in rows
    listed = list(csv.DictReader(io.StringIO(run("check", "--csv").out)))
    found = json.loads(run("check", "--json").out)["findings"]
    assert len(listed) == len(found) == 350
    assert [row["record_id"] for row in listed] == [row["record_id"] for row in found]


def test_all_that_a_rule_finds_is_accepted_in_one_act(run, tmp_path):
    """With one reason; each record stays named, with what becomes of its money."""
    done = run("accept", HELD, "--all", "--reason", "not ours", "--by", "Mina", "--yes")
    assert done.out.count("Accepted. This payment of ") == 2
    assert "This payment of 12.0000000000000000001 trx will not be counted." in done.err
    with (tmp_path / "data" / "acknowledgements.csv").open() as file:
        written = list(csv.DictReader(file))
    assert len({row["record_id"] for row in written}) == 2
    assert {row["reason"] for row in written} == {"not ours"}
    assert "1 of them blocking" in run("check").err
    alone = run("accept", "receipt_proves_its_payment", "--all", "--reason", "x", "--yes")
    assert alone.code == 2 and "looked at one by one" in alone.err


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("words", ["check", "statement 2026-09"])
def test_no_line_is_wider_than_the_terminal(run, words, width):
    """Columns that have no room stand in a block of their own."""
    done = run(*words.split(), width=width)
    lines = [line for line in done.out.splitlines() if not line.startswith("files: ")]
    assert [line for line in lines if len(line) > width] == []


def test_where_coins_stand_in_blocks_their_sum_comes_first(run):
    """A reader of a narrow terminal sees what all coins make before each of them."""
    out = run("statement", "2026-09", width=80).out
    heads = [line for line in out.splitlines() if line.startswith("figure  ")]
    assert len(heads) > 1 and "All coins but pepe, USD" in heads[0]
    assert [head for head in heads[1:] if "All coins" in head] == []


def test_why_a_figure_moved_has_an_answer_in_one_place(run):
    """September's 177,148.74 and what moved it are those of six coins; pepe has no USD value."""
    done = run("compare", "--why", "--only", "net_settlement", "2026-09", "2026-10")
    head, _, *lines = done.out.partition("fees and refunds, USD\n")[2].splitlines()
    assert head.strip().startswith("All coins but pepe, USD ")
    sums = [
        Decimal(line[30:].split()[0].replace(",", "")) for line in lines[:7] if "No" not in line
    ]
    assert sums[0] == Decimal("177148.74") and sums[-1] == Decimal("177123.59")
    assert abs(sum(sums[:-1]) - sums[-1]) <= Decimal("0.02")  # each is rounded
    for text in ("Payment fees", "Closing position", "largest records", "without a customer"):
        assert text not in done.out
    assert run("compare", "--why", "--only", "gross_sales", "2026-09", "2026-10").code == 2


def test_a_row_has_its_coin_in_every_block(run):
    done = run("compare", "--why", "--only", "closing_position", "2026-09", "2026-10", width=80)
    written = [line for line in done.out.splitlines() if "to be written" in line]
    assert [line.split()[2] for line in written] == ["btc", "doge", "eth", "pepe", "sol"]
