"""Options that several commands share, and what they stand for: a month, a lake."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import click

from svc_analytics.config import read_data_dir
from svc_analytics.errors import ConfigError
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.periods import month_of


def choose_month(month: str | None, choice: str | None, zone: str, calendar: str) -> str:
    """Return the label of --month, --last-month or --this-month; exactly one must be given."""
    if (month is None) == (choice is None):
        raise ConfigError("give exactly one of --month 2026-10, --last-month and --this-month")
    if month is not None:
        return month
    current = month_of(time.time_ns() // 1000, zone, calendar)
    return (current.shift(-1) if choice == "last" else current).label


def open_lake(data_dir: str | None) -> Lakehouse:
    """Open the lake of the settings, for commands that need no key."""
    lake = Lakehouse(read_data_dir(data_dir))
    lake.require()
    return lake


def shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options every command has."""
    for option in (
        click.option(
            "-v",
            "--verbose",
            count=True,
            help="Print more notes; -vv adds the traceback of an error.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
        click.option(
            "--data-dir",
            metavar="DIR",
            help="The lake's folder.  [default: SVC_DATA_DIR or data]",
        ),
    ):
        command = option(command)

    def run(**options: Any) -> None:
        click.get_current_context().obj = options.pop("verbose")
        command(**options)

    return update_wrapper(run, command)


def calendar_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add the calendar a month is named in."""
    return click.option(
        "--calendar",
        default="gregorian",
        show_default=True,
        type=click.Choice(["gregorian", "jalali"]),
        help="The month's calendar; write a Jalali month as 1405-08.",
    )(command)


def patience_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the time it may spend without getting anywhere."""
    return click.option(
        "--patience",
        type=click.IntRange(1),
        metavar="SECONDS",
        help="Give up after this long without progress.  [default: SVC_PATIENCE or 60]",
    )(command)


def metadata_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add the properties of the payments' metadata that a statement is to show."""
    return click.option(
        "--metadata",
        metavar="NAME,...",
        help="Add these properties of the payments' metadata to the lines, one column each.",
    )(command)


def split_names(text: str | None) -> tuple[str, ...]:
    """Return the names in a text with commas between them."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
