"""How a list is read: whatever Excel writes, each cell in one way, or refused by its line."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.matching.headings import find_headings, starter
from svc_analytics.matching.list_file import read_list
from svc_analytics.matching.matcher import Asked, Matcher, steps_of
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.seeded_shops import MONTH, write_lake

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
