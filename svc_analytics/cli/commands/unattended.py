"""`schedule`, `doctor`: a timer that closes months that are due, and a look at what it needs."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NoReturn

import click

from svc_analytics.cli.console import echo_note, exit_if_attention
from svc_analytics.cli.shared_options import shared_options
from svc_analytics.config import read_data_dir, read_settings
from svc_analytics.environment import SettingPlaces, here
from svc_analytics.errors import EXIT_ATTENTION, ConfigError
from svc_analytics.formatting.tables import to_json
from svc_analytics.formatting.texts import escape_invisible, single_line
from svc_analytics.instants import format_instant
from svc_analytics.unattended import schedule as schedules, scheduled_job
from svc_analytics.unattended.notifiers import read_watching
from svc_analytics.unattended.schedule import Manager, ScheduleChange, TimerStatus, cron_line
from svc_analytics.unattended.scheduled_job import ScheduledJob, place_of, read_job

user_option = click.option(
    "--user", "is_own", is_flag=True, help="A timer of your own, which needs no root."
)
dry_run_option = click.option(
    "--dry-run", "is_dry", is_flag=True, help="Say what would be done; write nothing."
)


def _time(context: click.Context, parameter: click.Parameter, text: str) -> str:
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", text, re.ASCII):
        raise ConfigError(f"--at is no time of the day: write 06:15, not {text!a:.20}")
    return text


@click.group()
def schedule() -> None:
    """Let a timer close the months that are due: install it, look at it, remove it."""


@schedule.command("install")
@click.option(
    "--at", default="06:15", show_default=True, callback=_time, help="The time of the day, in UTC."
)
@user_option
@dry_run_option
@shared_options
def install(*, at: str, is_own: bool, is_dry: bool, data_dir: str | None, as_json: bool) -> None:
    """Run close --all-due every day by a timer of systemd.

    Takes the lake, its owner and the settings as every other command in this folder does, and
    reads `.env` anew in each run. No unit holds a secret: one that the environment alone has is
    kept in a file of its own. A second time, only what has changed is written.
    """
    source, manager = here(), _manager(is_own)
    read_watching()  # a wrong address of a notice is told now, not by the first run
    job = read_job(read_settings(data_dir), source, at, manager.secrets, is_own)
    if shutil.which("systemctl") is None:
        _refer_to_cron(job, as_json)
    if not is_dry:
        manager.require_writable()
        scheduled_job.try_as_user(job)
    change = schedules.install(job, manager, is_dry=is_dry)
    _echo_change(change, is_dry, as_json)
    for note in _notes(job, source, manager):
        echo_note(note, "schedule", name=job.name)


@schedule.command("remove")
@user_option
@dry_run_option
@shared_options
def remove(*, is_own: bool, is_dry: bool, data_dir: str | None, as_json: bool) -> None:
    """Stop the timer of a lake and delete its units; the lake and all secrets stay."""
    manager, lake = _manager(is_own), _lake(data_dir)
    if not is_dry:
        manager.require_writable()
    change = schedules.remove(lake, manager, is_dry=is_dry)
    _echo_change(change, is_dry, as_json)
    if not change.files:
        echo_note(_nothing(change.name, manager), "not_installed", name=change.name)


@schedule.command("status")
@user_option
@shared_options
def status(*, is_own: bool, data_dir: str | None, as_json: bool) -> None:
    """Say whether the timer is installed, when it runs next, and how its last run ended.

    Exits 3 where it will not run, or its last run needs a person.
    """
    manager = _manager(is_own)
    timer = schedules.read_status(_lake(data_dir), manager)
    click.echo(to_json(_document(timer)) if as_json else "\n".join(_lines(timer, manager)))
    exit_if_attention(not timer.is_well)


def _manager(is_own: bool) -> Manager:
    return schedules.own_manager() if is_own else schedules.machine_manager()


def _lake(data_dir: str | None) -> str:
    return place_of(read_data_dir(data_dir), here().folder)


def _refer_to_cron(job: ScheduledJob, as_json: bool) -> NoReturn:
    """Print the line of a crontab, which only a person can put there."""
    line = cron_line(job)
    files: list[str] = []
    document = {"name": job.name, "is_done": False, "files": files, "commands": [], "cron": line}
    click.echo(to_json(document) if as_json else line)
    text = "there is no systemd here: put this line into a crontab (crontab -e)"
    echo_note(f"{text}; cron's clock is that of the machine", "no_systemd", "warning", cron=line)
    names = [*job.settings.variables, *job.settings.stored_names]
    if missing := [name for name in names if name.startswith("SVC_")]:
        text = f"cron has no environment: put into .env what this one has: {', '.join(missing)}"
        echo_note(text, "not_in_dotenv", "warning", settings=missing)
    raise SystemExit(EXIT_ATTENTION)


def _echo_change(change: ScheduleChange, is_dry: bool, as_json: bool) -> None:
    """Print each file with its state, the commands, and of a dry run the units themselves."""
    if as_json:
        files = [{"path": str(path), "state": state} for path, state in change.files.items()]
        document = {"name": change.name, "is_done": not is_dry, "files": files}
        click.echo(to_json({**document, "commands": list(change.commands), "cron": None}))
        return
    for path, state in change.files.items():
        click.echo(f"{state:9}  {escape_invisible(str(path))}")
    for command in change.commands:
        click.echo(f"{'command':9}  {command}")
    for path, text in change.texts.items() if is_dry else ():
        click.echo(f"\n# {path}\n{text}", nl=False)


def _notes(job: ScheduledJob, source: SettingPlaces, manager: Manager) -> Iterator[str]:
    """Yield where secrets are, and what a person should know."""
    for setting, path in job.settings.credentials.items():
        is_stored = path in job.settings.files
        again = ", from this environment: install again when it changes" if is_stored else ""
        yield f"{setting} is in {path}{again}"
    if source.dotenv:
        yield f"{source.folder / '.env'} is read by each run: a change counts from the next one"
    if job.user == "root":
        yield "the lake is root's, so the close runs as root: give it to a user by chown -R"
    if not manager.is_running:
        yield "systemd does not run here: the timer begins when it does"
    if manager.is_own:
        yield "the timer runs while you are logged in; for always: loginctl enable-linger"


def _nothing(name: str, manager: Manager) -> str:
    """Say that a lake has no timer, and which are there."""
    timers = ", ".join(schedules.others(name, manager))
    return f"{name}.timer is not installed{f'; there are {timers}' if timers else ''}"


def _lines(timer: TimerStatus, manager: Manager) -> Iterator[str]:
    if not timer.is_installed:
        yield _nothing(timer.name, manager)
        return
    yield f"timer    {timer.name}.timer, {'enabled' if timer.is_enabled else 'not enabled'}"
    if not manager.is_running:
        yield "next     unknown: systemd does not run here"
        return
    yield f"next     {format_instant(timer.next_at) if timer.next_at else 'never: start it'}"
    if timer.is_running:
        yield "now      it runs"
    if timer.last is None:
        yield "last     none since this machine began"
        return
    code = "" if timer.last.exit_code is None else f"exit code {timer.last.exit_code}: "
    yield f"last     {format_instant(timer.last.at)}, {code}{timer.last.meaning}"
    if timer.last.exit_code not in (0, 75):
        yield f"read     journalctl {'--user ' * manager.is_own}-u {timer.name}"


def _document(timer: TimerStatus) -> dict[str, Any]:
    document: dict[str, Any] = {"name": timer.name, "is_well": timer.is_well, **asdict(timer)}
    document["next_at"] = timer.next_at and format_instant(timer.next_at)
    if timer.last:
        document["last"]["at"] = format_instant(timer.last.at)
    return document


@click.command()
@shared_options
def doctor(*, data_dir: str | None, as_json: bool) -> None:
    """Look at all that unattended runs need, and say what to do.

    Looks at settings, memory, keys, the service, its certificate, the clock, secrets, what signs
    and stamps, mail servers and other receivers of notices, metrics, the timer, permissions, free
    space, the files of records, the age of the data, due months and sealed ones; whether close
    --all-due begins; and says what it did not look at. It sends no notice, alters nothing, and
    exits 3 where something is wrong.
    """
    from svc_analytics.unattended.doctor import look  # it loads the client of the service

    points = []
    for point in look(here(), lambda: (read_settings(data_dir), read_watching())):
        points.append(point)
        if not as_json:
            step = f"; next: {point.next_step}" if point.next_step else ""
            click.echo(single_line(f"{point.state} {point.name}: {point.text}{step}"))
    is_well = not any(point.state == "wrong" for point in points)
    if as_json:
        click.echo(to_json({"is_well": is_well, "points": list(map(asdict, points))}))
    exit_if_attention(not is_well)
