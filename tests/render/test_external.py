"""A statement's USD in another currency: reckoned a second time, of all rows, with fractions."""

import random
import re
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import openpyxl
import pytest

from svc_analytics import ConfigError, DataError, Statement
from svc_analytics.external_rates import ExternalRate, ExternalRates, read_rates
from svc_analytics.instants import from_micros
from svc_analytics.money import format_amount
from svc_analytics.render.external import FIGURES, MOVED, WORTH, convert
from svc_analytics.render.summary_page import SummaryPage
from svc_analytics.warehouse.figures import label_of
from tests.support.full_scan.rows import Books, Entry
from tests.support.full_scan.values import share
from tests.support.seeded_lakes import make_seeded_lake, state

EUR = """date,currency,rate,source
2026-09-30,EUR,0.5,ECB
2026-10-01,EUR,0.8,ECB
2026-10-05,EUR,0.9,ECB
2026-10-07,EUR,0.7,ECB
2026-10-09,EUR,0.98,ECB
2026-10-10,EUR,0.85,"ECB, by phone"
2026-10-31,EUR,0.6,ECB
"""


@pytest.fixture
def rates(tmp_path) -> Path:
    """A file with the days on which something moves, and those of the positions."""
    path = tmp_path / "rates.csv"
    path.write_text(EUR)
    return path


def amounts_of(statement: Statement) -> dict[tuple[str, str], Decimal]:
    return {**statement.external.amounts}


def test_what_moved_is_taken_at_the_rate_of_its_day(make, rates):
    """2 btc were sold for 130,000 USD on the first, less a fee of 1 %; 0.5 went back on the 7th."""
    amounts = amounts_of(make().in_currency("EUR", rates))
    assert amounts["btc", "usd_gross"] == Decimal("104000")  # 130000 * 0.8
    assert amounts["btc", "usd_fees"] == Decimal("1040")
    assert amounts["btc", "usd_net_sales"] == Decimal("102960")
    assert amounts["btc", "usd_refunds"] == Decimal("22400")  # 32000 * 0.7
    assert amounts["sol", "usd_payouts"] == Decimal("1190")  # 1400 * 0.85
    assert amounts["usdt", "usd_payouts"] == Decimal("49")


def test_a_position_is_taken_at_the_rate_of_the_day_that_it_closes(make, rates):
    """2.95 btc at 64,000 USD on 31 October; 1.47 btc at 60,000 on the last day before."""
    statement = make().in_currency("EUR", rates)
    assert amounts_of(statement)["btc", WORTH] == Decimal("113280")  # 188800 * 0.6
    assert statement.external and statement.external.opening["btc"] == Decimal("44100")


def test_what_has_no_value_in_usd_has_none_in_the_other_currency(make, rates):
    """No payment in eth has one: it adds nothing, nor does its position, which the head says.

    188,800 of btc and -1,414 of sol, and 57.500001 of usdt, at 0.6 on the day of the close.
    """
    statement = make().in_currency("EUR", rates)
    assert not [name for coin, name in amounts_of(statement) if coin == "eth" and "sales" in name]
    coins, external = SummaryPage(statement).coins, SummaryPage(statement).in_currency
    assert external and coins.head == "All coins but eth, USD"
    worth = (coins.usd(WORTH), external.usd(WORTH))
    assert worth == (Decimal("187443.500001"), Decimal("112466.1000006"))
    assert external.usd("usd_gross") == Decimal("104099")  # and 110 usdt at 0.9
    assert external.unpriced() == coins.unpriced() == 1


def test_all_coins_stand_beside_the_usd_in_the_order_of_the_statement(make, rates):
    """What leaves the wallet has its minus, and net settlement is sales less refunds."""
    summary_page = SummaryPage(make().in_currency("EUR", rates))
    found = {name: summary_page.external(name) for name in summary_page.names}
    assert found["gross_sales"] == Decimal("104099")
    assert found["refunds_debited"] == Decimal("-22400")
    sales = Decimal("103057.20000000899999991")  # 102960, and 108.0000000099999999 at 0.9
    assert found["net_sales"] == sales
    assert found["net_settlement"] == sales - 22400
    assert found["refunds_prior_period"] == Decimal("-22400")
    assert found["payouts_sent"] == Decimal("-1239")
    assert found["payout_fees"] == Decimal("-12.39")  # 14 * 0.85, and 0.5 * 0.98
    assert found["opening_position"] == Decimal("44100")


def test_the_statement_itself_stays_as_it_is(make, rates):
    """Every table, and the digest over them."""
    plain = make()
    other = plain.in_currency("EUR", rates)
    assert other.tables == plain.tables and other.content_digest() == plain.content_digest()
    assert plain.external is None


def test_only_the_rates_that_were_used_are_kept(make, rates):
    """Neither a day on which nothing moved, nor another currency."""
    rates.write_text(f"{EUR}2026-10-02,EUR,0.99,ECB\n2026-10-01,IRT,112500,Bonbast\n")
    external = make().in_currency("EUR", rates).external
    assert external and external.rates.of(external.rates.by_day) == read_rates(rates, "EUR").of(
        date(2026, month, day) for month, day in ((9, 30), *((10, d) for d in (1, 5, 7, 9, 10, 31)))
    )


def test_a_day_without_a_rate_is_refused_and_named(make, rates):
    """Both that lack, though the days around them have one."""
    kept = [line for line in EUR.splitlines() if not line.startswith(("2026-10-07", "2026-10-31"))]
    rates.write_text("\n".join(kept))
    with pytest.raises(ConfigError, match="no rate of EUR for 2026-10-07, 2026-10-31: write a"):
        make().in_currency("EUR", rates)


def test_lines_that_do_not_add_up_to_the_summary_are_refused(make, rates):
    """A line is missing: no amount in the other currency is made of the others."""
    st = make()
    tables = {**st.tables, "lines": st.tables["lines"].slice(1)}
    with pytest.raises(DataError, match="the lines of btc add up to 0 usd_gross, and its summary"):
        convert(tables, st.period, st.as_of, read_rates(rates, "EUR"))


def drawn_rates(seed: int) -> ExternalRates:
    """Rates of every day from 2025 on, of up to 18 places."""
    draw, first = random.Random(seed), date(2025, 1, 1)
    days = [first + timedelta(days=place) for place in range(800)]
    found = {
        day: ExternalRate(
            day, "IRT", Decimal(draw.randint(1, 10**24)).scaleb(-draw.randint(0, 18)), "drawn"
        )
        for day in days
    }
    return ExternalRates("IRT", 0, found)


NAMES = {
    "payment": ("usd_gross", "usd_net_sales", "usd_fees"),
    "payout": ("usd_payouts", "usd_payouts_debited", "usd_payout_fees"),
}


def parts(books: Books, entry: Entry, since: int) -> dict[str, Decimal | None]:
    """What a record adds to figures in USD; a refund to its part of refunds too."""
    usd, row = entry.usd_value, entry.row
    if entry.kind == "refund":
        parent = books.by_id.get(row["payment_id"])
        part = "same_period" if parent and parent["paid_at"] >= since else "prior_period"
        return {"usd_refunds": usd, f"usd_refunds_{part if parent else 'unresolved'}": usd}
    whole, net, fee = NAMES[entry.kind]
    amount, moved = row["amount"], entry.net if entry.kind == "payment" else row["debited_amount"]
    return {whole: usd, net: share(usd, moved, amount), fee: share(usd, row["fee_amount"], amount)}


def reckoned(lake: Path, statement: Statement, rates: ExternalRates) -> dict[Any, Fraction]:
    """The amounts of a statement, of all rows and rates alone but for its worths in USD."""
    books, period, found = Books(lake), statement.period, defaultdict[Any, Fraction](Fraction)

    def rate_at(instant: int) -> Fraction:
        day = from_micros(instant).astimezone(ZoneInfo(period.zone)).date()
        return Fraction(rates.by_day[day].rate)

    for entry in books.entries:
        if period.start <= entry.at < period.end and entry.usd_value is not None:
            for name, usd in parts(books, entry, period.start).items():
                found[entry.currency, name] += Fraction(usd or 0) * rate_at(entry.at)
    for row in statement.tables["summary"].to_pylist():
        if row[WORTH] is not None:
            closed = min(period.end, statement.as_of) - 1
            found[row["currency"], WORTH] = Fraction(row[WORTH]) * rate_at(closed)
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2))
def test_seeded_months_quarters_and_years_are_reckoned_again(tmp_path, seed):
    """Every coin and figure that the summary knows, and no other, to the last digit."""
    made, rates = make_seeded_lake(tmp_path / "lake", seed), drawn_rates(seed)
    seeded = replace(made, as_of=None)  # the month files hold what is known now
    count = 0
    for period in seeded.asked:
        statement = state(seeded, period)
        known = {
            (row["currency"], name)
            for row in statement.tables["summary"].to_pylist()
            for name in FIGURES
            if row[name] is not None
        } | {
            (row["currency"], row["name"])
            for row in statement.tables["figures"].to_pylist()
            if row["name"] in MOVED and row["value"] is not None
        }
        expected = reckoned(seeded.lake.path, statement, rates)
        amounts = amounts_of(statement.converted(rates))
        assert amounts == {key: expected[key] for key in known}
        count += len(known)
    assert count > 20


def test_a_running_month_closes_on_the_day_that_it_was_read_to(make, rates):
    """At noon on 20 October positions have the rate of the 20th, and the 31st needs none."""
    rates.write_text(EUR.replace("2026-10-31", "2026-10-20"))
    now = datetime(2026, 10, 20, 12, tzinfo=UTC)
    statement = make(now=now, as_of=now).in_currency("EUR", rates)
    assert amounts_of(statement)["btc", WORTH] == Decimal("113280")


def words(page: Path) -> str:
    texts = re.sub(r"<style.*?</style>|<svg.*?</svg>|<[^>]*>", " ", page.read_text(), flags=re.S)
    return " ".join(texts.split())


def test_the_persian_page_shows_toman(make, rates, tmp_path):
    """Without places, in Persian digits: 32,000 USD at 112,500 on the day of the refund."""
    rates.write_text(re.sub(r"EUR,[\d.]+", "IRT,112500", EUR))
    made = make().in_currency("toman", rates)
    folder = made.save(tmp_path / "out", ["html"], lang="fa", digits="fa")
    assert "۳٬۶۰۰٬۰۰۰٬۰۰۰ تومان، نرخ بیرونی" in words(folder / "statement.html")


def test_the_persian_page_isolates_what_it_shows(make, rates, tmp_path):
    """Numbers, days, the code of a currency without a Persian name, and sources."""
    folder = make().in_currency("EUR", rates).save(tmp_path / "out", ["html"], lang="fa")
    part = (folder / "statement.html").read_text().partition('<section id="external">')[2]
    bare = re.sub(r"<bdi.*?</bdi>|title=\"[^\"]*\"|<[^>]*>", "", part.partition("</section>")[0])
    assert "نرخ بیرونی" in bare and not re.search("[0-9A-Za-z]", bare)


def test_the_workbook_has_both_currencies_below_each_other(make, rates, tmp_path):
    """On a sheet of its own, with every digit as text and the rates below."""
    folder = make().in_currency("EUR", rates).save(tmp_path / "out", ["xlsx"])
    book = openpyxl.load_workbook(folder / "statement.xlsx")
    head = [cell.value for row in book["Statement"].iter_rows() for cell in row]
    assert "-22,400.00 EUR, external rates" in head
    sheet = book["External rates"]
    rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
    place = next(n for n, row in enumerate(rows) if row[0] == "USD sales after fees")
    assert rows[place + 1][0] == "in EUR, external rates"
    exact = rows[3].index("usdt, exact")
    assert [row[exact] for row in rows[place : place + 2]] == SALES_OF_USDT
    assert ["ECB, by phone"] in [row[2:3] for row in rows]


SALES_OF_USDT = ["108.0000000099999999", "97.20000000899999991"]


def test_the_workbooks_first_sheet_has_all_coins_in_the_other_currency(make, rates, tmp_path):
    """Beside the USD, every digit of it behind."""
    statement = make().in_currency("EUR", rates)
    folder = statement.save(tmp_path / "out", ["xlsx"])
    rows = [*openpyxl.load_workbook(folder / "statement.xlsx")["Statement"].values]
    top = next(n for n, row in enumerate(rows) if row[0] == "figure")
    place, rows = rows[top].index("All coins, EUR, external rates, exact"), rows[top:]
    shown = {row[0]: row[place] for row in reversed(rows)}  # the first of a name is of the face
    page = SummaryPage(statement)
    for name in page.names:
        if (amount := page.external(name)) is not None:
            assert shown[label_of(name)] == format_amount(Decimal(amount)), name
