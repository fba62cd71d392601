"""A calendar is one file: its months, its days, its labels, and how people write it."""

from datetime import UTC, date, datetime

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.instants import to_micros
from svc_analytics.periods import CALENDARS, month, month_of, parse_period, read_label
from tests.support.calendars import FISCAL

NOW = to_micros(datetime(2026, 11, 20, 12, tzinfo=UTC))  # the eighth month of FY2026


@pytest.fixture(autouse=True)
def _fiscal(monkeypatch) -> None:
    monkeypatch.setitem(CALENDARS, FISCAL.name, FISCAL)


LABELS = {
    "FY2026-07": ("2026-10", "2026-10"),
    "FY2026-10": ("2027-01", "2027-01"),
    "FY2026-Q3": ("2026-10", "2026-12"),
    "FY2026": ("2026-04", "2027-03"),
    "FY2026-07-ytd": ("2026-04", "2026-10"),
}


@pytest.mark.parametrize(("label", "months"), LABELS.items(), ids=LABELS.keys())
def test_a_third_calendar_reads_and_writes_its_own_labels(label, months):
    """Its periods hold the time of the Gregorian months that they are made of."""
    period = read_label(label, "Asia/Tehran", "fiscal")
    first, last = (month(each, "Asia/Tehran") for each in months)
    assert (period.start, period.end) == (first.start, last.end)
    assert period.label == label and period.shift(1).shift(-1) == period
    assert [each.calendar for each in period.months] == ["fiscal"] * period.count


WRITTEN = {
    "FY2026-07": "FY2026-07",
    "fy2026 q3": "FY2026-Q3",
    "Q2 FY2025": "FY2025-Q2",
    "FY۲۰۲۶": "FY2026",
    "fy2026-07-ytd": "FY2026-07-ytd",
    "fy2025 ytd": "FY2025-12-ytd",
    "july fy2026": "FY2026-04",
    "2026-10": "2026-10",
    "july 2026": "2026-07",
    "1405-q2": "1405-Q2",
}


@pytest.mark.parametrize(("text", "label"), WRITTEN.items(), ids=WRITTEN.keys())
def test_people_write_the_mark_of_a_calendar_before_its_years(text, label):
    """What has no mark is of the calendars that were there before."""
    assert parse_period(text, NOW).label == label


def test_a_calendar_that_is_chosen_counts_from_its_running_month():
    """November is in the third quarter of a year that began in April."""
    texts = ("last month", "this quarter", "last year", "ytd")
    labels = [parse_period(text, NOW, calendar="fiscal").label for text in texts]
    assert labels == ["FY2026-07", "FY2026-Q3", "FY2025", "FY2026-07-ytd"]


def test_a_month_of_another_calendar_names_those_of_the_third():
    """1 Aban 1405 is 23 October 2026."""
    with pytest.raises(ConfigError, match="not a fiscal one: write FY2026-07 or FY2026-08, or"):
        parse_period("aban 1405", NOW, calendar="fiscal")


def test_people_read_its_names_and_days():
    """January FY2026 is in 2027."""
    period = read_label("FY2026-10", calendar="fiscal")
    assert period.title == "January FY2026" and period.day_text(date(2027, 1, 9)) == "FY2026-10-09"
    assert read_label("FY2026", calendar="fiscal").title == "Year FY2026"
    assert period.local_bounds == "1 January FY2026 00:00 to 1 February FY2026 00:00, UTC"


# The earliest month and the latest, and those beyond.
ENDS = {
    "gregorian": ("1969-01", "9999-01", "1968-12", "9999-02"),
    "jalali": ("1348-01", "9377-10", "1347-12", "9377-11"),
    "fiscal": ("FY1969-01", "FY9998-09", "FY1968-12", "FY9998-10"),
}


@pytest.mark.parametrize(("name", "ends"), ENDS.items(), ids=ENDS.keys())
def test_a_calendar_has_the_months_from_its_earliest_to_its_latest(name, ends):
    """The month before and the one behind are refused, though their days exist."""
    first, last = (month(label, calendar=name) for label in ends[:2])
    assert month_of(first.start, calendar=name) == first
    assert month_of(last.end - 1, calendar=name) == last
    assert (first.shift(-1).label, last.shift(1).label) == ends[2:]
    for beyond in ends[2:]:
        with pytest.raises(ConfigError, match=f"{beyond}' is not a month of the {name} calendar"):
            month(beyond, calendar=name)


@pytest.mark.parametrize("label", ["2026-10", "FY26-07", "fy2026-07", "FY2026-Q5", "XFY2026-07"])
def test_a_label_without_the_mark_is_none_of_the_calendar(label):
    """`2026-10` is October, and no month of a year that begins in April."""
    with pytest.raises(ConfigError, match="not a month of the fiscal calendar: write it as FY2026"):
        read_label(label, calendar="fiscal")
