"""`statement`: write a month's statement, or explain where one of its figures comes from."""

from dataclasses import dataclass
from pathlib import Path

import click

from svc_analytics.arguments import PeriodOptions
from svc_analytics.bucket.address import local_path
from svc_analytics.cli import completion, explanations, options, reports
from svc_analytics.cli.console import echo_note, echo_progress
from svc_analytics.cli.several_lakes import (
    open_one,
    refuse_options_of_one,
    state_together,
)
from svc_analytics.closing.seals import STATEMENTS, versions
from svc_analytics.closing.states.stated import statement as make_statement
from svc_analytics.config import read_rates_path
from svc_analytics.errors import EXIT_ATTENTION
from svc_analytics.formatting.tables import check_form
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


@dataclass(frozen=True)
class SingleStatement:
    """The request for a statement of one merchant."""

    figure: str | None
    currency: str | None
    webhooks: str | None
    metadata: str | None
    formats: str
    language: Language
    other: options.OtherCurrency


def _name(
    period: str | None, month: str | None, is_last: bool, is_this: bool, is_to_date: bool
) -> str:
    names = (period, month, "last month" if is_last else None, "this month" if is_this else None)
    return options.choose_period(names, _OTHERS, is_to_date)


@click.command()
@options.period_argument
@options.month_option
@options.last_month_option
@_this_month_option
@_to_date_option
@options.as_value("name", _name)
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
@options.as_value("single", SingleStatement)
@options.as_value("lakes", options.LakeOptions)
@options.as_value("printed", options.Printed)
def statement(
    name: str,
    at: PeriodOptions,
    out: str | None,
    single: SingleStatement,
    lakes: options.LakeOptions,
    printed: options.Printed,
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
    printed.check()
    if lakes.are_several:
        refuse_options_of_one()
        state_together(name, at, lakes, out, printed)
        return
    output = Output(options.split_names(single.formats), single.language, echo_progress)
    _check(output, single, printed)
    lake = open_one(lakes)
    if single.figure and single.currency:
        if out:
            check_form(out)
        explanation = lake.explain(name, single.currency, single.figure, **at)
        _print_explanation(explanation, out, printed)
        return
    properties = options.split_names(single.metadata)
    new = make_statement(lake, name, webhooks=single.webhooks, metadata=properties, **at)
    new = _in_currency(new, lake, single.other)
    folder = _save(new, lake, out, output)
    click.echo(reports.statement_report(new, folder, as_json=printed.as_json, exact=printed.exact))
    for text in name_empty(new.tables["lines"], new.period.noun):
        echo_note(text, "empty_metadata")
    if new.needs_attention:
        raise SystemExit(EXIT_ATTENTION)


def _check(output: Output, single: SingleStatement, printed: options.Printed) -> None:
    """Refuse forms and options that do not go together."""
    output.check()
    single.other.check()
    check_currency(single.other.currency, output.formats)
    explanations.check_choice(single.figure, single.currency, as_csv=printed.as_csv)


def _in_currency(new: Statement, lake: Lakehouse, other: options.OtherCurrency) -> Statement:
    """Return a statement with another currency beside USD, where one was asked for."""
    if other.currency is None:
        return new
    return new.in_currency(other.currency, read_rates_path(lake.path, other.rates))


def _print_explanation(explanation: Explanation, out: str | None, printed: options.Printed) -> None:
    """Print what a figure is made of: a part of it as text, or all of it in a form."""
    if not (out or printed.as_csv or printed.as_json):
        click.echo(explanations.explanation_text(explanation))
    elif document := explanations.write_explanation(explanation, out, as_json=printed.as_json):
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
