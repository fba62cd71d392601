"""The timer of a lake: its units, that no secret is in them, and what each command changes."""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.unattended import schedule as schedules, scheduled_job
from svc_analytics.unattended.schedule import Manager, service, timer
from svc_analytics.unattended.scheduled_job import JobSettings, ScheduledJob, unit_name

GOLDEN = Path(__file__).parent / "golden"
KEY, SECRET = "svc_live_" + "0a" * 32, "tiger-receipt"
FOLDER = Path("/srv/Saffron & Tile 100%")
JOB = ScheduledJob(
    lake=f"{FOLDER}/data",
    folder=FOLDER,
    user="finance",
    at="06:15",
    settings=JobSettings(
        {"SVC_CLOSE_ZONE": "Asia/Tehran", "SVC_RATES": 'my "rates".csv'},
        {"SVC_CHECKOUT_KEY": FOLDER / "checkout key"},
    ),
    writable=(f"{FOLDER}/data",),
    has_cache=False,
)


class Systemd:
    """What systemctl was asked, and what it answers to `show`."""

    def __init__(self, folder: Path) -> None:
        self.calls: list[str] = []
        self.shown = ""
        self.manager = Manager(folder / "units", folder / "secrets", False, True, self.call)
        self.manager.units.mkdir()

    def call(self, words: list[str]) -> "subprocess.CompletedProcess[str]":
        self.calls += [" ".join(words[1:])] * (words[1] != "show")
        wanted = self.manager.units / "timers.target.wants"
        if words[1] == "enable":
            wanted.mkdir(exist_ok=True)
            (wanted / words[2]).symlink_to(self.manager.units / words[2])
        return subprocess.CompletedProcess(words, 0, self.shown, "")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A working folder with a lake and a `.env`; a blank and a percent sign are in its name."""
    folder = tmp_path / "100% net"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "lake.json").touch()
    (folder / ".env").write_text(f"SVC_BASE_URL=https://pay.example\nSVC_CHECKOUT_KEY={KEY}\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def systemd(tmp_path, monkeypatch) -> Systemd:
    systemd = Systemd(tmp_path)
    monkeypatch.setattr(schedules, "machine_manager", lambda: systemd.manager)
    monkeypatch.setattr(scheduled_job, "try_as_user", lambda job: None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    return systemd


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder, with its content and mode."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mode & 0o777) for path in found}


def test_the_units_are_the_golden_ones(monkeypatch):
    """Percent signs are doubled everywhere; only lists of words are quoted."""
    monkeypatch.setattr(sys, "executable", "/srv/$venv/bin/python")
    units = {"finance.service": service(JOB), "finance.timer": timer(JOB)}
    assert units == {name: (GOLDEN / name).read_text() for name in units}


@pytest.mark.parametrize("user", ["finance", ""], ids=["machine", "own"])
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_units(user, tmp_path):
    """By its own check; and it finds those of the machine well protected: under 2 of 10."""
    job = replace(JOB, user=user)
    paths = [tmp_path / f"{job.name}.{kind}" for kind in ("service", "timer")]
    for path, text in zip(paths, (service(job), timer(job)), strict=True):
        path.write_text(text)
    whose = "--system" if user else "--user"
    verify = ["systemd-analyze", whose, "--man=no", "verify", *map(str, paths)]
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}  # a user's manager needs one
    done = subprocess.run(verify, capture_output=True, text=True, env=environ)
    assert done.returncode == 0 and job.name not in done.stderr, done.stderr
    if user:
        security = ["systemd-analyze", "security", "--offline=yes", "--threshold=20", str(paths[0])]
        assert subprocess.run(security, capture_output=True).returncode == 0


def test_a_dry_run_shows_all_and_changes_nothing(folder, systemd, run, tmp_path):
    """The units, their paths and the commands."""
    before = files(tmp_path)
    done = run("schedule", "install", "--dry-run")
    assert (done.code, files(tmp_path), systemd.calls) == (0, before, [])
    name = unit_name(str(folder / "data"))
    assert f"new        {systemd.manager.units}/{name}.timer" in done.out.splitlines()
    assert f"command    systemctl enable {name}.timer" in done.out.splitlines()
    assert "ProtectSystem=strict" in done.out and KEY not in done.out + done.err


def test_no_secret_is_in_a_unit_and_those_of_the_environment_are_roots_alone(
    folder, systemd, run, monkeypatch
):
    """The key stays in `.env`, a secret of the environment is kept, a file is named."""
    monkeypatch.setenv("SVC_RECEIPT_SECRETS", SECRET)
    monkeypatch.setenv("SVC_NOTIFY_FILE", "notify")
    (folder / "notify").write_text("exec:/usr/bin/tell")
    assert run("schedule", "install").code == 0
    for content, mode in files(systemd.manager.units).values():
        assert mode == 0o644 and KEY.encode() not in content and SECRET.encode() not in content
    assert [*files(systemd.manager.secrets).values()] == [(f"{SECRET}\n".encode(), 0o600)]
    [unit] = systemd.manager.units.glob("*.service")
    assert f"LoadCredential=notify:{folder}/notify".replace("%", "%%") in unit.read_text()


def test_without_a_running_systemd_the_timer_waits_for_it(folder, systemd, run):
    """As in an image that is being made: nothing can be asked to read the units, or to start."""
    systemd.manager = replace(systemd.manager, is_running=False)
    assert run("schedule", "install").code == 0
    assert systemd.calls == [f"enable {unit_name(str(folder / 'data'))}.timer"]


def test_a_second_time_only_what_changed_is_written(folder, systemd, run):
    """And systemd is asked to read it again."""
    run("schedule", "install")
    name = f"{unit_name(str(folder / 'data'))}.timer"
    assert systemd.calls == ["daemon-reload", f"enable {name}", f"restart {name}"]
    before, systemd.calls[:] = files(systemd.manager.units), []
    again = run("schedule", "install")
    states = [line.split()[0] for line in again.out.splitlines()]
    assert (states, systemd.calls) == (["unchanged", "unchanged"], [])
    assert files(systemd.manager.units) == before
    (systemd.manager.units / "timers.target.wants" / name).unlink()
    later = run("schedule", "install", "--at", "07:30")
    assert [line.split()[0] for line in later.out.splitlines()][:2] == ["unchanged", "changed"]
    assert systemd.calls == ["daemon-reload", f"enable {name}", f"restart {name}"]


def test_the_timer_remembers_where_its_user_does(folder, systemd, run, monkeypatch, tmp_path):
    """In a folder that the unit may write, though homes are read-only; one of systemd without."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.delenv("SVC_STATE_DIR")
    entry = SimpleNamespace(pw_dir=str(home))
    monkeypatch.setattr(scheduled_job, "_entry", lambda user: entry)
    run("schedule", "install")
    [unit] = systemd.manager.units.glob("*.service")
    place = home / ".local" / "state" / "svc-analytics"
    [writable] = [line for line in unit.read_text().splitlines() if "ReadWritePaths" in line]
    assert f"Environment=SVC_STATE_DIR={place}\n" in unit.read_text()
    assert str(place) in writable.split() and place.stat().st_mode & 0o777 == 0o700
    entry.pw_dir = "/nonexistent"
    run("schedule", "install")
    assert f"Environment=SVC_STATE_DIR=%S/{unit.stem}\n" in unit.read_text()
    assert f"StateDirectory={unit.stem}\n" in unit.read_text()


def test_a_removal_leaves_the_lake_and_the_secrets(folder, systemd, run, monkeypatch):
    """Once more, there is nothing to remove."""
    monkeypatch.setenv("SVC_RECEIPT_SECRETS", SECRET)
    run("schedule", "install")
    kept = files(folder) | files(systemd.manager.secrets)
    assert run("schedule", "remove", "--dry-run").code == 0 and files(systemd.manager.units)
    assert run("schedule", "remove").code == 0
    assert files(systemd.manager.units) == {}
    assert files(folder) | files(systemd.manager.secrets) == kept
    assert systemd.calls[-2:] == [
        f"disable --now {unit_name(str(folder / 'data'))}.timer",
        "daemon-reload",
    ]
    done = run("schedule", "remove")
    assert (done.code, done.out) == (0, "") and "is not installed" in done.err


LAST = "ActiveState={}\nSubState=dead\nResult={}\nExecMainStatus={}\nExecMainExitTimestamp={}\n"
AT = "Thu 2026-11-26 06:21:00 UTC"  # as systemd 252 writes it


@pytest.mark.parametrize(
    ("shown", "code", "line"),
    [
        (LAST.format("inactive", "success", 0, AT), 0, "exit code 0: all is done"),
        (LAST.format("failed", "exit-code", 3, AT), 3, "exit code 3: it is done, but a person"),
        (LAST.format("activating", "exit-code", 75, AT), 0, "exit code 75: the service was away"),
        (LAST.format("failed", "timeout", 15, AT), 3, "systemd ended it: timeout"),
        (LAST.format("failed", "exit-code", 226, AT), 3, "exit code 226: systemd could not start"),
        (LAST.format("inactive", "success", 0, ""), 0, "none since this machine began"),
    ],
)
def test_the_status_says_in_words_how_the_last_run_ended(shown, code, line, folder, systemd, run):
    """And ends with 3 where a person should look."""
    assert run("schedule", "status").code == 3  # not installed
    run("schedule", "install")
    systemd.shown = shown + "NextElapseUSecRealtime=Fri 2026-11-27 06:20:50 UTC\n"
    done = run("schedule", "status")
    assert done.code == code and line in done.out
    assert "next     2026-11-27T06:20:50Z" in done.out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["install", "--dry"], 2, "No such option"),
        (["instal"], 2, "No such command"),
        (["install", "--at", "6"], 2, "--at is no time of the day"),
        (["install", "--data-dir", "none"], 1, "no lake in"),
    ],
)
def test_a_wrong_word_is_refused(words, code, says, folder, systemd, run):
    """No abbreviation is taken, and nothing is written."""
    done = run("schedule", *words)
    assert done.code == code and says in done.err
    assert files(systemd.manager.units) == {}


def test_without_settings_or_rights_nothing_is_written(folder, systemd, run, monkeypatch):
    """One line says what is missing."""
    systemd.manager.units.rmdir()
    done = run("schedule", "install")
    assert done.code == 2 and len(done.lines) == 1 and "sudo" in done.err and "--user" in done.err
    (folder / ".env").unlink()
    done = run("schedule", "install")
    assert done.code == 2 and len(done.lines) == 1 and "SVC_BASE_URL is not set" in done.err


def test_without_systemd_a_line_of_a_crontab_is_printed(folder, systemd, run, monkeypatch):
    """cron ends a command at a percent sign, and has none of this environment."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setenv("SVC_RECEIPT_SECRETS", SECRET)
    for name in ("SVC_STATE_DIR", "SVC_CACHE_DIR"):
        monkeypatch.delenv(name)
    done = run("schedule", "install")
    assert done.code == 3 and "put into .env what this one has: SVC_RECEIPT_SECRETS" in done.err
    times, _, command = done.out.partition("  ")
    assert times == "15 6 * * *" and command.count("%") == command.count(r"\%") == 2
    words = shlex.split(command.replace(r"\%", "%"))
    assert words[:3] == ["cd", str(folder), "&&"] and words[-1] == str(folder / "data")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try as another user")
def test_a_user_who_may_not_read_the_settings_is_found_out_before_anything_is_written(folder):
    """The lake's owner is asked to begin a close, without the service."""
    (folder / ".env").chmod(0o600)
    job = replace(
        JOB, lake=str(folder / "data"), folder=folder, user="nobody", settings=JobSettings()
    )
    with pytest.raises(ConfigError, match="the lake belongs to nobody, who cannot begin a close"):
        scheduled_job.try_as_user(job)


def test_two_lakes_never_have_one_name():
    """Whatever letters stand in their paths."""
    places = ["/srv/a/b", "/srv/a-b", "/srv/a b", "/srv/دخل", "/srv/خرج", "s3://srv/a/b", "/" * 99]
    places += [f"/{'long' * 40}/{end}" for end in "12"]
    names = {unit_name(place) for place in places}
    assert len(names) == len(places) and all(len(name) < 120 for name in names)
