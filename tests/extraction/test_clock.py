"""Clocks that lie: how far time has come is judged by three witnesses (J6)."""

import json
import random
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import chain, repeat

import httpx
import pytest

from svc_analytics.cli.commands.extract import extraction_json, extraction_text
from svc_analytics.cli.commands.status import status_text
from svc_analytics.errors import ConfigError
from svc_analytics.extraction import update
from svc_analytics.extraction.clock import RunClock
from svc_analytics.instants import BEGINNING, MINUTE, to_micros
from svc_analytics.lake.status import lake_status
from svc_analytics.lake.writing.month_files import MonthFiles
from svc_analytics.schema import PAYMENTS
from tests.support.closings import Closer, findings_of
from tests.support.desks import Desk
from tests.support.fake_service import NOW, FakeService, ids, payment, spread
from tests.support.rings import rings, sample
from tests.support.sandboxes import check_all

DAYS = timedelta(days=1)
MONTH = timedelta(days=30)
FOUR_HOURS_AGO = NOW - timedelta(hours=4)


@pytest.fixture(autouse=True)
def trade(service) -> FakeService:
    """A payment a day, the newest four hours ago."""
    service.payments = spread(40, FOUR_HOURS_AGO - 39 * DAYS, DAYS)
    return service


def tell(service: FakeService, *dates: datetime | str, then: datetime | str = NOW) -> None:
    """Let the answers of the service tell these times, and the rest another."""
    told = chain(dates, repeat(then))

    def answer(request: httpx.Request) -> httpx.Response:
        made = service._route(request)
        date = next(told)
        made.headers["date"] = date if isinstance(date, str) else format_datetime(date, usegmt=True)
        return made

    service.intercept = answer


def machine_at(desk: Desk, at: datetime) -> None:
    desk.machine = lambda: to_micros(at)


def covered(desk: Desk) -> tuple[datetime, datetime]:
    """Up to when payments are complete, and read."""
    coverage = desk.lake.coverage(PAYMENTS)
    ends = coverage.complete[-1][1], coverage.read[-1][1]
    complete, read = (datetime.fromtimestamp(end / 1_000_000, UTC) for end in ends)
    return complete.replace(microsecond=0), read.replace(microsecond=0)


def minutes(count: int) -> timedelta:
    return timedelta(minutes=count)


# The service's clock, this machine's, and then up to when time is complete, and read.
ROWS: dict[str, tuple[datetime | str, datetime, datetime, datetime]] = {
    "not told": ("", NOW, NOW - minutes(20), NOW),
    "garbage": ("yesterday", NOW, NOW - minutes(20), NOW),
    "of the year 1601": ("Mon, 01 Jan 1601 00:00:00 GMT", *(NOW, NOW - minutes(20), NOW)),
    "agreed": (NOW, NOW, NOW - minutes(5), NOW),
    "ten minutes ahead": (NOW + minutes(10), NOW, NOW - minutes(5), NOW),
    "ten minutes behind": (NOW - minutes(10), NOW, NOW - minutes(15), NOW - minutes(10)),
    "behind, the machine right": (NOW - DAYS, NOW, NOW - DAYS - minutes(5), NOW - DAYS),
    "right, the machine a day ahead": (NOW, NOW + DAYS, NOW - minutes(5), NOW),
    "ahead, the machine right": (NOW + MONTH, NOW, NOW - minutes(20), NOW),
    "right, the machine a day behind": (
        *(NOW, NOW - DAYS),
        *(FOUR_HOURS_AGO - minutes(5), FOUR_HOURS_AGO),
    ),
    "right, the machine in 1970": (
        *(NOW, datetime(1970, 1, 2, tzinfo=UTC)),
        *(FOUR_HOURS_AGO - minutes(5), FOUR_HOURS_AGO),
    ),
}


@pytest.mark.parametrize(
    ("told", "machine", "complete", "read"), ROWS.values(), ids=[f"clock {name}" for name in ROWS]
)
def test_each_row_of_the_table(desk, told, machine, complete, read):
    """Nothing ahead of the service's clock, nor of both other witnesses, is called read."""
    tell(desk.service, then=told)
    machine_at(desk, machine)
    run = desk.extract()
    assert covered(desk) == (complete, read)
    wanted = [row for row in desk.service.payments if row["paid_at"] <= f"{read:%FT%TZ}"]
    assert desk.ids() == ids(wanted)
    is_off = isinstance(told, datetime) and abs(told - machine) > minutes(15)
    assert bool(run.notes) == is_off and not run.needs_attention


@pytest.mark.parametrize("at", [NOW + MONTH, NOW - MONTH], ids=["ahead", "behind"])
@pytest.mark.parametrize("place", sample([0, 1, 2, 5, 9], 4), ids=lambda place: f"answer {place}")
def test_one_answer_moves_nothing(desk, at, place):
    """Whichever answer it is, the first of the run or one in its middle."""
    desk.service.page_size = lambda page: 7
    tell(desk.service, *[NOW] * place, at)
    run = desk.extract(workers=1)
    assert covered(desk) == (NOW - minutes(5), NOW)
    check_all(desk.lake, desk.service)
    assert len(run.notes) <= 1 and not run.needs_attention


@pytest.mark.parametrize("then", [NOW + MONTH, NOW - DAYS, "nonsense"], ids=str)
def test_a_clock_that_moves_within_a_run_moves_nothing(desk, then):
    """What time it is, is settled before the first page is asked for."""
    desk.service.page_size = lambda page: 7
    tell(desk.service, NOW, NOW, NOW, then=then)
    assert not desk.extract(workers=1).notes
    assert covered(desk) == (NOW - minutes(5), NOW)


@pytest.mark.parametrize("hours", [75, -75], ids=["ahead", "behind"])
def test_an_answer_that_is_off_is_noted_with_by_how_much(desk, hours):
    """One of five answers; the other four are right."""
    tell(desk.service, NOW + timedelta(hours=hours))
    [note] = desk.extract(workers=1).notes
    assert note == "1 answer of the service had a clock that is off by 3 days: not counted"


@pytest.mark.parametrize(("hours", "side"), [(75, "ahead of"), (-75, "behind")])
def test_a_clock_that_is_off_is_noted_with_by_how_much(desk, hours, side):
    """The service's own answers agree with one another."""
    tell(desk.service, then=NOW + timedelta(hours=hours))
    [note] = desk.extract(workers=1).notes
    assert note.startswith(f"the service's clock is 3 days {side} this machine's: ")


@pytest.mark.parametrize("sign", [1, -1], ids=["ahead", "behind"])
def test_a_quarter_of_an_hour_is_no_doubt_and_a_microsecond_more_is(sign):
    """The clocks of two machines that are both right may be so far apart."""
    clock = RunClock(0, 0, to_micros(NOW), to_micros(NOW) + sign * 15 * MINUTE)
    assert not clock.is_doubtful
    assert replace(clock, machine=clock.machine - sign).is_doubtful


def test_clocks_that_agree_cost_no_request(desk):
    """One for each key, and the pages."""
    desk.extract()
    assert sorted(desk.service.paths()) == ["/me", "/me", "/payments", "/payouts"]


def test_once_the_machines_clock_is_mended_all_is_complete(desk):
    """A day behind, it held coverage back to the newest record, and lost none."""
    machine_at(desk, NOW - DAYS)
    desk.extract()
    check_all(desk.lake, desk.service)
    text = status_text(lake_status(desk.lake), ())
    assert "the service's was 1 day ahead of this machine's at the newest run" in text
    desk.machine = None
    run = desk.extract()
    assert not run.notes and not run.needs_attention
    assert covered(desk) == (NOW - minutes(5), NOW)
    assert "clocks" not in status_text(lake_status(desk.lake), ())


def test_a_clock_behind_for_one_run_takes_back_no_earlier_claim(desk):
    """What it writes anew keeps the time by which the rest of the file was claimed."""
    machine_at(desk, NOW)
    desk.extract()
    desk.service.now = NOW - timedelta(hours=20)
    desk.service.payments.append(payment(900, f"{NOW - timedelta(hours=22):%FT%TZ}"))
    desk.extract()
    desk.service.now = NOW
    assert not desk.extract().retracted
    check_all(desk.lake, desk.service)


@pytest.fixture
def misled(desk, monkeypatch) -> Desk:
    """A lake of an earlier release, whose run one answer had told that it is a month later."""
    later = to_micros(NOW + MONTH)
    clock = RunClock(later, later - 5 * MINUTE, to_micros(NOW), later)
    with monkeypatch.context() as patch:
        patch.setattr(update, "judge_clock", lambda *_: clock)
        patch.setattr(MonthFiles, "judged_at", property(lambda _: None, lambda *_: None), False)
        desk.extract()
    assert covered(desk) == (NOW + MONTH - minutes(5), NOW + MONTH)
    return desk


def is_told(desk: Desk) -> bool:
    """Whether `check` finds that the lake claims what has not come."""
    return not findings_of(desk.lake, "coverage_does_not_claim_the_future").empty


def test_a_lake_that_claims_the_future_says_so(misled):
    """Before it heals, `check` blocks and `status` warns."""
    assert is_told(misled)
    text = status_text(lake_status(misled.lake), ())
    assert "too early   20 Nov 2026 12:00Z .. 20 Dec 2026 12:00Z: run extract" in text


@pytest.mark.parametrize("passed", sample([DAYS, 45 * DAYS], 2), ids=["a day later", "long after"])
def test_a_lake_that_claims_the_future_heals(misled, passed):
    """Also when that future has come meanwhile: the file says when it was written."""
    service = misled.service
    service.now = NOW + passed
    service.payments.append(payment(900, f"{NOW + timedelta(hours=1):%FT%TZ}"))
    run = misled.extract()
    assert run.needs_attention and run.retracted.keys() == {"payments", "payout_records"}
    assert "had been marked as read before that time had come" in extraction_text(misled.lake, run)
    assert json.loads(extraction_json(misled.lake, run))["retracted"]["payments"]
    check_all(misled.lake, misled.service)
    assert covered(misled) == (service.now - minutes(5), service.now)
    assert not is_told(misled)
    again = misled.extract()
    assert not again.needs_attention and not again.retracted


def test_a_month_that_was_claimed_too_early_is_closed_with_all_that_came(misled):
    """November had been called read on its 20th."""
    closer = Closer(misled)
    misled.service.payments.append(payment(900, "2026-11-28T00:00:00Z"))
    misled.service.now = NOW + 15 * DAYS
    closed = closer.close("2026-11")
    assert closed.state == "sealed" and closed.note and "before that time had come" in closed.note
    check_all(misled.lake, misled.service)


def test_clocks_that_both_ran_ahead_are_found_out_when_they_are_right(desk):
    """Nothing contradicted them then; now the time that was claimed has not come."""
    desk.service.now = NOW + MONTH
    desk.extract()
    desk.service.now = NOW
    assert desk.extract().retracted
    assert covered(desk) == (NOW - minutes(5), NOW)


def test_a_clock_that_says_1970_once_forgets_no_record(desk):
    """Of what was read, only the time from just before the newest record is retracted."""
    desk.extract()
    tell(desk.service, then=datetime(1970, 1, 2, tzinfo=UTC))
    desk.extract()
    [(start, end)] = desk.lake.coverage(PAYMENTS).read
    assert (start, end) == (BEGINNING, to_micros(FOUR_HOURS_AGO - minutes(15)) + 1)


@pytest.mark.parametrize("seed", rings(range(1), range(100)))
def test_whatever_is_told_nothing_is_covered_before_its_time(desk, seed):
    """Any answers, any clock of this machine that is not ahead: never beyond it and all records."""
    chance = random.Random(seed)
    off = [0, 0, 1, 40, 9_000, -1, -40, -9_000]  # days
    machine = NOW - chance.choice([0, 0, 1, 400]) * DAYS
    machine_at(desk, machine)
    told = [NOW + chance.choice(off) * DAYS for _ in range(30)]
    tell(desk.service, *told)
    for _ in range(2):
        with suppress(ConfigError):  # of a clock before all records
            desk.extract()
    ends = [end for _, end in desk.lake.coverage(PAYMENTS).read] if desk.lake.exists else []
    latest = max(to_micros(machine), to_micros(FOUR_HOURS_AGO) + 1)
    assert all(end <= latest for end in ends)
    tell(desk.service)
    desk.machine = None
    desk.extract()
    check_all(desk.lake, desk.service)
    assert covered(desk) == (NOW - minutes(5), NOW)
