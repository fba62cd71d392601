"""`books` from the command line, at the close desk on two sealed months, and as a form of one."""

import json
import time
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import svc_analytics as svc
from svc_analytics.books.accounts import parse_accounts, read_accounts, starter
from svc_analytics.books.export import BooksSource, make_books
from svc_analytics.closing.stated import statement
from svc_analytics.closing.verification.verify import verify_statement
from svc_analytics.config import Settings
from svc_analytics.errors import PeriodNotClosed
from svc_analytics.external_rates import ExternalRate, ExternalRates
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.notebook.desk.panel import Judging, Panel
from svc_analytics.periods import month
from tests.support.closings import Closer
from tests.support.importers import IMPORTERS
from tests.support.ledgers import read_ledger
from tests.support.sealed_months import closer_at
from tests.support.seeded_books import SCHEMA, accounts, summary


def test_a_sealed_month_is_written_for_a_system(run, books_lake):
    """Its day of a payout, by hand: 1 eth of 2,600 USD, and a fee of 0.01 eth."""
    done = run("books", "2026-10", "--preset", "qbo")
    assert done.code == 0 and "1 record without a price" in done.err
    content = (books_lake / "books" / "2026-10.qbo.csv").read_bytes()
    assert content.decode().splitlines()[-3:] == [
        'SVC-2026-10-09,10/09/2026,2100,2600.00,,"Payouts: 1 payout, 1 eth"',
        'SVC-2026-10-09,10/09/2026,6110,26.00,,"Payout fees: 1 payout, 0.01 eth"',
        'SVC-2026-10-09,10/09/2026,1510,,2626.00,"Wallet: 1 movement, -1.01 eth"',
    ]
    assert len(IMPORTERS["qbo"](content)) == 4
    lists = {path.name for path in (books_lake / "books").iterdir()}
    assert lists >= {"2026-10.qbo.unpriced.csv", "2026-10.qbo.roll-forward.csv"}


def test_the_roll_forward_leads_from_the_opening_to_the_closing(run, books_lake):
    """0.495 btc and 0.25 more, less 0.1 and a fee of 0.0025 that the customer bears.

    0.495 at September's 62,001 USD are 30,690.495; at 61,000 what is left is 39,192.50.
    """
    run("books", "2026-10", "--preset", "csv")
    rows = (books_lake / "books" / "2026-10.csv.roll-forward.csv").read_text().splitlines()
    [btc] = [row for row in rows if row.startswith("btc,")]
    assert btc == (
        "btc,USD,0.495,0.25,-0.1,0,-0.0025,0.6425,16000,-6100,0,-160,0,"
        "61000,2026-10-07T08:00:00+00:00,39192.5,-742.5,30690.495,-1237.995,recorded"
    )


@pytest.mark.parametrize(
    ("places", "worth"),
    [(None, "25000,6000,recorded"), (2, "20000,4800,external"), ("no trend", ",,recorded")],
)
def test_what_other_prices_made_of_a_position_is_named(places, worth):
    """0.5 coins of 25,000 USD and 0.2 for 11,000 are worth 42,000 later; 1 USD is 0.80 EUR.

    Months that were sealed before a statement had a trend name no worth of the month before.
    """
    line = {"entry_id": "payment:1", "kind": "payment", "currency": "btc", "fee": Decimal(0)}
    line |= {"gross": Decimal("0.2"), "net": Decimal("0.2"), "usd_value": Decimal(11000)}
    lines = pa.Table.from_pylist([line | {"occurred_at_local": datetime(2026, 10, 5)}], SCHEMA)
    end = {"currency": "btc", "implied_rate": Decimal(60000)}
    end |= {"opening_position": Decimal("0.5"), "closing_position": Decimal("0.7")}
    before = {"month": "2026-09", "currency": "btc", "usd_exposure": Decimal(25000)}
    tables = {"lines": lines, "summary": summary([end]), "trend": pa.Table.from_pylist([before])}
    if places == "no trend":
        places = tables.pop("trend") and None
    days = [date(2026, 9, 30), date(2026, 10, 5), date(2026, 10, 31)]
    by_day = {day: ExternalRate(day, "EUR", Decimal("0.8"), "ECB") for day in days}
    rates = None if places is None else ExternalRates("EUR", places, by_day)
    [row] = make_books(BooksSource(month("2026-10"), tables, 0), accounts(), rates=rates).roll
    assert ",".join(row.values()).endswith(worth)


def test_what_a_file_has_no_place_for_is_said(run, books_lake):
    """Odoo's file has neither tax codes nor tracking; QuickBooks tracks a class, and no shop."""
    more = '[tax]\nsales = "T0"\n[tracking]\nClass = "A"\nShop = "B"\n[odoo]\njournal = "Misc"\n'
    (books_lake / "books.toml").write_text(f"{starter()}\n{more}", encoding="utf-8")
    odoo, qbo, csv = (run("books", "2026-10", "--preset", name) for name in ("odoo", "qbo", "csv"))
    assert "the code of sales in [tax], Class in [tracking], Shop in [tracking]:" in odoo.err
    assert "QuickBooks Online has no place for the code of sales in [tax], Shop in" in qbo.err
    assert "has no place" not in csv.err


def test_changing_the_accounts_changes_no_seal(run, books_lake):
    """The entries go elsewhere; the sealed folder is the same, byte for byte."""
    folder = books_lake / "statements" / "2026-10"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    run("books", "2026-10", "--preset", "csv")
    chart = books_lake / "books.toml"
    chart.write_text(starter().replace('"4000"', '"4711"'), encoding="utf-8")
    run("books", "2026-10", "--preset", "csv")
    assert ",4711," in (books_lake / "books" / "2026-10.csv.csv").read_text(encoding="utf-8")
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_check_names_what_has_no_account(run, books_lake):
    """And the line to write; a person should look."""
    text = starter().replace('eth = "intangible"', "", 1).replace('refunds = "4090"', "", 1)
    (books_lake / "books.toml").write_text(text, encoding="utf-8")
    done = run("books", "2026-10", "--check")
    assert done.code == 3 and done.out.splitlines() == [
        'no account for refunds: write refunds = "ACCOUNT" below [accounts]',
        'no account for the wallet of eth: write eth = "cash", "intangible" or "other" in [coins]',
        "no system was asked: give --preset too to check what it takes",
    ]
    assert run("books", "2026-10", "--preset", "csv").code == 2


def test_a_check_for_a_system_names_what_it_would_refuse(run, books_lake):
    """Then the entries themselves: in a currency, each day needs a rate."""
    chart = starter().replace('"4000"', '"40-00 Sales"').replace('"USD"', '"EUR"')
    (books_lake / "books.toml").write_text(chart, encoding="utf-8")
    assert run("books", "2026-10", "--check").code == 0
    refused = run("books", "2026-10", "--check", "--preset", "odoo")
    assert refused.code == 3 and "line 10: accounts.sales cannot be '40-00" in refused.out
    assert 'write journal below [odoo], as journal = "Misc' in refused.out
    rateless = run("books", "2026-10", "--check", "--preset", "csv")
    assert rateless.code == 3 and "books.toml, line 6 asks for EUR" in rateless.out
    (books_lake / "books.toml").write_text(starter(), encoding="utf-8")
    taken = run("books", "2026-10", "--check", "--preset", "csv")
    assert taken.code == 0 and taken.out.endswith("a plain CSV takes the entries\n")


NEW_COINS = """
 kind    currency amount fee at               of usd_value fee_bearer
 payment ada      40     0   2026-10-06T09:00    40        merchant
 payment طلا      40     0   2026-10-06T09:00    40        merchant
 payment a_b      40     0   2026-10-06T09:00    40        merchant
"""


def test_a_chart_that_is_there_is_not_written_over(run, books_lake):
    """A first one is."""
    assert run("books", "--init").code == 2
    (books_lake / "books.toml").unlink()
    assert run("books", "--init").code == 0
    chart = read_accounts(books_lake / "books.toml")
    assert chart.coins == {"btc": "intangible", "eth": "intangible", "usdt": "cash"}
    assert chart.accounts == parse_accounts(starter()).accounts


def test_a_first_chart_lists_the_coins_of_the_lake(run, books_lake):
    """Whose class nobody knows is for the merchant to fill in: until then it is missing."""
    closer = closer_at(books_lake)
    payments = read_ledger(NEW_COINS, first=50)[0]
    payments[-1]["currency"] = "a b"
    closer.desk.service.payments += payments
    closer.desk.extract(rereads=True)
    (books_lake / "books.toml").unlink()
    done = run("books", "--init", "--json")
    assert json.loads(done.out)["unknown"] == ["a b", "ada", "طلا"]
    text = (books_lake / "books.toml").read_text(encoding="utf-8")
    for name in ("ada", '"a b"', '"طلا"'):
        assert f'\n# {name} = ""  # cash, intangible or other: fill it in\n' in text
    assert "sol" not in read_accounts(books_lake / "books.toml").coins
    done = run("books", "2026-10", "--check", "--provisional")
    assert done.code == 3 or "first restate it" in done.err
    filled = text.replace('# ada = ""', 'ada = "other"').replace('# "', '"')
    chart = parse_accounts(filled.replace(' = ""', ' = "other"'))
    assert {"ada", "a b", "طلا"} < {*chart.coins}


def test_a_first_chart_of_a_lake_without_records_has_examples(run, desk, monkeypatch):
    """Nobody knows yet which coins will come."""
    desk.extract()
    monkeypatch.setenv("SVC_DATA_DIR", str(desk.lake.path))
    assert run("books", "--init").code == 0
    assert (desk.lake.path / "books.toml").read_text(encoding="utf-8") == starter()


def test_a_provisional_month_is_refused_unless_it_is_named(run, books_lake, monkeypatch):
    """November was never read to its end; it is looked at twice at one instant."""
    at = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: at)
    done = run("books", "2026-11", "--preset", "csv")
    assert done.code == 1 and "2026-11 is provisional" in done.err
    assert run("books", "2026-11", "--preset", "csv", "--provisional").code == 0


def test_what_was_imported_is_noted_and_written_again_the_same(run, books_lake):
    """Twice is as good as once."""
    words = ("books", "2026-10", "--preset", "odoo", "--booked")
    chart = f'{starter()}\n[odoo]\njournal = "Miscellaneous Operations"\n'
    (books_lake / "books.toml").write_text(chart, encoding="utf-8")
    assert run(*words).code == 0
    first = (books_lake / "books" / "2026-10.odoo.csv").read_bytes()
    noted = (books_lake / "books" / "booked.json").read_bytes()
    assert run(*words).code == 0
    assert (books_lake / "books" / "2026-10.odoo.csv").read_bytes() == first
    assert (books_lake / "books" / "booked.json").read_bytes() == noted
    assert len(json.loads(noted)["2026-10"][0]["entries"]) == 4


def test_books_in_another_currency_name_each_rate(run, books_lake):
    """A day without one is refused; then 2,600 USD are 2,392 EUR."""
    text = starter().replace('"USD"', '"EUR"')
    (books_lake / "books.toml").write_text(text, encoding="utf-8")
    days = [f"2026-10-{day:02},EUR,0.92,ECB" for day in (1, 7, 8)]
    rates = books_lake / "rates.csv"
    rates.write_text("\n".join(["date,currency,rate,source", *days, ""]), encoding="utf-8")
    done = run("books", "2026-10", "--preset", "csv")
    assert done.code == 2 and "no rate of EUR for 2026-10-09" in done.err
    rates.write_text(rates.read_text() + "2026-10-09,EUR,0.92,ECB\n", encoding="utf-8")
    assert run("books", "2026-10", "--preset", "csv").code == 0
    written = (books_lake / "books" / "2026-10.csv.csv").read_text(encoding="utf-8")
    assert ",2100,2392.00,,EUR," in written
    assert "external rate 1 USD = 0.92 EUR on 2026-10-09 (ECB)" in written
    assert len((books_lake / "books" / "2026-10.csv.rates.csv").read_text().splitlines()) == 5


# ---------- at the close desk, the entries are shown before a file is written


@pytest.fixture
def panel(books_lake, monkeypatch) -> Panel:
    """The desk at October; what its tiles say of the months is nothing to books."""
    monkeypatch.setattr(Judging, "start", lambda judging: None)
    panel = Panel(svc.desk(Lakehouse(books_lake))._months, lambda: None)
    panel.choose("2026-10")
    return panel


def test_entries_are_shown_with_a_balance_of_zero_before_they_are_written(panel, books_lake):
    """Four entries of October; then the file, and what to do before the import."""
    books, file = panel.books, books_lake / "books" / "2026-10.qbo.csv"
    assert books.write.disabled
    books.look.click()
    assert books.entries.value.count("balance 0.00") == 4
    assert "entries: 4; records without a price, which none holds: 1" in books.message.value
    assert not books.write.disabled and not file.exists()
    books.write.click()
    assert str(file) in books.message.value and "turn account numbers off" in books.message.value
    assert file.exists()


def test_a_lake_without_a_chart_of_accounts_says_how_to_begin_one(panel, books_lake):
    """Nothing is written."""
    (books_lake / "books.toml").unlink()
    panel.books.look.click()
    assert "svc-analytics books --init" in panel.books.message.value and panel.books.write.disabled


def test_a_month_that_is_not_sealed_has_no_books_at_the_desk(panel):
    """And what was shown of another month is gone."""
    panel.books.look.click()
    panel.choose(panel._desk.tiles[-1].label)
    shown = panel._desk.tile
    assert shown.is_sealed or panel.books.box.layout.display == "none"
    assert panel.books.entries.value == "" and panel.books.write.disabled


# ---------- the form `books`: a file of a final month that rests on the statement alone


LEDGER = """
 kind     currency  amount  fee   at                of  usd_value  fee_bearer
 payment  usdt      100     1     2026-10-05T08:00      100.005    merchant
 payment  btc       2       0.02  2026-10-05T09:00      130000     merchant
 payment  usdt      10      0     2026-10-06T09:00                 merchant
 payout   usdt      50      0.5   2026-10-09T08:00      50
"""


@pytest.fixture
def closer(desk) -> Closer:
    closer = Closer(desk)
    closer.serve(LEDGER)
    return closer


def test_a_sealed_month_holds_its_books_and_they_are_made_again(closer):
    """By hand: 130,100.005 USD are 130,100.00 in the day's entry, and 130,100.01 in the month."""
    done = closer.close("2026-10", formats=("csv", "books"))
    found = IMPORTERS["csv"]((done.folder / "books.csv").read_bytes())
    assert [dict(each.lines) for each in found] == [
        {
            "Sales": Decimal("-130100.00"),
            "Payment fees": Decimal("1301.00"),
            "Wallet btc": Decimal("128700.00"),
            "Wallet usdt": Decimal("99.00"),
        },
        {
            "Payouts": Decimal("50.00"),
            "Payout fees": Decimal("0.50"),
            "Wallet usdt": Decimal("-50.50"),
        },
        {"Sales": Decimal("-0.01"), "Rounding": Decimal("0.01")},
    ]
    assert verify_statement(done.folder).holds


def test_a_provisional_month_has_no_books(closer, tmp_path):
    """A close that cannot seal writes the statement without them: payouts were never read.

    Asked for by themselves they are refused, and nothing is written.
    """
    desk = closer.desk
    desk.settings = Settings(desk.settings.base_url, desk.settings.checkout_key)
    done = closer.close("2026-10", formats=("csv", "books"))
    assert done.state == "provisional"
    assert (done.folder / "summary.csv").exists() and not (done.folder / "books.csv").exists()
    with pytest.raises(
        PeriodNotClosed, match="books can be written only for a month that is final"
    ):
        statement(desk.lake, "2026-10").save(tmp_path / "out", ["books"])
    assert not (tmp_path / "out").exists()
