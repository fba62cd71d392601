"""What views and tables say where something is missing, or where records are odd."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from svc_analytics.closing.stated import statement
from svc_analytics.instants import parse_bound
from svc_analytics.lake.coverage_footer import MonthFileFooter, read_footer
from svc_analytics.lake.month_file import read_groups, write_month_file
from svc_analytics.periods import month
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS
from svc_analytics.warehouse.images import write_views
from svc_analytics.warehouse.sources import open_sources
from tests.support.closings import all_findings
from tests.support.desks import Desk
from tests.support.fake_service import Record, payment, payout, refund
from tests.support.prepared import extracted

PAID = payment(1, "2026-09-15T12:00:00Z", "10", "0")


def rows(desk: Desk, query: str) -> list[dict[str, Any]]:
    found = desk.lake.sql(query).to_dict("records")
    return [{name: None if value != value else value for name, value in row.items()}
            for row in found]  # fmt: skip


def hold(desk: Desk, payments: list[Record], payouts: list[Record], **request: Any) -> None:
    desk.service.payments, desk.service.payouts = payments, payouts
    desk.extract(**request)


def test_what_payers_got_back_is_known_from_when_refunds_were_read(desk):
    """History before the first day read has no say in what was paid since."""
    hold(
        desk,
        [PAID],
        [refund(2, PAID, "2026-10-01T12:00:00Z", "4")],
        start=parse_bound("2026-09-01"),
    )
    assert desk.lake.sql("from payers")["refunds_paid"].to_list() == [Decimal(4)]


SLUGS = ["$.x", "a.b", "*", "'", '"', "x y", "[0]", "%", "NULL", "usdt"]


def test_every_coin_has_the_same_days(desk):
    """Whatever it is called, and however late its last record settled."""
    at, settled = "2026-11-19T23:59:59Z", "2026-11-22T00:00:00Z"
    late = [payout(n, at, settled_at=settled, currency=slug) for n, slug in enumerate(SLUGS)]
    paid = [payment(n, "2026-09-15T12:00:00Z", currency=slug) for n, slug in enumerate(SLUGS)]
    hold(desk, paid, late)
    days = desk.lake.sql("select currency, count(*) n, max(day) d from position_daily group by all")
    assert {*days["currency"]} == {*SLUGS} and days["n"].nunique() == days["d"].nunique() == 1


def test_a_movement_is_unknown_on_its_own_day_alone_and_positions_from_then_on(desk):
    """A payment of a status that nobody knows on the 16th; of another coin, nothing is missing."""
    odd = payment(2, "2026-09-16T12:00:00Z", "5", "0", status="held")
    later = payment(3, "2026-09-18T12:00:00Z", "7", "0")
    other = payment(4, "2026-09-16T12:00:00Z", "1", "0", currency="btc")
    hold(desk, [PAID, odd, later, other], [])
    query = "select opening, movement, closing from position_daily where day {} order by day"
    of_days = "between '2026-09-15' and '2026-09-18' and currency = '{}'"
    coin = PAID["currency"]
    found = rows(desk, query.format(of_days.format(coin)))
    assert [row["movement"] for row in found] == [Decimal(10), None, Decimal(0), Decimal(7)]
    assert [row["opening"] for row in found] == [Decimal(0), Decimal(10), None, None]
    assert [row["closing"] for row in found] == [Decimal(10), None, None, None]
    known = rows(desk, query.format(of_days.format("btc")))
    assert [row["closing"] for row in known] == [Decimal(1)] * 3


def test_days_behind_time_that_was_not_read_have_known_movements(desk):
    """Payments of September were not read: October's days are whole, positions are not."""
    hold(desk, [PAID], [refund(2, PAID, "2026-10-05T12:00:00Z", "4")], streams=("payout_records",))
    desk.extract(streams=("payments",), start=parse_bound("2026-10-02"))
    found = rows(desk, "from position_daily where day in ('2026-10-05', '2026-10-06') order by day")
    assert [row["movement"] for row in found] == [Decimal(-4), Decimal(0)]
    assert {row["closing"] for row in found} == {None}


def test_every_completed_refund_has_a_row_and_a_finding_if_it_is_odd(desk):
    """Of a payment not completed, of another coin, of none, or of one nobody knows."""
    pending = payment(5, "2026-09-16T12:00:00Z", status="pending")
    odd = [
        refund(6, pending, "2026-10-01T12:00:00Z"),
        refund(7, PAID, "2026-10-02T12:00:00Z", currency="btc"),
        refund(8, PAID, "2026-10-03T12:00:00Z", payment_id=None),
        refund(9, payment(99, ""), "2026-10-04T12:00:00Z"),
    ]
    hold(desk, [PAID, pending], odd)
    made = statement(desk.lake, "2026-10")
    assert made.tables["refunds"]["payout_id"].to_pylist() == [record["id"] for record in odd]
    found = set(made.tables["checks"]["record_id"].to_pylist())
    assert found >= {record["id"] for record in odd[1:]}


def test_what_is_left_of_a_refunded_payment_is_unknown_where_a_refund_may_be_missing(desk):
    """Payout records of September, when the payment was made, were not read."""
    desk.service.payments = [PAID]
    desk.service.payouts = [refund(2, PAID, "2026-10-05T12:00:00Z", "4")]
    desk.extract(streams=("payments",))
    desk.extract(streams=("payout_records",), start=parse_bound("2026-10-01"))
    (row,) = statement(desk.lake, "2026-10").tables["refunds"].to_pylist()
    assert row["amount"] == 4 and row["refunded_after"] is row["refundable_left"] is None


def test_the_rate_is_unknown_where_a_newer_price_may_be_missing(desk):
    """Nothing of October was read: September's rate may not be the newest at November's end."""
    desk.service.now = datetime(2026, 12, 3, tzinfo=UTC)
    hold(desk, [PAID], [], end=parse_bound("2026-10-01"))
    desk.extract(start=parse_bound("2026-11-01"))
    made = statement(desk.lake, "2026-11", now=parse_bound("2026-12-03"))
    assert made.tables["summary"]["implied_rate"].to_pylist() == [None]
    assert "2026-10-01" in made.unknown[0].because


def test_a_lost_month_file_leaves_positions_unknown_with_the_reason(desk):
    """Refunds of its payments are none of October's; how much is of earlier ones is not known."""
    older = payment(5, "2026-08-15T12:00:00Z")
    hold(desk, [older, PAID], [refund(6, older, "2026-10-02T12:00:00Z", "4")])
    (desk.lake.path / "payments" / "2026-08.parquet").unlink()
    made = statement(desk.lake, "2026-10")
    (row,) = made.tables["summary"].to_pylist()
    parts = [row[f"refunds_{part}"] for part in ("same_period", "prior_period", "unresolved")]
    assert parts == [0, None, 4] and row["refunds_paid"] == 4
    unknown = ("opening_position", "closing_position", "fee_leakage")
    assert [row[name] for name in unknown] == [None] * 3
    assert made.unknown[0].because.startswith("payments of 2026-08-01")


def test_other_tools_read_what_a_person_accepted(desk):
    """The views for them are the same: an accepted record is no longer missed."""
    odd = payment(5, "2026-09-16T12:00:00Z", amount="1e1")
    hold(desk, [PAID, odd], [])

    def seen() -> list[Any]:
        with duckdb.connect(write_views(desk.lake), read_only=True) as connection:
            return connection.sql("select net_sales from net_settlement_monthly").fetchall()

    assert seen() == [(None,)]
    lines = [
        "check,record_id,reason,by,at",
        f"record_could_be_held,{odd['id']},test,Mina,2026-11-25",
    ]
    (desk.lake.path / "acknowledgements.csv").write_text("\n".join(lines) + "\n")
    assert seen() == [(Decimal(10),)]


def test_a_finding_that_may_be_of_any_time_has_no_month(desk):
    """What was never set is no date, and time that was not read begins at no instant."""
    undated = refund(2, PAID, "2026-10-01T12:00:00Z", "4") | {"created_at": None}
    hold(desk, [PAID], [undated | {"settled_at": None}])
    [finding] = rows(desk, "select check_name, month from exceptions")
    assert finding == {"check_name": "record_could_be_held", "month": None}


def test_the_only_token_of_a_month_is_not_taken_for_a_missing_one(desk):
    """It is the least and the greatest of its column, which DuckDB 2.0 takes for NULL."""
    days = [f"2026-09-{day}T12:00:00Z" for day in (15, 16, 17)]
    first, *others = [payment(number, at, "10", "0") for number, at in enumerate(days, 1)]
    hold(desk, [first | {"receipt": "v1.a.b"}, *others], [])
    found = rows(desk, "select receipt_no, verdict from receipt_status order by receipt_no")
    verdicts = {row["receipt_no"]: row["verdict"] for row in found}
    missing = dict.fromkeys(("SVC-000002", "SVC-000003"), "missing")
    without = rows(desk, "select receipt_no from payments where receipt is null")
    assert {row["receipt_no"] for row in without} == missing.keys()
    assert verdicts == {"SVC-000001": "not_checked"} | missing


MONTHS = {"2026-08": 2, "2026-09": 0, "2026-10": 1}  # payments without a receipt, of three each


@pytest.fixture
def held(desk) -> Desk:
    desk.service.payments = [
        payment(n, f"{label}-0{day}T12:00:00Z", receipt=None if day <= lacking else f"v1.{n}.b")
        for place, (label, lacking) in enumerate(MONTHS.items())
        for n, day in enumerate((1, 2, 3), 10 * place)
    ]
    desk.service.payouts = [payout(1, "2026-09-03T00:00:00Z")]
    return extracted(desk)


def state(desk: Desk, label: str, count: Callable[[int], int | None], patch: Any) -> None:
    """Write a month file again, with another count in its footer."""
    path = desk.lake.month_path(PAYMENTS, label)
    rows, real = [*read_groups(path)], MonthFileFooter.to_json

    def to_json(footer: MonthFileFooter) -> str:
        return real(replace(footer, without_receipt=count(footer.without_receipt or 0)))

    with patch.context() as patched:
        patched.setattr(MonthFileFooter, "to_json", to_json)
        write_month_file(desk.lake.storage, path, PAYMENTS, rows, read_footer(path))


def searched(desk: Desk, label: str | None) -> list[str]:
    """The files in which a reader of a month, or of all, looks for them."""
    period = label and (month(label).start, month(label).end)
    with open_sources(desk.lake, None, period or None) as sources:
        return [path.stem for path in sources.files["receiptless_payments"]]


def verdicts(desk: Desk, label: str) -> list[str]:
    return list(statement(desk.lake, label).tables["receipts"]["verdict"].to_pylist())


def test_a_months_footer_counts_its_payments_without_a_receipt(held):
    """That of payout records, which have none, does not say."""
    footers = held.lake.footers(PAYMENTS).items()
    counts = {label: footer.without_receipt for label, footer in footers}
    assert counts == {"0000-00": 0, **MONTHS, "2026-11": 0}
    of_payouts = held.lake.footers(PAYOUT_RECORDS).values()
    assert {footer.without_receipt for footer in of_payouts} == {None}


@pytest.mark.thorough
def test_a_statement_searches_only_files_that_have_some(held):
    """Few payments of other months lie in one file, which says nothing. `check` reads all files."""
    assert searched(held, "2026-10") == ["2026-10", "0000-00", "payments"]
    assert searched(held, "2026-09") == ["0000-00", "payments"]
    assert {*searched(held, None)} == {"0000-00", *MONTHS, "2026-11"}
    assert verdicts(held, "2026-10") == ["missing", "not_checked", "not_checked"]
    assert verdicts(held, "2026-09") == ["not_checked"] * 3


@pytest.mark.thorough
def test_a_file_that_does_not_say_is_searched(held, monkeypatch):
    """One that an earlier version wrote: how many it has is unknown, not none."""
    state(held, "2026-08", lambda count: None, monkeypatch)
    assert held.lake.footers(PAYMENTS)["2026-08"].without_receipt is None
    assert "2026-08" in searched(held, "2026-08")
    assert verdicts(held, "2026-08") == ["missing", "missing", "not_checked"]
    assert not all_findings(held.lake)


def test_a_count_that_its_rows_do_not_have_is_found(held, monkeypatch):
    """By each statement of the month; `check` has the same rule."""
    state(held, "2026-09", lambda count: count + 1, monkeypatch)
    detail = "payments: 0 payments without a receipt, its footer states 1"
    [finding] = statement(held.lake, "2026-09").tables["checks"].to_pylist()
    assert (finding["record_id"], finding["detail"]) == ("2026-09", detail)
    assert finding["check_name"] == "month_file_matches_its_footer"
