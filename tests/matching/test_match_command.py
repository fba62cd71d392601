"""`match`: exit codes, one line for what is no list, what is known; and saved matches."""

import json
import zipfile
from hashlib import sha256
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
from tests.support.seeded_shops import Shop, write_lake

MONTH = ("--month", "2026-10")
HEAD = "Order ID,Date,Status,Currency,Total\n"


@pytest.fixture
def shop() -> Shop:
    """A shop in ./data with its list in orders.csv."""
    shop = Shop(3)
    shop.lake(Path("data"))
    shop.write_orders(Path("orders.csv"))
    return shop


def agreeing(shop: Shop) -> str:
    """A list that says what the payments say."""
    rows = [
        f"{each['receipt_no']},2026-10-05,paid,{each['currency']},{each['amount']}"
        for each in shop.payments
    ]
    return HEAD + "\n".join(rows)


def test_open_rows_end_with_3_and_json_says_both_sides(shop, run):
    done = run("match", "orders", "orders.csv", *MONTH, "--json")
    said = json.loads(done.out)
    assert done.code == 3 and said["kind"] == "orders" and said["month"] == "2026-10"
    assert said["file_digest"] == sha256(Path("orders.csv").read_bytes()).hexdigest()
    counts = {code: each["count"] for code, each in said["by"].items()}
    assert counts == dict(shop.expected.counts) and said["seal"] is None


def test_what_agrees_ends_with_0(run):
    shop = Shop(1)
    shop.records = []
    shop.payments = [each for each in shop.payments if "2026-10" in month_of(each)]
    shop.lake(Path("data"))
    Path("a.csv").write_text(agreeing(shop))
    done = run("match", "orders", "a.csv", *MONTH)
    assert done.code == 0 and "open row" not in done.out


def test_what_agrees_with_a_month_that_was_not_read_whole_ends_with_3(run):
    """Without payout records no refund is known: to agree would say more than was compared."""
    shop = Shop(1)
    payments = [each for each in shop.payments if "2026-10" in month_of(each)]
    shop.payments = payments
    write_lake(Path("data"), payments, [], streams=["payments"])
    Path("a.csv").write_text(agreeing(shop))
    done = run("match", "orders", "a.csv", *MONTH)
    assert done.code == 3 and "open row" not in done.out
    assert "payout_records of 2026-10 were not read completely" in done.out


def month_of(record: dict) -> str:
    from svc_analytics.instants import format_instant

    return format_instant(record["paid_at"])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "orders.csv is empty"),
        (HEAD, "it has headings, and no row"),
        (f"{HEAD}A-1,2026-09-05,paid,btc,1", "has no row of 2026-10: it is of 2026-09-05 to"),
        (f"{HEAD}Z-1,2026-10-05,paid,btc,1", "no row of the list has a key that 2026-10 knows"),
        (f"{HEAD}A-1,2026-10-05,paid,btc,1\n,,,btc,1", "line 3: it has an amount, and nothing"),
        (f"{HEAD}A-1,2026-10-05,paid,,1", "line 2: it has an amount, and no currency"),
        (f"{HEAD}A-1,2026-10-05,paid,btc,", "line 2: its order has no total"),
        (f"{HEAD}A-1,2026-10-05,,btc,1", "line 2: its order has no status"),
        (
            f"{HEAD}A-1,2026-10-05,paid,btc,1\nA-1,2026-10-05,paid,eth,1",
            "line 2: its order has two currencies",
        ),
        (
            f"{HEAD}A-1,2026-10-05,paid,btc,1\nA-1,2026-10-05,expired,btc,1",
            "line 2: its order has two statuses",
        ),
        ("payment_id,charged_amount,net_amount\n1,1,1", "is our own"),
        (f"{HEAD}A-1,2026-10-05,paid,btc,1.234", "line 2: '1.234' can be read in two ways"),
    ],
)
def test_what_is_no_list_of_theirs_is_one_line_and_2(content, why, shop, run):
    Path("orders.csv").write_text(content)
    done = run("match", "orders", "orders.csv", *MONTH)
    assert done.code == 2 and why in done.err and len(done.err.strip().splitlines()) == 1


def test_a_file_that_is_no_text_is_refused_and_its_bytes_are_not_guessed(shop, run):
    """0x81 is a letter of neither encoding: a key with it would be another key."""
    Path("orders.csv").write_bytes(HEAD.encode() + b"A-\x81,2026-10-05,paid,usdt,1\n")
    done = run("match", "orders", "orders.csv", *MONTH)
    assert done.code == 2 and "is no text in UTF-8" in done.err


@pytest.mark.parametrize("status", ["paid", "refunded", "cancelled"])
def test_an_order_without_a_total_is_refused(shop, run, status):
    """What it was to pay is unknown, and not nothing; of one that nobody paid, nothing is asked."""
    Path("orders.csv").write_text(f"{HEAD}A-1,2026-10-05,{status},usdt,\n")
    done = run("match", "orders", "orders.csv", *MONTH)
    assert done.code == 2 and "line 2" in done.err and "no total" in done.err


def test_init_writes_a_file_that_is_read(shop, run):
    """Commented, from the list's own headings; it is not written twice."""
    assert run("match", "orders", "orders.csv", "--init").code == 0
    assert 'key = ["Order ID"]' in Path("data/match.toml").read_text()
    assert run("match", "orders", "orders.csv", *MONTH).code == 3
    assert run("match", "orders", "orders.csv", "--init").code == 2
    assert run("match", "payouts", "orders.csv", "--init").code == 0


def test_a_tolerance_has_a_line_of_its_own(shop, run):
    """What it bridges stays on both sides: nothing is lost in it."""
    row = shop.orders[0]
    before = json.loads(run("match", "orders", "orders.csv", *MONTH, "--json").out)
    Path("a.csv").write_text(
        Path("orders.csv").read_text().replace(row["Total"], f"{row['Total']}1")
    )
    within = run("match", "orders", "a.csv", *MONTH, "--json", "--within", "0.00001")
    said = json.loads(within.out)
    assert said["ours"] == before["ours"] and said["within"] == "0.00001"
    assert said["by"]["within"]["count"] == 1


@pytest.mark.parametrize("text", ["", "[]", '{"open_rows": []}', "[" * 99999])
def test_what_is_no_saved_match_is_told_in_one_line(shop, run, text):
    run("match", "orders", "orders.csv", *MONTH, "--out", "m")
    Path("m/match.json").write_text(text)
    done = run("match", "orders", "orders.csv", *MONTH, "--out", "m")
    assert done.code == 2 and "m/match.json is no match that was saved: move it" in done.err


def test_a_match_that_was_saved_tells_what_was_settled_since(shop, run):
    """It names the digest of each of its files; a row that a person explained is not open."""
    run("match", "orders", "orders.csv", *MONTH, "--out", "m")
    saved = json.loads(Path("m/match.json").read_text())
    assert saved["files"]["rows.csv"] == sha256(Path("m/rows.csv").read_bytes()).hexdigest()
    assert saved["columns"]["key"] == ["Order ID"] and saved["zone"] == "UTC"
    _, key, _ = next(row for row in saved["open_rows"] if row[0] == "no_payment")
    say = ("--known", key, "--reason", "paid in cash", "--by", "Ana")
    done = run("match", "orders", "orders.csv", *MONTH, *say, "--out", "m", "--csv")
    assert "1 settled, 0 new" in done.err and "paid in cash (Ana, " in done.out
    nobody = ("--known", "nobody", "--reason", "why", "--by", "me")
    assert run("match", "orders", "orders.csv", *MONTH, *nobody).code == 2


# ---------- saved matches as evidence: what of them is checked, and what a package takes along


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
