"""`check`: test the whole lake against every rule, and list the findings."""

import click

from svc_analytics.cli.console import EXIT_ATTENTION, echo_note
from svc_analytics.cli.options import open_lake, shared_options
from svc_analytics.formatting import tables
from svc_analytics.schema import STREAMS
from svc_analytics.warehouse.models import read_checks
from svc_analytics.warehouse.warehouse import open_warehouse

_FINDINGS = """
    select check_name, severity, record_id, month, currency, detail
    from exceptions
    order by severity desc, check_name, occurred_at, record_id
"""


@click.command()
@shared_options
def check(data_dir: str | None, as_json: bool) -> None:
    """Check the lake against every rule.

    Lists each row that breaks a rule. A blocking finding keeps a statement from being
    final; an advisory one informs.
    """
    lake = open_lake(data_dir)
    folders = [lake.folder(stream) for stream in STREAMS.values()]
    months = {path.stem for folder in folders for path in folder.glob("*.parquet")}
    with open_warehouse(lake) as warehouse:
        warehouse.verify(sorted(months))
        findings = warehouse.query(_FINDINGS)
    if as_json:
        click.echo(tables.to_json({"findings": tables.to_objects(findings)}))
    else:
        click.echo(tables.to_text(findings) if len(findings) else "every rule holds")
    blocking = findings["severity"].to_pylist().count("blocking")
    echo_note(f"{len(read_checks())} rules, {len(findings)} findings, {blocking} of them blocking")
    if blocking:
        raise SystemExit(EXIT_ATTENTION)
