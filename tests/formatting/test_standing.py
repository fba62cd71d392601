"""What a table is worth travels with it: period, zone, status, and which days are not over."""

from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import svc_analytics as svc
from svc_analytics.formatting.status_line import NOWHERE, StatusLine, attach, detach, status_line_of
from svc_analytics.statements.statement import Statement
from tests.support.fake_service import payment
from tests.support.prepared import prepared

STANDING = StatusLine("2026-11, UTC · provisional", "2026-11-20", "2026-11", {"btc": 8})
TABLE = attach(pa.table({"day": [date(2026, 11, 19), date(2026, 11, 20)]}), STANDING)


@pytest.fixture
def running(desk) -> Statement:
    """A statement of a month that is not over."""
    times = ["2026-11-18T00:00:00Z", "2026-11-20T00:00:00Z"]
    desk.service.payments = [payment(n, at) for n, at in enumerate(times)]

    def make() -> Statement:
        desk.extract()
        return svc.statement(desk.lake, "2026-11", zone="Asia/Tehran")

    return prepared(desk, "running", make)


@pytest.mark.parametrize(
    ("value", "is_running"),
    [
        (date(2026, 11, 19), False),
        (date(2026, 11, 20), True),
        ("2026-11-21", True),
        ("2026-10", False),
        ("2026-11", True),
        (None, False),
        (7, False),
    ],
)
def test_a_day_or_month_that_is_not_over_is_known(value, is_running):
    """Read up to some time of 20 November: that day and that month are running."""
    assert STANDING.is_running(value) is is_running
    assert not NOWHERE.is_running(value)


@pytest.mark.parametrize(
    ("value", "column", "is_running"),
    [
        (date(2026, 11, 1), "month", True),
        (datetime(2026, 11, 1, tzinfo=UTC), "payment_month", True),
        (date(2026, 10, 1), "month", False),
        (datetime(2026, 11, 19, 9, tzinfo=UTC), "day", False),
        (datetime(2026, 11, 20, tzinfo=UTC), "day", True),
        ("October", "month", False),
        ("Friday, 13", "day", False),
    ],
)
def test_a_month_of_an_own_query_is_known_too(value, column, is_running):
    """date_trunc gives the first day of a month, monthname a word that says no year."""
    assert STANDING.is_running(value, column) is is_running


def test_a_table_keeps_its_standing_when_it_is_cut():
    """Fewer rows or columns are still of the same statement; a file holds no standing."""
    assert status_line_of(TABLE.slice(1).select(["day"])) == STANDING
    assert status_line_of(detach(TABLE)) == NOWHERE and status_line_of(5) == NOWHERE


def test_every_table_and_frame_of_a_statement_says_what_it_is_worth(running):
    """Period, zone, status and the first reason, in whatever is made of it."""
    head = "2026-11, Asia/Tehran · running, read up to "
    tables = [*running.tables.values(), running.daily, running.lines.head(1), running.summary]
    for table in tables:
        assert status_line_of(table).text.startswith(head)
        shown = svc.show(table)
        assert head in shown._repr_html_() and "the month is not over" in repr(shown)
    assert head in svc.show(running, only=["net_sales"])._repr_html_()
    assert "Provisional: its figures can still change" in running._repr_html_()


def test_the_running_day_is_marked_in_a_table(running):
    """A day of which only some hours were read does not look like a whole one."""
    shown = repr(svc.show(running.daily[["day", "net_sales"]]))
    marked = [line.split("  ")[0] for line in shown.splitlines() if "(running)" in line]
    assert marked == ["20 Nov 2026 (running)"]


def test_the_running_month_is_marked_in_an_answer(desk):
    """Views know no status, but the lake knows how far it was read.

    As a text or as a date, which date_trunc gives and most people write.
    """
    times = ["2026-10-19T00:00:00Z", "2026-11-19T00:00:00Z"]
    desk.service.payments = [payment(n, at) for n, at in enumerate(times)]
    desk.extract()
    months = desk.lake.sql("select month, net_sales from net_settlement_monthly order by month")
    lines = repr(svc.show(months)).splitlines()
    assert [line.split("  ")[0] for line in lines[2:4]] == ["2026-10", "2026-11 (running)"]
    query = "select date_trunc('month', paid_on)::date as month from payments order by month"
    lines = repr(svc.show(desk.lake.sql(query))).splitlines()
    assert [line.strip() for line in lines[2:4]] == ["1 Oct 2026", "1 Nov 2026 (running)"]


def test_a_final_statement_says_what_it_rests_on(desk):
    """And that it is not sealed yet."""
    desk.service.payments = [payment(1, "2026-10-19T00:00:00Z")]
    desk.extract()
    shown = repr(svc.show(svc.statement(desk.lake, "2026-10")))
    assert "2026-10, UTC · not closed" in shown
    assert "late records can still change it" in str(svc.statement(desk.lake, "2026-10"))


def test_files_hold_no_standing(running, tmp_path):
    """The same rows give the same bytes, whatever the status is."""
    folder = running.save(tmp_path / "out", ("parquet",))
    assert pq.read_schema(folder / "daily.parquet").metadata is None
