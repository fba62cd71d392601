"""A seal keeps the rules of its zone: other ones move no bound and no day of what was sealed."""

from itertools import pairwise
from pathlib import Path

import pytest

from svc_analytics import compare, verify_statement
from svc_analytics.books.accounts import starter
from svc_analytics.books.presets.registry import PRESETS
from svc_analytics.closing.contents import LakeContents
from svc_analytics.closing.due import lake_months
from svc_analytics.closing.handover.books import books_of
from svc_analytics.closing.seals import read_manifest
from svc_analytics.closing.states.month_states import judged, state_of
from svc_analytics.instants import to_micros
from svc_analytics.periods import read_label
from svc_analytics.proofs.sealed_zones import lake_zone
from tests.support.calendars import rule
from tests.support.closings import table
from tests.support.fake_service import NOW, payment

ZONE = "Africa/Casablanca"
LEDGER = """
 kind     currency  amount  fee   usd_value  at
 payment  usdt      2       0     2          2026-08-10T12:00
 payment  usdt      1       0     1          2026-09-25T23:30
 payment  usdt      3       0     3          2026-09-30T12:00
 payment  usdt      10      0     10         2026-09-30T23:30
 payment  usdt      5       0     5          2026-10-10T12:00
"""
OLD = {"2026-01-01T00:00:00Z": 1}
NEW = {"2026-01-01T00:00:00Z": 1, "2026-09-20T02:00:00Z": 0}


@pytest.fixture
def sealed(closer, monkeypatch) -> Path:
    """September of a machine whose clocks are an hour ahead; since then they are put back."""
    closer.serve(LEDGER)
    rule(monkeypatch, ZONE, OLD)
    folder = closer.close("2026-09", zone=ZONE).folder
    rule(monkeypatch, ZONE, NEW)
    return folder


def daily(folder: Path) -> dict[str, str]:
    return {row["day"]: row["gross_sales"] for row in table(folder, "daily")}


def test_the_month_behind_a_sealed_one_begins_where_it_ended(closer, sealed):
    """By the new rules October begins an hour later; the 10 of that hour are of its first day."""
    closed = closer.close("2026-10", zone=ZONE)
    assert closed.state == "sealed" and daily(closed.folder) == {
        "2026-10-01": "10",
        "2026-10-10": "5",
    }
    assert read_manifest(closed.folder)["start"] == read_manifest(sealed)["end"]
    assert closed.note and closed.note.startswith(
        "2026-10@Africa-Casablanca begins at 2026-09-30T23:00:00Z, as its neighbour is sealed: "
        "by this machine's rules of Africa/Casablanca it would be 2026-10-01T00:00:00Z"
    )
    assert closer.close("2026-10", zone=ZONE).state == "unchanged"


def test_a_sealed_month_holds_under_other_rules_and_a_note_says_so(closer, sealed):
    """The 1 of 23:30 UTC stays on the next day, as it was sealed; nothing is called altered."""
    assert daily(sealed) == {"2026-09-26": "1", "2026-09-30": "3"}
    closer.close("2026-10", zone=ZONE)
    for label in ("2026-09", "2026-10"):
        found = verify_statement(sealed.with_name(f"{label}@Africa-Casablanca"))
        assert (found.broken, found.unproven, found.reasons, found.table.num_rows) == (
            (),
            (),
            (),
            0,
        )
        assert "this machine's rules of Africa/Casablanca differ from those of the seal" in str(
            found.notes
        )
    assert closer.close("2026-09", zone=ZONE).state == "unchanged"


def test_a_month_is_not_told_as_changed_for_other_rules(closer, sealed):
    """The list of months compares it with the lake as `close` does."""
    lake, clock = closer.desk.lake, to_micros(NOW)
    period = read_label("2026-09", lake_zone(lake, ZONE))
    contents = LakeContents.read(lake)
    state = state_of(lake, period, clock, contents)
    assert judged(lake, state, clock, contents).kind == "sealed"


def test_each_instant_is_of_one_month_one_quarter_and_one_year(closer, sealed):
    """Months in a row meet; a quarter has the bounds of its months' seals, a year of its own."""
    lake, clock = closer.desk.lake, to_micros(NOW)
    months = [*lake_months(lake, clock, ZONE, None)]
    assert [each.label for each in months] == ["2026-08", "2026-09", "2026-10", "2026-11"]
    assert all(one.end == other.start for one, other in pairwise(months))
    third, fourth = (read_label(f"2026-Q{n}", lake_zone(lake, ZONE)) for n in (3, 4))
    assert third.end == fourth.start == months[1].end
    both = compare(lake, "2026-09", "2026-10", zone=ZONE)
    assert both.old.period.end == both.new.period.start == months[1].end


def test_a_quarter_of_months_that_were_sealed_by_two_rules_is_sealed(closer, sealed, monkeypatch):
    """Its days are those of its months: the 1 is of the 26th, as September has it."""
    for label in ("2026-07", "2026-08"):
        closer.close(label, zone=ZONE)
    closed = closer.close("2026-Q3", zone=ZONE)
    assert closed.state == "sealed" and verify_statement(closed.folder).holds
    assert daily(closed.folder) == {"2026-08-10": "2", "2026-09-26": "1", "2026-09-30": "3"}


def test_books_of_two_months_in_a_row_hold_no_entry_id_twice(closer, sealed):
    """Odoo would replace the first one: 1 and 3 are September's, 10 and 5 October's."""
    closer.close("2026-10", zone=ZONE)
    lake = closer.desk.lake
    (lake.path / "books.toml").write_text(starter())
    ids = [
        [
            entry.entry_id
            for entry in books_of(lake, label, {"zone": ZONE}, PRESETS["odoo"]).journal.entries
        ]
        for label in ("2026-09", "2026-10")
    ]
    assert ids == [["SVC-2026-09-26", "SVC-2026-09-30"], ["SVC-2026-10-01", "SVC-2026-10-10"]]


# The month that is sealed first and the other one, by which rules, and where they meet.
SHAPES: dict[str, tuple[str, str, str, dict[str, float], dict[str, float], str]] = {
    "put forward": ("2026-09", "2026-10", ZONE, {"2026-01-01T00:00:00Z": 0},
        {"2026-01-01T00:00:00Z": 0, "2026-09-20T02:00:00Z": 1}, "2026-10-01T00:00:00Z"),
    "over the date line": ("2026-09", "2026-10", "Pacific/Apia", {"2026-01-01T00:00:00Z": -11},
        {"2026-01-01T00:00:00Z": -11, "2026-09-20T11:00:00Z": 13}, "2026-10-01T11:00:00Z"),
    "back over the date line": ("2026-09", "2026-10", "Pacific/Apia", {"2026-01-01T00:00:00Z": 13},
        {"2026-01-01T00:00:00Z": 13, "2026-09-20T11:00:00Z": -11}, "2026-09-30T11:00:00Z"),
    "the later month first": ("2026-10", "2026-09", ZONE, OLD, NEW, "2026-09-30T23:00:00Z"),
    "the later one first, put forward": ("2026-10", "2026-09", ZONE, {"2026-01-01T00:00:00Z": 0},
        {"2026-01-01T00:00:00Z": 0, "2026-09-20T02:00:00Z": 1}, "2026-10-01T00:00:00Z"),
    "Jalali months": ("1405-06", "1405-07", "Asia/Tehran", {"2026-01-01T00:00:00Z": 3.5},
        {"2026-01-01T00:00:00Z": 3.5, "2026-09-10T00:00:00Z": 4.5}, "2026-09-22T20:30:00Z"),
    "half an hour": ("2026-09", "2026-10", "Asia/Kolkata", {"2026-01-01T00:00:00Z": 5.5},
        {"2026-01-01T00:00:00Z": 5.5, "2026-09-30T18:00:00Z": 6}, "2026-09-30T18:30:00Z"),
}  # fmt: skip
EVERY_HOUR = [
    f"2026-{month}-{day:02d}T{hour:02d}:15:00Z"
    for month, days in (("09", (21, 22, 23, 29, 30)), ("10", (1, 2)))
    for day in days
    for hour in range(24)
]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_two_months_sealed_by_two_rules_meet(closer, monkeypatch, shape):
    """Both hold, every record is of one of them, and each local day is of one of them."""
    first, second, zone, old, new, meeting = shape
    closer.desk.service.payouts = []
    closer.desk.service.payments = [payment(n, at, "1", "0") for n, at in enumerate(EVERY_HOUR, 1)]
    folders = []
    for label, rules in ((first, old), (second, new)):
        rule(monkeypatch, zone, rules)
        folders.append(closer.close(label, zone=zone).folder)
    assert all(verify_statement(folder).holds for folder in folders)
    earlier, later = sorted(map(read_manifest, folders), key=lambda each: each["start"])
    assert earlier["end"] == later["start"] == meeting
    days = [{row["day"] for row in table(folder, "daily")} for folder in folders]
    assert not days[0] & days[1] and sum(len(table(folder, "lines")) for folder in folders) == 168
