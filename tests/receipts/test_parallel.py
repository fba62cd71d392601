"""Work shared with helpers: every job once, and nothing begun behind an error."""

import threading

import pytest

from svc_analytics.receipts.parallel import map_shared


def test_every_job_is_done_once_and_both_sides_work() -> None:
    """Whoever is free takes the next; here, each waits until the other has taken one."""
    both = threading.Barrier(2, timeout=30)
    by: list[str] = []

    def work(name: str, job: int) -> int:
        if name not in by:
            by.append(name)
            both.wait()
        return job * 10

    done = map_shared(range(50), lambda job: work("here", job), lambda job: work("there", job), 1)
    assert sorted(done) == list(range(0, 500, 10)) and sorted(by) == ["here", "there"]


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
