"""Months in parts: shared among processes, and written as one would."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from svc_analytics.errors import LakeError
from svc_analytics.lake.month_file import read_groups
from svc_analytics.receipts.helper_processes import map_shared
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.schema import PAYMENTS
from tests.receipts.test_verify_lake import SETTINGS, receipted
from tests.support.altered import flip


@pytest.mark.parametrize("workers", [1, 2])
def test_a_large_month_is_shared_by_its_row_groups(desk, monkeypatch, workers):
    """Here of one row each: verdicts stand in the order of the payments, whoever made them."""
    monkeypatch.setattr("svc_analytics.lake.month_file.ROW_GROUP", 1)
    desk.service.payments = [receipted(n, f"2026-10-{n:02}T08:00:00Z") for n in range(1, 8)]
    desk.extract()
    assert verify_lake(desk.lake, SETTINGS, workers=workers).checked == 7
    desk.service.payments[3] = receipted(4, "2026-10-04T08:00:00Z", amount="11")
    desk.service.payments.append(receipted(8, "2026-10-08T08:00:00Z"))
    desk.extract(rereads=True)
    done = verify_lake(desk.lake, SETTINGS, workers=workers)
    rows = pq.read_table(desk.lake.path / "receipt_verdicts" / "2026-10.parquet")
    assert (done.checked, done.unchanged) == (2, 6)
    assert rows["payment_id"].to_pylist() == [record["id"] for record in desk.service.payments]
    assert rows["verdict"].to_pylist() == [*["valid"] * 3, "facts_mismatch", *["valid"] * 4]


@pytest.mark.parametrize(
    ("altered", "readable"), [(0.25, ["second"]), (0.75, ["first"]), ("the footer", [])]
)
def test_some_row_groups_vouch_for_their_own_pages_and_the_footer(
    desk, monkeypatch, altered, readable
):
    """Of two groups of one row, one byte is altered: one of another group is not read at all."""
    monkeypatch.setattr("svc_analytics.lake.month_file.ROW_GROUP", 1)
    desk.service.payments = [receipted(n, f"2026-10-{n:02}T08:00:00Z") for n in (1, 2)]
    desk.extract()
    path = desk.lake.month_path(PAYMENTS, "2026-10")
    data = path.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little")
    rows = len(data) - 8 - footer
    flip(path, int(rows * altered) if isinstance(altered, float) else rows + footer // 2)
    groups = {"first": range(1), "second": range(1, 2)}
    assert [name for name, each in groups.items() if is_read(path, each)] == readable
    assert not is_read(path, None)


def is_read(path: Path, groups: range | None) -> bool:
    """Tell whether these row groups of a file can be read, each being one row."""
    try:
        return len([*read_groups(path, groups=groups)]) > 0
    except LakeError:
        return False


# ---------- work shared with helpers


def test_every_job_is_done_once_and_both_sides_work():
    """Whoever is free takes the next; here, each waits until the other has taken one.

    Results come in the order of the jobs, whoever was first.
    """
    here, there = threading.Event(), threading.Event()

    def work(mine: threading.Event, others: threading.Event, job: int) -> int:
        mine.set()
        assert others.wait(30)
        return job * 10

    with ThreadPoolExecutor() as pool:
        begin = partial(pool.submit, partial(work, there, here))
        done = list(map_shared(range(50), partial(work, here, there), begin, 1))
    assert done == [(job, job * 10) for job in range(50)]


@pytest.mark.parametrize("side", ["here", "there"])
def test_an_error_on_either_side_is_raised_and_ends_the_work(side):
    """The disk is full: no helper goes on through a year of months."""
    begun: list[int] = []
    failing = threading.Event()

    def fail(job: int) -> int:
        failing.set()
        raise OSError("disk full")

    def work(job: int) -> int:
        failing.wait(30)
        begun.append(job)
        return job

    here, there = (fail, work) if side == "here" else (work, fail)
    with ThreadPoolExecutor() as pool, pytest.raises(OSError, match="disk full"):
        list(map_shared(range(300_000), here, partial(pool.submit, there), helpers=1))
    assert len(begun) < 300_000


def test_a_job_that_cannot_be_made_ends_the_work():
    """A month that cannot be read is told, whoever came to it."""

    def jobs() -> Iterator[int]:
        yield 1
        raise OSError("cannot read")

    with ThreadPoolExecutor() as pool, pytest.raises(OSError, match="cannot read"):
        list(map_shared(jobs(), abs, partial(pool.submit, abs), helpers=1))


KILLED = """
import os, signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from svc_analytics.receipts.helper_processes import begin_helper
if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, get_context("spawn"), begin_helper, ((), ()))
    print(pool.submit(os.getpid).result(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_helper_does_not_outlive_a_run_that_is_killed(tmp_path):
    """It holds the receipt secrets, and may write where the next run writes."""
    (tmp_path / "killed.py").write_text(KILLED)
    with (tmp_path / "said").open("w") as said:  # not a pipe, which the helper would hold open
        subprocess.run([sys.executable, tmp_path / "killed.py"], stdout=said)
    helper = int((tmp_path / "said").read_text())
    until = time.monotonic() + 20
    while is_alive(helper) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_alive(helper)


def is_alive(process: int) -> bool:
    """Tell whether a process does anything yet: one that nobody waits for has ended too."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
