"""`svc-analytics`: options in, exit code out. Data on stdout, notes on stderr.

Heavy modules are imported by the command that needs them, so `--help` answers at once.
"""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from svc_analytics.errors import ConfigError, SvcError
from svc_analytics.legible import one_line
from svc_analytics.options import patience_option, shared_options

if TYPE_CHECKING:
    from svc_analytics.statements import Statement

ATTENTION = 3  # done, but a person should look
INTERRUPTED = 130


class _Group(click.Group):
    """A group whose `sandbox` and `receipts` commands load only when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "sandbox", "receipts"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "receipts":
            found: click.Command = import_module("svc_analytics.commands_receipts").receipts
            return found
        if cmd_name == "sandbox":
            group: click.Command = import_module("svc_analytics.sandbox.cli").sandbox
            return group
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="svc-analytics")
def cli() -> None:
    """The finance desk of a merchant on the Merchant Payments API.

    Reads payments, payouts and refunds into Parquet, and makes exact monthly
    statements of them. Settings come from options, the environment (SVC_BASE_URL,
    SVC_CHECKOUT_KEY, SVC_PAYOUT_KEY, ...), files, or .env. Start with: demo
    """


@cli.command()
@click.option("--from", "start", metavar="T", help="A date (UTC midnight) or RFC 3339 instant.")
@click.option("--to", "end", metavar="T", help="The end, not included.")
@click.option(
    "--stream",
    "streams",
    multiple=True,
    type=click.Choice(["payments", "payout_records"]),
    help="Only this stream.  [default: both]",
)
@click.option("--workers", default=8, show_default=True, type=click.IntRange(1, 64))
@click.option(
    "--overlap-hours",
    default=24,
    show_default=True,
    type=click.IntRange(0),
    help="How much of what is complete to read again, for records that appear late.",
)
@click.option("--reread", is_flag=True, help="Read all of the interval again, complete or not.")
@click.option("--sessions", is_flag=True, help="Fetch the sessions behind the payments as well.")
@click.option("--bindings", metavar="FILE", help="Fetch the bindings of its customer ids as well.")
@patience_option
@shared_options
def extract(
    start: str | None,
    end: str | None,
    streams: tuple[str, ...],
    workers: int,
    overlap_hours: int,
    reread: bool,
    sessions: bool,
    bindings: str | None,
    patience: int | None,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Bring the lake up to date with the service.

    Reads what is missing, and the newest day again. Interrupt it at any time: what
    was proven is kept, and the next run goes on from there.
    """
    from svc_analytics import desk, reports, side_streams
    from svc_analytics.config import read_settings
    from svc_analytics.extraction import Request, missing_key
    from svc_analytics.periods import BEGINNING, HOUR, parse_bound
    from svc_analytics.schema import STREAMS
    from svc_analytics.warehouse import AnalyticLake

    request = Request(
        streams=tuple(dict.fromkeys(streams)) or tuple(STREAMS),
        start=parse_bound(start) if start else BEGINNING,
        end=parse_bound(end) if end else None,
        overlap=overlap_hours * HOUR,
        rereads=reread,
    )
    settings = read_settings(data_dir, patience=patience)
    settings.require_service()
    for name in streams:
        if key_class := missing_key(settings, STREAMS[name]):
            variable = f"SVC_{key_class.upper()}_KEY"
            raise ConfigError(f"{name} needs a {key_class}-class key: set {variable}")
    if sessions:
        side_streams.check_key(settings)
    customers = side_streams.read_customers(bindings) if bindings else None
    lake = AnalyticLake(settings.data_dir)
    with reports.page_bar() as bar:
        done = desk.extract(lake, settings, request, workers=workers, on_page=bar.show)
    span = (request.start, request.end or done.read_to) if sessions else None
    asked = side_streams.look_up(
        lake, settings, sessions_of=span, customers=customers, workers=workers
    )
    tell = reports.extraction_json if as_json else reports.extraction_text
    click.echo(tell(lake, done, asked))
    unread = (f"{name} were not extracted: {why}" for name, why in done.not_extracted.items())
    for text in (*unread, *done.notes):
        note(text)
    if done.needs_attention or any(found.rejected for found in asked):
        raise SystemExit(ATTENTION)


@cli.command()
@shared_options
def status(data_dir: str | None, as_json: bool) -> None:
    """Show what is in the lake: rows, coverage, gaps, freshness, quarantine."""
    from svc_analytics import reports

    found = reports.lake_status(open_lake(data_dir))
    click.echo(reports.status_json(found) if as_json else reports.status_text(found))


@cli.command()
@click.argument("query", required=False)
@click.option("--csv", "form", flag_value="csv", help="As CSV.")
@click.option("--table", "form", flag_value="table", default="table", help="For people (default).")
@shared_options
def sql(query: str | None, form: str, data_dir: str | None, as_json: bool) -> None:
    """Answer one read-only QUERY on the views; without one, read it from stdin.

    \b
    svc-analytics sql "select month, currency, net_settlement from net_settlement_monthly"
    """
    from svc_analytics.models import named_in
    from svc_analytics.render import tables
    from svc_analytics.warehouse import open_warehouse

    text = query if query is not None else sys.stdin.read()
    if not text.strip():
        raise ConfigError('no query: give one, such as svc-analytics sql "from coverage"')
    with open_warehouse(open_lake(data_dir), named_in(text)) as warehouse:
        found = warehouse.ask(text)
    if as_json:
        click.echo(tables.to_json(tables.to_objects(found)))
    else:
        click.echo(
            tables.to_csv(found) if form == "csv" else tables.to_text(found), nl=form != "csv"
        )


@cli.command()
@shared_options
def views(data_dir: str | None, as_json: bool) -> None:
    """Re-make analytics.duckdb for other tools, and list the views."""
    import pyarrow as pa

    from svc_analytics.render import tables
    from svc_analytics.views import list_views
    from svc_analytics.warehouse import write_views

    path = write_views(open_lake(data_dir))
    if as_json:
        click.echo(tables.to_json({"path": str(path), "views": list_views()}))
        return
    listed = pa.Table.from_pylist(list_views()).select(["view", "grain"])
    click.echo(tables.to_text(listed))
    note(f"the same views are in {path}")


@cli.command()
@click.option("--months", default=12, show_default=True, type=click.IntRange(1, 120))
@click.option("--payments", default=20_000, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=7, show_default=True, help="Which made-up merchant to play.")
@shared_options
def demo(months: int, payments: int, seed: int, data_dir: str | None, as_json: bool) -> None:
    """Run the whole path on the local sandbox: no account, no key, about half a minute.

    Seeds a merchant's history, extracts it over HTTP, verifies its receipts, closes the
    last full month, and says what to try next.
    """
    from svc_analytics import reports
    from svc_analytics.config import read_data_dir
    from svc_analytics.demo import run_demo
    from svc_analytics.warehouse import AnalyticLake

    lake = AnalyticLake(read_data_dir(data_dir))
    with reports.page_bar() as bar:
        made, folder = run_demo(lake, months, payments, seed, note=note, on_page=bar.show)
    show_statement(made, folder, as_json=as_json)
    if not as_json:
        click.echo("\n" + reports.what_next(made, None if data_dir is None else lake.path))


def open_lake(data_dir: str | None) -> Any:
    """Open the lake of the settings, for commands that need no key."""
    from svc_analytics.config import read_data_dir
    from svc_analytics.warehouse import AnalyticLake

    lake = AnalyticLake(read_data_dir(data_dir))
    lake.require()
    return lake


def choose_month(month: str | None, choice: str | None, zone: str, calendar: str) -> str:
    """Return the month that was asked for, in one way and not in two."""
    import time

    from svc_analytics.periods import month_of

    if (month is None) == (choice is None):
        raise ConfigError("say which month: --month 2026-10, --last-month or --this-month")
    if month is not None:
        return month
    current = month_of(time.time_ns() // 1000, zone, calendar)
    return (current.shift(-1) if choice == "last" else current).label


def show_statement(made: Statement, folder: Path, *, as_json: bool) -> None:
    """Print a statement: its summary for people, or its manifest and summary as JSON."""
    from svc_analytics import reports

    click.echo(
        reports.statement_json(made, folder) if as_json else reports.statement_text(made, folder)
    )


def note(text: str) -> None:
    """Say something that is not data."""
    click.echo(f"svc-analytics: {one_line(text)}", err=True)


def main() -> None:
    """Run the command line and exit with the documented code."""
    try:
        cli.main(standalone_mode=False, auto_envvar_prefix="SVC")
        code = 0
    except SvcError as error:
        code = complain(str(error), error.exit_code)
    except click.UsageError as error:
        error.show()
        code = error.exit_code
    except click.ClickException as error:
        code = complain(error.format_message(), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        code = complain("interrupted; what was published is kept", INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: nothing is left to say
        code = 0
    except Exception as error:
        code = complain(f"internal error: {type(error).__name__}: {error}", 1)
    sys.exit(code)


def complain(text: str, code: int) -> int:
    """Say in one line what went wrong; with -vv, where."""
    note(f"error: {text}")
    if sys.argv.count("-vv") or sys.argv.count("-v") > 1:
        traceback.print_exc()
    return code


# Their commands join the group above, which they import.
import svc_analytics.commands_check  # noqa: E402
import svc_analytics.commands_close  # noqa: E402
import svc_analytics.commands_lab  # noqa: E402
import svc_analytics.commands_statement  # noqa: E402
import svc_analytics.commands_webhooks  # noqa: E402, F401
