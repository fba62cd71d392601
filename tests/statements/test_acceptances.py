"""An acceptance covers what was seen, and nothing else: what changes blocks again.

A line that lies ahead of the clock accepts nothing: it is named, and stops nothing.
"""

import csv
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import duckdb
import pytest

from svc_analytics import Statement, statement
from svc_analytics.schema import STREAMS, Stream
from svc_analytics.warehouse.images import write_views
from tests.support.desks import Desk
from tests.support.fake_service import Record, payment, payout, refund
from tests.support.prepared import prepared
from tests.support.rings import sample

HELD = "record_could_be_held"
PLUS_FEE, WITHOUT_FEE = "payout_debited_equals_amount_plus_fee", "refund_is_debited_without_fee"
LARGER = {"amount": "98765", "debited_amount": "98765"}
PAID = payment(1, "2026-10-05T12:00:00Z", "20", "0")
ODD = payment(9, "2026-10-15T12:00:00Z", "5", "0")
SENT = payout(9, "2026-10-15T12:00:00Z", "3", "0")
BACK = refund(8, PAID, "2026-10-16T12:00:00Z", "4")
SAME = payment(5, "2026-10-20T12:00:00Z", "5", "0", status="pending")
FIRST_SEEN, CHANGED = datetime(2026, 11, 3, 12, tzinfo=UTC), datetime(2026, 11, 6, 12, tzinfo=UTC)


def read(desk: Desk, *records: Record, now: datetime = FIRST_SEEN) -> None:
    """Let the service list these, and read all of it anew."""
    desk.service.now = now
    desk.service.payments = [record for record in records if "kind" not in record]
    desk.service.payouts = [record for record in records if "kind" in record]
    with patch.object(time, "time_ns", lambda: int(now.timestamp()) * 10**9):
        desk.extract(rereads=desk.lake.exists)


def serve(desk: Desk, *records: Record, now: datetime = FIRST_SEEN) -> Statement:
    """Let the service list these, read them, and make the statement of October."""

    def make() -> Statement:
        read(desk, *records, now=now)
        return statement(desk.lake, "2026-10", now=now.isoformat())

    return prepared(desk, ("served", now, repr(records)), make)


def blocking(made: Statement) -> list[dict[str, Any]]:
    """Return the findings that block a statement, accepted or not."""
    rows = made.tables["checks"].to_pylist()
    return [row for row in rows if row["severity"] == "blocking"]


def accept(desk: Desk, *findings: dict[str, Any], at: str = "2026-11-04", **cells: str) -> None:
    """Write the lines by which Mina accepts these findings."""
    with (desk.lake.path / "acknowledgements.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["check", "record_id", "reason", "by", "at", "content"])
        for row in findings:
            line = {"at": at} | row | cells
            named = [line["check_name"], line["record_id"]]
            writer.writerow([*named, "a test", "Mina", line["at"], line["content"]])


# By rule: what breaks it, and what the service sends later in its place.
CHANGES: dict[str, tuple[list[Record], Record, Record, Record]] = {
    HELD: ([], ODD, {"amount": "9."}, {"amount": "9000000."}),
    "status_is_known": ([], ODD, {"status": "pending"}, {"status": "reversed"}),
    "kind_is_known": ([], SENT, {"kind": "chargeback"}, {"kind": "reversal"}),
    "amounts_are_not_negative": ([], ODD, {"usd_value": "-1"}, {"usd_value": "-98765"}),
    PLUS_FEE: ([], SENT, {"debited_amount": "4"}, {"debited_amount": "98765"}),
    WITHOUT_FEE: ([PAID], BACK, {"debited_amount": "5"}, {"debited_amount": "98765"}),
    "refund_has_its_payment": (
        [ODD],
        BACK,
        {"payment_id": "gone"},
        LARGER | {"payment_id": "gone"},
    ),
    "refund_currency_is_its_payments": ([PAID], BACK, {"currency": "btc"}, {"currency": "eth"}),
}
CASES: dict[str, tuple[list[Record], list[Record]]] = {
    **{
        rule: ([*others, odd | first], [*others, odd | later])
        for rule, (others, odd, first, later) in CHANGES.items()
    },
    "refunds_stay_within_charged_amount": (
        [PAID, refund(7, PAID, "2026-10-18T12:00:00Z", "21")],
        [PAID, refund(7, PAID, "2026-10-18T12:00:00Z", "21"), BACK],
    ),
    "receipt_number_is_unique": (
        [PAID, ODD | {"receipt_no": PAID["receipt_no"]}],
        [
            PAID,
            ODD | {"receipt_no": PAID["receipt_no"]},
            payment(3, "2026-10-20T12:00:00Z") | {"receipt_no": PAID["receipt_no"]},
        ],
    ),
    "reference_is_unique": (
        [SENT, payout(2, "2026-10-17T12:00:00Z") | {"reference_id": SENT["reference_id"]}],
        [
            SENT | {"amount": "9", "debited_amount": "9"},
            payout(2, "2026-10-17T12:00:00Z") | {"reference_id": SENT["reference_id"]},
        ],
    ),
}


@pytest.mark.parametrize(
    ("check", "has_digest"), sample(((name, each) for name in CASES for each in (1, 0)), 24)
)
def test_another_content_of_an_accepted_record_blocks_again(desk, check, has_digest):
    """With the digest of what was accepted, or of an old line with what was there then.

    What is read again as it was stays accepted, also with its metadata in another order.
    """
    before, after = CASES[check]
    made = serve(desk, *before, SAME | {"metadata": {"a": 1, "b": 2}})
    found = blocking(made)
    assert check in {row["check_name"] for row in found} and made.status == "provisional"
    accept(desk, *found, **({} if has_digest else {"content": ""}))
    assert statement(desk.lake, "2026-10", now=FIRST_SEEN.isoformat()).status == "final"
    again = serve(desk, *after, SAME | {"metadata": {"b": 2, "a": 1}}, now=CHANGED)
    [kept] = [row for row in blocking(again) if row["record_id"] == SAME["id"]]
    assert kept["acknowledged_by"] == "Mina"
    left = [row for row in blocking(again) if row["check_name"] == check]
    assert again.status == "provisional"
    assert any(row["acknowledged_by"] is None for row in left)
    assert any("Mina" in row["detail"] and "2026-11-04" in row["detail"] for row in left)


@pytest.mark.thorough
def test_what_was_set_aside_twice_is_accepted_twice(desk):
    """Each content of one id is a finding of its own; both are printed as accepted."""
    first = blocking(serve(desk, ODD | {"amount": "1.5x"}))
    accept(desk, *first)
    both = serve(desk, ODD | {"amount": "98765x"}, now=CHANGED)
    assert [bool(row["acknowledged_by"]) for row in blocking(both)].count(True) == 1
    assert both.tables["summary"]["net_sales"].to_pylist() in ([None], [])
    accept(desk, *blocking(both), at="2026-11-07")
    made = statement(desk.lake, "2026-10", now=CHANGED.isoformat())
    assert made.status == "final"
    assert [row["acknowledged_reason"] for row in blocking(made)] == ["a test", "a test"]


def test_a_line_holds_for_its_finding_and_one_without_a_digest_for_what_was_there_then(desk):
    """Nothing that came later: three records came at noon, and a day is its midnight.

    A record broken in two ways is accepted in each.
    """
    then = ["2026-11-03T12:00:00Z", "2026-11-03T11:59:59Z", "2026-11-03"]
    odd = [payment(number, "2026-10-15T12:00:00Z") | {"amount": "1e1"} for number in range(3)]
    broken = SENT | {"status": "held", "kind": "chargeback"}
    found = blocking(serve(desk, *odd, broken))
    of_record = {row["record_id"]: row for row in found}
    named = [of_record[record["id"]] | {"content": ""} for record in odd]
    older = [row | {"at": at} for row, at in zip(named, then, strict=True)]
    accept(desk, *older, next(row for row in found if row["check_name"] == "kind_is_known"))
    again = statement(desk.lake, "2026-10", now=FIRST_SEEN.isoformat())
    accepted = [row for row in blocking(again) if row["acknowledged_by"]]
    assert len(found) == 5 and again.status == "provisional"
    rows = {(row["check_name"], row["record_id"]) for row in accepted}
    assert rows == {(HELD, odd[0]["id"]), ("kind_is_known", broken["id"])}


@pytest.mark.thorough
def test_a_record_that_changes_back_and_forth_is_accepted_each_time(desk):
    """10, then 20, then 10, then 98,765: the last change is not the first one again."""
    versions = [
        ODD | dict.fromkeys(("amount", "charged_amount", "net_amount"), text)
        for text in ("10", "20", "10", "98765")
    ]
    serve(desk, versions[0])
    for days, version in enumerate(versions[1:], 1):
        seen = FIRST_SEEN + timedelta(days=days)
        made = serve(desk, version, now=seen)
        open_ones = [row for row in blocking(made) if not row["acknowledged_by"]]
        assert [row["check_name"] for row in open_ones] == ["record_was_not_restated"]
        accept(desk, *blocking(made), at=f"{seen:%Y-%m-%dT%H:%M:%SZ}")


def value_of(stream: Stream, name: str) -> Any:
    column = next(each for each in stream.columns if each.name == name)
    texts = {"money": "7.25", "instant": "2026-10-21T12:00:00Z"}
    return texts.get(column.kind, "another")


NAMED = [
    (stream.name, column.name)
    for stream in STREAMS.values()
    for column in stream.columns
    if column.name not in ("id", "metadata")
]


@pytest.mark.parametrize(("name", "column"), sample(NAMED, 28))
def test_the_digest_covers_what_the_contract_names(desk, name, column):
    """Every property but metadata, whose keys the service may send in any order."""
    stream, record = STREAMS[name], {"payments": ODD, "payout_records": SENT}[name]
    query = f"select content from {name}"
    read(desk, record)
    before = desk.lake.sql(query)["content"].to_list()
    read(desk, record | {column: value_of(stream, column)}, now=CHANGED)
    assert len(before) == 1 and desk.lake.sql(query)["content"].to_list() != before


LINE = "acknowledgements.csv, line 2"


def of_rule(desk: Desk, rule: str, now: datetime = FIRST_SEEN) -> tuple[str, dict[str, Any]]:
    """The status of October by a clock, and its first finding of a rule."""
    made = statement(desk.lake, "2026-10", now=now.isoformat())
    return made.status, next(row for row in blocking(made) if row["check_name"] == rule)


@pytest.mark.parametrize(
    ("rule", "has_digest"),
    sample([(rule, each) for rule in (HELD, "kind_is_known", PLUS_FEE) for each in (1, 0)], 3),
)
def test_a_year_that_was_mistyped_covers_nothing(desk, rule, has_digest):
    """The finding blocks as before, and names the line; a year later it counts."""
    found = [row for row in blocking(serve(desk, *CASES[rule][0])) if row["check_name"] == rule]
    accept(desk, *found, at="2027-11-03", **({} if has_digest else {"content": ""}))
    status, row = of_rule(desk, rule)
    assert (status, row["acknowledged_by"]) == ("provisional", None)
    assert row["detail"].endswith(f"{LINE}: its at, 2027-11-03T00:00:00Z, lies ahead of the clock, "
                                  "so it does not count")  # fmt: skip
    assert of_rule(desk, rule, datetime(2027, 11, 3, tzinfo=UTC))[1]["acknowledged_by"] == "Mina"


def test_what_came_later_is_not_covered_by_a_line_of_next_year(desk):
    """9 was tested, and 9,000,000 came in its place."""
    accept(desk, *blocking(serve(desk, ODD | {"amount": "9."})), at="2027-11-28", content="")
    again = serve(desk, ODD | {"amount": "9000000."}, now=CHANGED)
    assert again.status == "provisional" and len(blocking(again)) == 2
    assert [row["acknowledged_by"] for row in blocking(again)] == [None, None]


AHEAD = [
    ("2026-11-03T12:04:59Z", True),
    ("2026-11-03T12:05:01Z", False),
    ("2026-11-03T15:34:00+03:30", True),
    ("2026-11-03T15:36:00+03:30", False),
    ("2026-11-04", True),  # in Kiribati since 10:00
    ("2026-11-05", False),
    ("2026-11-04T00:00:00Z", False),
]


@pytest.mark.parametrize(("at", "counts"), AHEAD)
def test_five_minutes_ahead_and_today_somewhere_count(desk, at, counts):
    """It is 12:00 in UTC, on 3 November."""
    accept(desk, *blocking(serve(desk, ODD | {"amount": "9."})), at=at)
    assert of_rule(desk, HELD)[0] == ("final" if counts else "provisional")


def test_the_newest_run_tells_the_time_where_this_machine_is_behind(desk):
    """Its battery is empty: it says 2020."""
    accept(desk, *blocking(serve(desk, ODD | {"amount": "9."})), at="2026-11-03T12:00:00Z")
    with patch.object(time, "time_ns", lambda: 1_600_000_000 * 10**9):
        assert statement(desk.lake, "2026-10").status == "final"


def test_the_views_miss_a_record_that_is_accepted_ahead(desk):
    """Those of a query, and those of other tools."""
    found = blocking(serve(desk, PAID, ODD | {"amount": "9."}))
    query = "select net_sales from net_settlement_monthly where currency = 'usdt'"

    def sales() -> list[Any]:
        with duckdb.connect(write_views(desk.lake), read_only=True) as connection:
            (other,) = connection.sql(query).fetchall()
        return [*desk.lake.sql(query)["net_sales"], *other]

    accept(desk, *found, at="2999-01-01")
    assert all(not isinstance(each, Decimal) for each in sales())
    accept(desk, *found, at="2026-11-04")
    assert sales() == [20, 20]


def test_a_line_of_no_finding_stops_nothing(desk):
    """Nor does one of tomorrow beside one that counts."""
    found = blocking(serve(desk, ODD | {"amount": "9."}))
    accept(desk, *found, {**found[0], "record_id": "gone", "at": "2999-01-01"})
    assert of_rule(desk, HELD)[0] == "final"
