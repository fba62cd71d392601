"""The timer of a lake in systemd: it is installed, looked at and removed."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from svc_analytics.errors import ConfigError, SvcError
from svc_analytics.files import atomic_write, make_folder
from svc_analytics.formatting.texts import load_text
from svc_analytics.instants import parse_bound
from svc_analytics.unattended.scheduled_job import ScheduledJob, credential, unit_name

Call = Callable[[list[str]], "subprocess.CompletedProcess[str]"]
State = Literal["new", "changed", "unchanged", "removed"]
_UNIT, _SECRET, _SECRETS = 0o644, 0o600, 0o700  # modes
_MEANING = {
    0: "all is done",
    1: "it failed",
    2: "a setting is missing or wrong",
    3: "it is done, but a person should look",
    75: "the service was away, or another process was writing; it is tried again",
    130: "it was interrupted",
}
_WELL = (0, 75)


def call_command(words: list[str]) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, and return what it said; its instants are in UTC."""
    environ = {**os.environ, "TZ": "UTC"}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=environ)  # noqa: S603


@dataclass(frozen=True)
class Manager:
    """A manager of systemd: the machine's, or a person's own."""

    units: Path
    secrets: Path
    is_own: bool
    is_running: bool
    call: Call = call_command

    def command(self, *words: str) -> list[str]:
        """Return the words of a command to it."""
        return ["systemctl", *["--user"] * self.is_own, *words]

    def files(self, name: str) -> tuple[Path, Path]:
        """Return the files of a service and its timer."""
        return self.units / f"{name}.service", self.units / f"{name}.timer"

    def is_enabled(self, name: str) -> bool:
        """Tell whether a timer starts with the machine, or with its owner's session."""
        return (self.units / "timers.target.wants" / f"{name}.timer").is_symlink()

    def run(self, commands: list[list[str]]) -> None:
        """Run commands; raise `SvcError` where one fails."""
        for words in commands:
            done = self.call(words)
            if done.returncode:
                raise SvcError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")

    def facts(self, unit: str, *names: str) -> dict[str, str]:
        """Ask systemd for facts of a unit; it has none where it does not run."""
        if not self.is_running:
            return {}
        asked = self.command("show", f"--property={','.join(names)}", unit)
        lines = self.call(asked).stdout.splitlines()
        return {name: value for name, _, value in (line.partition("=") for line in lines)}

    def require_writable(self) -> None:
        """Raise `ConfigError` for anybody but root, where the units are the machine's."""
        if not self.is_own and not os.access(self.units, os.W_OK):
            message = f"only root can write into {self.units}: put sudo before the command"
            raise ConfigError(f"{message}, or add --user for a timer of your own")


def machine_manager() -> Manager:
    """Return the manager of this machine."""
    etc, is_running = Path("/etc"), Path("/run/systemd/system").is_dir()
    return Manager(etc / "systemd" / "system", etc / "svc-analytics", False, is_running)


def own_manager() -> Manager:
    """Return the manager of the person who runs this."""
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    door = Path(os.environ.get("XDG_RUNTIME_DIR") or "/run/none") / "systemd" / "private"
    return Manager(config / "systemd" / "user", config / "svc-analytics", True, door.exists())


@dataclass(frozen=True)
class ScheduleChange:
    """What an installation or a removal does: the state of each file, and the commands."""

    name: str
    files: dict[Path, State]
    commands: tuple[str, ...]
    texts: dict[Path, str]  # of the units


def install(job: ScheduledJob, manager: Manager, *, is_dry: bool = False) -> ScheduleChange:
    """Write the units of a job and what they read, and enable its timer.

    A second time it changes nothing, unless the settings have changed.
    """
    units = dict(zip(manager.files(job.name), (service(job), timer(job)), strict=True))
    texts = {**job.settings.files, **units}
    states = {path: _state(path, text) for path, text in texts.items()}
    commands: list[list[str]] = []
    if not manager.is_enabled(job.name) or any(states[path] != "unchanged" for path in units):
        commands = _starting(job.name, manager)
    if not is_dry:
        for path, text in texts.items():
            if states[path] != "unchanged":
                _write(path, text, is_secret=path not in units)
        _make_state_folder(job)
        manager.run(commands)
    return ScheduleChange(job.name, states, tuple(map(" ".join, commands)), units)


def _state(path: Path, text: str) -> State:
    if not path.exists():
        return "new"
    return "unchanged" if path.read_bytes() == text.encode() else "changed"


def _write(path: Path, text: str, *, is_secret: bool) -> None:
    """Write a file whose mode holds from its first byte on."""
    make_folder(path.parent, _SECRETS if is_secret else 0o755)
    with atomic_write(path) as temporary:
        temporary.unlink(missing_ok=True)
        temporary.touch(mode=_SECRET if is_secret else _UNIT, exist_ok=False)
        temporary.write_text(text, encoding="utf-8")


def _make_state_folder(job: ScheduledJob) -> None:
    """Make the folder in which a job remembers, its user's own: a unit may write where one is."""
    folders = [Path(job.state), *Path(job.state).parents] if job.state else []
    for folder in reversed([each for each in folders if not each.exists()]):
        folder.mkdir(_SECRETS)
        if job.user:
            shutil.chown(folder, int(job.user) if job.user.isdigit() else job.user)


def _starting(name: str, manager: Manager) -> list[list[str]]:
    """Return the commands by which units begin to count; without systemd they wait for it."""
    enable = manager.command("enable", f"{name}.timer")
    if not manager.is_running:
        return [enable]
    restart = manager.command("restart", f"{name}.timer")
    return [manager.command("daemon-reload"), enable, restart]


def remove(lake: str, manager: Manager, *, is_dry: bool = False) -> ScheduleChange:
    """Stop the timer of a lake and delete its units; the lake and all secrets stay."""
    name = unit_name(lake)
    units = [path for path in manager.files(name) if path.exists()]
    now, last = ["--now"] * manager.is_running, [manager.command("daemon-reload")]
    before = [manager.command("disable", *now, f"{name}.timer")] if units else []
    after = last if units and manager.is_running else []
    if not is_dry:
        manager.run(before)
        for path in units:
            path.unlink()
        manager.run(after)
    return ScheduleChange(
        name, dict.fromkeys(units, "removed"), tuple(map(" ".join, [*before, *after])), {}
    )


@dataclass(frozen=True)
class LastRun:
    """How the last run of a timer ended; `exit_code` is None where systemd ended it."""

    at: int
    exit_code: int | None
    meaning: str


@dataclass(frozen=True)
class TimerStatus:
    """How a timer stands; what only a running systemd knows is None without it."""

    name: str
    is_installed: bool
    is_enabled: bool
    is_running: bool
    next_at: int | None
    last: LastRun | None

    @property
    def is_well(self) -> bool:
        """Whether it will run, and its last run needs no person."""
        is_done = self.last is None or self.last.exit_code in _WELL
        return self.is_installed and self.is_enabled and is_done


def read_status(lake: str, manager: Manager) -> TimerStatus:
    """Return how the timer of a lake stands."""
    name = unit_name(lake)
    is_installed = all(path.exists() for path in manager.files(name))
    next_run = manager.facts(f"{name}.timer", "NextElapseUSecRealtime")
    asked = ("ActiveState", "SubState", "Result", "ExecMainStatus", "ExecMainExitTimestamp")
    run = manager.facts(f"{name}.service", *asked)
    return TimerStatus(
        name,
        is_installed,
        manager.is_enabled(name),
        (run.get("ActiveState"), run.get("SubState")) == ("activating", "start"),
        _instant(next_run.get("NextElapseUSecRealtime", "")),
        _last_run(run),
    )


def _last_run(run: Mapping[str, str]) -> LastRun | None:
    at = _instant(run.get("ExecMainExitTimestamp", ""))
    if at is None:
        return None
    code, result = int(run["ExecMainStatus"]), run["Result"]
    if result not in ("success", "exit-code"):
        return LastRun(at, None, f"systemd ended it: {result}")
    if code in _MEANING:
        return LastRun(at, code, _MEANING[code])
    return LastRun(at, code, "systemd could not start it")


def _instant(text: str) -> int | None:
    """Return an instant as systemd writes it, such as Fri 2026-11-27 06:15:00 UTC."""
    match = re.fullmatch(r"\w+ (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC", text, re.ASCII)
    return parse_bound(f"{match[1]}T{match[2]}Z") if match else None


def others(name: str, manager: Manager) -> list[str]:
    """Return the timers of other lakes that are installed."""
    names = sorted(path.stem for path in manager.units.glob("svc-analytics-*.timer"))
    return [each for each in names if each != name]


# ---------- The text of systemd's units that close a lake each day, and the line of a crontab
# `templates/close.service` and `templates/close.timer` are the units.


_PLAIN = re.compile(r"[A-Za-z0-9_./:@=,+-]+")


def service(job: ScheduledJob) -> str:
    """Return the unit of the close; that of a person's own manager has no mounts of its own."""
    return _unit("close.service", job)


def timer(job: ScheduledJob) -> str:
    """Return the unit of the timer."""
    return _unit("close.timer", job)


def _unit(name: str, job: ScheduledJob) -> str:
    text = load_text(__package__, name, value=_raw, words=_words, credential=credential)
    mounts = [str(job.folder), *job.writable]
    return text.render(job=job, settings=job.settings, mounts=mounts)


def cron_line(job: ScheduledJob) -> str:
    """Return the line of a crontab, in which a percent sign would end the command."""
    hour, minute = job.at.split(":")
    start = f"cd {shlex.quote(str(job.folder))} && {shlex.join(job.words)}"
    return f"{int(minute)} {int(hour)} * * *  {start}".replace("%", r"\%")


def _words(words: Sequence[str]) -> str:
    return " ".join(map(_word, words))


def _word(text: str) -> str:
    """Return a word as systemd reads it back.

    >>> print(_word("/srv/100% net"))
    "/srv/100%% net"
    """
    escaped = _raw(text).replace("\\", "\\\\").replace('"', '\\"')
    return escaped if _PLAIN.fullmatch(text) else f'"{escaped}"'


def _raw(text: object) -> str:
    """Return a text for a line that is one value, in which only `%` means something."""
    return str(text).replace("%", "%%")
