"""Options that several commands share, and the month and the lake that they choose."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from svc_analytics.calendars import CALENDARS
from svc_analytics.cli import completion
from svc_analytics.config import read_data_dir
from svc_analytics.errors import ConfigError
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.language.catalogue import DIGITS, LANGUAGES, Language
from svc_analytics.periods import named_month

month_option = click.option(
    "--month",
    metavar="MONTH",
    shell_complete=completion.months,
    help="The month: 2026-10, 1405-08, 'oct 2026', 'aban 1405', or october for the latest one.",
)
last_month_option = click.option(
    "--last-month", "choice", flag_value="last", help="The last month that is over."
)
zone_option = click.option(
    "--zone", default="UTC", show_default=True, help="An IANA zone, such as Asia/Tehran."
)
calendar_option = click.option(
    "--calendar",
    type=click.Choice(list(CALENDARS)),
    help="The calendar of a month that is not written out.  [default: gregorian]",
)
out_option = click.option(
    "--out", metavar="DIR", help="The statement's folder.  [default: in statements/ of the lake]"
)
patience_option = click.option(
    "--patience",
    type=click.IntRange(1),
    metavar="SECONDS",
    help="Give up after this long without progress.  [default: SVC_PATIENCE or 60]",
)
metadata_option = click.option(
    "--metadata",
    metavar="NAME,...",
    help="Add these properties of the payments' metadata to the lines, one column each.",
)
lang_option = click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    default="en",
    show_default=True,
    help="The language of html, xlsx and pdf: English, Persian (fa) or both.",
)
digits_option = click.option(
    "--digits",
    type=click.Choice(DIGITS),
    default="latin",
    show_default=True,
    help="The digits beside Persian texts: Latin or Persian (fa).",
)
data_dir_option = click.option(
    "--data-dir", metavar="DIR", help="The lake's folder.  [default: SVC_DATA_DIR or data]"
)
wide_option = click.option(
    "--wide", "is_wide", is_flag=True, help="Cut no cell short.  [always so in a file or a pipe]"
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
verbose_option = click.option(
    "-v",
    "--verbose",
    count=True,
    expose_value=False,  # `main` looks for it when an error ends the command
    help="Print more notes; -vv adds the traceback of an error.",
)


def format_option(help_: str) -> Callable[..., Any]:
    """Return the option --format, with a help text of its own."""
    return click.option("--format", "formats", default="csv,parquet", show_default=True, help=help_)


def number_option(
    name: str, default: int, help_: str, least: int = 1, most: int | None = None
) -> Callable[..., Any]:
    """Return an option that takes a whole number from `least` to `most`."""
    kind = click.IntRange(least, most)
    return click.option(name, default=default, show_default=True, type=kind, help=help_)


def language_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --lang and --digits, which it gets as one `language`."""

    @wraps(command)
    def run(lang: str, digits: str, **given: Any) -> None:
        command(language=Language(lang, digits), **given)

    return lang_option(digits_option(run))


def shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that every command has."""
    return data_dir_option(json_option(verbose_option(command)))


def choose_month(month: str | None, choice: str | None, zone: str, calendar: str | None) -> str:
    """Return the month of --month, --last-month or --this-month; exactly one must be given."""
    if (month is None) == (choice is None):
        raise ConfigError("give exactly one of --month 2026-10, --last-month and --this-month")
    if month is not None:
        return month
    return named_month(f"{choice} month", time.time_ns() // 1000, zone, calendar).label


def open_lake(data_dir: str | None) -> Lakehouse:
    """Open the lake of the settings, for commands that need no key."""
    lake = Lakehouse(read_data_dir(data_dir))
    lake.require()
    return lake


def split_names(text: str | None) -> tuple[str, ...]:
    """Split a text at its commas into names."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
