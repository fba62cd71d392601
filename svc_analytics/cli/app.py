"""The command line `svc-analytics`: its commands, and the exit code of each error.

Data goes to stdout, notes to stderr. The modules of the commands load when they are used,
so that `--help` answers at once although some need heavy libraries.
"""

import errno
import gc
import logging
import sys
import warnings
from difflib import get_close_matches
from importlib import import_module

import click

from svc_analytics.cli.address_space import OUT_OF_MEMORY, fit_into_limit, is_out_of_memory
from svc_analytics.cli.console import (
    FORMS,
    VARIABLE,
    check_form,
    echo_error,
    echo_note,
    echo_usage_error,
    echo_warning,
    notes_of,
    stderr_in_form,
)
from svc_analytics.cli.variables import default_map, note_origins, option_settings
from svc_analytics.environment import here
from svc_analytics.errors import EXIT_INTERRUPTED, ConfigError, SvcError
from svc_analytics.instants import now
from svc_analytics.lake.loading import load_arrow_alone
from svc_analytics.log import FORM_LOG

_FRAMES = ("cli.commands.lab", "sandbox.cli")  # in whose processes others' code may ask for frames
_SETTINGS = f"{__name__}.settings"  # where a context keeps the options that variables give
_OBJECTS = 50_000  # new ones between searches for unused ones: nearly all live until the end
# The first line of each command's help, which need not be loaded for it: a test compares them.
COMMANDS = {
    "accept": "Accept a finding, with a reason and a name.",
    "assert": "Write down a coin's balance, as the console shows it.",
    "backup": "Back up the lake into a folder or a bucket.",
    "books": "Write a sealed month as entries for the accounting software.",
    "bundle": "Write all views of the lake as tables of one DuckDB file.",
    "check": "Check the lake against every rule.",
    "close": "Read a month twice, write its statement and seal it.",
    "compare": "Compare two months, quarters or years, figure by figure and coin by coin.",
    "demo": "Try everything on the local sandbox, without any key.",
    "doctor": "Look at all that runs without a person need, and say what to do.",
    "extract": "Bring the lake up to date with the service.",
    "figures": "Say what each figure of a statement means, and how it is made.",
    "lab": "Open the notebooks in JupyterLab.",
    "notebook": "Run a notebook for a month and write an HTML page.",
    "package": "Pack a sealed month into a zip file for an auditor.",
    "prove": "Prove one line of a sealed month to a stranger.",
    "receipts": "Verify the signed receipts of payments.",
    "restore": "Restore a backup into an empty lake folder.",
    "sandbox": "Run the Merchant Payments API on this machine, with made-up records and keys.",
    "schedule": "Let a timer close the months that are due: install it, look at it, remove it.",
    "sign": "Sign a sealed month with an SSH key.",
    "sql": "Run one read-only query on the views.",
    "statement": "Write the statement of a month, a quarter or a year, and print its summary.",
    "statement-diff": "Compare two statements: two versions of a month, or two months.",
    "statement-verify": "Check a sealed statement against its seal and the lake.",
    "status": "Show what the lake holds and how complete it is.",
    "views": "Write analytics.duckdb and list its views.",
    "webhooks": "Verify saved webhook deliveries.",
}
# Where a command is that shares a module, or has another name there.
_HOMES = {
    "accept": "cli.commands.typed_lines:accept",
    "assert": "cli.commands.typed_lines:assert_",
    "check": "cli.commands.lake:check",
    "notebook": "cli.commands.lab:notebook",
    "restore": "cli.commands.backup:restore",
    "sandbox": "sandbox.cli:sandbox",
    "sign": "cli.commands.package:sign",
    "sql": "cli.commands.lake:sql",
    "statement-diff": "cli.commands.compare:statement_diff",
    "statement-verify": "cli.commands.close:statement_verify",
    "status": "cli.commands.lake:status",
    "views": "cli.commands.lake:views",
}


class _LazyGroup(click.Group):
    """A group of commands that load when they are used, and not for its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        home = _HOMES.get(cmd_name, f"cli.commands.{cmd_name}:{cmd_name}")
        module, name = home.split(":")
        if module not in _FRAMES:
            load_arrow_alone()
        command: click.Command = getattr(import_module(f"svc_analytics.{module}"), name)
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
            here().read(VARIABLE, check_form)
            settings = option_settings(command, name, here())
            ctx.meta[_SETTINGS], ctx.default_map = settings, default_map(settings, ctx)
            if {"-v", "-vv", "--verbose"} & {*rest}:
                for each in settings:
                    echo_note(each.origin, "origin_of_option")
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
    type=click.Choice(FORMS),
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
    echo_warning(str(message))


class _OnStderr(logging.Handler):
    """Prints each line of a log as a warning."""

    def emit(self, record: logging.LogRecord) -> None:
        echo_warning(record.getMessage())


_ON_STDERR = _OnStderr(logging.WARNING)  # one, however often a process runs a command


def main() -> None:
    """Run the command line and exit with the documented code."""
    with stderr_in_form(sys.argv[1:], here()):
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
        return echo_error("; ".join([str(error), *notes_of(error)]), error.exit_code, error)
    except click.UsageError as error:
        return echo_usage_error(error)
    except click.ClickException as error:
        return echo_error(error.format_message(), error.exit_code, error)
    except (click.Abort, KeyboardInterrupt):
        return echo_error(_INTERRUPTED, EXIT_INTERRUPTED, KeyboardInterrupt())
    except BrokenPipeError:
        sys.stderr.close()  # the program that read our output has ended: print no more
    except OSError as error:
        code = echo_error(_failed_call(error), 1, error)
        sys.stdout = None  # what it could not print it would try again at its end
        return code
    except Exception as error:
        internal = f"internal error: {type(error).__name__}: {error}"
        return echo_error(OUT_OF_MEMORY if is_out_of_memory(error) else internal, 1, error)
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
