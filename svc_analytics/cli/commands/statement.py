"""`statement`: write a month's statement, or explain where one of its figures comes from."""

from pathlib import Path
from typing import Unpack

import click

from svc_analytics.arguments import PeriodOptions
from svc_analytics.bucket.address import local_path
from svc_analytics.cli import completion, explanations, options, reports
from svc_analytics.cli.console import echo_note, echo_progress
from svc_analytics.cli.several_lakes import (
    open_each,
    refuse_options_of_one,
    state_together,
)
from svc_analytics.closing.seals import STATEMENTS, versions
from svc_analytics.closing.states.stated import statement as make_statement
from svc_analytics.config import read_engine, read_rates_path
from svc_analytics.errors import EXIT_ATTENTION
from svc_analytics.formatting.row_files import check_form
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.language.catalogue import Language
from svc_analytics.render.folder import FORMATS, Output, check_currency, write_folder
from svc_analytics.statements.explain import Explanation
from svc_analytics.statements.metadata import name_empty
from svc_analytics.statements.statement import Statement

_OTHERS = ", --last-month, --this-month and --year-to-date alone"
_this_month_option = click.option(
    "--this-month", "is_this", is_flag=True, help="The month that is running."
)
_to_date_option = click.option(
    "--year-to-date",
    "is_to_date",
    is_flag=True,
    help="From the year's first day to the end of that month; without one, of the last month "
    "that is over.",
)


@click.command()
@options.period_argument
@options.month_option
@options.last_month_option
@_this_month_option
@_to_date_option
@options.zone_options
@options.format_option(f"Forms to write: {', '.join(FORMATS)}; with commas between.")
@click.option(
    "--out",
    metavar="DIR|FILE",
    help="The statement's folder, or the .csv, .parquet or .json file of the records behind "
    "FIGURE.  [default: in statements/ of the lake]",
)
@click.option(
    "--explain",
    "figure",
    shell_complete=completion.figures,
    metavar="FIGURE",
    help="Show what FIGURE is made of, with its first 20 records; write no statement.",
)
@click.option("--exact", is_flag=True, help="Print every digit: files hold them in any case.")
@click.option("--currency", metavar="C", help="Explain FIGURE for this coin.")
@click.option("--csv", "as_csv", is_flag=True, help="Print every record behind FIGURE as CSV.")
@click.option(
    "--webhooks",
    metavar="FILE",
    help="A log of webhook deliveries; the lake must hold the records it names.",
)
@options.metadata_option
@options.language_options
@options.currency_options
@options.engine_options
@options.several_lakes_options
def statement(
    *,
    period: str | None,
    month: str | None,
    is_last: bool,
    is_this: bool,
    is_to_date: bool,
    formats: tuple[str, ...],
    out: str | None,
    figure: str | None,
    exact: bool,
    currency: str | None,
    as_csv: bool,
    webhooks: str | None,
    metadata: tuple[str, ...],
    lang: str,
    digits: str,
    currency_in: str | None,
    rates: str | None,
    engine: str | None,
    engine_data: tuple[str, ...],
    data_dir: tuple[str, ...],
    as_json: bool,
    **at: Unpack[PeriodOptions],
) -> None:
    """Write the statement of a month, a quarter or a year, and print its summary.

    PERIOD is a month, a quarter or a year, as people write it.

    \b
    svc-analytics statement 2026-10
    svc-analytics statement 2026-Q3
    svc-analytics statement 2026 --year-to-date

    With --data-dir several times, it prints the figures of each merchant and their sums
    per coin; --csv prints them as rows, and --out writes them (.csv, .parquet, .html).
    """
    last, this = "last month" if is_last else None, "this month" if is_this else None
    name = options.choose_period((period, month, last, this), _OTHERS, is_to_date)
    options.check_one_form(as_csv=as_csv, as_json=as_json)
    counter = read_engine(engine, engine_data)
    if len(data_dir) > 1:
        refuse_options_of_one()
        state_together(data_dir, counter, name, at, out, as_csv=as_csv, as_json=as_json)
        return
    output = Output(formats, Language(lang, digits), echo_progress)
    output.check()
    options.check_rates(currency_in, rates)
    check_currency(currency_in, formats)
    explanations.check_choice(figure, currency, as_csv=as_csv)
    [lake] = open_each(data_dir, counter)
    if figure and currency:
        if out:
            check_form(out)
        explanation = lake.explain(name, currency, figure, **at)
        _print_explanation(explanation, out, as_csv=as_csv, as_json=as_json)
        return
    new = make_statement(lake, name, webhooks=webhooks, metadata=metadata, **at)
    if currency_in is not None:
        new = new.in_currency(currency_in, read_rates_path(lake.path, rates))
    _print_statement(new, _save(new, lake, out, output), exact=exact, as_json=as_json)


def _print_statement(new: Statement, folder: Path, *, exact: bool, as_json: bool) -> None:
    click.echo(reports.statement_report(new, folder, as_json=as_json, exact=exact))
    for text in name_empty(new.tables["lines"], new.period.noun):
        echo_note(text, "empty_metadata")
    if new.needs_attention:
        raise SystemExit(EXIT_ATTENTION)


def _print_explanation(
    explanation: Explanation, out: str | None, *, as_csv: bool, as_json: bool
) -> None:
    """Print what a figure is made of: a part of it as text, or all of it in a form."""
    if not (out or as_csv or as_json):
        click.echo(explanations.explanation_text(explanation))
    elif document := explanations.write_explanation(explanation, out, as_json=as_json):
        click.echo(document)


def _save(new: Statement, lake: Lakehouse, out: str | None, output: Output) -> Path:
    """Write a statement into its folder, unless a sealed one is there; return the folder."""
    folder = lake.path / STATEMENTS / new.period.folder
    if out is None and versions(folder):
        echo_note(
            f"{folder} is sealed already and stays as it is: the figures printed here are stated "
            "anew from the lake; statement-verify compares the two, --out DIR writes them",
            "sealed_already",
            folder=folder,
        )
        if new.external:
            echo_note(
                f"close {new.period.label} with the same --in writes its page beside the seal",
                "sealed_already",
                folder=folder,
            )
        return folder
    return write_folder(new, local_path("out", out) if out else folder, output)
