"""Months by any name: numbers, names and digits of both calendars lead to the same month."""

from datetime import UTC, date, datetime

import pytest

import svc_analytics as svc
from svc_analytics.errors import ConfigError
from svc_analytics.instants import to_micros
from svc_analytics.periods import month, parse_month

# 20 November 2026 is 29 Aban 1405.
NOW = to_micros(datetime(2026, 11, 20, 12, 0, tzinfo=UTC))
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


def test_a_month_that_is_no_text_is_one_line(desk):
    """`2026-10` without quotes is 2016 to Python."""
    with pytest.raises(
        ConfigError, match="month is the number 2016: give it as text in quotes, such"
    ):
        svc.statement(desk.lake, 2026 - 10)  # type: ignore[arg-type]


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
