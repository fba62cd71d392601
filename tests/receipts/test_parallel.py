"""Work shared with helpers: every job once, and nothing begun behind an error."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from svc_analytics.receipts.parallel import map_shared


def test_every_job_is_done_once_and_both_sides_work() -> None:
    """Whoever is free takes the next; here, each waits until the other has taken one.

    Results come in the order of the jobs, whoever was first.
    """
    here, there = threading.Event(), threading.Event()

    def work(mine: threading.Event, others: threading.Event, job: int) -> int:
        mine.set()
        assert others.wait(30)
        return job * 10

    done = map_shared(range(50), partial(work, here, there), partial(work, there, here), 1)
    assert list(done) == list(range(0, 500, 10))


@pytest.mark.parametrize("side", ["here", "there"])
def test_an_error_on_either_side_is_raised_and_ends_the_work(side: str) -> None:
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

    sides = (fail, work) if side == "here" else (work, fail)
    with pytest.raises(OSError, match="disk full"):
        list(map_shared(range(300_000), *sides, helpers=1))
    assert len(begun) < 300_000


def test_a_job_that_cannot_be_made_ends_the_work() -> None:
    """A month that cannot be read is told, whoever came to it."""

    def jobs() -> Iterator[int]:
        yield 1
        raise OSError("cannot read")

    with pytest.raises(OSError, match="cannot read"):
        list(map_shared(jobs(), abs, abs, helpers=1))


KILLED = """
import os, signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from svc_analytics.receipts.helper import begin_helper
if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, get_context("spawn"), begin_helper, ((), ()))
    print(pool.submit(os.getpid).result(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_helper_does_not_outlive_a_run_that_is_killed(tmp_path: Path) -> None:
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
