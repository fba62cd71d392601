"""Shares of covered time: which month's file gets what, and what becomes provisional."""

import pytest

from svc_analytics.coverage import Coverage
from svc_analytics.instants import BEGINNING, DAY, MINUTE
from svc_analytics.lake.footer import (
    CoverageUpdate,
    MonthFileFooter,
    coverage_by_month,
    early_claims,
    first_month_start,
    lookback_window,
    owned_span,
    stale_coverage,
)
from svc_analytics.periods import month

SEPTEMBER, OCTOBER, NOVEMBER = (month(f"2026-{number:02}") for number in (9, 10, 11))
NOW = NOVEMBER.start + 20 * DAY


def test_time_is_split_at_the_bounds_of_months():
    """Before the first month with a file all is the origin's; after it, each month's own."""
    gained = Coverage.of([(BEGINNING, NOW)], watermark=NOW - DAY)
    by_month = coverage_by_month(gained, Coverage(), OCTOBER.start)
    assert by_month == {
        "0000-00": Coverage(((BEGINNING, OCTOBER.start),)),
        "2026-10": Coverage(((OCTOBER.start, OCTOBER.end),)),
        "2026-11": Coverage(((NOVEMBER.start, NOW - DAY),), ((NOW - DAY, NOW),)),
    }


def test_time_of_the_origin_moves_into_months_that_get_a_file():
    """A record comes in of a month that was known to be empty."""
    origin = Coverage(((BEGINNING, NOVEMBER.start),))
    gained = Coverage(((NOVEMBER.start, NOW),))
    by_month = coverage_by_month(gained, origin, SEPTEMBER.start)
    assert sorted(by_month) == ["0000-00", "2026-09", "2026-10", "2026-11"]
    assert by_month["2026-09"] == Coverage(((SEPTEMBER.start, SEPTEMBER.end),))


@pytest.mark.parametrize(
    ("labels", "new", "fills_months", "expected"),
    [
        ([], [], False, NOVEMBER), (["2026-10"], [], False, OCTOBER),
        (["2026-10"], ["2026-09"], False, SEPTEMBER), ([], [], True, SEPTEMBER),
    ],
)  # fmt: skip
def test_the_first_month_with_a_file(labels, new, fills_months, expected):
    """The month read last gets one at least; with a lower bound, every month that was read."""
    covered = ((SEPTEMBER.start + DAY, NOW),)
    labels = ["0000-00", *labels]
    assert first_month_start(covered, labels, new, fills_months=fills_months) == expected.start


def test_a_month_that_was_read_to_its_end_is_the_one_read_last():
    """The next one begins there, and nothing of it was read; of its first instant something is."""
    for until, newest in ((OCTOBER.end, OCTOBER), (OCTOBER.end + 1, NOVEMBER)):
        covered = ((SEPTEMBER.start + DAY, until),)
        assert first_month_start(covered, ["0000-00"], [], fills_months=False) == newest.start


def test_the_origin_answers_for_the_time_before_the_first_file():
    """Or for all time, as long as no month has a file."""
    assert owned_span("0000-00", ["0000-00", "2026-11", "2026-10"], NOW)[1] == OCTOBER.start
    assert owned_span("0000-00", ["0000-00"], NOW) == (BEGINNING, NOW)
    assert owned_span("2026-10", [], NOW) == (OCTOBER.start, OCTOBER.end)


@pytest.mark.parametrize(
    ("covered", "stale"),
    [
        ((), ()),  # nothing newer comes with it: the next run reads the same window again
        (((90, 95),), ()),
        (((95, 120),), ((80, 95),)),  # the window moves on, and this part was not read again
        (((80, 120),), ()),
    ],
)
def test_what_was_not_read_again_becomes_provisional(covered, stale):
    """Publishing newer time moves the lookback window away from what it did not come to."""
    window = lookback_window(((0, 100),), lookback=20)
    assert window == ((80, 100),)
    assert stale_coverage(window, covered) == stale
    held = Coverage(((0, 100),))
    update = CoverageUpdate(retracted=((10, 20),), stale=stale)
    assert update.apply("2026-10", held).read == ((0, 10), (20, 100))
    assert update.apply("2026-10", held).provisional == stale


@pytest.mark.parametrize(
    ("claimed_until", "written_at", "early"),
    [
        (NOW + DAY, NOW, ((NOW, NOW + DAY),)),
        (NOW - DAY, NOW - 2 * DAY, ((NOW - 2 * DAY, NOW - DAY),)),  # it has come since
        (NOW + 15 * MINUTE, NOW, ()),  # both clocks may be right
        (NOW + 15 * MINUTE + 1, NOW, ((NOW, NOW + 15 * MINUTE + 1),)),
        (NOW, NOW, ()),
    ],
)
def test_time_that_had_not_come_was_not_read(claimed_until, written_at, early):
    """One stretch that reaches into the future is taken back from there on."""
    coverage = Coverage(((BEGINNING, claimed_until),))
    footer = MonthFileFooter("payments", "m-1", (BEGINNING, NOW), coverage, 0, written_at)
    assert early_claims([footer], NOW) == early
