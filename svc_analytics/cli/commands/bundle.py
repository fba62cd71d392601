"""`bundle`: all views of the lake as tables of one file to give away."""

import click

from svc_analytics.cli import options
from svc_analytics.closing.handover.bundle import write_bundle
from svc_analytics.formatting.tables import to_json
from svc_analytics.formatting.texts import counted


@click.command()
@click.argument("file", metavar="FILE.duckdb")
@options.shared_options
def bundle(file: str, data_dir: str | None, as_json: bool) -> None:
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
