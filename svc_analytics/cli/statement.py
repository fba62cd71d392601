"""`statement`: a month's figures, or where one of them comes from."""

from __future__ import annotations

from pathlib import Path

import click

from svc_analytics.cli import reports
from svc_analytics.cli.console import EXIT_ATTENTION, echo_note
from svc_analytics.cli.options import (
    calendar_option,
    choose_month,
    metadata_option,
    open_lake,
    shared_options,
    split_names,
)
from svc_analytics.cli.reports import echo_statement
from svc_analytics.closing.seals import STATEMENTS, versions
from svc_analytics.errors import ConfigError
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.render.folder import check_formats
from svc_analytics.statements.metadata import empty_columns
from svc_analytics.statements.statement import Statement
from svc_analytics.statements.statement import statement as make_statement


@click.command()
@click.option("--month", metavar="MONTH", help="The month: 2026-10, or october for the latest one.")
@click.option("--last-month", "choice", flag_value="last", help="The last month that is over.")
@click.option("--this-month", "choice", flag_value="this", help="The month that is running.")
@click.option("--zone", default="UTC", show_default=True, help="An IANA zone, such as Asia/Tehran.")
@calendar_option
@click.option(
    "--format",
    "formats",
    default="csv,parquet",
    show_default=True,
    help="Forms to write: csv, parquet, xlsx, html, json, journal, pdf; with commas between.",
)
@click.option(
    "--out", metavar="DIR", help="The statement's folder.  [default: in statements/ of the lake]"
)
@click.option(
    "--explain", "figure", metavar="FIGURE", help="Show what FIGURE is made of; write nothing."
)
@click.option("--currency", metavar="C", help="Explain FIGURE for this coin.")
@click.option(
    "--webhooks",
    metavar="FILE",
    help="A log of webhook deliveries; the lake must hold the records it names.",
)
@metadata_option
@shared_options
def statement(
    month: str | None,
    choice: str | None,
    zone: str,
    calendar: str,
    formats: str,
    out: str | None,
    figure: str | None,
    currency: str | None,
    webhooks: str | None,
    metadata: str | None,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Write a month's statement and print its summary."""
    wanted = split_names(formats)
    check_formats(wanted)
    lake = open_lake(data_dir)
    chosen = choose_month(month, choice, zone, calendar)
    if bool(figure) != bool(currency):
        raise ConfigError("give --explain FIGURE and --currency C together")
    if figure and currency:
        explanation = lake.explain(chosen, currency, figure, zone=zone, calendar=calendar)
        click.echo(reports.explanation_text(explanation, as_json=as_json))
        return
    made = make_statement(
        lake,
        chosen,
        zone=zone,
        calendar=calendar,
        webhooks=webhooks,
        metadata=split_names(metadata),
    )
    echo_statement(made, _save(made, lake, out, wanted), as_json=as_json)
    for name in empty_columns(made.tables["lines"]):
        echo_note(f"{name} is empty in every line: no payment of the month has this metadata")
    if made.needs_attention:
        raise SystemExit(EXIT_ATTENTION)


def _save(made: Statement, lake: Lakehouse, out: str | None, formats: tuple[str, ...]) -> Path:
    """Write a statement into its folder, unless a sealed one is there; return the folder."""
    folder = lake.path / STATEMENTS / made.period.folder
    if out is None and versions(folder):
        echo_note(
            f"{folder} is sealed already: nothing is written; use --out DIR for another folder"
        )
        return folder
    return made.save(out or folder, formats)
