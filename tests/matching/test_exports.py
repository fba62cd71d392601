"""Exports as real programs write them: titles above, several rows a thing, types of movements."""

import random
from decimal import Decimal
from pathlib import Path

import pytest

import svc_analytics as svc
from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY
from tests.support.seeded_shops import MONTH, payment_of, record_of, write_lake

SHOPS = {
    "WooCommerce, suite": "order_id,order_number,date,status,order_total,order_currency\n"
    "9,A-1,2026-10-05 10:00:00,processing,1250.5,USDT",
    "WooCommerce, with a # and the total in each row": "Order Number,Order Status,Order Date,"
    "Order Total Amount,Order Currency,Paid Date,Item\n#A-1,wc-completed,10/25/2026,"
    '"1,250.50",USDT,10/25/2026,Tea\n#A-1,wc-completed,10/25/2026,"1,250.50",USDT,10/25/2026,Mug',
    "Shopify, two rows of an order": "Name,Financial Status,Paid at,Currency,Total,Created at,"
    "Lineitem name\n#A-1,paid,2026-10-05 10:00:00 +0000,USDT,1250.50,"
    "2026-10-05 10:00:00 +0000,Tea\n#A-1,,,,,2026-10-05 10:00:00 +0000,Mug",
    "Magento, the coin in the amount": "ID,Purchase Date,Grand Total (Base),"
    'Grand Total (Purchased),Status\nA-1,"Oct 5, 2026 10:00:00 AM",$1251,"USDT 1,250.50",complete',
    "Excel in Germany": "sep=;\nOrder ID;Date;Status;Currency;Total\n"
    "a-1;05.10.2026;paid;USDT;1.250,50",
}
EXCHANGES = {
    "Kraken, a deposit in two rows": '"txid","refid","time","type","asset","amount","fee"\n'
    '"","F1","2026-10-05 09:00:00","deposit","XXBT","2.5000000000","0"\n'
    '"L1","F1","2026-10-05 10:00:00","deposit","XXBT","2.5000000000","0"\n'
    '"L2","F2","2026-10-05 10:00:00","margin trade","XXBT","-2.5000000000","0"',
    "Binance": "Time,Coin,Network,Amount,Address,TXID,Status\n"
    "26-10-05 10:00:00,BTC,BTC,2.5,bc1,0xabc,Completed",
    "Coinbase": "Transactions\nUser,Ana,77\nID,Timestamp,Transaction Type,Asset,"
    "Quantity Transacted,Notes\n5f1,2026-10-05 10:00:00 UTC,Receive,BTC,2.5,\n"
    "5f2,2026-10-05 10:00:00 UTC,Sell,BTC,-2.5,",
    "Bitstamp": "ID,Account,Type,Subtype,Datetime,Amount,Amount currency,Fee\n"
    "7,Main,Deposit,,2026-10-05T10:00:00Z,2.5,BTC,0\n8,Main,Market,Sell,2026-10-05T10:00:00Z,1,BTC,1",
    "a bank": "Date,Description,Amount,Currency\n25/10/2026,REF out/77,2.50,BTC\n"
    "26/10/2026,RENT,-2.50,BTC",
}


def matched(folder: Path, kind: str, text: str, payments=(), records=()) -> dict[str, int]:
    lake = write_lake(folder / "lake", list(payments), list(records))
    (folder / "list.csv").write_text(text)
    both = svc.match(lake, kind, folder / "list.csv", month="2026-10")
    return {code: each["count"] for code, each in both.by.items()}


@pytest.mark.parametrize("text", SHOPS.values(), ids=SHOPS)
def test_what_a_shop_exports_is_read(text, tmp_path):
    rng = random.Random(1)
    paid = payment_of(rng, "usdt", Decimal("1250.5"), MONTH.start + 4 * DAY)
    assert matched(tmp_path, "orders", text, [paid | {"reference_id": "A-1"}]) == {"agreed": 1}


@pytest.mark.parametrize("text", EXCHANGES.values(), ids=EXCHANGES)
def test_what_an_exchange_or_a_bank_exports_is_read(text, tmp_path):
    """What is no arrival counts nowhere: another kind of movement, an amount that left."""
    sent = record_of(random.Random(1), "payout", "btc", Decimal("2.5"), MONTH.start + 4 * DAY)
    records = [sent | {"reference_id": "out/77"}]
    assert matched(tmp_path, "payouts", text, records=records) == {"agreed": 1}


def test_an_arrival_that_went_back_is_no_arrival(tmp_path):
    """What left counts where it has the payout's key: together nothing arrived."""
    sent = record_of(random.Random(1), "payout", "btc", Decimal("2.5"), MONTH.start + 4 * DAY)
    text = "Date,Reference,Amount,Coin\n2026-10-05,out-7,2.5,BTC\n2026-10-06,out-7,-2.5,BTC"
    records = [sent | {"reference_id": "out-7"}]
    assert matched(tmp_path, "payouts", text, records=records) == {"other_amount": 1}


def test_capitals_make_no_difference_where_one_key_is_meant(tmp_path):
    """Where two things have the key in other capitals, neither is taken for the other."""
    paid = payment_of(random.Random(1), "usdt", Decimal(5), MONTH.start + 4 * DAY)
    head, row = "Order ID,Date,Status,Currency,Total", "2026-10-05,paid,usdt,5"
    one = [paid | {"reference_id": "inv-a"}, paid | {"id": "2", "reference_id": "b"}]
    text = f"{head}\nINV-A,{row}\nb,{row}"
    assert matched(tmp_path / "one", "orders", text, one) == {"agreed": 2}
    more = paid | {"id": "3", "amount": Decimal(7), "reference_id": "c"}
    text = f"{head},Session ID\nINV-A,{row},{more['session_id']}\nb,{row},"
    both = matched(tmp_path / "more", "orders", text, [one[0], one[1] | {"session_id": "s"}, more])
    assert both == {"agreed": 1, "over": 1}
    text = f"{head}\nINV-A,{row}\nb,{row}"
    two = [*one, paid | {"id": "3", "reference_id": "Inv-a"}]
    both = matched(tmp_path / "two", "orders", text, two)
    assert both == {"agreed": 1, "no_payment": 1, "no_order": 2}


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ("A-1,2026-10-05,paid,usdt,1.2E+05", "'1.2E\\+05' was cut short by a spreadsheet"),
        ("1.23457E+15,2026-10-05,paid,usdt,1", "'1.23457E\\+15' was a longer key"),
        ("A-1,2026-10-05,paid,usdt,(5.00)", "a total below zero: a refund is no order"),
        ("A-1,2026-10-05,paid,usdt,€5", "an amount in eur and usdt"),
        ("A-1,05/10/26,paid,usdt,5", "'05/10/26' has a year of two digits"),
        ("A-1,46300,paid,usdt,5", "'46300' is no day: format the column as dates"),
        ("A-1,2026-10-05,paid,usdt,12 34", "'12 34' is no amount"),
        ("A-1,2026-10-05,paid,,5", "no currency: say in match.toml"),
        ('"A-1,2026-10-05,paid,usdt,5', "no CSV: unexpected end of data"),
        ("Totals:,,,,5", "'Totals:' is a row of totals: take it away"),
    ],
)
def test_what_a_spreadsheet_spoils_is_refused_by_its_line(cells, why, tmp_path):
    text = f"Order ID,Date,Status,Currency,Total\n{cells}\n"
    with pytest.raises(ConfigError, match=rf"^list\.csv, line 2: .*{why}"):
        matched(tmp_path, "orders", text)
