"""`status`, `check`, `sql`, `views`: what the lake holds, its findings, and queries on it."""

import sys

import click
import pyarrow as pa

from svc_analytics.cli import reports
from svc_analytics.cli.commands.several_lakes import require_no_engine
from svc_analytics.cli.console import EXIT_ATTENTION, echo_note, echo_progress, table_text
from svc_analytics.cli.options import (
    engine_option,
    open_lake,
    several_lakes_options,
    shared_options,
    wide_option,
)
from svc_analytics.config import read_engine
from svc_analytics.engines.connect import count
from svc_analytics.errors import ConfigError, QueryError, needs_extra
from svc_analytics.formatting import tables
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.lakes.lakes import open_lakes
from svc_analytics.lakes.views import query_lakes
from svc_analytics.statements.deep_check import check_deeply
from svc_analytics.warehouse.catalogue import describe_views
from svc_analytics.warehouse.database import write_views
from svc_analytics.warehouse.models import models_used_by, read_checks
from svc_analytics.warehouse.status import lake_status
from svc_analytics.warehouse.warehouse import open_warehouse

_FINDINGS = """
    select check_name, severity, record_id, month, currency, detail
    from exceptions
    order by severity desc, check_name, occurred_at, record_id
"""


@click.command()
@shared_options
def status(data_dir: str | None, as_json: bool) -> None:
    """Show what the lake holds and how complete it is.

    Shows rows, coverage, gaps, freshness and quarantine of each stream.
    """
    report = reports.status_json if as_json else reports.status_text
    click.echo(report(lake_status(open_lake(data_dir))))


@click.command()
@click.option(
    "--deep",
    "is_deep",
    is_flag=True,
    help="Make each month's statement twice too: as always, and from every row. It takes long.",
)
@wide_option
@shared_options
def check(is_deep: bool, is_wide: bool, data_dir: str | None, as_json: bool) -> None:
    """Check the lake against every rule.

    Lists each row that breaks a rule. A blocking finding keeps a statement from being
    final; an advisory one informs. A statement reads the rows of its month and the totals
    of all others; --deep makes every month's figures from all rows too, and compares.
    """
    lake = open_lake(data_dir)
    with open_warehouse(lake, is_bounded=True) as warehouse:
        findings = warehouse.query(_FINDINGS)
    if is_deep:
        findings = pa.concat_tables([findings, check_deeply(lake, findings, note=echo_progress)])
    if as_json:
        click.echo(tables.to_json({"findings": tables.to_objects(findings)}))
    else:
        click.echo(table_text(findings, is_wide=is_wide) if len(findings) else "every rule holds")
    blocking = findings["severity"].to_pylist().count("blocking")
    rules = len(read_checks()) + is_deep
    echo_note(f"{rules} rules, {len(findings)} findings, {blocking} of them blocking")
    if blocking:
        raise SystemExit(EXIT_ATTENTION)


@click.command()
@click.argument("query", required=False)
@click.option("--csv", "form", flag_value="csv", help="Print CSV.")
@click.option(
    "--table", "form", flag_value="table", default="table", help="Print a table (default)."
)
@click.option(
    "--print",
    "is_printed",
    is_flag=True,
    help="Print what --engine would be asked, and run nothing; no server is needed.",
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="Print it in the SQL of databricks, spark or trino.  [default: spark]",
)
@engine_option
@wide_option
@several_lakes_options
def sql(
    query: str | None,
    form: str,
    is_printed: bool,
    dialect: str | None,
    engine: str | None,
    is_wide: bool,
    data_dir: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run one read-only query on the views.

    Without QUERY, the query is read from stdin. With --data-dir several times, each view
    is that of all these lakes, with the column merchant_id first.

    \b
    svc-analytics sql "select month, currency, net_settlement from net_settlement_monthly"
    """
    text = query if query is not None else sys.stdin.read()
    if not text.strip():
        raise ConfigError('no query: give one, such as svc-analytics sql "from coverage"')
    if dialect and not is_printed:
        raise ConfigError("--dialect says how to print a query: give it with --print")
    if is_printed:
        only = _only(data_dir, "--print")
        click.echo(
            _rehearsed(open_lake(only, read_engine(engine)), text, dialect or "spark"), nl=False
        )
        return
    answer = _answer(text, data_dir, engine)
    _print_answer(answer, form, is_wide=is_wide, as_json=as_json)


def _only(data_dir: tuple[str, ...], option: str) -> str | None:
    """Return the one folder that is given, if any, where an option is of one lake."""
    if len(data_dir) > 1:
        raise ConfigError(f"{option} is of one lake: give --data-dir once")
    return next(iter(data_dir), None)


def _answer(query: str, data_dir: tuple[str, ...], engine: str | None) -> pa.Table:
    """Answer a query over one lake, or over several."""
    if len(data_dir) > 1:
        require_no_engine(engine)
        return query_lakes(open_lakes(data_dir).lakes, query)
    lake = open_lake(_only(data_dir, ""), read_engine(engine))
    return count(lake, models_used_by(query), lambda views: views.query_readonly(query))


def _rehearsed(lake: Lakehouse, query: str, dialect: str) -> str:
    with needs_extra("spark"):
        from svc_analytics.engines.rehearsal import rehearse
    return rehearse(lake, query, dialect)


def _print_answer(answer: pa.Table, form: str, *, is_wide: bool, as_json: bool) -> None:
    if as_json:
        _require_single_names(answer.column_names)
        click.echo(tables.to_json(tables.to_objects(answer)))
    elif form == "csv":
        click.echo(tables.to_csv(answer), nl=False)
    else:
        click.echo(table_text(answer, is_wide=is_wide))


def _require_single_names(names: list[str]) -> None:
    """Refuse an answer that as objects would lose a column."""
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        message = f"two columns are named {doubled!r:.60}, and an object of JSON can hold one"
        raise QueryError(f"{message}: give one another name with AS")


@click.command()
@wide_option
@shared_options
def views(is_wide: bool, data_dir: str | None, as_json: bool) -> None:
    """Write analytics.duckdb and list its views.

    Other tools query the lake through this file. --json lists the columns too, each with
    its name, its type and its meaning.
    """
    lake = open_lake(data_dir)
    with lake.snapshot():  # other tools check no checksums, so it is done here
        path = write_views(lake)
    if as_json:
        click.echo(tables.to_json({"path": str(path), "views": describe_views(lake)}))
        return
    rows = [{"view": row["view"], "grain": row["grain"]} for row in describe_views(lake)]
    click.echo(table_text(pa.Table.from_pylist(rows), is_wide=is_wide))
    echo_note(f"other tools find these views in {path}")
