"""Months in any zone: half-open, without gap or overlap, whatever the clocks do.

Months by any name: numbers, names and digits of both calendars lead to the same month.

Quarters, years and years to date: their bounds, their months, and how people write them.
"""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, HOUR, MINUTE, from_micros, to_micros
from svc_analytics.periods import (
    CALENDARS,
    load_zone,
    month,
    month_of,
    parse_month,
    parse_period,
    read_label,
    utc_months,
)
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


# 20 November 2026 is 29 Aban 1405.
ABAN = month("1405-08", calendar="jalali")

SAME = {
    "1405-08": "1405-08",
    "a name": "aban",
    "with its year": "aban 1405",
    "the year first": "1405 Aban",
    "with a comma": "Aban, 1405",
    "in capitals": " ABAN ",
    "with a hyphen": "aban-1405",
    "Persian digits": "۱۴۰۵-۰۸",
    "Arabic-Indic digits": "١٤٠٥-٠٨",
    "a Persian name": "آبان",
    "a Persian name and year": "آبان ۱۴۰۵",
    "without the sign over alef": "ابان ۱۴۰۵",
    "with the word month": "آبان ماه ۱۴۰۵",
    "joined to the word month": "آبان\u200cماه ۱۴۰۵",
    "marked right to left": "\u200f۱۴۰۵-۰۸\u200f",
    "this month": "this month",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
def test_a_jalali_month_is_the_same_however_it_is_written(text):
    """Without being told the calendar, or with it."""
    assert parse_month(text, NOW, calendar="jalali") == ABAN
    if text != "this month":
        assert parse_month(text, NOW) == ABAN


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *(("oct", "2026-10"), ("Oct 2026", "2026-10"), ("october 2025", "2025-10")),
        *(("sept", "2026-09"), ("dec", "2025-12"), ("mar", "2026-03"), ("۲۰۲۶-۱۰", "2026-10")),
        *(("2026-10\n", "2026-10"), ("last month", "2026-10"), ("Last-Month", "2026-10")),
        ("this month", "2026-11"),
    ],
)
def test_a_gregorian_month_is_taken_in_short(text, label):
    """A name without a year is the latest such month that has begun."""
    assert parse_month(text, NOW) == month(label)
    assert parse_month(text, NOW, calendar="gregorian") == month(label)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *(("farvardin", "1405-01"), ("مهر", "1405-07"), ("mehr 1404", "1404-07")),
        *(("azar", "1404-09"), ("azer", "1404-09"), ("اسفند", "1404-12"), ("دي ۱۴۰۴", "1404-10")),
        *(("ordibehest", "1405-02"), ("shahriver", "1405-06")),
    ],
)
def test_a_jalali_name_is_the_latest_month_of_its_name(text, label):
    """Azar 1405 begins on 22 November 2026, so on the 20th `azar` is that of 1404."""
    assert parse_month(text, NOW, "Asia/Tehran") == month(label, "Asia/Tehran", "jalali")


def test_last_month_is_of_the_calendar_that_is_asked_for():
    """A text that names no month leaves the calendar to its option."""
    assert parse_month("last month", NOW, calendar="jalali") == ABAN.shift(-1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("abaan", "no month 'abaan': did you mean aban?"),
        ("octob", "no month 'octob': did you mean october?"),
        ("abaan 1405", "no month 'abaan 1405': did you mean aban?"),
        ("آبن", "no month 'آبن': did you mean آبان?"),
        ("2026/10", "'2026/10' is not a month: write it as 2026-10"),
        ("۱۴۰۵/۸", "'۱۴۰۵/۸' is not a month: write it as 1405-08"),
        ("soon", "'soon' is not a month: write it as 2026-10, october or aban 1405"),
        ("aban 2026", "'aban 2026' has a jalali month and a gregorian year: write it as aban 1405"),
    ],
)
def test_a_near_miss_names_the_month_that_was_meant(text, said):
    """One line, with the way to write it."""
    with pytest.raises(ConfigError) as raised:
        parse_month(text, NOW)
    assert str(raised.value) == said


@pytest.mark.parametrize(
    ("text", "calendar", "said"),
    [
        ("2026-10", "jalali", "a gregorian month, not a jalali one: write 1405-07 or 1405-08, or"),
        ("oct", "jalali", "a gregorian month, not a jalali one: write 1405-07 or 1405-08, or"),
        ("1405-08", "gregorian", "a jalali month, not a gregorian one: write 2026-10 or 2026-11"),
        ("آبان", "gregorian", "a jalali month, not a gregorian one: write 2026-10 or 2026-11"),
    ],
)
def test_a_month_of_another_calendar_names_those_it_lies_in(text, calendar, said):
    """1 Aban 1405 is 23 October 2026, and 1 Mehr 1405 is 23 September."""
    with pytest.raises(ConfigError, match=said):
        parse_month(text, NOW, calendar=calendar)


def test_people_read_a_month_in_its_own_calendar_and_zone():
    """Its name, from when to when it lasts, and its days."""
    aban, october = month("1405-08", "Asia/Tehran", "jalali"), month("2026-10")
    assert aban.title == "Aban 1405" and october.title == "October 2026"
    assert aban.local_bounds == "1 Aban 1405 00:00 to 1 Azar 1405 00:00, Asia/Tehran"
    assert october.local_bounds == "1 October 2026 00:00 to 1 November 2026 00:00, UTC"
    assert aban.day_text(date(2026, 10, 23)) == "1405-08-01"
    assert october.day_text(date(2026, 10, 23)) == "2026-10-23"


def test_bounds_say_when_a_month_did_not_begin_at_midnight():
    """On 1 April 2001 the clocks of Havana went from midnight to one."""
    bounds = month("2001-04", "America/Havana").local_bounds
    assert bounds == "1 April 2001 01:00 to 1 May 2001 00:00, America/Havana"


SOME_ZONES = ("UTC", "Asia/Tehran", "America/New_York", "Africa/Cairo", "America/Asuncion")


@pytest.mark.parametrize("zone", SOME_ZONES)
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


JANUARY = to_micros(datetime(2027, 1, 9, tzinfo=UTC))  # no month of the year is over
REFUSED = [
    ("2026-Q5", NOW, "gregorian", "a year has Q1 to Q4"),
    ("9999", NOW, "gregorian", "is not a month of the gregorian calendar"),
    ("2027 ytd", NOW, "gregorian", "2027 has not begun"),
    ("2026-13-ytd", NOW, "gregorian", "is not a month of the gregorian calendar"),
    ("q3 q4", NOW, "gregorian", "is not a month"),
    ("2026-Q3 ytd", NOW, "gregorian", "'2026-Q3 ytd' is no year to date: write it as 2026-10-ytd"),
    ("ytd", JANUARY, "gregorian", "write 2027-01-ytd .* or 2026 for the year before"),
    ("2026-Q3", NOW, "jalali", "write 1405-Q2 or 1405-Q3"),  # it begins in the second of 1405
]


@pytest.mark.parametrize(("text", "now", "calendar", "says"), REFUSED)
def test_what_is_no_period_is_refused_in_one_line(text, now, calendar, says):
    """The line names what was written, or what to write."""
    with pytest.raises(ConfigError, match=says) as caught:
        parse_period(text, now, calendar=calendar)
    assert "\n" not in str(caught.value)


def test_the_period_before_is_of_the_same_length():
    """Of a year to date, the same months of the year before."""
    before = {
        label: read_label(label).shift(-1).label for label in ("2026-Q1", "2026", "2026-10-ytd")
    }
    assert before == {"2026-Q1": "2025-Q4", "2026": "2025", "2026-10-ytd": "2025-10-ytd"}
