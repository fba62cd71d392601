"""A statement as a journal: balanced entry by entry, and accepted by Beancount."""

import csv
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from svc_analytics.config import Settings
from svc_analytics.errors import LakeError
from svc_analytics.render.journal import check_balanced, commodity_names, make_journal
from tests.support.desks import Desk
from tests.support.form_material import Make, Save


def bean_check(path: Path) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("bean-check")
    return subprocess.run(
        [command, "--no-cache", path], capture_output=True, text=True, check=False
    )


def postings(folder: Path) -> list[dict[str, str]]:
    with (folder / "journal.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def of_entry(folder: Path, prefix: str, currency: str) -> dict[str, Decimal]:
    """The postings of the one entry of a kind and currency that the ledger has."""
    return {
        row["account"]: Decimal(row["amount"])
        for row in postings(folder)
        if row["kind"] == prefix and row["currency"] == currency
    }


def test_beancount_accepts_the_journal(save: Save) -> None:
    """Syntax, balances of every coin with no tolerance, prices: all in order."""
    path = save("journal") / "journal.beancount"
    checked = bean_check(path)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    text = path.read_text(encoding="utf-8")
    assert "2026-11-01 balance Assets:Wallet  2.95 ~ 0 BTC" in text
    assert "2026-10-07 price BTC  64000 USD" in text


def test_beancount_sees_the_smallest_unit(save: Save) -> None:
    """One wei more in the asserted balance, and the check fails: nothing is tolerated."""
    path = save("journal") / "journal.beancount"
    text = path.read_text(encoding="utf-8")
    right = "1.000000000000000003 ~ 0 ETH"
    assert right in text
    path.write_text(text.replace(right, "1.000000000000000004 ~ 0 ETH"), encoding="utf-8")
    checked = bean_check(path)
    assert checked.returncode != 0 and "Balance failed" in checked.stderr + checked.stdout


def test_amounts_beyond_beancounts_own_precision_are_written_exactly(save: Save) -> None:
    """34 digits: Beancount would round its sum to 28, so the balance is a remark."""
    path = save("journal", ledger=HUGE) / "journal.beancount"
    balance = "balance Assets:Wallet  7999999999999998.999999999999999999 ~ 0 USDT"
    assert f"; 2026-11-01 {balance}" in path.read_text(encoding="utf-8")
    assert bean_check(path).returncode == 0


HUGE = """
 kind     currency  amount                fee  at
 payment  usdt      7999999999999998      0    2026-10-01T09:00
 payment  usdt      0.999999999999999999  0    2026-10-02T09:00
"""


def test_every_entry_sums_to_zero(save: Save) -> None:
    """Per entry and currency, to the last digit, and with one number of digits per coin."""
    sums: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    digits = defaultdict(set)
    for row in postings(save("journal")):
        sums[row["entry_no"], row["currency"]] += Decimal(row["amount"])
        digits[row["commodity"]].add(len(row["amount"].partition(".")[2]))
    assert len(sums) == 8 and set(sums.values()) == {0}
    assert digits == {"BTC": {2}, "USDT": {6}, "ETH": {18}, "SOL": {2}}


def test_a_payment_splits_into_wallet_fee_and_sales(save: Save) -> None:
    """1.000000000000000003 eth without a fee has no fee posting; 7.07 sol leave for a payout."""
    folder = save("journal")
    eth = Decimal("1.000000000000000003")
    assert of_entry(folder, "payment", "eth") == {"Assets:Wallet": eth, "Income:Sales": -eth}
    assert of_entry(folder, "payout", "sol") == {
        "Liabilities:Customer-Payouts": Decimal(7),
        "Expenses:Payout-Fees": Decimal("0.07"),
        "Assets:Wallet": Decimal("-7.07"),
    }


def test_a_fee_of_another_bearer_waits_in_suspense(save: Save) -> None:
    """10 sold, 9 arrived, the bearer is not the merchant: 1 is to be looked at."""
    folder = save("journal")
    rows = [row for row in postings(folder) if row["needs_review"] == "true"]
    assert [(row["account"], Decimal(row["amount"])) for row in rows] == [
        ("Assets:Wallet", 9),
        ("Income:Sales", -10),
        ("Equity:Suspense", 1),
    ]
    assert '2026-10-05 ! "payment' in (folder / "journal.beancount").read_text(encoding="utf-8")


def test_the_opening_position_is_the_first_entry(save: Save) -> None:
    """1.47 btc of September are there before October's movements."""
    first, second, *_ = postings(save("journal"))
    assert (first["kind"], first["day"], first["amount"]) == ("opening", "2026-10-01", "1.47")
    assert (second["account"], second["amount"]) == ("Equity:Opening", "-1.47")


def test_without_a_known_position_nothing_is_asserted(
    make: Make, desk: Desk, tmp_path: Path
) -> None:
    """Payouts were never read: the journal holds what was, and balances of nothing."""
    desk.settings = Settings(desk.settings.base_url, desk.settings.checkout_key)
    folder = make().save(tmp_path / "out", ("journal",))
    text = (folder / "journal.beancount").read_text(encoding="utf-8")
    assert " balance " not in text and "opening:" not in text and "; because " in text
    assert "complete" not in text and "month" not in text
    assert bean_check(folder / "journal.beancount").returncode == 0


def test_days_are_those_of_the_statements_zone(save: Save) -> None:
    """23:59 UTC on 30 September is the first of October in Tehran."""
    days = [row["day"] for row in postings(save("journal", zone="Asia/Tehran"))]
    assert days[0] == "2026-10-01" and max(days) == "2026-10-10"


def test_an_entry_out_of_balance_is_not_written(make: Make) -> None:
    """Before a byte is written, every entry is added up as it will stand."""
    journal = make_journal(make())
    entry = replace(journal.entries[0], postings=journal.entries[0].postings[:1])
    with pytest.raises(LakeError, match=r"opening:btc is out of balance by 1\.47"):
        check_balanced(replace(journal, entries=(entry,)))


def test_texts_of_people_stay_in_their_strings(save: Save) -> None:
    """Quotes, backslashes, line ends and turned text end no string and turn no line."""
    text = (save("journal") / "journal.beancount").read_text(encoding="utf-8")
    assert r'comment: "a \"b\" \\ c d"' in text and "\u202e" not in text


@pytest.mark.parametrize(
    ("slugs", "names"),
    [
        (["usdt"], ["USDT"]),
        (["1inch"], ["C1INCH"]),
        (["usdt trc/20"], ["USDT-TRC-20"]),
        (["true", "x"], ["CTRUE", "X"]),
        (["a" * 30], ["A" * 24]),
    ],
    ids=lambda value: str(value)[:24],
)
def test_coins_have_names_that_beancount_reads(slugs: list[str], names: list[str]) -> None:
    """Upper case, a letter first, no more than 24 characters."""
    assert list(commodity_names(slugs).values()) == names


def test_two_coins_never_share_a_name() -> None:
    """usdt and usdt. would: both get a part of their hash."""
    names = commodity_names(["usdt", "usdt."])
    assert len(set(names.values())) == 2
    assert all(name.startswith("USDT-") and len(name) == 13 for name in names.values())
