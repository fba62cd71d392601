"""Options that several commands share, what a shell offers behind Tab, and the lakes they open."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from getpass import getuser
from typing import TYPE_CHECKING, Any

import click

from svc_analytics.config import read_data_dir
from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake, known_months
from svc_analytics.language.catalogue import digit_choices, languages
from svc_analytics.periods import CALENDARS

if TYPE_CHECKING:
    from svc_analytics.lakehouse import Lakehouse
    from svc_analytics.lakes import Lakes

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
EngineSetting = tuple[str, tuple[str, ...]]  # its address, and the lakes' folders as it sees them
HERE: EngineSetting = ("", ())
ONE_PERIOD = "give exactly one of PERIOD (2026-10, 2026-Q3, 2026), --month 2026-10"
_NAME = re.compile(r'\s*("(?:[^"]|"")*"(?=\s*(?:,|\Z))|[^,]+)')


def split_names(text: str | None) -> tuple[str, ...]:
    """Split a text at its commas into names; one that holds a comma stands in double quotes.

    >>> split_names('cart, "city, street"')
    ('cart', 'city, street')
    """
    names = (name.strip() for name in _NAME.findall(text or ""))
    return tuple(_unquote(name) for name in names if name)


def _unquote(name: str) -> str:
    is_quoted = len(name) > 1 and name[0] == name[-1] == '"'
    return name[1:-1].replace('""', '"') if is_quoted else name


class _Whole(click.types.StringParamType):
    """A text: one from the environment is one, whatever blanks are in it."""

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        return [rv]


def names_of_option(
    context: click.Context, parameter: click.Parameter, texts: Sequence[str]
) -> tuple[str, ...]:
    """Return the names that an option holds, however often it is given."""
    return tuple(name for text in texts for name in split_names(text))


_NAMES: dict[str, Any] = {"type": _Whole(), "multiple": True, "callback": names_of_option}


def offer_figures(context: click.Context, parameter: Any, begun: str) -> list[str]:
    """Return, behind Tab, the figures that a statement explains."""
    from svc_analytics.warehouse.figures import read_figures  # not before it is asked for

    return [
        name
        for name, figure in read_figures().items()
        if figure.is_stated and name.startswith(begun)
    ]


def offer_months(context: click.Context, parameter: Any, begun: str) -> list[str]:
    """Return, behind Tab, the months that the lake knows, newest first; none without a lake."""
    labels: list[str] = []
    with suppress(Exception):  # a shell shows no error here; the command itself will
        folders = context.params.get("data_dir")  # one, or those of a command that takes several
        folders = folders[0] if folders and not isinstance(folders, str) else folders or None
        lake = Lake(read_data_dir(folders))
        labels = known_months(lake, context.params.get("zone") or "UTC")
    return [label for label in labels if label.startswith(begun)]


def offer_notebooks(context: click.Context, parameter: Any, begun: str) -> list[str]:
    """Return, behind Tab, the notebooks by name."""
    from svc_analytics.notebook.runner import notebook_folder

    with suppress(Exception):
        names = sorted(path.stem for path in notebook_folder().glob("*.ipynb"))
        return [name for name in names if name.startswith(begun)]
    return []


def number_option(
    name: str, default: int, help_: str, least: int = 1, most: int | None = None
) -> Decorator:
    """Return an option that takes a whole number from `least` to `most`."""
    kind = click.IntRange(least, most)
    return click.option(name, default=default, show_default=True, type=kind, help=help_)


def names_option(name: str, metavar: str, help_: str) -> Decorator:
    """Return an option that takes names with commas between."""
    return click.option(name, metavar=metavar, **_NAMES, help=help_)


def format_option(help_: str, default: str = "csv,parquet") -> Decorator:
    """Return the option --format, with a help text of its own."""
    return click.option(
        "--format", "formats", **_NAMES, default=[default], show_default=True, help=help_
    )


def lang_option(help_: str) -> Decorator:
    """Return the option --lang, with a help text of its own."""
    kind = click.Choice(languages())
    return click.option("--lang", type=kind, default="en", show_default=True, help=help_)


month_option = click.option(
    "--month",
    metavar="MONTH",
    shell_complete=offer_months,
    help="The month: 2026-10, 1405-08, 'oct 2026', 'aban 1405', or october for the latest one.",
)
period_argument = click.argument(
    "period", metavar="[PERIOD]", required=False, shell_complete=offer_months
)
last_month_option = click.option(
    "--last-month", "is_last", is_flag=True, help="The last month that is over."
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
dry_run_option = click.option(
    "--dry-run",
    "is_dry",
    is_flag=True,
    help="Say which months, files and calls it would take; ask nothing, and write nothing.",
)
patience_option = click.option(
    "--patience",
    type=click.IntRange(1),
    metavar="SECONDS",
    help="Give up after this long without progress.  [default: SVC_PATIENCE or 60]",
)
metadata_option = names_option(
    "--metadata",
    "NAME,...",
    "Add these properties of the payments' metadata to the lines, one column each.",
)
_form_lang_option = lang_option(
    "The language of html, xlsx and pdf: English, Persian (fa) or both."
)
digits_option = click.option(
    "--digits",
    type=click.Choice(digit_choices()),
    default="latin",
    show_default=True,
    help="The digits beside Persian texts: Latin or Persian (fa).",
)


def _only_one(context: click.Context, parameter: click.Parameter, folders: Any) -> str | None:
    """Return the one folder that is given, if any; most commands are of one lake."""
    if len(folders) > 1:
        message = "works on one lake: give --data-dir once"
        takers = "check, compare, sql, statement, status and views"
        raise ConfigError(f"{context.info_name} {message}; {takers} take several")
    return next(iter(folders), None)


_FOLDERS: dict[str, Any] = {"metavar": "DIR", "type": _Whole(), "multiple": True}
data_dir_option = click.option(
    "--data-dir",
    **_FOLDERS,
    callback=_only_one,
    help="The lake's folder or s3:// URL.  [default: SVC_DATA_DIR or data]",
)
data_dirs_option = click.option(
    "--data-dir",
    **_FOLDERS,
    help="The lake's folder or s3:// URL; several times for several merchants.  "
    "[default: SVC_DATA_DIR or data]",
)
_engine_option = click.option(
    "--engine",
    metavar="ADDRESS",
    help="What counts the records: duckdb, which is here, or a Spark Connect server, "
    "sc://host:15002; the digits are the same.  [default: SVC_ENGINE or duckdb]",
)
_engine_data_option = click.option(
    "--engine-data",
    **_FOLDERS,
    help="The lake's folder as that engine's machines see it, if they see it elsewhere; with "
    "several lakes once for each.  [default: SVC_ENGINE_DATA]",
)
_in_option = click.option(
    "--in",
    "currency_in",
    metavar="CURRENCY",
    help="Show EUR, toman or another currency beside each figure in USD, by rates of your own, in "
    "html, xlsx and pdf.",
)
_rates_option = click.option(
    "--rates",
    metavar="FILE",
    help="The CSV file of these rates: date, currency, rate (how many units 1 USD is), source.  "
    "[default: SVC_RATES or rates.csv in the lake]",
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


def check_one_form(*, as_csv: bool, as_json: bool) -> None:
    """Refuse two forms at once: what is printed has one."""
    if as_csv and as_json:
        raise ConfigError("give --csv or --json, not both")


def check_rates(currency: str | None, rates: str | None) -> None:
    """Refuse the rates of --rates without a currency of --in."""
    if rates and currency is None:
        raise ConfigError("--rates gives the rates of a currency: name it too, with --in EUR")


def currency_options(command: Command) -> Command:
    """Give a command --in, as `currency_in`, and --rates."""
    return _in_option(_rates_option(command))


def zone_options(command: Command) -> Command:
    """Give a command --zone and --calendar."""
    return zone_option(calendar_option(command))


def language_options(command: Command) -> Command:
    """Give a command --lang and --digits."""
    return _form_lang_option(digits_option(command))


def engine_options(command: Command) -> Command:
    """Give a command --engine and --engine-data, which `read_engine` reads."""
    return _engine_option(_engine_data_option(command))


def shared_options(command: Command) -> Command:
    """Give a command the options that every command has."""
    return data_dir_option(json_option(verbose_option(command)))


def choose_period(names: Sequence[str | None], others: str, is_to_date: bool = False) -> str:
    """Return the period that the options name; exactly one of them must.

    `others` are the options, besides PERIOD and --month, that choose one too.
    """
    named = [name for name in names if name is not None]
    if len(named) != 1 and not (is_to_date and not named):
        raise ConfigError(f"{ONE_PERIOD}{others}")
    return " ".join([*named, "ytd"] if is_to_date else named)


def several_lakes_options(command: Command) -> Command:
    """Give a command the options that every command has, and --data-dir more than once."""
    return data_dirs_option(json_option(verbose_option(command)))


def open_lake(data_dir: str | None, engine: EngineSetting = HERE) -> Lakehouse:
    """Open the lake of the settings, for commands that need no key.

    `engine` is what `read_engine` gives of the options of a command with `engine_options`.
    """
    from svc_analytics.lakehouse import Lakehouse  # it loads DuckDB, which `extract` needs last

    address, places = engine
    if len(places) > 1:
        raise ConfigError("--engine-data is given several times for one lake: give it once")
    lake = Lakehouse(read_data_dir(data_dir), engine=address, engine_data="".join(places))
    lake.require()
    return lake


def open_together(data_dirs: Sequence[str], engine: EngineSetting) -> Lakes:
    """Open the lakes of several merchants."""
    from svc_analytics.lakes import open_lakes

    address, places = engine
    return open_lakes(data_dirs, engine=address, engine_data=(address and places) or None)


def open_each(data_dirs: Sequence[str], engine: EngineSetting = HERE) -> tuple[Lakehouse, ...]:
    """Open the one lake of the settings, or the lake of each merchant."""
    if len(data_dirs) > 1:
        return open_together(data_dirs, engine).lakes
    return (open_lake(next(iter(data_dirs), None), engine),)


def account_name() -> str:
    """Return the name of whoever runs the command."""
    try:
        return getuser()
    except (OSError, KeyError) as error:  # an account without a name, as in a container
        raise ConfigError("this account has no name: say who says it, with --by NAME") from error
