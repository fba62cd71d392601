"""The state of a month: decided once, told alike, and compared with the lake as it is now."""

import os
import shutil
from unittest.mock import Mock

import pyarrow as pa
import pytest

from svc_analytics import QueryError, verify_statement
from svc_analytics.closing import month_states as states
from svc_analytics.closing.due import GRACE_HOURS, months_over
from svc_analytics.closing.seals import read_manifest
from svc_analytics.instants import HOUR, now
from svc_analytics.lake.lake import Lake
from svc_analytics.language.catalogue import Language
from svc_analytics.periods import CALENDARS, month
from svc_analytics.proofs.statuses import FAILED, HELD, UNCHECKED
from svc_analytics.render.month_state import MonthState
from svc_analytics.schema import PAYMENTS
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.reading import Basis
from svc_analytics.statements.statement import prepare
from tests.support.altered import fact, flip, forge, parquet, text
from tests.support.calendars import FISCAL
from tests.support.closings import Closer, table
from tests.support.fake_service import payment
from tests.support.prepared import extracted
from tests.support.rings import rings
from tests.support.seeded_lakes import Seeded, make_seeded_lake

OCTOBER = "2026-10"
# Of October alone: no other month is judged beside it.
ALONE = """
 kind     currency  amount  fee   at
 payment  usdt      100     1     2026-10-05T08:00
"""
LATE = payment(99, "2026-10-20T08:00:00Z", "7", "0", currency="btc")


@pytest.fixture
def alone(closer) -> Closer:
    """A desk of whose months October alone has a record."""
    closer.serve(ALONE)
    return closer


def state(closer: Closer, label: str = OCTOBER, clock: int | None = None) -> MonthState:
    """The state of a month after it was compared with the lake."""
    lake, clock = closer.desk.lake, clock or now()
    found = {each.label: each for each in states.month_states(lake, clock, "UTC", "gregorian")}
    return states.judged(lake, found[label], clock, states.LakeContents.read(lake))


AFTER_ITS_END = [
    (GRACE_HOURS - 1, "running", "can be closed from 2026-11-02"),
    (GRACE_HOURS, "due", "over since 2026-11-01"),
    (24 * 31 + GRACE_HOURS, "late", "over since 2026-11-01"),
]


@pytest.mark.parametrize(("hours", "kind", "note"), AFTER_ITS_END)
def test_a_month_without_a_seal_is_running_then_due_then_late(closer, hours, kind, note):
    """It is late when the month after it can be closed as well."""
    extracted(closer.desk)
    found = state(closer, clock=month(OCTOBER).end + hours * HOUR)
    assert (found.kind, found.note) == (kind, note)


def test_a_month_was_looked_at_once_its_answer_is_kept_or_where_it_runs(alone):
    """Of other contents of the lake it was not."""
    lake, end = alone.desk.lake, month(OCTOBER).end
    extracted(alone.desk)
    for clock, before in ((end - HOUR, True), (end + 100 * HOUR, False)):
        contents = states.LakeContents.read(lake)
        found = {each.label: each for each in states.month_states(lake, clock, "UTC", "gregorian")}
        assert states.is_judged(contents, found[OCTOBER]) is before
        states.judged(lake, found[OCTOBER], clock, contents)
        assert states.is_judged(contents, found[OCTOBER])
    alone.desk.service.payments.append(LATE)
    alone.desk.extract(rereads=True)
    assert not states.is_judged(states.LakeContents.read(lake), found[OCTOBER])


def test_a_month_is_blocked_before_anybody_looked_at_it(alone):
    """Its note is the reason, and it is judged by what its statement says."""
    alone.desk.service.payments[-1]["charged_amount"] = "-1"
    alone.desk.extract()
    [*_, found, running] = states.judged_months(alone.desk.lake, now(), lambda text: None)
    assert running.kind == "running"
    assert (found.label, found.kind) == (OCTOBER, "blocked")
    assert found.reasons == ("1 record has a negative amount",)
    assert all(Language("fa").translation(reason) for reason in found.reasons)


def test_what_hinders_a_comparison_is_told_once(
    closer: Closer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query that was stopped with its notebook blocked the month until the lake changed."""
    closer.desk.extract()
    with monkeypatch.context() as stopped:
        stopped.setattr(states, "prepare", Mock(side_effect=QueryError("Query interrupted")))
        found = state(closer)
    assert (found.kind, found.reasons) == ("blocked", ("Query interrupted",))
    assert state(closer).kind == "due"


@pytest.mark.thorough
def test_months_wait_in_the_zone_and_the_calendar_that_are_sealed(closer):
    """A shop that closes Jalali months of Tehran has no month of UTC to close."""
    closer.sealed("1405-07", zone="Asia/Tehran")
    clock = month(OCTOBER).end + 48 * HOUR
    months = states.judged_months(closer.desk.lake, clock, lambda text: None)
    waiting = [each.period.folder for each in months if each.is_open]
    assert waiting == ["1405-05@Asia-Tehran", "1405-06@Asia-Tehran"]


def test_a_sealed_month_changes_when_the_lake_does_and_keeps_its_version(alone):
    """It can be issued as version 2."""
    alone.sealed()
    assert state(alone).word == "sealed, version 1"
    alone.desk.service.payments.append(LATE)
    alone.desk.extract(start=month(OCTOBER).start, rereads=True)
    [*_, found, _] = states.judged_months(alone.desk.lake, now(), lambda text: None)
    assert found.word == "changed since it was sealed" and found.version == 1
    assert found.note == "Close it again to issue version 2; version 1 stays as it is"


def test_a_sealed_month_whose_records_are_gone_says_what_was_not_read(closer):
    """Nothing is known to have changed, and no version 2 would come of it: extract reads it."""
    closer.sealed()
    (closer.desk.lake.folder(PAYMENTS) / f"{OCTOBER}.parquet").unlink()
    assert state(closer).note.startswith("payments were not read for 2026-10-01T00:00:00Z")


@pytest.mark.parametrize("version", [1, 2])
def test_a_month_whose_newest_sealed_folder_is_gone_says_that_it_was_sealed(alone, version):
    """The register knows its seal: it is not as one that nobody closed. Nor does a close forget."""
    folder = alone.sealed()
    if version == 2:
        alone.desk.service.payments.append(LATE)
        folder = alone.close().folder
    seal = read_manifest(folder)["seal"]
    shutil.rmtree(folder)
    found = state(alone)
    assert found.kind == ("due", "changed")[version - 1] and not found.reasons
    said = f"{folder.name} was sealed before as {seal}: find out what happened to it"
    assert found.note == said
    alone.desk.service.payments.append(payment(98, "2026-10-21T08:00:00Z", "8", "0"))
    assert said in alone.close().note


FORGED = {
    "parquet": parquet(lambda rows: pa.concat_tables([rows, rows]), "lines"),
    "csv": text("summary.csv", "100", "900"),
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED.keys())
def test_a_month_of_which_a_table_was_forged_is_not_given_by_the_lake(alone, change):
    """Hashes, seal, register and chain fit; the digest of the tables in the manifest is believed
    no more than they.
    """
    forge(alone.sealed(), change)
    found = states.with_statuses(state(alone))
    assert (found.kind, found.statuses[3].outcome) == ("changed", FAILED)


def test_a_month_of_which_the_register_has_another_seal_is_not_as_sealed(alone):
    forge(alone.sealed(), fact(as_of="2026-11-19T12:00:00Z"), register="kept")
    sealed, *_ = states.with_statuses(state(alone)).statuses
    assert sealed.outcome == FAILED and "the lake sealed 2026-10 version 1 as " in sealed.text


def test_a_month_is_not_proven_by_a_lake_without_the_register_of_its_seal(alone):
    (alone.sealed().parent / "seals.csv").unlink()
    sealed, *_, proven = states.with_statuses(state(alone)).statuses
    assert (sealed.outcome, proven.outcome) == (HELD, UNCHECKED)
    assert str(proven.text).endswith("statements/seals.csv, lacks 2026-10 version 1")


@pytest.mark.thorough
def test_a_month_is_compared_once_while_the_lake_stays_as_it_is(closer, monkeypatch, tmp_path):
    """What close has found is known already."""
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "cache"))
    closer.close("2026-09")
    compared: list[str] = []
    judge = states._judge

    def counted(lake: Lake, each: MonthState, at: int) -> states.Judgement:
        compared.append(each.label)
        return judge(lake, each, at)

    monkeypatch.setattr(states, "_judge", counted)
    for _ in range(2):
        assert [state(closer, label).kind for label in ("2026-09", OCTOBER)] == ["sealed", "due"]
    assert compared == [OCTOBER]
    closer.accept("amounts_are_not_zero", "p-1")
    state(closer)
    assert compared == [OCTOBER, OCTOBER]


def test_what_is_kept_of_a_month_is_named_by_content(alone, monkeypatch, tmp_path):
    """Neither time nor size: a copy of a lake is known, a bit that rots afterwards is seen."""
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "cache"))
    alone.sealed()
    found = states.with_statuses(state(alone))
    path = alone.desk.lake.month_path(PAYMENTS, OCTOBER)
    monkeypatch.setattr(states, "_judge", Mock(side_effect=AssertionError))
    os.utime(path, ns=(1, 1))
    assert states.with_statuses(state(alone)) == found and found.statuses[-1].outcome == HELD
    flip(path, 4)
    os.utime(path, ns=(1, 1))
    rotten = states.with_statuses(state(alone))
    assert rotten.statuses[-1].outcome == UNCHECKED
    assert [reason for reason in rotten.reasons if "2026-10.parquet is torn or altered" in reason]


# ---------- which months are over is told once


# In New York the first payment is of August, though the lake's file of it begins in July there.
GRACE = GRACE_HOURS * HOUR
OVER = month("2026-10", "America/New_York").end + GRACE


@pytest.mark.parametrize(("clock", "newest"), [(OVER - 1, "2026-09"), (OVER, "2026-10")])
def test_the_desk_offers_the_months_that_close_takes(closer, clock, newest):
    """From the first record to the last month that ended a day ago, to the microsecond."""
    extracted(closer.desk)
    lake, zone = closer.desk.lake, "America/New_York"
    tiles = states.month_states(lake, clock, zone, "gregorian")
    offered = [tile.label for tile in reversed(tiles) if tile.can_be_closed]
    assert offered == [each.label for each in months_over(lake, clock, GRACE, zone, None)]
    assert (offered[0], offered[-1]) == ("2026-08", newest)


@pytest.mark.thorough
def test_a_month_of_a_third_calendar_is_closed_and_verified(closer, monkeypatch):
    """Its folder has its own label, and holds the figures of the Gregorian month."""
    monkeypatch.setitem(CALENDARS, FISCAL.name, FISCAL)
    closed, same = closer.close("FY2026-07"), closer.close("2026-10")
    assert closed.folder.name == "FY2026-07" and closed.state == same.state == "sealed"
    assert verify_statement(closed.folder, closer.desk.lake).holds
    expected = [row | {"period": "FY2026-07"} for row in table(same.folder, "summary")]
    assert table(closed.folder, "summary") == expected


# ---------- what keeps each month from a seal is found for all of them together


SEVERAL_MONTHS = 3  # the seed of a lake with records in several months


def reasons_of_statements(seeded: Seeded, periods):
    """The same from the statement of each, made one after another."""
    basis = Basis(seeded.now, read_assertions(seeded.lake.path), has_trend=False)
    return [prepare(seeded.lake, period, basis).reasons for period in periods]


@pytest.mark.parametrize("seed", rings(range(6), range(150)))
def test_each_waits_for_what_its_statement_says(tmp_path, seed):
    """Unread and provisional time, findings in the month, between months and of none."""
    seeded = make_seeded_lake(tmp_path, seed)
    periods = [each for each in (*seeded.months, *seeded.asked) if each.end <= seeded.now]
    together = states.reasons_of_months(seeded.lake, periods, seeded.now)
    assert together == reasons_of_statements(seeded, periods)


def test_those_without_a_sealed_month_before_them_are_judged_together(tmp_path, monkeypatch):
    """Each has the state that it has when it is looked at alone, and the next look asks nothing."""
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "cache"))
    seeded = make_seeded_lake(tmp_path / "data", SEVERAL_MONTHS)
    lake, contents = seeded.lake, states.LakeContents.read(seeded.lake)
    tiles = states.month_states(lake, seeded.now, "UTC", "gregorian", contents)
    together = states.judge_open(lake, tiles, seeded.now, contents)
    over = [tile for tile in reversed(tiles) if tile.kind != "running"]
    assert len(together) == len(over) > 2
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("SVC_CACHE_DIR", str(tmp_path / "empty"))
        assert together == [states.judged(lake, tile, seeded.now, contents) for tile in over]
    assert states.judge_open(lake, tiles, seeded.now, contents) == []
