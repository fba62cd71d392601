"""A statement as a journal: balanced entry by entry, and accepted by Beancount."""

import csv
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from svc_analytics.errors import LakeError
from svc_analytics.render.journal import check_balanced, commodity_names, make_journal


def bean_check(path: Path) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("bean-check")
    return subprocess.run(
        [command, "--no-cache", path], capture_output=True, text=True, check=False
    )


def postings(folder: Path) -> list[dict[str, str]]:
    with (folder / "journal.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_beancount_accepts_the_journal_and_sees_the_smallest_unit(save):
    """Syntax, balances of every coin, prices: all in order, which a golden text holds.

    One wei more in the asserted balance, and the check fails: nothing is tolerated.
    """
    path = save("journal") / "journal.beancount"
    checked = bean_check(path)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    text = path.read_text(encoding="utf-8")
    right = "1.000000000000000003 ~ 0 ETH"
    assert right in text
    path.write_text(text.replace(right, "1.000000000000000004 ~ 0 ETH"), encoding="utf-8")
    checked = bean_check(path)
    assert checked.returncode != 0 and "Balance failed" in checked.stderr + checked.stdout


def test_amounts_beyond_the_precision_of_decimals_are_written_exactly(save):
    """34 digits, as opening and in each kind of movement: Python and Beancount round to 28."""
    folder = save("journal", ledger=HUGE)
    rows = postings(folder)
    assert all(sum(map(Fraction, amounts)) == 0 for amounts in by_entry(rows))
    assert {row["account"] for row in rows if row["amount"].lstrip("-") == WIDEST} == {
        *("Assets:Wallet", "Equity:Opening", "Income:Sales", "Income:Sales-Returns"),
        "Liabilities:Customer-Payouts",
    }
    journal = (folder / "journal.beancount").read_text(encoding="utf-8")
    assert f"; 2026-11-01 balance Assets:Wallet  {WIDEST} ~ 0 USDT" in journal
    assert bean_check(folder / "journal.beancount").returncode == 0


def by_entry(rows: list[dict[str, str]]) -> list[list[str]]:
    entries: dict[str, list[str]] = {}
    for row in rows:
        entries.setdefault(row["entry_id"], []).append(row["amount"])
    return list(entries.values())


WIDEST = "7999999999999998.999999999999999999"
HUGE = """
 kind     currency  amount                               fee  at                of
 payment  usdt      7999999999999998.999999999999999999  0    2026-09-01T09:00
 payment  usdt      7999999999999998.999999999999999999  0    2026-10-02T09:00
 payment  usdt      7999999999999998.999999999999999999  0    2026-10-03T09:00
 refund   usdt      7999999999999998.999999999999999999       2026-10-04T09:00  1
 payout   usdt      7999999999999998.999999999999999999  0    2026-10-05T09:00
"""


def test_an_entry_out_of_balance_is_not_written(make):
    """Before a byte is written, every entry is added up as it will stand."""
    journal = make_journal(make())
    entry = replace(journal.entries[0], postings=journal.entries[0].postings[:1])
    with pytest.raises(LakeError, match=r"opening:btc is out of balance by 1\.47"):
        check_balanced(replace(journal, entries=(entry,)))


NAMES = [
    (["usdt"], ["USDT"]),
    (["1inch"], ["C1INCH"]),
    (["usdt trc/20"], ["USDT-TRC-20"]),
    (["true", "x"], ["CTRUE", "X"]),
    (["a" * 30], ["A" * 24]),
]


@pytest.mark.parametrize(("slugs", "names"), NAMES, ids=lambda value: str(value)[:24])
def test_coins_have_names_that_beancount_reads(slugs, names):
    """Upper case, a letter first, no more than 24 characters."""
    assert list(commodity_names(slugs).values()) == names


def test_two_coins_never_share_a_name():
    """usdt and usdt. would: both get a part of their hash."""
    names = commodity_names(["usdt", "usdt."])
    assert len(set(names.values())) == 2
    assert all(name.startswith("USDT-") and len(name) == 13 for name in names.values())
