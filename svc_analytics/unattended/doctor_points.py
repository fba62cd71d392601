"""What the doctor looks at, point by point, in four parts.

Memory, secrets and keys of ours, and whether they can be read; whether those who are to be told can
be reached, and metrics be written; how the lake stands, its files, months and seals; and the timer.
"""

import importlib.util
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from svc_analytics import config
from svc_analytics.closing import month_states
from svc_analytics.closing.due import Reckoning, reckonings
from svc_analytics.closing.seals import NOT_REGISTERED
from svc_analytics.environment import SettingPlaces
from svc_analytics.errors import ConfigError, SvcError, install
from svc_analytics.files import state_folder
from svc_analytics.instants import ago, now
from svc_analytics.lake.checksums import require_whole
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import VERDICTS_FOLDER
from svc_analytics.periods import parse_period
from svc_analytics.proofs.signature import fingerprint_of
from svc_analytics.proofs.stamp import Authority
from svc_analytics.proofs.statuses import FAILED
from svc_analytics.render.month_state import MonthState
from svc_analytics.schema import SIDE_STREAMS, STREAMS
from svc_analytics.unattended.matched_lists import NAME, read_lists
from svc_analytics.unattended.notices import read_notice_log
from svc_analytics.unattended.notifiers import Notifier, Watching
from svc_analytics.unattended.schedule import TimerStatus, machine_manager, own_manager, read_status
from svc_analytics.warehouse.connection import MOST_MEMORY

State = Literal["well", "note", "wrong"]
_NOT_OWNER = stat.S_IRWXG | stat.S_IRWXO
_TELLS = "it is notified of runs: see the page Schedule the close, Be notified"
_IF_WANTED = "where they are to be sealed: svc-analytics close --all-due"
_FOLDERS = (*STREAMS, *SIDE_STREAMS, VERDICTS_FOLDER)
_LOOK = "see what it printed, in the log of its timer"
_PATIENCE = 300  # seconds for a dry run


@dataclass(frozen=True)
class Point:
    """One thing that was looked at: well, a note, or wrong, with the next step."""

    name: str
    state: State
    text: str
    next_step: str = ""


def memory(source: SettingPlaces) -> Iterator[Point]:
    """Yield how much memory queries take, and settings that only a run itself would read."""
    readers = (
        ("memory", config.read_memory),
        ("engine", config.read_engine),
        ("rates", config.read_rates_gaps),
    )
    for name, read in readers:
        try:
            setting = read(environ=source.environ, folder=source.folder)
        except ConfigError as error:
            yield Point(name, "wrong", str(error), "correct it: see the page Settings")
            continue
        if name == "memory":
            yield Point(name, "well", f"a query takes {setting or MOST_MEMORY} at most")


def secrets(settings: config.Settings) -> Iterator[Point]:
    """Yield how many secrets there are that receipts are checked with."""
    if settings.receipt_secrets:
        yield Point("receipt secrets", "well", f"{len(settings.receipt_secrets)} in the ring")
    else:
        text = "none: months are sealed without their receipts being checked"
        mend = "give SVC_RECEIPT_SECRETS or SVC_RECEIPT_SECRETS_FILE before the first seal"
        yield Point("receipt secrets", "wrong", text, mend)


def signing(source: SettingPlaces) -> Iterator[Point]:
    """Yield whether the key that signs months can be read, and `ssh-keygen` is there."""
    try:
        key = config.read_signing_key(environ=source.environ, folder=source.folder)
        shown = key and fingerprint_of(key)
    except ConfigError as error:
        mend = "correct it; until then months are sealed, and not signed"
        yield Point("signing key", "wrong", str(error), mend)
        return
    if shown:
        text = f"{key}, {shown}; what it signed is remembered in {state_folder(source.environ)}"
        yield Point("signing key", "well", text)
    elif key:
        mend = "give SVC_SIGNING_KEY the path of an SSH key; months are sealed, and not signed"
        yield Point("signing key", "wrong", f"ssh-keygen reads no key in {key}", mend)


def stamping(source: SettingPlaces) -> Iterator[Point]:
    """Yield whether the authority that stamps months has an address, and `openssl` is there."""
    authority = Authority.read(source.environ, source.folder)
    if not authority.url:
        return
    mend = "correct it; until then months are sealed, and not stamped"
    try:
        authority.require()
    except ConfigError as error:
        yield Point("stamps", "wrong", str(error), mend)
        return
    yield Point("stamps", "well", f"openssl is here; {authority.url} is asked at each close")


def lists(source: SettingPlaces, scheduled: Reckoning | None) -> Iterator[Point]:
    """Yield whether each list can be read that months are matched with: the file of last month.

    One of its own for each month may still come.
    """
    try:
        named = source.read(NAME, read_lists)
    except ConfigError as error:
        yield Point("lists", "wrong", str(error), "correct it; until then no month is matched")
        return
    label = parse_period("last month", now(), *(scheduled or ())).folder
    for each in named:
        file = each.file(source.folder, label)
        if file.is_file() and os.access(file, os.R_OK):
            yield Point("lists", "well", f"{each.name}: {file} can be read")
        else:
            mend = f"let the export be there before the close, or correct {NAME}"
            state: State = "note" if each.is_monthly else "wrong"
            yield Point("lists", state, f"{each.name}: {file} cannot be read", mend)


def files(source: SettingPlaces) -> Iterator[Point]:
    """Yield files of settings that others than their owner can read."""
    ends = ("_KEY_FILE", "_SECRETS_FILE", "NOTIFY_FILE")
    settings = ((name, path) for name, path in source.environ.items() if name.startswith("SVC_"))
    named = [path for name, path in settings if name.endswith(ends)]
    for path in [source.folder / ".env", *map(Path, named)]:
        if path.is_file() and path.stat().st_mode & _NOT_OWNER and os.name != "nt":
            text = f"{path} can be read by others than its owner"
            yield Point("permissions", "wrong", text, f"chmod 600 {path}")


def notices(watching: Watching) -> Iterator[Point]:
    """Yield whether each receiver can be told; a mail server is asked, and gets no mail."""
    for one in watching.receivers:
        yield _receiver(one, watching)
    if not watching.notifiers:
        mend = "give SVC_NOTIFY, such as smtps://mail.example?from=…&to=…"
        yield Point("notices", "note", "nobody is notified of what became of a run", mend)


def _receiver(one: Notifier, watching: Watching) -> Point:
    if one.scheme == "exec":
        if Path(one.command).is_file() and os.access(one.command, os.X_OK):
            return Point("notices", "well", f"{one.name} can be run")
        return Point("notices", "wrong", f"{one.name} cannot be run", "chmod +x, or correct it")
    try:
        if one.is_mail:
            from svc_analytics.unattended.delivery import try_receiver

            try_receiver(one, watching)
            return Point("notices", "well", f"the mail server takes mail for {one.name}")
        return _called("notices", one.parts.geturl(), one.name, watching)
    except SvcError as error:
        text = f"{one.name} is not reached: {error}"
        return Point("notices", "wrong", text, "correct SVC_NOTIFY, or see to its server")


def ping(watching: Watching) -> Iterator[Point]:
    """Yield whether the address of pings can be reached; it is not called."""
    if not watching.ping_url:
        return
    name = Notifier("ping", watching.ping_url).parts.hostname or ""
    try:
        yield _called("ping", watching.ping_url, name, watching)
    except SvcError as error:
        text = f"{name} is not reached: {error}"
        yield Point("ping", "wrong", text, "correct SVC_PING_URL, or see to its server")


def _called(point: str, url: str, name: str, watching: Watching) -> Point:
    """Connect to the server of an address, which is not called: it would be a message."""
    from svc_analytics.unattended.delivery import connect

    if watching.proxy:
        text = f"{name} was not looked at: it is behind the proxy of SVC_PROXY"
        return Point(point, "note", text, f"look once whether it comes: {_TELLS}")
    connect(url, watching)
    return Point(point, "well", f"{name} is reached; what it takes shows the first message")


def metrics(watching: Watching) -> Iterator[Point]:
    """Yield whether the file of metrics can be written."""
    if not watching.metrics_file:
        return
    file = Path(watching.metrics_file).absolute()
    if importlib.util.find_spec("prometheus_client") is None:
        yield Point(
            "metrics", "wrong", "the library that writes them is missing", install("metrics")
        )
    elif not file.parent.is_dir():
        mend = f"make it, or correct SVC_METRICS_FILE: mkdir -p {file.parent}"
        yield Point("metrics", "wrong", f"there is no folder {file.parent}", mend)
    elif file.is_dir() or not os.access(file.parent, os.W_OK | os.X_OK):
        mend = "give it to who runs the close, or correct SVC_METRICS_FILE"
        yield Point("metrics", "wrong", f"{file} cannot be written", mend)
    elif file.suffix != ".prom":
        mend = "let SVC_METRICS_FILE end in .prom"
        yield Point("metrics", "note", f"node_exporter does not read {file.name}", mend)
    else:
        yield Point("metrics", "well", f"{file} can be written")


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
    contents = month_states.LakeContents.read(lake)
    first, *others = reckonings(lake, scheduled)
    for each in (first, *others):
        name = f" by the {each[1]} calendar of {each[0]}" if others else ""
        for point in _months_of(_states(lake, each, contents), name):
            if each != first and point.state == "wrong":
                mend = f"{_IF_WANTED} --zone {each[0]} --calendar {each[1]}"
                point = replace(point, state="note", next_step=mend)
            yield point


def _states(lake: Lake, by: Reckoning, contents: month_states.LakeContents) -> list[MonthState]:
    """Return the states of months, oldest first; the last sealed ones are those of the lake now."""
    clock = now()
    states = month_states.month_states(lake, clock, *by, contents)
    for place, state in enumerate(states[: month_states.LAST]):
        if state.is_sealed:
            state = month_states.judged(lake, state, clock, contents)
            states[place] = month_states.with_statuses(state)
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
        return [*state.lost, str(state.word)]
    failed = (
        str(each.text)
        for each in state.statuses
        if each.outcome == FAILED or getattr(each.text, "code", "") == NOT_REGISTERED
    )
    reasons = (f"today it would not be final: {reason}" for reason in state.reasons)
    return [*state.lost, *failed, *reasons]


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
