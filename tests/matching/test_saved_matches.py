"""Saved matches as evidence: what of them is checked, and what a package takes along."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import svc_analytics as svc
from svc_analytics.books.accounts import FILE as ACCOUNTS, starter
from svc_analytics.closing.handover.evidence import package
from svc_analytics.closing.verification.verify import verify_statement
from svc_analytics.errors import LakeError
from svc_analytics.files import hash_file
from svc_analytics.proofs.verify import main as run_verify
from tests.matching.test_books import entries_of, matched, qbo
from tests.support.closings import Closer

ORDERS = "Order ID,Date,Status,Currency,Total\n{paid},2026-10-05,paid,usdt,100\n"
LEDGER = """
 kind     currency  amount  fee  at                usd_value
 payment  usdt      100     1    2026-10-05T08:00  100
 payment  usdt      10      1    2026-10-06T09:00  10
 payout   usdt      50      0.5  2026-10-09T08:00  50
"""
ARRIVED = "Date,Coin,Amount,Status,TXID\n2026-10-09,usdt,49.5,Completed,x-1\n"


@pytest.fixture
def closer(desk) -> Closer:
    closer = Closer(desk)
    closer.serve()
    return closer


@pytest.fixture
def sealed(closer) -> Path:
    return closer.sealed()


def saved(lake, tmp_path, kind: str = "orders", text: str = ORDERS) -> Path:
    """The match of a list with October, beside the lake."""
    path = tmp_path / f"{kind}.csv"
    [paid] = lake.sql("select payment_id from payments where month = '2026-10'")["payment_id"]
    path.write_text(text.format(paid=paid))
    return svc.match(lake, kind, path, month="2026-10").save()


def status(folder: Path, lake=None, kind: str = "orders") -> tuple[str, str]:
    checked = verify_statement(folder, lake)
    found = next(each for each in checked.statuses if each.name == f"match {kind}")
    assert checked.holds is (found.outcome == "held")
    return found.outcome, str(found.text)


def again(folder: Path, name: str, old: str, new: str) -> None:
    """Alter a file, and the digest that `match.json` names, as a forger does."""
    path, document = folder / name, folder / "match.json"
    before = hash_file(path)
    path.write_text(path.read_text().replace(old, new))
    document.write_text(document.read_text().replace(before, hash_file(path)))


def said(folder: Path, **facts: Any) -> None:
    """Let `match.json` say something else."""
    document = folder / "match.json"
    document.write_text(json.dumps(json.loads(document.read_text()) | facts))


def test_a_match_of_orders_and_one_of_payouts_hold(desk, sealed, tmp_path):
    """The payment of 100 is the order's; of the payout of 50 there arrived 49.5, less a fee."""
    assert saved(desk.lake, tmp_path) == desk.lake.path / "matches/2026-10/orders"
    saved(desk.lake, tmp_path, "payouts", ARRIVED)
    outcome, text = status(sealed)
    assert outcome == "held" and text.startswith("1 rows of orders.csv add up on both sides, with")
    assert "not checked: how they were paired, that 0 of them are open, and whether" in text
    assert status(sealed, kind="payouts")[0] == "held"


def test_a_match_of_a_month_of_another_zone_holds_by_its_own_bounds(desk, closer, tmp_path):
    folder = closer.close(zone="Asia/Tehran").folder
    path = tmp_path / "arrived.csv"
    path.write_text(ARRIVED)
    how = {"month": "2026-10", "zone": "Asia/Tehran"}
    svc.match(desk.lake, "payouts", path, **how).save(formats=["parquet"])
    assert status(folder, kind="payouts")[0] == "held"


def test_a_match_of_books_holds_by_the_entries_of_the_lake(desk, closer):
    """An entry that the ledger lacks is ours all the same."""
    closer.serve(LEDGER)
    sealed = closer.close().folder
    (desk.lake.path / ACCOUNTS).write_text(starter(["usdt", "btc"]))
    [first, *others] = [(name, *entry) for name, entry in entries_of(desk.lake).items()]
    both = matched(desk.lake, qbo, [first])
    assert both.open_count == len(others) > 0
    place = both.save()
    assert status(sealed, kind="books-qbo")[0] == "held"
    keys = [["entry_missing", "", name] for name, *_ in others[1:]]
    said(place, open_rows=[["entry_missing", "", "another entry"], *keys])
    again(place, "rows.csv", others[0][0], "another entry")
    assert status(sealed, kind="books-qbo")[1].startswith("the lake gives other records or ")


@pytest.mark.parametrize(
    ("alter", "why"),
    [
        (lambda at: (at / "rows.csv").write_text("code\n"), "rows.csv is not as match.json says"),
        (lambda at: (at / "summary.csv").unlink(), "summary.csv is missing"),
        (lambda at: (at / "note.txt").write_text("x"), "note.txt does not belong to this match"),
        (lambda at: (at / "match.json").write_text("{}"), "match.json cannot be read"),
        (lambda at: (at / "match.json").write_text("[" * 99999), "match.json cannot be read"),
        (lambda at: again(at, "rows.csv", "100", "1e9999999"), "match.json cannot be read"),
        (lambda at: again(at, "rows.csv", "100", "99"), "rows.csv does not add up to what"),
        (lambda at: again(at, "rows.csv", "100", "Infinity"), "match.json cannot be read"),
        (lambda at: again(at, "summary.csv", "100", "99"), "summary.csv does not add up to what"),
        (lambda at: again(at, "rows.csv", "true", "false"), "rows.csv does not add up to what"),
        (lambda at: said(at, month="2026-09"), "names this seal, and another month"),
        (lambda at: said(at, zone="Asia/Tehran"), "names this seal, and another month"),
        (lambda at: said(at, open_rows=[["short", "A", ""]]), "rows.csv does not add up to what"),
    ],
)
def test_an_altered_match_is_named_by_its_file_and_not_packed(desk, sealed, tmp_path, alter, why):
    alter(saved(desk.lake, tmp_path))
    outcome, text = status(sealed)
    assert outcome == "FAILED" and why in text
    with pytest.raises(LakeError, match="is not packed: match orders: "):
        package(desk.lake, "2026-10", out=tmp_path / "a.zip")


def test_an_amount_of_ours_that_was_made_to_fit_is_no_longer_that_of_the_lake(
    desk, sealed, tmp_path
):
    """Rows, summary and sums agree with one another on 99; the lake's payment is of 100."""
    place = saved(desk.lake, tmp_path)
    for name in ("rows.csv", "summary.csv", "match.json"):
        again(place, name, "100", "99")
    outcome, text = status(sealed)
    assert outcome == "FAILED" and text.startswith("the lake gives other records or ")


def test_a_match_of_another_seal_is_not_checked_and_not_packed(desk, closer, tmp_path, monkeypatch):
    """A match that was saved before the month was sealed is of no seal; it is told."""
    desk.extract()
    saved(desk.lake, tmp_path)
    folder = closer.close().folder
    assert status(folder) == (
        "not checked",
        "it was saved before the month was sealed: match the month again",
    )
    done = package(desk.lake, "2026-10", out=tmp_path / "a.zip")
    assert ["before the month was sealed" in text for text in done.unproven] == [True]
    assert not any("-matches" in name for name in zipfile.ZipFile(done.file).namelist())


def test_a_package_takes_the_match_along_and_says_no_more_than_was_checked(
    desk, sealed, tmp_path, no_printer, capsys
):
    """A stranger sees that no seal covers it; who has the lake compares it."""
    digest = json.loads((saved(desk.lake, tmp_path) / "match.json").read_text())["file_digest"]
    done = package(desk.lake, "2026-10", out=tmp_path / "a.zip")
    with zipfile.ZipFile(done.file) as archive:
        archive.extractall(tmp_path / "audit")
    folder = tmp_path / "audit" / "2026-10"
    evidence = " ".join((folder / "EVIDENCE.txt").read_text().split())
    assert f"orders.csv (SHA-256 {digest}), which is not in this package: held: 1 rows" in evidence
    assert "Whether that list is whole and true" in evidence
    assert status(folder, desk.lake)[0] == status(done.file, desk.lake)[0] == "held"
    assert run_verify([str(folder)]) == 0
    assert "2026-10-matches: no seal covers them" in capsys.readouterr().out
    monkey = folder.with_name("2026-10-matches") / "orders" / "rows.csv"
    monkey.write_text(monkey.read_text().replace("100", "99"))
    assert "rows.csv is not as match.json says" in status(folder, desk.lake)[1]
