"""`match`: exit codes, one line for what is no list of theirs, evidence, and what is known."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.seeded_shops import Shop, write_lake

MONTH = ("--month", "2026-10")
HEAD = "Order ID,Date,Status,Currency,Total\n"


@pytest.fixture
def shop(tmp_path, monkeypatch) -> Shop:
    """A shop in ./data with its list in orders.csv."""
    monkeypatch.chdir(tmp_path)
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


def test_what_agrees_ends_with_0(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    shop = Shop(1)
    shop.records = []
    shop.payments = [each for each in shop.payments if "2026-10" in month_of(each)]
    shop.lake(Path("data"))
    Path("a.csv").write_text(agreeing(shop))
    done = run("match", "orders", "a.csv", *MONTH)
    assert done.code == 0 and "open row" not in done.out


def test_what_agrees_with_a_month_that_was_not_read_whole_ends_with_3(tmp_path, monkeypatch, run):
    """Without payout records no refund is known: to agree would say more than was compared."""
    monkeypatch.chdir(tmp_path)
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
