"""One rule of zones: bounds and days follow from one list, on every machine and in SQL."""

import json
import os
import subprocess
import sys
from datetime import date, timedelta
from importlib.resources import files
from itertools import pairwise

import duckdb
import pyarrow as pa
import pytest

from svc_analytics.instants import DAY, HOUR, from_micros, parse_bound
from svc_analytics.periods import clock_of, load_zone, month
from svc_analytics.periods.zones import _names, utc_midnight
from svc_analytics.statements.tables import clock_text
from svc_analytics.warehouse.models import read_macros
from tests.support.calendars import rule

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
