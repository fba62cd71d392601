"""A line that lies ahead of the clock accepts nothing: it is named, and stops nothing."""

import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import duckdb
import pytest

from svc_analytics.statements.statement import statement
from svc_analytics.warehouse.images import write_views
from tests.statements.test_acceptances import (
    CASES,
    CHANGED,
    FIRST_SEEN,
    HELD,
    ODD,
    PAID,
    PLUS_FEE,
    accept,
    blocking,
    serve,
)
from tests.support.desks import Desk
from tests.support.rings import sample

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


@pytest.mark.parametrize(
    ("at", "counts"),
    [
        ("2026-11-03T12:04:59Z", True),
        ("2026-11-03T12:05:01Z", False),
        ("2026-11-03T15:34:00+03:30", True),
        ("2026-11-03T15:36:00+03:30", False),
        ("2026-11-04", True),  # in Kiribati since 10:00
        ("2026-11-05", False),
        ("2026-11-04T00:00:00Z", False),
    ],
)
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
