"""Statements of lakes in which one coin has more than 38 digits can hold."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from svc_analytics import Statement, statement
from tests.support.closings import write_accepted
from tests.support.fake_service import payment, payout
from tests.support.full_scan.comparison import differences, full_scan
from tests.support.full_scan.rows import Books
from tests.support.prepared import stated
from tests.support.rings import sample

HUGE = "99999999999999999999"  # the largest whole amount that 38 digits with 18 places hold
RULE = "amounts_can_be_summed"
LEDGER = f"""
 kind     currency  amount                fee          usd_value             at                of
 payment  big       5                                  1                     2026-08-10T09:00
 payment  btc       2                                  10                    2026-08-11T09:00
 payment  big       {HUGE}               1                     2026-09-10T09:00
 payment  big       {HUGE}               1                     2026-09-11T09:00
 payment  big       {HUGE}               1                     2026-09-12T09:00
 payment  btc       3                                  10                    2026-09-13T09:00
 payment  big       1                                  1                     2026-10-10T09:00
 payment  btc       4                                  10                    2026-10-11T09:00
 payment  usd       1                                  {HUGE}  2026-10-12T09:00
 payment  usd       1                                  {HUGE}  2026-10-13T09:00
 refund   big       1                                                        2026-10-14T09:00  3
 payment  dust      0.000000000000000001               {HUGE}  2026-10-12T09:00
 payment  dust      5                                                        2026-10-11T09:00
 payment  shib      2000000000000         20000000000                        2026-10-12T09:00
 payment  shib      2000000000000         20000000000                        2026-10-12T10:00
 payment  shib      2000000000000         20000000002                        2026-10-12T11:00
 payout   shib      2000000000000         20000000000                        2026-10-13T09:00
 payout   shib      2000000000000         20000000002                        2026-10-13T10:00
"""
VIEWS = [
    *("ledger_entries", "fees", "fees_monthly", "net_settlement_daily", "net_settlement_monthly"),
    *("refund_ratios_monthly", "refund_cohorts", "usd_rates", "usd_exposure", "position_daily"),
    *("payers", "customers", "fee_tiers", "exceptions"),
]


@pytest.fixture
def make(desk) -> Callable[..., Statement]:
    def build(month: str, ledger: str = LEDGER, **options: Any) -> Statement:
        desk.serve(ledger)
        return stated(desk, month, **options)

    return build


def unstated(made: Statement, currency: str) -> tuple[tuple[str, ...], str]:
    """The figures of a coin that cannot be stated, and why."""
    [unknown] = [each for each in made.unknown if each.coins == (currency,)]
    return unknown.figures, unknown.text


def row(made: Statement, currency: str) -> dict[str, Any]:
    return next(r for r in made.tables["summary"].to_pylist() if r["currency"] == currency)


def findings(made: Statement) -> list[str]:
    rows = made.tables["checks"].to_pylist()
    return [each["record_id"] for each in rows if each["check_name"] == RULE]


def rules(made: Statement, currency: str) -> list[str]:
    rows = made.tables["checks"].to_pylist()
    return [each["check_name"] for each in rows if each["currency"] == currency]


def test_a_sum_too_large_is_unknown_and_its_records_are_named(make):
    """Three payments of 20 nines: their sum is empty, what is counted stands, other coins too."""
    made = make("2026-09")
    big = row(made, "big")
    assert (big["payments_count"], big["opening_position"]) == (3, 5)
    assert [big[name] for name in ("gross_sales", "net_sales", "closing_position")] == [None] * 3
    assert row(made, "btc")["closing_position"] == 5
    assert len(findings(made)) == 3
    [unknown] = made.unknown
    assert {"gross_sales", "closing_position", "effective_fee_rate"} <= {*unknown.figures}
    assert "reach 1e20" in unknown.text


def test_no_more_than_ten_records_of_a_month_are_named(make):
    """Eleven payments are too large; to mend ten shows what is left."""
    head, _, _, row, *_ = LEDGER.strip("\n").splitlines()
    rows = [row.replace("2026-09-10", f"2026-09-{day:02}") for day in range(1, 12)]
    assert len(findings(make("2026-09", "\n".join([head, *rows])))) == 10


def test_whichever_amount_is_too_large_its_records_are_named(desk):
    """Two records of a coin for each amount that a record has: no other of them is too large."""
    amounts = {
        payment: ("amount", "charged_amount", "fee_amount", "net_amount"),
        payout: ("amount", "debited_amount", "fee_amount"),
    }
    made = {
        make: [
            make(number, "2026-09-10T09:00:00Z", currency=f"{make.__name__}-{number // 2}")
            | {names[number // 2]: HUGE}
            for number in range(2 * len(names))
        ]
        for make, names in amounts.items()
    }
    desk.service.payments, desk.service.payouts = made[payment], made[payout]
    named = {record["id"] for records in made.values() for record in records}
    assert {*findings(stated(desk, "2026-09"))} == named


def test_the_records_can_be_accepted(desk, make):
    """Then the month is final, and the sum is as unknown as before."""
    named = findings(make("2026-09"))
    write_accepted(desk.lake, (f"{RULE},{each},a test coin,Mina,2026-11-25" for each in named))
    made = statement(desk.lake, "2026-09")
    assert (made.status, row(made, "big")["gross_sales"]) == ("final", None)


def test_every_cell_is_that_of_a_full_scan(desk, make):
    """Each table of each month, also where sums do not fit; the month before has every figure."""
    for month in ("2026-08", "2026-09", "2026-10"):
        made = make(month)
        assert (made.unknown == ()) == (made.status == "final") == (month == "2026-08")
        scanned = full_scan(Books(desk.lake.path), made.period, made.as_of, made.as_of)
        assert differences(made, scanned) == []


@pytest.mark.parametrize("view", sample(VIEWS, 5))
def test_every_view_can_be_read(desk, make, view):
    """What does not fit is empty, in every view of the lake."""
    make("2026-10")
    assert len(desk.lake.sql(f"from {view}")) > 0


@pytest.mark.thorough
def test_what_explains_a_figure_says_that_it_does_not_fit(desk, make):
    """Neither that records were not read, nor "what it is divided by is zero"."""
    make("2026-09")
    sales = desk.lake.explain("2026-09", "big", "gross_sales")
    rate = desk.lake.explain("2026-09", "big", "effective_fee_rate")
    assert (sales.value, len(sales.rows)) == (None, 3)
    assert sales.why_none == "unknown: it has more digits than can be held"
    assert rate.why_none == ("unknown: gross sales of the period cannot be stated")


def test_one_payment_that_is_worth_too_much_stops_nothing(make):
    """1e-18 of a coin for 20 nines: the rate has 38 digits before its point."""
    made = make("2026-10")
    dust = row(made, "dust")
    names = ("gross_sales", "implied_rate", "usd_exposure")
    assert [dust[name] for name in names] == [Decimal("5.000000000000000001"), None, None]
    assert row(made, "btc")["usd_exposure"] == Decimal("22.5")  # 9 at 10 for 4
    assert rules(made, "dust") == ["amounts_can_be_divided"]
    assert unstated(made, "dust")[0] == ("implied_rate", "usd_exposure")


FEES = """
 kind     currency  amount  fee      fee_bearer  usd_value         net_amount  at
 payment  large     1       1000000  customer    1000000000000000  1           2026-10-12T09:00
 payout   larger    1       1000000              1000000000000000              2026-10-12T09:00
 payment  zero      0       0        merchant    3                 0           2026-10-12T09:00
 payout   nought    0       0                    3                             2026-10-12T09:00
"""


TOO_LARGE, OF_ZERO = "they reach 1e20, and more", "or no amount but 0 has a USD value"
UNSTATED = {
    "large": ({"usd_fees"}, TOO_LARGE),
    "larger": ({"usd_payout_fees", "usd_payouts_debited", "usd_rail_movement"}, TOO_LARGE),
    "zero": ({"usd_fees", "usd_net_sales"}, OF_ZERO),
    "nought": ({"usd_payout_fees", "usd_payouts_debited"}, OF_ZERO),
}


def test_a_fee_without_a_value_in_usd_is_said_to_be_unknown(make):
    """1,000,000 of a coin at 1e15 USD have more digits than can be held; of 0 there is no rate."""
    made = make("2026-10", FEES)
    for coin, (figures, why) in UNSTATED.items():
        named, text = unstated(made, coin)
        assert figures <= {*named} and why in text
    assert "amounts_can_be_divided" in rules(made, "large")


def test_fees_of_large_amounts_are_held_to_their_tier(desk, make):
    """Two payments and a payout of 2e12 at 1 %, and one of each whose fee is one unit more."""
    made = make("2026-10")
    off_tier = desk.lake.sql("select off_tier_count from fee_tiers where currency = 'shib'")
    assert off_tier.to_numpy().tolist() == [[1]]
    assert rules(made, "shib") == ["payment_fee_is_at_its_tier", "payout_fee_is_at_payments_tier"]
