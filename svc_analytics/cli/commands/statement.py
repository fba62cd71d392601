"""`statement`: write a month's statement, or explain where one of its figures comes from."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from svc_analytics.cli import completion, explanations, options, reports
from svc_analytics.cli.commands.several_lakes import with_several_lakes
from svc_analytics.cli.console import EXIT_ATTENTION, echo_note, echo_progress
from svc_analytics.closing.seals import STATEMENTS, versions
from svc_analytics.formatting.row_files import check_form
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.language.catalogue import Language
from svc_analytics.render.folder import check_formats
from svc_analytics.statements.metadata import empty_columns
from svc_analytics.statements.statement import Statement
from svc_analytics.statements.statement import statement as make_statement

_OTHERS = ", --last-month, --this-month and --year-to-date alone"
_this_month_option = click.option(
    "--this-month", "choice", flag_value="this", help="The month that is running."
)
_to_date_option = click.option(
    "--year-to-date",
    "is_to_date",
    is_flag=True,
    help="From the year's first day to the end of that month; without one, of the last month "
    "that is over.",
)


def _period_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that choose a period, which it gets as its `name`."""

    @wraps(command)
    def run(
        period: str | None, month: str | None, choice: str | None, is_to_date: bool, **given: Any
    ) -> None:
        command(name=options.choose_period(period, month, choice, _OTHERS, is_to_date), **given)

    named = options.last_month_option(_this_month_option(_to_date_option(run)))
    return options.period_argument(options.month_option(named))


@click.command()
@_period_options
@options.zone_option
@options.calendar_option
@options.format_option(
    "Forms to write: csv, parquet, xlsx, html, json, journal, pdf; with commas between."
)
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
@options.engine_options
@with_several_lakes
def statement(
    name: str,
    formats: str,
    out: str | None,
    figure: str | None,
    exact: bool,
    currency: str | None,
    as_csv: bool,
    webhooks: str | None,
    metadata: str | None,
    language: Language,
    engine: options.EngineSetting,
    data_dir: str | None,
    as_json: bool,
    **at: Any,  # its zone and calendar
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
    forms, properties = options.split_names(formats), options.split_names(metadata)
    check_formats(forms, language)
    explanations.check_choice(figure, currency, as_csv=as_csv)
    lake = options.open_lake(data_dir, engine)
    if figure and currency:
        _explain(lake, name, figure, currency, (out, as_csv, as_json), **at)
        return
    new = make_statement(lake, name, webhooks=webhooks, metadata=properties, **at)
    folder = _save(new, lake, out, forms, language)
    click.echo(reports.statement_report(new, folder, as_json=as_json, exact=exact))
    _note_empty(new)
    if new.needs_attention:
        raise SystemExit(EXIT_ATTENTION)


def _note_empty(new: Statement) -> None:
    """Name the properties of the metadata that no payment has: perhaps one is misspelt."""
    for column in empty_columns(new.tables["lines"]):
        reason = f"no payment of the {new.period.noun} has this metadata"
        echo_note(f"{column} is empty in every line: {reason}")


def _explain(
    lake: Lakehouse,
    name: str,
    figure: str,
    currency: str,
    form: tuple[str | None, bool, bool],
    **at: str,
) -> None:
    """Print what a figure is made of: a part of it as text, or all of it in a form."""
    out, as_csv, as_json = form
    if out:
        check_form(out)
    explanation = lake.explain(name, currency, figure, **at)
    if not (out or as_csv or as_json):
        click.echo(explanations.explanation_text(explanation))
    elif document := explanations.write_explanation(explanation, out, as_json=as_json):
        click.echo(document)


def _save(
    new: Statement, lake: Lakehouse, out: str | None, forms: tuple[str, ...], language: Language
) -> Path:
    """Write a statement into its folder, unless a sealed one is there; return the folder."""
    folder = lake.path / STATEMENTS / new.period.folder
    if out is None and versions(folder):
        echo_note(
            f"{folder} is sealed already and stays as it is: the figures printed here are stated "
            "anew from the lake; statement-verify compares the two, --out DIR writes them"
        )
        return folder
    words = {"lang": language.code, "digits": language.digits}
    return new.save(out or folder, forms, **words, note=echo_progress)
