"""Why figures moved: the parts of small worlds that can be checked by hand."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from svc_analytics.closing.stated import explain_change
from svc_analytics.instants import parse_bound
from svc_analytics.money import format_amount
from svc_analytics.statements.change import Change
from tests.support.prepared import extracted, prepared

NOW = "2026-11-20T12:00:00Z"
# Fees rise from 1 % to 2 % for ann, and btc from 100 to 120 USD; doge has a payment of twenty times
# the others' middle, and eth no value in USD.
LEDGER = """
 kind     currency  amount  fee   at                of  usd_value  customer
 payment  btc       10      0.10  2026-09-05T09:00      1000       ann
 payment  btc       4       0.04  2026-09-06T09:00      400        bob
 refund   btc       1             2026-09-08T09:00  1   100
 payment  btc       20      0.40  2026-10-05T09:00      2400       ann
 payment  btc       5       0.05  2026-10-06T09:00      600        cyd
 refund   btc       2             2026-10-07T09:00  1   240
 refund   btc       3             2026-10-08T09:00  4   360
 payment  btc       6       0.06  2026-10-09T09:00
 payout   btc       8.35    0     2026-10-20T09:00
 payment  doge      2       0     2026-09-05T10:00      200
 payment  doge      3       0     2026-09-06T10:00      300
 payment  doge      61      0     2026-10-05T10:00      6100
 payment  doge      2       0     2026-10-06T10:00      200
 payment  eth       7       0.07  2026-10-07T10:00
 refund   eth       1             2026-10-08T10:00  14
"""
KEPT, NOBODY = "customers of both periods", "no customer named"

Explain = Callable[..., Change]
Parts = dict[tuple[str, str], str | None]


@pytest.fixture
def why(desk) -> Explain:
    """Extract a ledger, and explain what moved between two of its months."""

    def build(ledger: str = LEDGER, *months: str, **options: Any) -> Change:
        desk.serve(ledger)
        named = months or ("2026-09", "2026-10")

        def make() -> Change:
            if not desk.lake.path.exists():
                extracted(desk)
            return explain_change(desk.lake, *named, now=parse_bound(NOW), **options)

        return prepared(desk, ("why", *named, repr(options)), make)

    return build


def parts(found: Change, figure: str, unit: str = "coin", coin: str = "btc") -> Parts:
    """The parts of a change that are not zero, by name and whose they are."""
    return {
        (row["part"], row["of"]): row["amount"] and format_amount(row["amount"])
        for row in found.table.to_pylist()
        if (row["figure"], row["unit"], row["currency"]) == (figure, unit, coin)
        and row["amount"] != 0
    }


def change(found: Change, figure: str, unit: str = "coin", coin: str = "btc") -> Any:
    keys = ("figure", "unit", "currency")
    rows = found.changes.to_pylist()
    return next(row for row in rows if [row[key] for key in keys] == [figure, unit, coin])


def test_a_settlement_in_usd_is_split(why):
    """At old prices 19.6 are 1,960 and not 2,352; what has no USD value is a part without one."""
    found = why()
    assert parts(found, "net_settlement", "USD") == {
        ("lost_customers", ""): "-396",
        ("new_customers", ""): "594",
        ("refunds_of_earlier_sales", ""): "-240",
        ("volume", KEPT): "990",
        ("fee_tier", KEPT): "-20",
        ("refunds_of_own_sales", KEPT): "-200",
        ("price", KEPT): "332",
        ("unpriced", ""): None,
    }
    assert change(found, "net_settlement", "USD")["difference"] == Decimal(1060)


def test_fees_are_split_into_volume_tier_and_price(why):
    """20 at 1 % are 0.2; the tier doubles that; 0.4 at 100 USD are 40, and at 120 are 48."""
    found = why()
    own = {("lost_customers", ""): "-0.04", ("new_customers", ""): "0.05"}
    own |= {("volume", KEPT): "0.1", ("fee_tier", KEPT): "0.2", ("volume", NOBODY): "0.06"}
    assert parts(found, "payment_fees") == own
    usd = {("lost_customers", ""): "-4", ("new_customers", ""): "6", ("volume", KEPT): "10"}
    usd |= {("fee_tier", KEPT): "20", ("price", KEPT): "8", ("unpriced", ""): None}
    assert parts(found, "payment_fees", "USD") == usd


def test_refunds_are_split_by_the_time_of_their_sale(why):
    """Two are of September's sale; two more than before are of the month's own."""
    found = why()
    timing, own = ("refunds_of_earlier_sales", ""), ("refunds_of_own_sales", KEPT)
    assert parts(found, "refunds_paid") == {timing: "2", own: "2"}
    usd = parts(found, "refunds_paid", "USD")
    assert usd == {timing: "240", own: "200", ("price", KEPT): "60"}


def test_a_position_in_usd_is_split_by_what_moved_it(why):
    """12.86 at 100 become 30 at 120: movements at the old rate, then the price of what is left."""
    found = why()
    moved = {("sales", ""): "30.49", ("refunds", ""): "-5", ("payouts", ""): "-8.35"}
    assert parts(found, "usd_exposure") == moved
    worth = {("sales", ""): "3049", ("refunds", ""): "-500", ("payouts", ""): "-835"}
    assert parts(found, "usd_exposure", "USD") == worth | {("price", ""): "600"}
    one = change(found, "usd_exposure", "USD")
    assert [format_amount(one[name]) for name in ("old", "new", "percent")][:2] == ["1286", "3600"]


def test_a_record_of_twenty_times_the_middle_is_a_one_off(why):
    """61 is more than 20 times 2; without it volume falls by 3."""
    found = why()
    moved = parts(found, "net_settlement", coin="doge")
    assert moved == {("one_off", ""): "61", ("volume", NOBODY): "-3"}
    named = [row for row in found.largest.to_pylist() if row["part"] == "one_off"]
    first = next(row for row in named if row["unit"] == "coin")
    assert (first["effect"], first["period"], first["kind"]) == (61, "2026-10", "payment")


def test_a_coin_of_one_month_without_usd_values_has_no_parts_in_usd(why):
    """In coin all is volume; in USD it is unknown, with the records that have no value."""
    found = why()
    volume = {("volume", NOBODY): "6.93", ("refunds_of_own_sales", NOBODY): "-1"}
    assert parts(found, "net_settlement", coin="eth") == volume
    assert parts(found, "net_settlement", "USD", "eth") == {("unpriced", ""): None}
    one = change(found, "net_settlement", "USD", "eth")
    assert one["difference"] is None and one["new"] is None and not one["needs_sentence"]
    moved = parts(why(LEDGER, "2026-10", "2026-09"), "usd_exposure", coin="eth")
    assert moved == {("sales", ""): "-6.93", ("refunds", ""): "1"}


def test_each_part_names_the_records_that_add_most_to_it(why):
    """In their order, at most ten, each with what it adds; a fee tier those of the new month."""
    rows = why().largest.to_pylist()
    tier = [row for row in rows if row["part"] == "fee_tier" and row["effect"]]
    assert {row["period"] for row in tier} == {"2026-10"}
    named = [row for row in rows if (row["figure"], row["unit"]) == ("net_settlement", "coin")]
    volume = [row for row in named if (row["part"], row["of"]) == ("volume", KEPT)]
    assert [(row["customer"], format_amount(row["effect"])) for row in volume] == [
        ("ann", "19.8"),
        ("ann", "-9.9"),
    ]


SENTENCES = "before,after,figure,currency,sentence,prepared_by,reviewed_by\n"


def test_a_large_change_needs_a_sentence_and_shows_the_one_that_is_written(why, desk):
    """With who prepared and who reviewed it; a change below the threshold needs none.

    A sentence on the same months the other way round is of another change.
    """
    found = why()
    assert change(found, "net_settlement")["needs_sentence"] and "to be written" in str(found)
    line = "2026-09,2026-10,payment_fees,btc,Ann bought twice as much.,Rui,Inês\n"
    place = desk.lake.path / "statements" / "2026-10-sentences.csv"
    place.parent.mkdir(exist_ok=True)
    place.write_text(SENTENCES + line, encoding="utf-8")
    older = line.replace("Ann bought", "At first Ann bought")
    other = "2026-10,2026-09,refunds_paid,btc,She returned more.,Rui,Inês\n"
    (desk.lake.path / "sentences.csv").write_text(SENTENCES + older + other, encoding="utf-8")
    told = why(threshold=100)
    one = change(told, "payment_fees")
    assert not one["needs_sentence"] and one["reviewed_by"] == "Inês"
    assert "Ann bought twice as much." in str(told) and "Rui" in told._repr_html_()
    assert change(told, "refunds_paid")["needs_sentence"]
    assert not change(told, "net_settlement")["needs_sentence"]  # it rose by 98 %


def test_a_running_month_is_marked_where_its_changes_are_explained(why):
    """As where months are compared: most of its change is time that has not come."""
    text = str(why(LEDGER, "2026-10", "2026-11"))
    assert "2026-11 is not over. Its figures are those up to" in text


def test_what_is_unknown_is_not_split(desk, why):
    """November was not read to its end: no part of a change to it, and no sentence is asked for."""
    why()
    found = explain_change(desk.lake, "2026-10", "2026-11", now=parse_bound("2026-12-20"))
    assert parts(found, "net_settlement") == parts(found, "usd_exposure") == {}
    assert change(found, "net_settlement")["difference"] is None
    assert not change(found, "net_settlement")["needs_sentence"]


def test_the_parts_stand_between_both_months(why):
    """From the old figure to the new one, coins side by side, in USD all coins together."""
    text = str(why())
    block = text[text.index("Sales less fees and refunds\n") :].splitlines()
    assert block[3].split() == ["2026-09", "12.86", "5", "0.00"]
    assert block[4].split() == ["One-off", "records", "61"]
    assert "all coins" not in text  # eth has no value in USD


ABSURD = """
 kind     currency  amount                fee   at                of
 payment  btc       1                     0     2026-09-05T09:00
 payment  btc       60000000000000000000  0     2026-10-05T09:00
 payment  btc       60000000000000000000  0     2026-10-06T09:00
 refund   btc       90000000000000000000        2026-10-07T09:00  2
"""


@pytest.mark.thorough
def test_sums_that_no_column_holds_are_split_to_the_last_digit(why):
    """Sales of 1.2e20 are more than an amount can be; what refunds leave of them is not.

    Of twelve new sales like each other, ten are named.
    """
    found = why(ABSURD + " payment  eth       1                     0     2026-10-11T09:00\n" * 12)
    assert parts(found, "net_settlement", coin="eth") == {("volume", NOBODY): "12"}
    assert max(row["place"] for row in found.largest.to_pylist()) == 10
    assert parts(found, "net_settlement") == {
        ("volume", NOBODY): "119999999999999999999",
        ("refunds_of_own_sales", NOBODY): "-90000000000000000000",
    }
    assert change(found, "net_settlement")["difference"] == Decimal("29999999999999999999")
    assert change(found, "payment_fees")["difference"] == 0


TWO = """
 kind     currency  amount  fee   at                of  usd_value
 payment  btc       2       0     2026-09-05T09:00      200
 payment  eth       3       0     2026-09-06T09:00      30
 payment  btc       3       0     2026-10-05T09:00      360
 payment  eth       2       0     2026-10-06T09:00      22
"""


@pytest.mark.thorough
def test_coins_are_added_in_usd_alone(why):
    """A third btc is 100 at the old price, an eth less is 10; prices rose by 60 and by 2."""
    found = why(TWO)
    all_coins = parts(found, "net_settlement", "USD", "all coins")
    assert all_coins == {("volume", NOBODY): "90", ("price", NOBODY): "62"}
    assert {row["unit"] for row in found.table.to_pylist() if row["currency"] == "all coins"} == {
        "USD"
    }
