"""A record at the bound of a month is of one month, wherever and whenever that month begins."""

from datetime import UTC, datetime, timedelta

import pytest

from svc_analytics.instants import to_micros
from svc_analytics.periods import month
from svc_analytics.statements.statement import statement
from tests.support.fake_service import payment
from tests.support.rings import rings, sample


def stamp(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


# Instants at which a month begins somewhere: clocks that change, half hours, the Jalali new year.
BOUNDARIES = [
    ("2026-11", "UTC", "gregorian", "2026-11-01T00:00:00Z"),
    ("2026-11", "America/New_York", "gregorian", "2026-11-01T04:00:00Z"),  # clocks go back that day
    ("2026-10", "Asia/Kolkata", "gregorian", "2026-09-30T18:30:00Z"),
    ("2026-10", "Australia/Lord_Howe", "gregorian", "2026-09-30T13:30:00Z"),
    ("2024-10", "America/Asuncion", "gregorian", "2024-10-01T04:00:00Z"),
    ("1405-08", "Asia/Tehran", "jalali", "2026-10-22T20:30:00Z"),
    ("1405-01", "Asia/Tehran", "jalali", "2026-03-20T20:30:00Z"),  # new year
    ("1400-01", "Asia/Tehran", "jalali", "2021-03-20T20:30:00Z"),  # after a leap year
]


@pytest.mark.parametrize(("label", "zone", "calendar", "start"), sample(BOUNDARIES, 8))
def test_a_microsecond_decides_the_month(desk, label, zone, calendar, start):
    """One microsecond before the boundary is the old month, the boundary itself the new."""
    at = datetime.fromisoformat(start)
    edge = timedelta(microseconds=1)
    times = [at - edge, at, at + edge]
    desk.service.payments = [payment(n, stamp(t), "1", "0") for n, t in enumerate(times, 1)]
    desk.extract()
    counts = []
    for shift in (-1, 0):
        period = month(label, zone, calendar).shift(shift)
        # As of the service's day: a month that has ended since then was not read whole.
        now = to_micros(desk.service.now)
        found = statement(desk.lake, period.label, zone=zone, calendar=calendar, now=now)
        counts.append(found.tables["summary"]["payments_count"].to_pylist())
    assert counts == [[1], [2]]


EDGES = [("1970-01", "gregorian"), ("1348-11", "jalali"), ("1971-06", "gregorian")]


@pytest.mark.parametrize(("label", "calendar"), rings(EDGES[:2], EDGES))
def test_the_first_months_that_a_lake_can_hold_are_stated(desk, label, calendar):
    """A trend of 24 months begins before 1970 there, in months of which there is no record."""
    desk.service.now = datetime(1971, 7, 2, tzinfo=UTC)  # or each month since then is read too
    desk.service.payments = [payment(1, "1970-01-31T00:00:00Z", "1", "0")]
    desk.extract()
    found = statement(desk.lake, label, calendar=calendar).tables["summary"].to_pylist()
    assert [row["payments_count"] for row in found] == [label != "1971-06"]
