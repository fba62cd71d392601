"""`check`, `bundle`: findings of a lake, and its views given away."""

import click
import pyarrow as pa

from svc_analytics.cli import options
from svc_analytics.cli.console import echo_note, echo_progress, table_text
from svc_analytics.closing.acceptances import ahead_findings
from svc_analytics.closing.handover.bundle import write_bundle
from svc_analytics.closing.neighbours import unmet_findings
from svc_analytics.config import read_engine
from svc_analytics.errors import EXIT_ATTENTION
from svc_analytics.formatting import tables
from svc_analytics.formatting.tables import to_json
from svc_analytics.formatting.texts import counted
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.messages import MESSAGE_COLUMN
from svc_analytics.render.findings import shown_findings
from svc_analytics.statements.deep_check import check_deeply
from svc_analytics.statements.rules import find_exceptions
from svc_analytics.warehouse.acknowledgements import Acceptances, blocking_findings
from svc_analytics.warehouse.counting import count
from svc_analytics.warehouse.models import read_checks
from svc_analytics.warehouse.several_lakes import beside

_ACCEPTED = ("acknowledged_reason", "acknowledged_by")


@click.command()
@click.option(
    "--deep",
    "is_deep",
    is_flag=True,
    help="Make each month's statement twice too: as always, and from every row. It takes long, "
    "and runs on this machine, whatever --engine names.",
)
@options.engine_options
@options.wide_option
@options.several_lakes_options
def check(
    *,
    is_deep: bool,
    engine: str | None,
    engine_data: tuple[str, ...],
    is_wide: bool,
    data_dir: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check the lake against every rule.

    Lists each row that breaks a rule. A blocking finding keeps a statement from being
    final, unless a person accepted it; an advisory one informs. A statement reads the rows
    of its month and the totals of all others; --deep makes every month's figures from all
    rows too, and compares. Of sealed months in a row, each must open with what the one
    before closed with. With --data-dir several times, it lists the findings of each merchant.
    """
    opened = options.open_each(data_dir, read_engine(engine, engine_data))
    findings = beside(opened, [_findings(lake, is_deep) for lake in opened])
    if as_json:
        objects = tables.to_objects(findings.drop_columns([MESSAGE_COLUMN]))
        click.echo(tables.to_json({"findings": objects}))
    elif len(findings):
        shown = shown_findings(findings).drop_columns([MESSAGE_COLUMN, *_ACCEPTED])
        click.echo(table_text(shown, is_wide=is_wide))
    else:
        click.echo("every rule holds")
    blocking = len(blocking_findings(findings))
    rules = len(read_checks()) + 2 + is_deep  # of sealed statements, and of what was accepted
    line = f"{rules} rules, {counted(len(findings), 'finding')}, {blocking} of them blocking"
    echo_note(line, "rules", rules=rules, findings=len(findings), blocking=blocking)
    if blocking:
        raise SystemExit(EXIT_ATTENTION)


def _findings(lake: Lakehouse, is_deep: bool) -> pa.Table:
    """Return the rows of a lake that break a rule, and who accepted them."""
    findings = count(lake, None, find_exceptions, as_written=True)
    parts = [findings, *(of(lake, findings.schema) for of in (unmet_findings, ahead_findings))]
    if is_deep:
        parts.append(check_deeply(lake, findings, note=echo_progress))
    return Acceptances.of(lake).applied_to(pa.concat_tables(parts))


@click.command()
@click.argument("file", metavar="FILE.duckdb")
@options.shared_options
def bundle(*, file: str, data_dir: str | None, as_json: bool) -> None:
    """Write all views of the lake as tables of one DuckDB file.

    The file stands alone: it holds every record with every digit, the meaning of each table
    and column as a comment, and no path of this machine. DuckDB 1.2 and newer open it. It is
    of one moment of the lake, also while extract runs.
    """
    rows = write_bundle(options.open_lake(data_dir), file)
    if as_json:
        click.echo(to_json({"out": file, "rows": rows}))
    else:
        click.echo(f"{file} holds {len(rows)} tables, {counted(sum(rows.values()), 'row')}")
