"""`svc-analytics`: options in, exit code out. Data on stdout, notes on stderr.

Heavy modules are imported by the command that needs them, so `--help` answers at once.
"""

from __future__ import annotations

import sys
import traceback
from importlib import import_module

import click

from svc_analytics.cli.console import echo_note
from svc_analytics.errors import SvcError

INTERRUPTED = 130


class _Group(click.Group):
    """A group whose `sandbox` and `receipts` commands load only when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "sandbox", "receipts"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "receipts":
            found: click.Command = import_module("svc_analytics.cli.receipts").receipts
            return found
        if cmd_name == "sandbox":
            group: click.Command = import_module("svc_analytics.sandbox.commands").sandbox
            return group
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="svc-analytics")
def cli() -> None:
    """The finance desk of a merchant on the Merchant Payments API.

    Reads payments, payouts and refunds into Parquet, and makes exact monthly
    statements from them. Settings come from options, the environment (SVC_BASE_URL,
    SVC_CHECKOUT_KEY, SVC_PAYOUT_KEY, ...), files, or .env. Start with:
    svc-analytics demo
    """


def main() -> None:
    """Run the command line and exit with the documented code."""
    try:
        cli.main(standalone_mode=False, auto_envvar_prefix="SVC")
        code = 0
    except SvcError as error:
        code = echo_error(str(error), error.exit_code)
    except click.UsageError as error:
        error.show()
        code = error.exit_code
    except click.ClickException as error:
        code = echo_error(error.format_message(), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        code = echo_error("interrupted; all records written so far are kept", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: nothing is left to say
        code = 0
    except Exception as error:
        code = echo_error(f"internal error: {type(error).__name__}: {error}", 1)
    sys.exit(code)


def echo_error(text: str, code: int) -> int:
    """Print an error in one line, with -vv also its traceback; return the exit code."""
    echo_note(f"error: {text}")
    if sys.argv.count("-vv") or sys.argv.count("-v") > 1:
        traceback.print_exc()
    return code
