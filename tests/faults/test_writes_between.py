"""Another process writes between two steps of a run: nothing that the run keeps is stale.

The oracle is a cache folder with nothing in it: what is told by what was kept is told without it.
"""

import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import pytest

import svc_analytics
from svc_analytics.closing.month_states import (
    LakeContents,
    judged,
    judged_months,
    month_states,
    with_statuses,
)
from svc_analytics.instants import now
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.periods import month
from svc_analytics.render.month_state import MonthState
from tests.support.closings import Closer
from tests.support.rings import rings

CLOSING = Path(svc_analytics.__file__).parent / "closing"
FILES = ("close.py", "contents.py", "states/*.py", "restatement/rederive.py")
CODE = {str(path) for name in FILES for path in CLOSING.glob(name)}
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


def run_with(run: Callable[[], object], step: str | int, write: Callable[[], object]) -> None:
    """Let something write once, where a run comes to a step: by its name, or its number.

    Steps are the functions that are given a lake or a job.
    """
    passed: list[str] = []

    def called(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_name
        is_step = event == "call" and frame.f_code.co_filename in CODE and name[0] != "<"
        if is_step and {"lake", "job"} & frame.f_locals.keys():
            passed.append(name)
            if step in (name, len(passed)):
                sys.setprofile(None)
                write()

    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(None)


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
    run_with(partial(RUNS[run], closer), step, partial(read_september, closer))
    assert told(lake) == told_anew(lake)
    shutil.rmtree(lake.path)
    shutil.copytree(tmp_path / "before", lake.path)
    assert told(lake) == told_anew(lake)
