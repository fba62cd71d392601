"""Final is final: a statement that leaves money out, or may, says so and is not final.

Each test holds three small months of one coin. September sells 10, October 20, November 40, and
one record of another month, or between two, cannot be held or is not understood.

A statement as of an earlier instant says what a lake said that was read up to then.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from svc_analytics import ConfigError, Lakehouse, Statement, statement
from svc_analytics.instants import parse_bound
from svc_analytics.periods import parse_period
from svc_analytics.statements.finality import unread_again
from svc_analytics.statements.reading import Basis, read_period
from tests.support.closings import LEDGER, write_accepted
from tests.support.desks import Desk
from tests.support.fake_service import Record, payment, payout, refund
from tests.support.prepared import extracted
from tests.support.rings import sample

SEPTEMBER = payment(1, "2026-09-15T12:00:00Z", "10", "0")
OCTOBER = payment(2, "2026-10-15T12:00:00Z", "20", "0")
NOVEMBER = payment(3, "2026-11-05T12:00:00Z", "40", "0")
BITCOIN = payment(4, "2026-09-16T12:00:00Z", "1", "0", currency="btc")
# Set aside, each for one of its amounts.
DOLLARS, ETHER = (
    payment(number, "2026-09-20T12:00:00Z", "1000", "0", currency=coin)
    | {"amount": "1000." + "0" * 39 + "1"}
    for number, coin in ((9, "usdt"), (8, "eth"))
)
RETURNED = refund(9, SEPTEMBER, "2026-10-20T12:00:00Z", "4") | {"amount": "1e1"}
PAID_OUT = payout(7, "2026-10-20T12:00:00Z", usd_value="9", currency="btc") | {"fee_amount": "NaN"}


@pytest.fixture
def make(desk) -> Callable[..., Statement]:
    """Extract these records beside those of the three months, and make a month's statement."""
    desk.service.now = datetime(2026, 12, 3, 12, tzinfo=UTC)

    def build(month: str, *records: Record, since: str | None = None) -> Statement:
        others = [SEPTEMBER, OCTOBER, NOVEMBER, BITCOIN]
        desk.service.payments = others + [record for record in records if "kind" not in record]
        desk.service.payouts = [record for record in records if "kind" in record]
        if not desk.lake.path.exists():
            extracted(desk, **({"start": parse_bound(since)} if since else {}))
        return statement(desk.lake, month, now=parse_bound("2026-12-03T12:00:00Z"))

    return build


def usdt(made: Statement) -> dict[str, Any]:
    return next(r for r in made.tables["summary"].to_pylist() if r["currency"] == "usdt")


def positions(made: Statement) -> list[Any]:
    found = usdt(made)
    return [found[name] for name in ("opening_position", "closing_position", "usd_exposure")]


def test_streams_that_could_not_be_read_again_are_named_in_one_order():
    """Whichever of them failed first: a month that waits says the same each night."""
    causes = {"payout_records": "no key", "payments": "an outage"}
    assert [str(each.text) for each in unread_again(causes)] == [
        "payments could not be read again: an outage",
        "payout records could not be read again: no key",
    ]


LEFT_OUT = {
    "set aside": DOLLARS,
    "unknown status": payment(9, "2026-09-20T12:00:00Z", "1000", "0", status="pending"),
    "unknown kind": payout(9, "2026-09-20T12:00:00Z", "1000", "0", kind="chargeback"),
}


@pytest.mark.parametrize("record", sample(LEFT_OUT.values(), 3), ids=LEFT_OUT.keys())
def test_positions_after_a_record_left_out_are_unknown_and_the_statement_says_why(make, record):
    """October's own figures are whole; what it opened with rests on September's record.

    The record says which coin it is of: the others stay known.
    """
    october = make("2026-10", record, ETHER)
    rows = october.tables["summary"].to_pylist()
    opened = {row["currency"]: row["opening_position"] for row in rows}
    assert opened == {"btc": 1, "eth": None, "usdt": None}
    assert positions(october) == [None, None, None]
    assert usdt(october)["net_sales"] == Decimal(20)
    assert october.status == "final"
    [why] = [unknown for unknown in october.unknown if unknown.coins == ("usdt",)]
    assert record["id"] in why.because and len(october.unknown) == 2
    assert why.figures == ("opening_position", "closing_position", "usd_exposure")
    september = make("2026-09", record)
    assert september.status == "provisional"
    assert usdt(september)["opening_position"] == 0
    assert usdt(september)["closing_position"] is None


def test_what_a_person_accepted_is_no_longer_unknown(make, desk):
    """Accepted as no money of ours, the record is left out of figures that are known again."""
    make("2026-10", DOLLARS, ETHER)
    by = "test,Mina,2026-12-03T12:01:00Z"
    named = [f"record_could_be_held,{record['id']},{by}" for record in (DOLLARS, ETHER)]
    write_accepted(desk.lake, named)
    october = make("2026-10")
    assert positions(october)[:2] == [10, 30]
    assert make("2026-09").status == "final"
    monthly = desk.lake.sql("select net_sales from net_settlement_monthly where month = '2026-09'")
    assert monthly["net_sales"].dropna().to_list() == [1, 10]


def test_a_month_with_a_payment_set_aside_does_not_add_up_the_others(make):
    """Sales without one of them are not the month's sales."""
    made = make("2026-09", DOLLARS, ETHER)
    assert usdt(made)["gross_sales"] is None
    assert usdt(made)["payouts_sent"] == 0
    assert made.tables["lines"].num_rows == 2


def test_a_refund_set_aside_leaves_its_payments_cohort_unknown(make):
    """Returned in October of a September payment: what is left of September is not known."""
    september = make("2026-09", RETURNED, PAID_OUT)
    cohort = [usdt(september)[name] for name in ("open_refundable", "refund_ratio_cohort")]
    assert cohort == [None, None]
    assert usdt(september)["closing_position"] == 10
    assert september.status == "final" and RETURNED["id"] in september.unknown[0].because
    assert make("2026-10").status == "provisional"
    assert usdt(make("2026-11"))["open_refundable"] == 40


def test_a_payout_made_just_before_the_first_day_read_is_read_too(make):
    """It settles in the month that was asked for, and figures book by that."""
    record = payout(9, "2026-08-31T23:59:59Z", "3", "0", settled_at="2026-09-01T00:00:01Z")
    made = make("2026-09", record, since="2026-09-01")
    assert usdt(made)["payouts_sent"] == 3
    assert made.status == "final"
    assert usdt(made)["opening_position"] is None
    assert "2026-08-31" in made.unknown[0].because


@pytest.mark.thorough
def test_a_payout_set_aside_blocks_the_month_it_settles_in(make):
    """Made in the last seconds of September, settled in the first of October."""
    record = payout(9, "2026-09-30T23:59:58Z", "3", "0", settled_at="2026-10-01T00:00:05Z")
    october = make("2026-10", record | {"fee_amount": "NaN"})
    assert october.status == "provisional"
    assert usdt(october)["payouts_sent"] is None
    september = make("2026-09", record)
    assert september.status == "final" and usdt(september)["payouts_sent"] == 0


@pytest.mark.parametrize("page_size", sample([2, 1, 100], 3))
def test_a_record_without_a_time_blocks_every_month_it_can_belong_to(make, desk, page_size):
    """Listed between a payment of September and one of October, it may be of either."""
    record = {name: value for name, value in payment(9, "", "1000").items() if name != "paid_at"}
    place = {SEPTEMBER["id"]: 1, BITCOIN["id"]: 2, record["id"]: 3, OCTOBER["id"]: 4}

    def listed(rows: list[Record]) -> list[Record]:
        return sorted(rows, key=lambda row: place.get(row["id"], 5), reverse=True)

    desk.service.order = listed
    desk.service.page_size = lambda page: page_size
    october, september = make("2026-10", record), make("2026-09")
    assert (september.status, october.status) == ("provisional", "provisional")
    november = make("2026-11")
    assert november.status == "final" and usdt(november)["net_sales"] == 40
    assert make("2026-08").status == "final"


@pytest.mark.thorough
def test_records_without_time_and_id_are_not_taken_for_one(make, desk):
    """Two of the same bytes, one newer and one older than October's payment."""
    record = {"id": None, "amount": "1000", "status": "completed", "currency": "usdt"}
    everything = [NOVEMBER, record, OCTOBER, record, BITCOIN, SEPTEMBER]
    desk.service.order = lambda rows: [row for row in everything if row in rows]
    statuses = [make(f"2026-{month}", record, record).status for month in ("09", "10", "11")]
    assert statuses == ["provisional"] * 3


@pytest.mark.parametrize("page_size", sample([2, 1, 100], 3))
def test_a_record_without_a_time_on_a_list_without_order_can_be_of_any_month(make, desk, page_size):
    """Its neighbours tell nothing, whichever page shows that they do not."""
    record = {name: value for name, value in payment(9, "", "1000").items() if name != "paid_at"}
    order = [OCTOBER["id"], record["id"], BITCOIN["id"], SEPTEMBER["id"], NOVEMBER["id"]]
    desk.service.order = lambda rows: sorted(rows, key=lambda row: order.index(row["id"]))
    desk.service.page_size = lambda page: page_size
    assert make("2026-11", record).status == "provisional"


def test_a_coin_that_only_a_record_set_aside_names_has_a_row(make):
    """Its position is unknown, not zero, and so is every share of all coins' worth."""
    made = make("2026-10", DOLLARS, ETHER)
    rows = {row["currency"]: row for row in made.tables["summary"].to_pylist()}
    assert rows["eth"]["closing_position"] is None and rows["eth"]["payments_count"] == 0
    assert ("eth",) in [unknown.coins for unknown in made.unknown]
    assert set(made.tables["exposure"]["share"].to_pylist()) == {None}


def test_a_newer_payout_set_aside_leaves_the_rate_unknown(make):
    """It may carry the newest price."""
    made = make("2026-11", RETURNED, PAID_OUT)
    btc = next(r for r in made.tables["summary"].to_pylist() if r["currency"] == "btc")
    assert btc["implied_rate"] is None


def test_refunds_of_a_payment_set_aside_leave_its_cohort_unknown(make):
    """504 were refunded of September's payments; of 500 the payment cannot be held."""
    bad = payment(8, "2026-09-02T12:00:00Z", "1000", "0") | {"fee_amount": "NaN"}
    refunds = [refund(20, SEPTEMBER, "2026-09-20T12:00:00Z", "4")]
    refunds += [refund(21, bad, "2026-09-21T12:00:00Z", "500")]
    made = make("2026-10", bad, *refunds)
    (row,) = made.tables["cohorts"].to_pylist()
    assert [row[name] for name in ("refunds_count", "refunds_paid", "ratio")] == [None] * 3
    assert any("cohorts" in unknown.figures for unknown in made.unknown)


THEN = "2026-10-08T00:00:00Z"
# When records were read is another matter, and so is what is open to be read again.
READ = {"reading", "receipts"}
SEEN = {"first_seen_at", "extracted_at"}


@pytest.fixture
def books(desk) -> Desk:
    """A lake with the ledger of three months, read in November."""
    desk.serve(LEDGER)
    return extracted(desk)


def content(made: Statement) -> dict[str, pa.Table]:
    """The tables of a statement, but for when their records were read."""
    return {
        name: table.drop_columns([*(SEEN & {*table.column_names})]).replace_schema_metadata()
        for name, table in made.tables.items()
        if name not in READ
    }


@pytest.mark.parametrize("label", sample(["2026-10", "2026-Q4", "2026"], 3))
@pytest.mark.parametrize("zone", sample(["Asia/Tehran", "UTC"], 2))
def test_as_of_an_instant_within_it_a_period_has_what_was_known_then(books, tmp_path, label, zone):
    """The payout of 9 October is not in it, and it is provisional: it was still running."""
    made = statement(books.lake, label, zone=zone, as_of=THEN)
    books.lake = Lakehouse(tmp_path / "then")
    books.service.now = datetime(2026, 10, 8, tzinfo=UTC)
    books.extract(end=parse_bound(THEN))
    then = statement(books.lake, label, zone=zone, now=THEN)
    assert made.as_of == then.as_of == parse_bound(THEN)
    assert content(made) == content(then)
    assert made.summary["payouts_count"].to_list() == [0, 0]
    assert made.reasons == then.reasons and made.status == "provisional"
    assert not made.needs_attention
    assert all(made.coverage[name].read == each.read for name, each in then.coverage.items())


def test_a_period_that_had_not_begun_then_is_refused(books):
    """One line with both instants."""
    for then in ("2026-09-15T00:00:00Z", "2026-10-01T00:00:00Z"):
        with pytest.raises(ConfigError) as caught:
            statement(books.lake, "2026-10", as_of=then)
        assert str(caught.value) == (
            f"2026-10 begins at 2026-10-01T00:00:00Z, and as_of is {then}: "
            "nothing of it was known then; give a later as_of"
        )


def test_as_of_its_end_a_period_is_final(books):
    """It was over, and all of it is there."""
    made = statement(books.lake, "2026-10", as_of="2026-11-01T00:00:00Z")
    assert made.status == "final" and len(made.tables["lines"]) == 3


@pytest.mark.thorough
@pytest.mark.parametrize("label", ["2026-10", "2026-Q3"])
def test_a_period_that_is_over_reads_the_same_as_of_the_newest_read(books, label):
    """What a statement was sealed of is what it is proven of; only the clock is another."""
    clock = parse_bound("2026-11-20T00:00:00Z")
    period = parse_period(label, clock, "UTC", None)
    made = read_period(books.lake, period, Basis(clock, ()))
    again = read_period(books.lake, period, Basis(clock, (), as_of=made.as_of))
    assert made.as_of >= period.end and again == replace(made, clock=made.as_of)
