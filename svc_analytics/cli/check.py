"""`check`: every rule over the whole lake, and the rows that break it."""

from __future__ import annotations

import click

from svc_analytics.cli.console import EXIT_ATTENTION
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
        found = warehouse.query(_FINDINGS)
    if as_json:
        click.echo(tables.to_json({"findings": tables.to_objects(found)}))
    else:
        click.echo(tables.to_text(found) if len(found) else "every rule holds")
    blocking = found["severity"].to_pylist().count("blocking")
    said = f"{len(read_checks())} rules, {len(found)} findings, {blocking} of them blocking"
    click.echo(f"svc-analytics: {said}", err=True)
    if blocking:
        raise SystemExit(EXIT_ATTENTION)
