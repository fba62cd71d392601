"""Months in any zone: half-open, without gap or overlap, whatever the clocks do."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, HOUR, MINUTE, from_micros, to_micros
from svc_analytics.periods import CALENDARS, load_zone, month, month_of, parse_month, utc_months
from tests.support.unit_material import PERSIAN, examples

ZONES = [
    *("UTC", "Asia/Tehran", "Asia/Kolkata", "Asia/Kathmandu", "Pacific/Chatham"),
    *("Pacific/Kiritimati", "Pacific/Apia", "America/New_York", "Europe/Berlin"),
    *("Australia/Lord_Howe", "Asia/Beirut", "America/Havana", "Africa/Cairo", "America/Asuncion"),
    "Asia/Gaza",
]

# When the month begins, by hand from the zone's published rules.
STARTS = {
    "UTC": ("2026-10", "UTC", "2026-10-01T00:00:00+00:00"),
    "half an hour": ("2026-10", "Asia/Tehran", "2026-09-30T20:30:00+00:00"),
    "three quarters of an hour": ("2026-10", "Asia/Kathmandu", "2026-09-30T18:15:00+00:00"),
    "fourteen hours ahead": ("2026-01", "Pacific/Kiritimati", "2025-12-31T10:00:00+00:00"),
    "summer time in force": ("2026-10", "America/New_York", "2026-10-01T04:00:00+00:00"),
    "summer time over": ("2026-12", "America/New_York", "2026-12-01T05:00:00+00:00"),
    "Tehran before 2022, summer time": ("2021-09", "Asia/Tehran", "2021-08-31T19:30:00+00:00"),
    "midnight skipped in Havana": ("2001-04", "America/Havana", "2001-04-01T05:00:00+00:00"),
    "midnight skipped in Asuncion": ("2023-10", "America/Asuncion", "2023-10-01T04:00:00+00:00"),
    "midnight skipped in Gaza": ("2007-04", "Asia/Gaza", "2007-03-31T22:00:00+00:00"),
    "midnight repeated in Havana": ("2020-11", "America/Havana", "2020-11-01T04:00:00+00:00"),
    "last hour repeated in Cairo": ("2024-11", "Africa/Cairo", "2024-10-31T22:00:00+00:00"),
}


@pytest.mark.parametrize(("label", "zone", "start"), STARTS.values(), ids=STARTS.keys())
def test_month_begins_with_the_first_instant_of_its_first_day(label, zone, start):
    """Where midnight is skipped a month begins at the skip, where repeated, at the first."""
    assert from_micros(month(label, zone).start) == datetime.fromisoformat(start)


LENGTHS = {
    "a long month": ("2026-10", "UTC", 31 * DAY),
    "a short one": ("2026-02", "UTC", 28 * DAY),
    "a leap year": ("2028-02", "UTC", 29 * DAY),
    "clocks put back": ("2026-10", "Europe/Berlin", 31 * DAY + HOUR),
    "clocks put forward": ("2026-03", "Europe/Berlin", 31 * DAY - HOUR),
    "clocks put back half an hour": ("2026-04", "Australia/Lord_Howe", 30 * DAY + 30 * MINUTE),
    "clocks put back at the month's end": ("2024-10", "Africa/Cairo", 31 * DAY + HOUR),
    "midnight repeated on the first": ("2020-11", "America/Havana", 30 * DAY + HOUR),
    "midnight skipped on the first": ("2023-10", "America/Asuncion", 31 * DAY - HOUR),
    "a day that never was": ("2011-12", "Pacific/Apia", 30 * DAY),
    "an offset half an hour shorter": ("2018-05", "Asia/Pyongyang", 31 * DAY - 30 * MINUTE),
}


@pytest.mark.parametrize(("label", "zone", "length"), LENGTHS.values(), ids=LENGTHS.keys())
def test_month_is_as_long_as_it_really_was(label, zone, length):
    """C3: a month in which clocks change is longer or shorter by that change."""
    period = month(label, zone)
    assert period.end - period.start == length


@pytest.mark.parametrize("zone", ZONES)
def test_every_boundary_splits_to_the_microsecond(zone):
    """C5: an instant on a boundary is the next month's, one microsecond earlier is not.

    So months follow each other without gap or overlap.
    """
    for year in (1972, 2001, 2011, 2023, 2024, 2026, 2037):
        for number in range(1, 13):
            period = month(f"{year}-{number:02d}", zone)
            assert month_of(period.start, zone) == period == month_of(period.end - 1, zone)
            assert month_of(period.start - 1, zone).end == period.start == period.shift(-1).end
            assert month_of(period.start + 1, zone) == period


def test_month_of_an_instant_holds_it_even_where_clocks_go_back_over_midnight():
    """At 00:01 on 1 November 2009 Newfoundland went back to October; each instant has a month."""
    zone = "America/St_Johns"
    first = month("2009-11", zone).start
    for minutes in range(-90, 91, 10):
        at = first + minutes * MINUTE
        assert month_of(at, zone).start <= at < month_of(at, zone).end


zoned = st.sampled_from(ZONES)
instants = st.integers(
    to_micros(datetime(1970, 2, 1, tzinfo=UTC)), to_micros(datetime(2090, 1, 1, tzinfo=UTC))
)


@examples
@given(instants, zoned)
def test_month_of_an_instant_is_the_one_on_the_wall_calendar(at, zone):
    """An instant's month is that of its local date, and holds the instant."""
    local = from_micros(at).astimezone(ZoneInfo(zone))
    found = month_of(at, zone)
    assert found.label == f"{local:%Y-%m}"
    assert found.start <= at < found.end


@examples
@given(st.integers(0, 600), st.integers(-600, 600), zoned)
def test_shifting_there_and_back_changes_nothing(place, months, zone):
    """A month shifted by any number of months and back is itself."""
    period = month("2020-01", zone).shift(place)
    assert period.shift(months).shift(-months) == period
    assert period.shift(0) == period


def test_shift_crosses_years():
    """Shifting counts months across any number of years and keeps the zone."""
    december = month("2026-12", "Asia/Tehran")
    shifted = {1: "2027-01", -12: "2025-12", -24: "2024-12", 13: "2028-01", 11: "2027-11"}
    for months, label in shifted.items():
        assert december.shift(months) == month(label, "Asia/Tehran")


def test_folder_names_the_zone_unless_it_is_utc():
    """A statement's folder tells which zone its month is in."""
    assert month("2026-10").folder == "2026-10"
    assert month("2026-10", "Asia/Tehran").folder == "2026-10@Asia-Tehran"
    assert month("2026-10", "America/Argentina/Ushuaia").folder.count("/") == 0


NOW = to_micros(datetime(2026, 11, 20, 12, 0, tzinfo=UTC))


def test_named_month_is_counted_in_its_zone():
    """At the edge of a year the zone decides which month is running, and so which year."""
    edge = to_micros(datetime(2026, 12, 31, 21, 0, tzinfo=UTC))
    assert parse_month("january", edge, "Asia/Tehran") == month("2027-01", "Asia/Tehran")
    assert parse_month("january", edge) == month("2026-01")


BAD_MONTHS = [
    *("", "2026", "2026-13", "2026-00", "2026-1", "2026-10-01", "26-10", "soon", "oct nov"),
    *("oct 2026 2027", "oct 26", "2026/10"),
]


@pytest.mark.parametrize("text", BAD_MONTHS)
def test_bad_month_is_a_usage_error(text):
    """What is not a month is bad usage, exit code 2."""
    with pytest.raises(ConfigError, match="not a month"):
        parse_month(text, NOW)
    with pytest.raises(ConfigError):
        month(text)


@pytest.mark.parametrize("text", ["octob", "2026-10\n", "october", "2026-10".translate(PERSIAN)])
def test_a_label_has_one_form(text):
    """What files and folders are called is never read as generously as a person's month."""
    with pytest.raises(ConfigError, match="not a month"):
        month(text)


@pytest.mark.parametrize(
    "name",
    ["", "Tehran", "Asia/Nowhere", "../../etc/passwd", "/etc/localtime", "+03:30", "Asia/", "a\0b"],
)
def test_unknown_zone_is_a_usage_error(name):
    """A zone that does not exist is bad usage, and no path is followed to find one."""
    with pytest.raises(ConfigError, match="no time zone"):
        load_zone(name)


def test_utc_months_cover_an_interval_and_no_more():
    """The months of a half-open interval are those it touches; its end is not in it."""
    start, end = month("2026-11").start, month("2027-02").start
    assert [p.label for p in utc_months(start, end)] == ["2026-11", "2026-12", "2027-01"]
    assert [p.label for p in utc_months(start - 1, start + 1)] == ["2026-10", "2026-11"]
    assert [p.label for p in utc_months(end - 1, end)] == ["2027-01"]
    assert list(utc_months(start, start)) == []


ENDS = {
    "the first instant": datetime(1970, 1, 1, tzinfo=UTC),
    "the first February": datetime(1970, 2, 15, tzinfo=UTC),
    "the first spring": datetime(1970, 3, 21, tzinfo=UTC),
    "the last instant": datetime(9998, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
}


@pytest.mark.parametrize("at", ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize("zone", [*ZONES, "Etc/GMT+12"])
def test_what_a_lake_can_hold_has_a_month_that_can_be_named(at, calendar, zone):
    """From 1970 to 9998, in every zone and calendar; so has the month before."""
    found = month_of(to_micros(at), zone, calendar)
    assert found.start <= to_micros(at) < found.end
    assert month(found.label, zone, calendar) == found
    before = found.shift(-1)
    assert month(before.label, zone, calendar).end == found.start


def test_the_first_months_of_the_jalali_calendar_begin_as_on_the_wall():
    """1 Bahman 1348 was 21 January 1970, and 1 Farvardin 1349 was 21 March."""
    starts = {"1348-11": datetime(1970, 1, 21, tzinfo=UTC),
              "1349-01": datetime(1970, 3, 21, tzinfo=UTC)}  # fmt: skip
    for label, at in starts.items():
        assert month(label, calendar="jalali").start == to_micros(at)


@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tehran", "America/New_York"])
@pytest.mark.parametrize("at", [datetime.min, datetime.max], ids=["year 1", "year 9999"])
def test_an_instant_beyond_the_calendar_is_said(at, zone, calendar):
    """One line, whichever library gave up first."""
    with pytest.raises(ConfigError, match="month"):
        month(month_of(to_micros(at.replace(tzinfo=UTC)), zone, calendar).label, zone, calendar)
