"""A calendar is one file, with its months and labels; zones have one rule, here and in SQL."""

import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from itertools import pairwise

import duckdb
import pyarrow as pa
import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, HOUR, from_micros, parse_bound, to_micros
from svc_analytics.periods import (
    CALENDARS,
    clock_of,
    load_zone,
    month,
    month_of,
    parse_period,
    read_label,
)
from svc_analytics.periods.zones import _names, utc_midnight
from svc_analytics.statements.tables import clock_text
from svc_analytics.warehouse.models import read_macros
from tests.support.calendars import FISCAL, rule

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


# ---------- one rule of zones: bounds and days follow from one list, on every machine


START, END = parse_bound("2025-01-01"), parse_bound("2028-01-01")
# Of these, machines with databases of another year cut months otherwise.
_PRINT = """
from svc_analytics.periods import month
for label, zone in [("2026-10", "Africa/Casablanca"), ("2026-11", "America/Havana"),
                    ("2026-11", "America/Edmonton"), ("1405-07", "Asia/Tehran")]:
    period = month(label, zone, "jalali" if label < "2000" else "gregorian")
    print(period.start, period.end, period.clock.changes(period.start, period.end))
"""
_OWN = """
from datetime import datetime
from zoneinfo import ZoneInfo
print(ZoneInfo("Asia/Tehran").utcoffset(datetime(2026, 1, 1)))
"""


def printed(program: str, database: str) -> list[str]:
    """What a program prints on a machine that has its zone database in a folder."""
    command, env = [sys.executable, "-c", program], {**os.environ, "PYTHONTZPATH": database}
    done = subprocess.run(command, env=env, capture_output=True, check=True, text=True)
    return done.stdout.splitlines()


def test_a_machine_with_another_zone_database_has_the_same_bounds_and_days(tmp_path):
    """Its database says that these zones are UTC; only the package that we bring is asked."""
    for name in ("Africa/Casablanca", "America/Havana", "America/Edmonton", "Asia/Tehran"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(files("tzdata").joinpath("zoneinfo", "UTC").read_bytes())
    assert printed(_OWN, str(tmp_path)) == ["0:00:00"]  # as Python's own zones have it there
    other = printed(_PRINT, str(tmp_path))
    assert other == printed(_PRINT, "") and len(other) == 4


def test_python_and_sql_show_the_same_clock_around_each_change_of_each_zone():
    """Of 2025 to 2027, in every zone: what the package itself says to Python's own zones."""
    database_of = files("tzdata").joinpath("zoneinfo")
    distinct = {database_of.joinpath(name).read_bytes(): name for name in sorted(_names())}
    changes = {name: clock_of(name).changes(START, END) for name in distinct.values()}
    asked = [
        {"name": name, "zone": clock_text(changes[name]), "instant": at + more}
        for name, own in changes.items()
        for at, _ in own
        for more in (-DAY, -HOUR, -1, 0, 1, HOUR, DAY)
    ]
    database, listed = duckdb.connect(), pa.Table.from_pylist(asked)
    database.execute(f"set TimeZone = 'UTC'; {read_macros()}").register("listed", listed)
    query = "select *, local_time(make_timestamptz(instant), zone) as shown from listed"
    answers = database.sql(query).to_arrow_table().to_pylist()
    for each in answers:
        own = from_micros(each["instant"]).astimezone(load_zone(each["name"]))
        local = clock_of(each["name"]).local(each["instant"])
        assert each["shown"] == local == own.replace(tzinfo=None), each
    assert len(answers) > 3000


def test_days_of_every_zone_begin_where_the_day_before_ends():
    """An instant earlier it is yesterday: in every zone, on the first of each month."""
    for name in sorted(_names()):
        clock, firsts = clock_of(name), [date(2026, number, 1) for number in range(1, 13)]
        for first, start in [(first, clock.midnight(first)) for first in firsts]:
            shown = [clock.local(start + more).date() for more in (-1, 0)]
            assert shown == [first - timedelta(days=1), first], (name, first)


# Zones whose clocks go back over a midnight, or leave out a day.
ODD = {
    "put back to the day before": ("America/St_Johns", "2009-11-01", 30 * HOUR),
    "put back to midnight": ("America/Havana", "2020-11-01", 30 * HOUR),
    "a day that never was": ("Pacific/Apia", "2011-12-30", 3 * DAY),
    "half an hour at midnight": ("Asia/Pyongyang", "2018-05-05", 2 * DAY),
}


@pytest.mark.parametrize(("zone", "day", "span"), ODD.values(), ids=ODD.keys())
def test_no_local_day_comes_twice(zone, day, span):
    """Each instant has a day that is not before that of an earlier one."""
    clock, start = clock_of(zone), utc_midnight(date.fromisoformat(day)) - DAY
    days = [clock.local(at).date() for at in range(start, start + span + DAY, HOUR // 2)]
    assert all(one <= other for one, other in pairwise(days)) and len({*days}) > 1


def test_the_clock_of_a_statement_begins_with_the_first_record(monkeypatch):
    """What SQL is given holds for all instants before it too: a payment of an earlier year."""
    rule(monkeypatch, "Europe/Lisbon", {"2026-01-01T00:00:00Z": 0, "2026-10-25T01:00:00Z": -1})
    first, second = json.loads(clock_text(month("2026-10", "Europe/Lisbon").changes))
    assert first == {"since": 0, "ahead": 0}
    assert second == {"since": parse_bound("2026-10-25T01:00:00Z"), "ahead": -HOUR}
