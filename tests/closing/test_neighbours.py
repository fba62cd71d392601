"""Sealed months meet: each opens with what the one before it closed with, in every coin.

Quarters and years are sealed over the seals of their months, and name them.

A seal keeps the rules of its zone: other ones move no bound and no day of what was sealed.
"""

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from svc_analytics import CloseResult, close_all_due, compare, package, verify_statement
from svc_analytics.books.accounts import starter
from svc_analytics.books.presets import PRESETS
from svc_analytics.closing import adjacent_periods, close
from svc_analytics.closing.adjacent_periods import Ends, mismatches
from svc_analytics.closing.due import lake_months
from svc_analytics.closing.handover.books import books_of
from svc_analytics.closing.month_states import LakeContents, judged, state_of
from svc_analytics.closing.seals import read_manifest
from svc_analytics.errors import ConfigError, PeriodNotClosed
from svc_analytics.extraction.plan import ExtractionResult, Request
from svc_analytics.instants import to_micros
from svc_analytics.periods import month, read_label
from svc_analytics.proofs.sealed_zones import lake_zone
from tests.support.calendars import rule
from tests.support.closings import Closer, table
from tests.support.fake_service import NOW, payment, payout, refund
from tests.support.rings import sample

SEPTEMBER, OCTOBER = month("2026-09"), month("2026-10")
TEHRAN = {"zone": "Asia/Tehran"}


def position(folder: Path, name: str, coin: str = "btc") -> str | None:
    """A position in the summary of a sealed folder; None for a coin that it does not have."""
    rows = {row["currency"]: row[f"{name}_position"] for row in table(folder, "summary")}
    return rows.get(coin)


def states(results: list[CloseResult]) -> list[tuple[str, str]]:
    return [(each.label, each.state) for each in results]


def come_late(closer: Closer, *records: dict[str, Any]) -> None:
    """Let the service list records that it did not list before, and the lake read them."""
    for record in records:
        of_payouts = "paid_at" not in record
        (closer.desk.service.payouts if of_payouts else closer.desk.service.payments).append(record)
    closer.desk.extract(rereads=True)


def late_payment(at: str = "2026-09-30T10:00:00Z", coin: str = "btc") -> dict[str, Any]:
    return payment(99, at, "7", "0.5", currency=coin, usd_value=None)


@pytest.mark.thorough
def test_a_record_that_comes_while_october_is_read_restates_september_first(closer):
    """The reading of October reaches into September, which was found unchanged before it."""
    closer.closed("2026-08", "2026-09")
    late = payout(99, "2026-09-30T22:00:00Z", "2", "0.02", currency="btc")

    def read(request: Request) -> ExtractionResult:
        if (
            request.rereads
            and request.start == OCTOBER.start
            and not closer.desk.service.payouts[2:]
        ):
            closer.desk.service.payouts.append(late)
        return closer.read(request)

    closed = close_all_due(closer.desk.lake, read=read)
    august, *others = states(closed)
    assert august == ("2026-08", "unchanged")
    assert others == [("2026-09", "restated"), ("2026-10", "sealed")]
    september, october = (each.folder for each in closed[1:])
    assert position(september, "closing") == position(october, "opening") == "2.93"
    assert read_manifest(october)["previous_seal"] == closed[1].seal


@pytest.mark.parametrize("kind", sample(["payment", "payout", "refund", "another coin"], 4))
def test_a_month_is_not_sealed_upon_one_that_closes_otherwise(closer, kind):
    """It names the earlier month, the coin, both figures and the command."""
    closer.closed("2026-09")
    at = "2026-09-20T10:00:00Z"
    records = {
        "payment": late_payment(),
        "payout": payout(99, at, "2", "0.02", currency="btc"),
        "refund": refund(99, closer.desk.service.payments[0], at, "1"),
        "another coin": late_payment(coin="eth"),
    }
    come_late(closer, records[kind])
    opening = {"payment": "11.45", "payout": "2.93", "refund": "3.95", "another coin": "6.5"}[kind]
    coin, closing = ("eth", "0") if kind == "another coin" else ("btc", "4.95")
    waiting = closer.close("2026-10")
    assert (waiting.state, waiting.seal) == ("provisional", None)
    assert [reason.text for reason in waiting.reasons] == [
        f"in {coin}, September 2026 version 1 closes with {closing}, "
        f"and October 2026 opens with {opening}; "
        "close September 2026 again: svc-analytics close --month 2026-09"
    ]


@pytest.mark.thorough
def test_of_several_earlier_months_each_is_restated_in_turn(closer):
    """All that moved an opening, oldest first, and all that follow it."""
    closer.closed("2026-08", "2026-09", "2026-10")
    come_late(closer, late_payment("2026-08-20T10:00:00Z"))
    closed = closer.close_all_due()
    assert {each.state for each in closed} == {"restated"}
    folders = [each.folder for each in closed]
    for before, after in pairwise(folders):
        assert position(before, "closing") == position(after, "opening")
    assert all(verify_statement(folder).holds for folder in folders)
    assert states(closer.close_all_due()) == [(each.label, "unchanged") for each in closed]


@pytest.mark.thorough
def test_a_restated_month_says_that_the_next_one_is_to_be_closed_again(closer):
    """Also when it is closed again, until both meet; verifying either says the same."""
    september, october = (each.folder for each in closer.closed("2026-09", "2026-10"))
    come_late(closer, late_payment())
    restated = closer.close("2026-09")
    text = (
        "in btc, September 2026 version 2 closes with 11.45, "
        "and October 2026 version 1 opens with 4.95; "
        "close October 2026 again: svc-analytics close --month 2026-10"
    )
    assert restated.state == "restated" and restated.reasons[0].text == text
    assert closer.close("2026-09").reasons[0].text == text
    assert text in verify_statement(october).broken
    assert verify_statement(restated.folder).broken == (text,)
    assert not verify_statement(september).broken  # its successor speaks for the month


@pytest.mark.parametrize("error", sample([KeyboardInterrupt(), OSError("gone")], 2), ids=repr)
def test_what_comes_behind_a_seal_loses_no_result(closer, monkeypatch, error):
    """The month is sealed: its result is returned, with a note that nothing was compared."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(adjacent_periods, "unmet_neighbours", fail)
    closed = closer.close()
    assert closed.state == "sealed" and closed.seal == read_manifest(closed.folder)["seal"]
    assert closed.note is not None and closed.note.startswith("its neighbours were not looked at")


def test_a_stop_before_the_seal_leaves_no_seal(closer, monkeypatch):
    """Warnings are looked up first: what fails there fails before anything is sealed."""
    monkeypatch.setattr(close.seals, "warnings_of", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        closer.close()
    assert not list(closer.desk.lake.path.glob("statements/*/manifest.json"))


@pytest.mark.thorough
def test_a_chain_of_another_zone_meets_its_own(closer):
    """Tehran's October opens with what Tehran's September closed with, not with UTC's."""
    closer.closed("2026-09", **TEHRAN)
    come_late(closer, late_payment())
    waiting = closer.close("2026-10", **TEHRAN)
    command = "svc-analytics close --month 2026-09 --zone Asia/Tehran"
    assert waiting.state == "provisional" and waiting.reasons[0].text.endswith(command)
    september = closer.close("2026-09", **TEHRAN)
    october = closer.close("2026-10", **TEHRAN).folder
    assert read_manifest(october)["previous_seal"] == september.seal
    of_utc = closer.close("2026-10")
    assert of_utc.state == "sealed" and read_manifest(of_utc.folder)["previous_seal"] is None


@pytest.mark.thorough
def test_a_month_closed_into_a_folder_of_ones_own_is_closed_again_there(closer, tmp_path):
    """The command names the folder, and the seal before is found in the lake's folder too."""
    own = tmp_path / "the books"
    closer.close("2026-09", out=own / "2026-09")
    come_late(closer, late_payment())
    waiting = closer.close("2026-10", out=own / "2026-10")
    assert waiting.reasons[0].text.endswith(f"--month 2026-09 --out '{own / '2026-09'}'")
    sealed = closer.close("2026-09")
    assert closer.close("2026-10").state == "sealed"
    apart = closer.close("2026-10", out=tmp_path / "apart" / "2026-10")
    assert read_manifest(apart.folder)["previous_seal"] == sealed.seal
    assert verify_statement(apart.folder, closer.desk.lake).holds


ENDS = {
    "equal": ({"btc": "5"}, {"btc": "5"}, []),
    "known and other": ({"btc": "5"}, {"btc": "6"}, [True]),
    "a coin of the first": ({"btc": "5", "eth": "1"}, {"btc": "5"}, [True]),
    "a coin of the second": ({"btc": "5"}, {"btc": "5", "eth": "1"}, [True]),
    "a coin at zero": ({"btc": "5", "eth": "0"}, {"btc": "5"}, []),
    "unknown in one": ({"btc": ""}, {"btc": "5"}, [False]),
    "unknown in both": ({"btc": ""}, {"btc": ""}, []),
    "a coin that an unknown may hide": ({"btc": ""}, {"btc": "", "eth": "1"}, []),
}


@pytest.mark.parametrize(("closing", "opening", "known"), ENDS.values(), ids=ENDS.keys())
def test_positions_are_compared_coin_by_coin(closing, opening, known):
    """Whether a mismatch is of known positions: only such a one keeps a month unsealed."""
    before, after = Ends("a", SEPTEMBER, {}, closing), Ends("b", OCTOBER, opening, {})
    assert [each.is_known for each in mismatches(before, after, opening)] == known


# ---------- quarters and years over their months


QUARTER = ("2026-07", "2026-08", "2026-09")


@pytest.fixture
def quarter(closer) -> Path:
    """The folder of a sealed quarter, whose months are sealed beside it."""
    return closer.closed(*QUARTER, "2026-Q3")[-1].folder


def test_a_quarter_is_refused_until_each_of_its_months_is_sealed(quarter, closer):
    """The line names the months that are missing, and the command that seals the first."""
    for label in ("2026-Q3", *QUARTER[1:]):
        shutil.rmtree(quarter.with_name(label))
    with pytest.raises(PeriodNotClosed) as caught:
        closer.close("2026-Q3")
    assert str(caught.value) == (
        "2026-Q3 cannot be sealed: 2026-08, 2026-09 are not sealed; "
        "first run svc-analytics close --month 2026-08"
    )


def test_a_sealed_quarter_names_the_seals_and_digests_of_its_months(quarter):
    """So whoever holds the quarter's seal holds its months' too."""
    months = [read_manifest(quarter.with_name(label)) for label in QUARTER]
    assert read_manifest(quarter)["month_seals"] == [
        {name: own[name] for name in ("label", "version", "content_digest", "seal")}
        for own in months
    ]


@pytest.mark.thorough
def test_a_sealed_quarter_holds_and_is_packed(quarter, closer, tmp_path):
    """Made again it is the same, also when it is closed again; a package says how to check it."""
    assert verify_statement(quarter, closer.desk.lake).holds
    assert package(closer.desk.lake, "2026-Q3", out=tmp_path / "q3.zip").folder == quarter
    assert closer.close("2026-Q3").state == "unchanged"


@pytest.mark.thorough
def test_a_month_that_is_gone_or_altered_breaks_the_quarter(quarter, closer):
    """Verifying a quarter looks at the statements whose seals it names."""
    with (quarter.with_name("2026-08") / "lines.csv").open("a") as file:
        file.write("x\n")
    shutil.rmtree(quarter.with_name("2026-09"))
    broken = "; ".join(verify_statement(quarter, closer.desk.lake).broken)
    assert "the statement of 2026-08: lines.csv differs from the seal" in broken
    assert "the statement of 2026-09, with the seal" in broken and "is missing" in broken


@pytest.mark.thorough
def test_a_late_payment_is_restated_in_its_month_before_the_quarter(quarter, closer):
    """The quarter waits for its month; then it is restated too, and names the month's new seal."""
    closer.desk.service.payments.append(payment(99, "2026-08-20T10:00:00Z", "7", "0.07"))
    august = month("2026-08")
    closer.read(Request(start=august.start, end=august.end, rereads=True))
    with pytest.raises(PeriodNotClosed, match="first restate it with svc-analytics close --month"):
        closer.close("2026-Q3")
    states = [done.state for done in closer.close_all_due()]
    assert states[:2] == ["restated", "restated"]  # September opens with what August left
    again = closer.close("2026-Q3")
    assert again.state == "restated" and again.folder.name == "2026-Q3-v2"
    named = read_manifest(again.folder)["month_seals"][1]
    assert (named["version"], named["label"]) == (2, "2026-08")
    assert verify_statement(again.folder, closer.desk.lake).holds


def test_a_year_to_date_is_not_sealed(closer):
    """Next month there is another one."""
    with pytest.raises(ConfigError, match="2026-10-ytd is a year to date, which is not sealed"):
        closer.close("2026-10-ytd")


@pytest.mark.thorough
def test_a_quarter_is_due_behind_its_months_when_asked_for(closer):
    """August to October are due alone; once July has a record, the quarter has all its months."""
    labels = [done.label for done in closer.close_all_due()]
    assert labels == [done.label for done in closer.close_all_due(longer=["quarter", "year"])]
    assert labels == ["2026-08", "2026-09", "2026-10"]
    closer.desk.service.payments.append(payment(98, "2026-07-20T10:00:00Z", "7", "0.07"))
    closer.confirm("2026-07")
    labels = [done.label for done in closer.close_all_due(longer=["quarter"])]
    assert labels == ["2026-07", "2026-08", "2026-09", "2026-10", "2026-Q3"]
    with pytest.raises(ConfigError, match="longer names 'week'"):
        closer.close_all_due(longer=["week"])


def test_a_quarter_of_tehran_is_sealed_over_the_months_of_tehran(closer):
    """The command that it names has the zone."""
    with pytest.raises(PeriodNotClosed, match="--month 2026-07 --zone Asia/Tehran"):
        closer.close("2026-Q3", **TEHRAN)


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
    assert closed.state == "sealed"
    assert daily(closed.folder) == {"2026-10-01": "10", "2026-10-10": "5"}
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
        assert not (found.broken or found.unproven or found.reasons or found.table.num_rows)
        said = "this machine's rules of Africa/Casablanca differ from those of the seal"
        assert said in str(found.notes)
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
    months = ("2026-09", "2026-10")
    books = [books_of(lake, label, {"zone": ZONE}, PRESETS["odoo"]) for label in months]
    ids = [[entry.entry_id for entry in each.journal.entries] for each in books]
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
