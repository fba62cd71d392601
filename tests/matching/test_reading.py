"""How a list of Excel or of a real program is read: cell by cell, or refused by its line."""

import random
from datetime import date
from decimal import Decimal
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

import svc_analytics as svc
from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY
from svc_analytics.matching.headings import find_headings, starter
from svc_analytics.matching.list_file import read_list
from svc_analytics.matching.matcher import Asked, Matcher, steps_of
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.seeded_shops import MONTH, payment_of, record_of, write_lake

HEAD = ["Order ID", "Date", "Status", "Currency", "Total"]
ROW = ["1001", "2026-10-05", "paid", "USDT", "12.50"]
READ = [{"line": 2, "day": date(2026, 10, 5), "coin": "usdt", "amount": Decimal("12.5")}]


@pytest.fixture
def read(tmp_path):
    """The rows of a list as the queries read them."""

    def read(source, kind: str = "orders") -> list[dict]:
        lake = write_lake(tmp_path / "lake", [], [])
        theirs = read_list(source)
        headings = find_headings(kind, theirs.headings, tmp_path, theirs.name)
        with open_warehouse(lake, frozenset()) as warehouse:
            Matcher(warehouse, Asked(kind, MONTH), theirs, headings, {}).make(steps_of("list"))
            return warehouse.query(
                f"select {', '.join(READ[0])} from list order by row"
            ).to_pylist()

    return read


@pytest.fixture
def csv(tmp_path):
    def write(*rows: list[str], separator: str = ",", encoding: str = "utf-8") -> Path:
        path = tmp_path / "orders.csv"
        lines = [separator.join(f'"{x}"' if separator in x else x for x in row) for row in rows]
        path.write_bytes("\r\n".join(lines).encode(encoding))
        return path

    return write


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_each_separator_and_encoding_of_excel_is_read(separator, encoding, csv, read):
    note = "né" if encoding == "cp1252" else "ÿ سفارش"
    path = csv([*HEAD, "Note"], [*ROW, note], separator=separator, encoding=encoding)
    assert read(path) == READ


@pytest.mark.parametrize("amount", ["Infinity", "1E-19"])
def test_a_decimal_of_a_frame_that_is_no_amount_is_named_by_its_line(amount, read):
    """Also where pandas or Arrow would widen the whole column for it: line 1 is right."""
    frame = pd.DataFrame([ROW, ROW], columns=HEAD).assign(Total=[Decimal("1.5"), Decimal(amount)])
    with pytest.raises(ConfigError, match="the frame, line 2: "):
        read(frame)


def test_a_workbook_a_parquet_file_and_frames_are_read(tmp_path, read):
    """A number of a spreadsheet by its shortest text."""
    book = openpyxl.Workbook()
    book.active.append(HEAD)
    book.active.append([1001, date(2026, 10, 5), "paid", "USDT", 12.5])
    book.save(tmp_path / "a.xlsx")
    frame = pd.DataFrame([ROW], columns=HEAD)
    frame.to_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.xlsx") == READ
    for source in (tmp_path / "a.parquet", frame, pa.Table.from_pandas(frame)):
        assert read(source) == [READ[0] | {"line": 1}]
    mixed = pd.DataFrame(
        [[*ROW, "a", "b"], [7, *ROW[1:], "a", "b"]], columns=[*HEAD, "Note", "Note"]
    )
    assert [row["amount"] for row in read(mixed)] == [Decimal("12.5")] * 2


def total_of(csv, read, *totals: str) -> list[Decimal]:
    return [row["amount"] for row in read(csv(HEAD, *([*ROW[:4], each] for each in totals)))]


@pytest.mark.parametrize(
    ("totals", "amounts"),
    [
        (["1,234.50"], ["1234.5"]),
        (["1.234,50"], ["1234.5"]),
        (["0.125", "1.234"], ["0.125", "1.234"]),
        (["12,5", "1.234"], ["12.5", "1234"]),
        (["1'234.50 "], ["1234.5"]),
        (["12.50 USDT", "usdt 7"], ["12.5", "7"]),
        (["۱۲٫۵"], ["12.5"]),
        (["1234", "10000.123"], ["1234", "10000.123"]),
        (["0.000000000000000001"], ["0.000000000000000001"]),
        (["12.500000000000000000000000"], ["12.5"]),
    ],
)
def test_an_amount_is_what_its_column_says(totals, amounts, csv, read):
    assert total_of(csv, read, *totals) == list(map(Decimal, amounts))


@pytest.mark.parametrize("coin", ["1inch", "usdt-trc20", "usdc.e", "xyz_new", "سکه"])
def test_a_coin_with_digits_and_dashes_in_its_name_stands_beside_an_amount(coin, csv, read):
    """Before or behind it, in capitals too."""
    texts = [f"{coin} 2908.3", f"{coin.upper()} +2'908.30", f"2 908.3 {coin}"]
    rows = read(csv(HEAD, *([*ROW[:3], "", each] for each in texts)))
    assert [(row["coin"], row["amount"]) for row in rows] == [(coin, Decimal("2908.3"))] * 3


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (["1", "2026-10-05", "paid", "usdt", "12 345 6USD"], "an amount in 6usd"),
        (["1", "2026-10-05", "paid", "usdt", "1.234"], "can be read in two ways"),
        (["1", "2026-10-05", "paid", "usdt", "1,234"], "can be read in two ways"),
        (["1", "2026-10-05", "paid", "usdt", "12.50 BTC"], "an amount in btc and usdt"),
        (["1", "2026-10-05", "paid", "usdt", "twelve"], "is no amount"),
        (["1", "2026-10-05", "paid", "usdt", "1e3"], "'1e3' was cut short"),
        (["1", "03/04/2026", "paid", "usdt", "1"], "can be two days"),
        (["1", "2026-13-05", "paid", "usdt", "1"], "is no day"),
        (["1", "2026-10-05 25:10Z", "paid", "usdt", "1"], "is no day"),
        (["1", "2026-10-05 - 2026-11-07", "paid", "usdt", "1"], "is no day"),
        (
            ["1", "2026-10-05 23:30 EST", "paid", "usdt", "1"],
            r"its zone is no offset such as \+02:00",
        ),
        (["1", "2026-10-05", "sideways", "usdt", "1"], "'sideways' is no status that is known"),
        (["Total", "", "", "", "12.50"], "is a row of totals"),
        (["1", "2026-10-05", "paid", "usdt", "1", "2"], "6 cells, and 5 headings"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_by_its_line(row, why, csv, read):
    with pytest.raises(ConfigError, match=rf"orders\.csv, line 3: .*{why}"):
        read(csv(HEAD, [*ROW[:4], "12"], row))


@pytest.mark.parametrize(
    ("days", "first"),
    [
        (["03/10/2026", "25/10/2026"], date(2026, 10, 3)),
        (["10/03/2026", "10/25/2026"], date(2026, 10, 3)),
        (["03.10.2026"], date(2026, 10, 3)),
        (["2026-09-30T23:30:00-04:00"], date(2026, 10, 1)),
        (["2026-10-31 23:30:00 +0330"], date(2026, 10, 31)),
        (["09/30/2026 23:30 -0400"], date(2026, 10, 1)),
        (["Oct 3, 2026", "5 Oct 2026 10:00"], date(2026, 10, 3)),
        (["1405/07/11"], date(2026, 10, 3)),
        (["2026-10-02 23:30:00-04", "2026-10-05 01:00:00.5+03"], date(2026, 10, 3)),
        (["10/02/2026 11:30 PM -0400", "10/25/2026 9:30 AM -0400"], date(2026, 10, 3)),
        (["10/03/2026 12:30 AM +0100", "10/25/2026 12:30 PM UTC"], date(2026, 10, 2)),
        (["Oct. 03, 2026, 02:37 PM"], date(2026, 10, 3)),
    ],
)
def test_a_day_is_what_its_column_says(days, first, csv, read):
    rows = ([ROW[0], day, *ROW[2:]] for day in days)
    assert read(csv(HEAD, *rows))[0]["day"] == first


@pytest.mark.parametrize("totals", [("12.50", "0,125"), ("0,125", "12.50")])
def test_a_column_with_two_signs_before_decimals_is_refused(totals, csv, read):
    """0,125 is no 125, whichever stands first."""
    with pytest.raises(ConfigError, match=r"line 2: .* can be read in two ways"):
        total_of(csv, read, *totals)


def test_a_number_with_more_digits_than_a_spreadsheet_holds_is_refused(read):
    frame = pd.DataFrame([[*ROW[:4], 0.1 + 0.2]], columns=HEAD)
    with pytest.raises(ConfigError, match=r"line 1: .* more digits than a number"):
        read(frame)


def test_what_is_not_known_is_asked_for_and_a_person_says_it(tmp_path, csv, read):
    """`--init` writes what is known of the file's own headings, to be completed."""
    path = csv(["Vorgang", "Datum", "Betrag"], ["A-1", "05.10.2026", "1.234"])
    with pytest.raises(ConfigError, match=r"which column is key .* which column is amount"):
        read(path)
    assert '# amount = ""' in starter("orders", ["Vorgang"])
    said = 'key = ["Vorgang"]\namount = "Betrag"\nday = "Datum"\ncoin = "usdt"\ndecimal = ","\n'
    (tmp_path / "match.toml").write_text(f"[orders]\n{said}")
    assert read(path)[0]["amount"] == Decimal(1234)


def test_two_columns_that_may_be_meant_are_asked_for(csv, read):
    with pytest.raises(ConfigError, match="is amount Total or Amount"):
        read(csv([*HEAD, "Amount"], [*ROW, "1"]))


# ---------- exports of real programs: titles above, several rows a thing, types of movements


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
