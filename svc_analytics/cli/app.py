"""The command line `svc-analytics`: its commands, options from variables, and exit codes.

Data goes to stdout, notes to stderr. The modules of the commands load when they are used,
so that `--help` answers at once although some need heavy libraries.
"""

import errno
import gc
import logging
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from svc_analytics import environment
from svc_analytics.cli import console
from svc_analytics.cli.address_space import OUT_OF_MEMORY, fit_into_limit, is_out_of_memory
from svc_analytics.commands import COMMANDS
from svc_analytics.errors import EXIT_INTERRUPTED, ConfigError, SvcError
from svc_analytics.instants import now
from svc_analytics.lake.loading import load_arrow_alone
from svc_analytics.log import FORM_LOG

_FRAMES = ("lab", "sandbox.cli")  # in whose processes others' code may ask for frames
_SETTINGS = f"{__name__}.settings"  # where a context keeps the options that variables give
_OBJECTS = 50_000  # new ones between searches for unused ones: nearly all live until the end
# The module of a command that shares it with others, or has it elsewhere than among them.
_HOMES = {
    "assert": "accept",
    "bundle": "lake",
    "check": "lake",
    "doctor": "unattended",
    "notebook": "lab",
    "package": "auditor",
    "prove": "auditor",
    "restore": "backup",
    "sandbox": "sandbox.cli",
    "schedule": "unattended",
    "sign": "auditor",
    "statement-diff": "compare",
    "statement-verify": "auditor",
    "views": "sql",
    "webhooks": "receipts",
}


class _LazyGroup(click.Group):
    """A group of commands that load when they are used, and not for its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        home = _HOMES.get(cmd_name, cmd_name)
        if home not in _FRAMES:
            load_arrow_alone()
        module = import_module(f"svc_analytics.{home if '.' in home else f'cli.commands.{home}'}")
        name = "assert_" if cmd_name == "assert" else cmd_name.replace("-", "_")
        command: click.Command = getattr(module, name)
        return command

    def invoke(self, ctx: click.Context) -> None:
        """Run the command; an error tells which variable gave the option it speaks of."""
        try:
            super().invoke(ctx)
        except (ConfigError, click.UsageError) as error:
            note_origins(error, ctx.meta.get(_SETTINGS, []))
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and give it the options that variables give."""
        near = get_close_matches(args[0], () if args[0] in COMMANDS else COMMANDS, n=1)
        if near and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}: did you mean {near[0]!r}?")
        name, command, rest = super().resolve_command(ctx, args)
        if name and command and not {*ctx.help_option_names} & {*rest}:
            environment.here().read(console.VARIABLE, console.check_form)
            settings = option_settings(command, name, environment.here())
            ctx.meta[_SETTINGS], ctx.default_map = settings, default_map(settings, ctx)
            if {"-v", "-vv", "--verbose"} & {*rest}:
                for each in settings:
                    console.echo_note(each.origin, "origin_of_option")
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


_INTERRUPTED = "interrupted; all records written so far are kept"
_MEND = "mend that, and run the command again"
_NEXT = {
    errno.ENOSPC: "free some space, and run the command again",
    errno.EDQUOT: "free some space, and run the command again",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f), and run the command again",
    errno.EMFILE: "raise the limit of open files (ulimit -n), and run the command again",
    errno.EROFS: "use a folder that can be written to",
    errno.EACCES: "use a folder that can be written to",
}


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="svc-analytics")
@click.option(
    "--log",
    type=click.Choice(console.FORMS),
    expose_value=False,  # `stderr_in_form` reads it, before anything can be told
    help="Print each line of stderr as text, or as a JSON object. Also SVC_LOG.  [default: text]",
)
def cli() -> None:
    """The finance desk of a merchant on the Merchant Payments API.

    Reads payments, payouts and refunds into Parquet, and makes exact monthly
    statements from them. Settings come from options, the environment (SVC_BASE_URL,
    SVC_CHECKOUT_KEY, SVC_PAYOUT_KEY, ...), files, or .env. Start with:
    svc-analytics demo
    """


def _note_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a library's warning as one line, without the file and the code that it stands in."""
    console.echo_warning(str(message))


class _OnStderr(logging.Handler):
    """Prints each line of a log as a warning."""

    def emit(self, record: logging.LogRecord) -> None:
        console.echo_warning(record.getMessage())


_ON_STDERR = _OnStderr(logging.WARNING)  # one, however often a process runs a command


def main() -> None:
    """Run the command line and exit with the documented code."""
    with console.stderr_in_form(sys.argv[1:], environment.here()), console.progress_that_passes():
        code = _run()
    sys.exit(code)


def _run() -> int:
    """Run the command line, say what went wrong, and return the exit code."""
    try:
        _require_utf8()
        warnings.showwarning = _note_warning
        FORM_LOG.addHandler(_ON_STDERR)
        fit_into_limit()
        gc.set_threshold(_OBJECTS)
        now()  # a clock that Python cannot read stops every command
        cli.main(standalone_mode=False)
        sys.stdout.flush()  # a full disk behind it is told here, not when Python ends
    except SvcError as error:
        return console.echo_error(
            "; ".join([str(error), *console.notes_of(error)]), error.exit_code, error
        )
    except click.UsageError as error:
        return console.echo_usage_error(error)
    except click.ClickException as error:
        return console.echo_error(error.format_message(), error.exit_code, error)
    except (click.Abort, KeyboardInterrupt):
        return console.echo_error(_INTERRUPTED, EXIT_INTERRUPTED, KeyboardInterrupt())
    except BrokenPipeError:
        sys.stderr.close()  # the program that read our output has ended: print no more
    except OSError as error:
        code = console.echo_error(_failed_call(error), 1, error)
        sys.stdout = None  # what it could not print it would try again at its end
        return code
    except Exception as error:
        internal = f"internal error: {type(error).__name__}: {error}"
        return console.echo_error(OUT_OF_MEMORY if is_out_of_memory(error) else internal, 1, error)
    return 0


def _failed_call(error: OSError) -> str:
    """Say which file the system refused, why, and what to do next."""
    reason = error.strerror or type(error).__name__
    where = f" {error.filename}" if error.filename else ""
    return f"the system refused{where}: {reason}; {_NEXT.get(error.errno or 0, _MEND)}"


def _require_utf8() -> None:
    """Refuse words that this locale cannot write: files and texts would get other names."""
    encoding = sys.getfilesystemencoding()
    if encoding.lower() != "utf-8" and any(not word.isascii() for word in sys.argv):
        message = f"this locale's encoding is {encoding}, and a word is not ASCII"
        raise ConfigError(f"{message}: set PYTHONUTF8=1")


@dataclass(frozen=True)
class OptionSetting:
    """An option that a variable gives, and the words of the command that takes it.

    `SVC_STATEMENT_ZONE`, in the environment, a file or `.env`, gives `statement` its --zone, unless
    the command line does.
    """

    words: tuple[str, ...]
    option: click.Option
    setting: environment.Text

    @property
    def origin(self) -> str:
        """Where the option comes from, for a note or an error."""
        return f"{self.option.opts[-1]} is from {self.setting.origin}"

    def is_named_in(self, message: str) -> bool:
        """Tell whether a message speaks of the option, or shows what it was given."""
        return self.setting.text in message or any(name in message for name in self.option.opts)

    def value(self, context: click.Context) -> Any:
        """Return the option's value as click takes a default; None for a flag that is off."""
        text, option = self.setting.text, self.option
        if option.multiple or option.nargs != 1:
            return option.type.split_envvar_value(text)
        if option.is_flag and not option.is_bool_flag:
            return option.flag_value if click.BOOL.convert(text, option, context) else None
        return text


def options_of(
    command: click.Command, words: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...], click.Option]]:
    """Yield each option of a command and of those below it, by each variable that gives it."""
    for name, below in getattr(command, "commands", {}).items():
        yield from options_of(below, (*words, name))
    for option in command.params:
        if isinstance(option, click.Option):
            named = [name.lstrip("-") for name in option.opts if name.startswith("--")]
            for name in dict.fromkeys([*named, option.name or ""]):
                yield environment.variable(*words, name), words, option


def option_settings(
    command: click.Command, name: str, source: environment.SettingPlaces
) -> list[OptionSetting]:
    """Return the options that variables give a command; refuse in `.env` those it has not."""
    options = list(options_of(command, (name,)))
    known = {each for each, _, _ in options}
    for other in _strange(source.dotenv, name, known):
        raise ConfigError(f"in {source.folder / '.env'}: {environment.unread(other, known)}")
    for other in _strange(source.environ, name, known):
        if environment.near_miss(other, known):
            console.echo_note(
                environment.unread(other, known), "unread_variable", "warning", name=other
            )
    settings = [OptionSetting(words, option, source.find(each)) for each, words, option in options]
    return [each for each in settings if each.setting.text]


def _strange(variables: Mapping[str, str], command: str, known: Collection[str]) -> list[str]:
    """Return the variables of ours that are no setting, and no option of this command."""
    return [
        name
        for name in variables
        if name.startswith(environment.PREFIX)
        and environment.command_of(name) in (None, command)
        and not environment.is_setting(name)
        and not {name, name.removesuffix("_FILE")} & set(known)
    ]


def default_map(settings: list[OptionSetting], context: click.Context) -> dict[str, Any]:
    """Return the options as click's map of defaults, one level deeper for each word."""
    defaults: dict[str, Any] = {}
    for each in settings:
        level = defaults
        for word in each.words:
            level = level.setdefault(word, {})
        value = each.value(context)
        if value is not None:
            level.setdefault(each.option.name, value)
    return defaults


def note_origins(error: ConfigError | click.UsageError, settings: list[OptionSetting]) -> None:
    """Note on an error which of the options that it speaks of a variable gave."""
    message = error.format_message() if isinstance(error, click.UsageError) else str(error)
    for note in dict.fromkeys(each.origin for each in settings if each.is_named_in(message)):
        error.add_note(note)
