"""For the doctor: how the lake stands: its files, its months and seals, and the timer's close."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from svc_analytics.closing.contents import LakeContents
from svc_analytics.closing.due import Reckoning, reckonings
from svc_analytics.closing.states.month_states import LAST, judged, month_states, with_statuses
from svc_analytics.errors import SvcError
from svc_analytics.instants import ago, now
from svc_analytics.lake.checksums import require_whole
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import VERDICTS_FOLDER
from svc_analytics.proofs.statuses import FAILED
from svc_analytics.render.month_state import MonthState
from svc_analytics.schema import SIDE_STREAMS, STREAMS
from svc_analytics.unattended.looks.point import Point
from svc_analytics.unattended.notices import read_notice_log
from svc_analytics.unattended.schedule import TimerStatus, machine_manager, own_manager, read_status
from svc_analytics.unattended.settings import Watching

_IF_WANTED = "where they are to be sealed: svc-analytics close --all-due"
_FOLDERS = (*STREAMS, *SIDE_STREAMS, VERDICTS_FOLDER)
_LOOK = "see what it printed, in the log of its timer"
_PATIENCE = 300  # seconds for a dry run


def records(lake: Lake) -> Iterator[Point]:
    """Yield each file of records that is not as it was written."""
    files = [path for name in _FOLDERS for path in sorted((lake.path / name).glob("*.parquet"))]
    broken = 0
    for path in files:
        try:
            require_whole(path)
        except SvcError as error:
            broken += 1
            yield Point("records", "wrong", str(error), "do that, then run svc-analytics check")
    if not broken:
        yield Point("records", "well", f"{len(files)} files of records are as they were written")


def months(lake: Lake, scheduled: Reckoning | None) -> Iterator[Point]:
    """Yield which months are due, and which seals do not hold: wrong are those of the schedule."""
    contents = LakeContents.read(lake)
    first, *others = reckonings(lake, scheduled)
    for each in (first, *others):
        name = f" by the {each[1]} calendar of {each[0]}" if others else ""
        for point in _months_of(_states(lake, each, contents), name):
            if each != first and point.state == "wrong":
                mend = f"{_IF_WANTED} --zone {each[0]} --calendar {each[1]}"
                point = replace(point, state="note", next_step=mend)
            yield point


def _states(lake: Lake, by: Reckoning, contents: LakeContents) -> list[MonthState]:
    """Return the states of months, oldest first; the last sealed ones are those of the lake now."""
    clock = now()
    states = month_states(lake, clock, *by, contents)
    for place, state in enumerate(states[:LAST]):
        if state.is_sealed:
            states[place] = with_statuses(judged(lake, state, clock, contents))
    return states[::-1]


def _months_of(states: list[MonthState], name: str) -> Iterator[Point]:
    due = [each.period.folder for each in states if each.is_open]
    changed = [each for each in states if each.is_sealed and _faults(each)]
    if due:
        mend = "run svc-analytics close --all-due; svc-analytics status says why each waits"
        yield Point("months", "wrong", f"over and not sealed{name}: {', '.join(due)}", mend)
    for each in changed:
        text = f"{each.period.folder} is sealed, and {'; '.join(_faults(each))}"
        yield Point("seals", "wrong", text, "svc-analytics status and statement-verify say more")
    if not due and not changed:
        yield Point("months", "well", f"every month that is over is sealed{name}, and holds")


def _faults(state: MonthState) -> list[str]:
    """Return the faults of a sealed month: as `close` tells them, and those of its files."""
    if state.kind == "changed":
        return [str(state.word)]
    failed = [str(each.text) for each in state.statuses if each.outcome == FAILED]
    return [*failed, *(f"today it would not be final: {reason}" for reason in state.reasons)]


def close(lake: str, folder: Path, environ: Mapping[str, str]) -> Iterator[Point]:
    """Yield whether the close of a timer begins with these settings, as its dry run does."""
    start = [sys.executable, "-P", "-m", "svc_analytics", "close", "--all-due"]
    done = subprocess.run(  # noqa: S603  (our own Python)
        [*start, "--data-dir", lake, "--dry-run"],
        cwd=folder,
        env=dict(environ),
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().rpartition("error: ")[2]
        text = f"close --all-due cannot begin: {said}"
        yield Point("close", "wrong", text, "correct that setting, then run doctor again")
    else:
        yield Point("close", "well", "close --all-due begins with these settings")


def schedule(lake: str) -> Iterator[Point]:
    """Yield how the timer of systemd stands that closes the months of a lake, if there is one."""
    timers = [read_status(lake, manager) for manager in (machine_manager(), own_manager())]
    installed = [each for each in timers if each.is_installed]
    for timer in installed:
        yield _timer(timer)
    if not installed:
        text = "no timer of systemd closes this lake's months"
        yield Point("schedule", "note", text, "svc-analytics schedule install, or look at cron")


def _timer(timer: TimerStatus) -> Point:
    if not timer.is_enabled:
        text = f"{timer.name}.timer is installed and not enabled"
        return Point("schedule", "wrong", text, "svc-analytics schedule install enables it")
    if not timer.is_well and timer.last:
        text = f"the last run of {timer.name} ended so: {timer.last.meaning}"
        return Point("schedule", "wrong", text, f"journalctl -u {timer.name} says more")
    return Point("schedule", "well", f"{timer.name}.timer is installed and enabled")


def runs(lake: Lake, watching: Watching) -> Iterator[Point]:
    """Yield how the last run of each command ended, as it is kept where somebody is told of it."""
    if not (watching.notifiers or watching.metrics_file):
        return
    commands = read_notice_log(lake.path).commands
    for name, one in sorted(commands.items()):
        if one.ended_at is not None:
            is_well = one.exit_code == 0
            text = f"last ended with {one.exit_code}, {ago(one.ended_at)}"
            yield Point(
                f"{name} run", "well" if is_well else "note", text, "" if is_well else _LOOK
            )
        if one.is_running and one.began_at is not None:
            text = f"one began {ago(one.began_at)} and has not ended: it runs, or was killed"
            yield Point(f"{name} run", "note", text, _LOOK)
    if not commands:
        text = "none is known yet: no timer has started close or extract"
        yield Point("runs", "note", text, "see the page Schedule the close")
