"""Quarters, years and years to date: their bounds, their months, and how people write them."""

from datetime import UTC, datetime

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, to_micros
from svc_analytics.periods import month, parse_period, read_label

NOW = to_micros(datetime(2026, 11, 20, 12, tzinfo=UTC))  # 29 Aban 1405
ZONES = ("UTC", "Asia/Tehran", "America/New_York", "Africa/Cairo", "America/Asuncion")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    ("label", "calendar", "first", "last", "count"),
    [
        ("2026-Q1", "gregorian", "2026-01", "2026-03", 3),
        ("2026-Q4", "gregorian", "2026-10", "2026-12", 3),
        ("2026", "gregorian", "2026-01", "2026-12", 12),
        ("2026-10-ytd", "gregorian", "2026-01", "2026-10", 10),
        ("1405-Q2", "jalali", "1405-04", "1405-06", 3),
        ("1405", "jalali", "1405-01", "1405-12", 12),
        ("1405-01-ytd", "jalali", "1405-01", "1405-01", 1),
    ],
)
def test_a_longer_period_begins_and_ends_with_its_months(zone, label, calendar, first, last, count):
    """No gap between its months, whatever the clocks of the zone do."""
    made = read_label(label, zone, calendar)
    assert made.start == month(first, zone, calendar).start
    assert made.end == month(last, zone, calendar).end
    assert [each.label for each in made.months][:: count - 1 or 1] == [first, last][:count]
    assert made.label == label and len(made.months) == count
    assert sum(each.end - each.start for each in made.months) == made.end - made.start


def test_a_leap_year_has_a_day_more():
    """2028 has 366 days; 1408 is the next leap year of the Jalali calendar."""
    for year, calendar, days in (
        *(("2027", "gregorian", 365), ("2028", "gregorian", 366)),
        *(("1407", "jalali", 365), ("1408", "jalali", 366)),
    ):
        made = read_label(year, calendar=calendar)
        assert made.end - made.start == days * DAY


WRITTEN = {
    "2026-Q3": "2026-Q3",
    "q3 2026": "2026-Q3",
    "2026q3": "2026-Q3",
    "Q3": "2026-Q3",
    "q4": "2026-Q4",
    "3rd quarter 2025": "2025-Q3",
    "last quarter": "2026-Q3",
    "this quarter": "2026-Q4",
    "1405-q2": "1405-Q2",
    "سه‌ماههٔ دوم ۱۴۰۵": "1405-Q2",
    "2026": "2026",
    "year 2025": "2025",
    "۱۴۰۵": "1405",
    "سال ۱۴۰۴": "1404",
    "this year": "2026",
    "last year": "2025",
    "ytd": "2026-10-ytd",
    "2026 ytd": "2026-10-ytd",
    "year to date": "2026-10-ytd",
    "2025-ytd": "2025-12-ytd",
    "oct ytd": "2026-10-ytd",
    "2026-11-ytd": "2026-11-ytd",
    "mehr ytd": "1405-07-ytd",
    "aban": "1405-08",
}


@pytest.mark.parametrize(("text", "label"), WRITTEN.items(), ids=WRITTEN.keys())
def test_a_period_is_taken_as_people_write_it(text, label):
    """Four digits and a Q, words, Persian; without a year it is the latest that has begun."""
    assert parse_period(text, NOW).label == label


def test_a_relative_period_is_of_the_chosen_calendar():
    """On 29 Aban 1405 the running quarter is the third, and Mehr is the newest month over."""
    labels = [
        parse_period(text, NOW, "Asia/Tehran", "jalali").label
        for text in ("this quarter", "last quarter", "this year", "ytd")
    ]
    assert labels == ["1405-Q3", "1405-Q2", "1405", "1405-07-ytd"]


REFUSED = {
    "2026-Q5": "a year has Q1 to Q4",
    "9999": "is not a month of the gregorian calendar",
    "2027 ytd": "2027 has not begun",
    "2026-13-ytd": "is not a month of the gregorian calendar",
    "q3 q4": "is not a month",
    "2026-Q3 ytd": "'2026-Q3 ytd' is no year to date: write it as 2026-10-ytd",
}


@pytest.mark.parametrize(("text", "says"), REFUSED.items(), ids=REFUSED.keys())
def test_what_is_no_period_is_refused_in_one_line(text, says):
    """The line names what was written, or what to write."""
    with pytest.raises(ConfigError, match=says) as caught:
        parse_period(text, NOW)
    assert "\n" not in str(caught.value)


def test_a_year_to_date_in_january_names_what_to_write():
    """No month of the year is over: nothing is guessed."""
    january = to_micros(datetime(2027, 1, 9, tzinfo=UTC))
    with pytest.raises(ConfigError, match=r"write 2027-01-ytd .* or 2026 for the year before"):
        parse_period("ytd", january)


def test_a_quarter_of_another_calendar_names_those_it_lies_in():
    """The third quarter of 2026 begins in the second of 1405."""
    with pytest.raises(ConfigError, match="write 1405-Q2 or 1405-Q3"):
        parse_period("2026-Q3", NOW, calendar="jalali")


def test_the_period_before_is_of_the_same_length():
    """Of a year to date, the same months of the year before."""
    before = {
        label: read_label(label).shift(-1).label for label in ("2026-Q1", "2026", "2026-10-ytd")
    }
    assert before == {"2026-Q1": "2025-Q4", "2026": "2025", "2026-10-ytd": "2025-10-ytd"}
