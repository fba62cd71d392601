"""Others at the same lake: two writers, stale marks, readers while months are replaced (E3, E4)."""

import errno
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count

import duckdb
import pytest

from svc_analytics.errors import LakeBusy
from svc_analytics.extraction import clock, segments
from svc_analytics.instants import parse_instant
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.statements.statement import statement
from svc_analytics.warehouse.images import write_views
from tests.support.desks import Desk
from tests.support.fake_service import payment, spread
from tests.support.prepared import extracted
from tests.support.sandboxes import check_all

OCTOBER = {"start": parse_instant("2026-10-01T00:00:00Z")[0],
           "end": parse_instant("2026-11-01T00:00:00Z")[0]}  # fmt: skip


@pytest.fixture
def filled(desk) -> Desk:
    """Sixty payments of October, of 1 usdt each and without a fee."""
    desk.service.payments = [
        record
        | dict.fromkeys(("amount", "charged_amount", "net_amount"), "1")
        | {"fee_amount": "0"}
        for record in spread(60, datetime(2026, 10, 2, tzinfo=UTC), timedelta(hours=9))
    ]
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
