"""Others at the same lake: writers, stale marks, readers while months are replaced (E3, E4).

Another process writes between two steps of a run: nothing that the run keeps is stale. The oracle
is a cache folder with nothing in it: what is told by what was kept is told without it.
"""

import errno
import fcntl
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import duckdb
import pytest

import svc_analytics
from svc_analytics import LakeBusy, Lakehouse, statement
from svc_analytics.closing.month_states import (
    LakeContents,
    judged,
    judged_months,
    month_states,
    with_statuses,
)
from svc_analytics.extraction import clock, segments
from svc_analytics.instants import now, parse_instant
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.periods import month
from svc_analytics.render.month_state import MonthState
from svc_analytics.warehouse.images import write_views
from tests.support.closings import Closer
from tests.support.desks import Desk
from tests.support.fake_service import payment, spread
from tests.support.prepared import extracted
from tests.support.rings import rings
from tests.support.sandboxes import check_all

OCTOBER = {"start": parse_instant("2026-10-01T00:00:00Z")[0],
           "end": parse_instant("2026-11-01T00:00:00Z")[0]}  # fmt: skip


@pytest.fixture
def filled(desk) -> Desk:
    """Sixty payments of October, of 1 usdt each and without a fee."""
    of_one = dict.fromkeys(("amount", "charged_amount", "net_amount"), "1") | {"fee_amount": "0"}
    payments = spread(60, datetime(2026, 10, 2, tzinfo=UTC), timedelta(hours=9))
    desk.service.payments = [record | of_one for record in payments]
    return extracted(desk)


def at_once(*acts: Callable[[], object]) -> list[Exception]:
    """Do all of it side by side; give what went wrong."""
    failed: list[Exception] = []

    def run(act: Callable[[], object]) -> None:
        try:
            act()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


@pytest.mark.parametrize("patience", [0.0, 60.0], ids=["one gives way", "they take turns"])
def test_writers_side_by_side_double_nothing(filled, monkeypatch, patience):
    """E3: one writes, the others wait or say who holds the lake; the lake is the same after all."""
    monkeypatch.setattr("svc_analytics.files.LOCK_PATIENCE", patience)
    # What four threads set and put back in turns is put back at the end.
    monkeypatch.setattr(clock, "machine_clock", clock.machine_clock)
    monkeypatch.setattr(segments, "WORTH_WAITING", segments.WORTH_WAITING)
    filled.service.payments.append(payment(900, "2026-11-20T11:00:00Z"))
    failed = at_once(*[lambda: filled.extract(workers=2)] * 4)
    assert all(isinstance(error, LakeBusy) for error in failed) and len(failed) < 4
    assert all("is writing to" in str(error) for error in failed)
    assert patience == 0 or not failed
    filled.extract()
    check_all(filled.lake, filled.service)


@pytest.mark.parametrize(
    "mark", ["garbage", f"{os.getppid()} 1790000000000000"], ids=["garbage", "another process's"]
)
def test_a_mark_left_behind_holds_nobody_up(filled, mark):
    """E3: the system's own lock decides, and dies with its process; numbers are only told."""
    (filled.lake.path / ".writer").write_text(mark)
    (filled.lake.path / ".lock").touch()
    filled.service.payments.append(payment(900, "2026-11-20T11:00:00Z"))
    filled.extract()
    check_all(filled.lake, filled.service)


@pytest.mark.filterwarnings("ignore:flock not supported")
def test_where_a_file_system_knows_no_locks_one_writes_all_the_same(filled, monkeypatch):
    """E3: a file that is there or not does the lock's work."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setattr("svc_analytics.files.LOCK_PATIENCE", 0.1)
    (filled.lake.path / ".lock").unlink()
    with (
        open_writer(filled.lake, {"id": filled.lake.merchant_id}, 0),
        pytest.raises(LakeBusy, match=f"^process {os.getpid()} is writing to") as told,
    ):
        filled.extract()
    assert told.value.exit_code == 75
    filled.service.payments.append(payment(900, "2026-11-20T11:00:00Z"))
    filled.extract()
    check_all(filled.lake, filled.service)


@contextmanager
def publishing(desk: Desk) -> Iterator[Callable[[], int]]:
    """Publish October again and again, each time with one payment more; tell how often."""
    stop, done = threading.Event(), 0

    def publish() -> None:
        nonlocal done
        for number in count(1000):
            at = f"2026-10-{1 + number % 30:02}T01:00:{number % 60:02}Z"
            desk.service.payments.append(payment(number, at, "1", "0"))
            try:
                desk.extract(workers=1, streams=("payments",), rereads=True, **OCTOBER)
            except BaseException:
                done = 10**9  # so that nobody waits for more
                raise
            done += 1
            if stop.is_set():
                return

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield lambda: done
    finally:
        stop.set()
        thread.join()


STATE = """
    select
        (select count(*) from payments) as rows,
        (select sum(net_amount) from payments) as net,
        (select sum(rows) from coverage where stream = 'payments') as covered,
        (select sum(net) from ledger_entries) as ledger,
        (select count(*) from exceptions where check_name like 'month_file%') as broken
"""


@pytest.mark.thorough
def test_readers_see_one_state_while_months_are_replaced(filled):
    """E4: every figure of a query, and of a statement, is of one published state."""
    with publishing(filled) as published:
        seen = [filled.lake.sql(STATE).iloc[0] for _ in range(3)]
        made = statement(filled.lake, "2026-10").tables
        times = published()
    for state in seen:
        assert {state["rows"], state["net"], state["covered"], state["ledger"]} == {state["rows"]}
        assert state["broken"] == 0
    sold = made["summary"]["gross_sales"].to_pylist()
    assert sold == [Decimal(made["lines"].num_rows)] == made["summary"]["net_sales"].to_pylist()
    assert times >= 2 and seen[-1]["rows"] > seen[0]["rows"]
    check_all(filled.lake, filled.service)


def test_an_outside_reader_is_right_or_fails_loudly(filled):
    """E4: the views of analytics.duckdb read the month files by their names."""
    path, right, loud = write_views(filled.lake), 0, 0
    query = "select count(*), sum(net_amount), sum(amount), max(amount) from payments"
    with publishing(filled) as published, duckdb.connect(path, read_only=True) as connection:
        while published() < 4:
            try:
                rows, net, amount, most = connection.sql(query).fetchall()[0]
            except duckdb.Error:
                loud += 1
                continue
            assert rows == net == amount and most == 1
            right += 1
    assert right


CLOSING = Path(svc_analytics.__file__).parent / "closing"
CODE = {str(CLOSING / name) for name in ("close.py", "month_states.py", "rederive.py")}
LEDGER = """
 kind     currency  amount  fee   at
 payment  btc       2       0.02  2026-09-10T09:00
 payment  usdt      100     1     2026-10-05T08:00
"""
SEPTEMBER = month("2026-09")
RUNS: dict[str, Callable[[Closer], object]] = {
    "close --all-due": lambda closer: closer.close_all_due(),
    "status": lambda closer: judged_months(closer.desk.lake, now(), lambda text: None),
    "statement": lambda closer: svc_analytics.statement(closer.desk.lake, SEPTEMBER.label),
}
# Of another lake than it had compared, the first kept what it found; of another than it named,
# the second.
USUAL = [("close --all-due", "keep_results"), ("statement", "_judge")]
ALL = [(run, number) for run in RUNS for number in range(1, 41)]


@pytest.fixture
def closer(desk, tmp_path, monkeypatch) -> Closer:
    """A lake with two sealed months, and a copy of it; nothing is kept of it yet."""
    closer = Closer(desk)
    closer.serve(LEDGER)
    closer.closed("2026-09", "2026-10")
    shutil.copytree(desk.lake.path, tmp_path / "before")
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "cache"))
    return closer


def run_with(run: Callable[[], object], step: str | int, write: Callable[[], object]) -> list[str]:
    """Let something write once, where a run comes to a step: by its name, or its number.

    Steps are the functions that are given a lake or a job. Return those up to the one.
    """
    passed: list[str] = []

    def called(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_name
        is_step = event == "call" and frame.f_code.co_filename in CODE and name[0] != "<"
        if is_step and not {"lake", "job"}.isdisjoint(frame.f_locals):
            passed.append(name)
            if step in (name, len(passed)):
                sys.setprofile(None)
                write()

    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(None)
    return passed


def read_september(closer: Closer) -> None:
    """Another process reads September again, of which a payment has another USD value."""
    closer.desk.service.payments[0]["usd_value"] = "0.25"
    closer.desk.extract(start=SEPTEMBER.start, end=SEPTEMBER.end, rereads=True)


def told(lake: Lakehouse) -> MonthState:
    """What `status` tells of September."""
    states = month_states(lake, now(), "UTC", "gregorian")
    [september] = [each for each in states if each.label == SEPTEMBER.label]
    return with_statuses(judged(lake, september, now(), LakeContents.read(lake)))


def told_anew(lake: Lakehouse) -> MonthState:
    """The same, of nothing that was kept."""
    with TemporaryDirectory() as empty, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SVC_CACHE_DIR", empty)
        return told(lake)


@pytest.mark.parametrize(("run", "step"), rings(USUAL, ALL))
def test_what_a_run_keeps_is_of_the_lake_that_it_saw(closer, tmp_path, run, step) -> None:
    """Whenever September changes meanwhile, and when it is put back as it was."""
    lake = closer.desk.lake
    passed = run_with(partial(RUNS[run], closer), step, partial(read_september, closer))
    assert passed and (isinstance(step, int) or passed[-1] == step)
    assert told(lake) == told_anew(lake)
    shutil.rmtree(lake.path)
    shutil.copytree(tmp_path / "before", lake.path)
    assert told(lake) == told_anew(lake)
