"""`statement`: write a month's statement, or explain where one of its figures comes from."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import click
from click.core import ParameterSource

from svc_analytics.arguments import PeriodOptions
from svc_analytics.bucket.address import local_path
from svc_analytics.cli import shared_options
from svc_analytics.cli.commands.figures import check_choice, explanation_text, write_explanation
from svc_analytics.cli.console import echo_note, echo_progress, exit_if_attention
from svc_analytics.closing.seals import STATEMENTS, versions
from svc_analytics.closing.stated import statement as make_statement
from svc_analytics.config import read_engine, read_rates_path
from svc_analytics.errors import ConfigError
from svc_analytics.formatting import tables
from svc_analytics.formatting.display import table_text
from svc_analytics.formatting.texts import single_line, wrapped
from svc_analytics.instants import format_instant, in_words
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.lakes import GroupStatement
from svc_analytics.language.catalogue import Language
from svc_analytics.render import document
from svc_analytics.render.figures import figures_table
from svc_analytics.render.findings import CHECKS, describe_accepted, describe_balances, folded_table
from svc_analytics.render.folder import FORMATS, MANIFEST, Output, check_currency, write_folder
from svc_analytics.schema import STREAMS
from svc_analytics.statements.explain import Explanation
from svc_analytics.statements.reading import name_empty
from svc_analytics.statements.statement import Statement
from svc_analytics.webhooks.reconcile import describe

# Options that a statement of one merchant takes, and one of several does not.
_OF_ONE = {
    *("figure", "currency", "webhooks", "metadata", "formats", "lang", "digits"),
    *("currency_in", "rates"),
}
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
@shared_options.period_argument
@shared_options.month_option
@shared_options.last_month_option
@_this_month_option
@_to_date_option
@shared_options.zone_options
@shared_options.format_option(f"Forms to write: {', '.join(FORMATS)}; with commas between.")
@click.option(
    "--out",
    metavar="DIR|FILE",
    help="The statement's folder, or the .csv, .parquet or .json file of the records behind "
    "FIGURE.  [default: in statements/ of the lake]",
)
@click.option(
    "--explain",
    "figure",
    shell_complete=shared_options.offer_figures,
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
@shared_options.metadata_option
@shared_options.language_options
@shared_options.currency_options
@shared_options.engine_options
@shared_options.several_lakes_options
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
    name = shared_options.choose_period((period, month, last, this), _OTHERS, is_to_date)
    shared_options.check_one_form(as_csv=as_csv, as_json=as_json)
    counter = read_engine(engine, engine_data)
    if len(data_dir) > 1:
        _refuse_options_of_one()
        _state_together(data_dir, counter, name, at, out, as_csv=as_csv, as_json=as_json)
        return
    output = Output(formats, Language(lang, digits), echo_progress)
    output.check()
    shared_options.check_rates(currency_in, rates)
    check_currency(currency_in, formats)
    check_choice(figure, currency, as_csv=as_csv)
    [lake] = shared_options.open_each(data_dir, counter)
    if figure and currency:
        if out:
            tables.check_form(out)
        explanation = lake.explain(name, currency, figure, **at)
        _print_explanation(explanation, out, as_csv=as_csv, as_json=as_json)
        return
    new = make_statement(lake, name, webhooks=webhooks, metadata=metadata, **at)
    if currency_in is not None:
        new = new.in_currency(currency_in, read_rates_path(lake.path, rates))
    _print_statement(new, _save(new, lake, out, output), exact=exact, as_json=as_json)


def _print_statement(new: Statement, folder: Path, *, exact: bool, as_json: bool) -> None:
    click.echo(statement_report(new, folder, as_json=as_json, exact=exact))
    for text in name_empty(new.tables["lines"], new.period.noun):
        echo_note(text, "empty_metadata")
    exit_if_attention(new.needs_attention)


def _print_explanation(
    explanation: Explanation, out: str | None, *, as_csv: bool, as_json: bool
) -> None:
    """Print what a figure is made of: a part of it as text, or all of it in a form."""
    if not (out or as_csv or as_json):
        click.echo(explanation_text(explanation))
    elif document := write_explanation(explanation, out, as_json=as_json):
        click.echo(document)


def _save(new: Statement, lake: Lakehouse, out: str | None, output: Output) -> Path:
    """Write a statement into its folder, unless a sealed one is there; return the folder."""
    folder = lake.path / STATEMENTS / new.period.folder
    if out is None and versions(folder):
        echo_note(
            f"{folder} is sealed and stays as it is: the figures printed here are computed again "
            "from the lake; statement-verify compares the two, --out DIR writes them",
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


def statement_report(new: Statement, folder: Path, *, as_json: bool, exact: bool = False) -> str:
    """Write a statement for people, or its manifest and summary as a JSON document."""
    if not as_json:
        return statement_text(new, folder, exact=exact)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    summary = tables.to_objects(new.tables["summary"])
    state = {"state": new.state.to_json()} if new.state else {}
    statuses = {each.name: each.to_json() for each in document.proof_statuses(new)}
    facts = manifest | state | ({"statuses": statuses} if statuses else {})
    return tables.to_json(facts | {"folder": str(folder), "summary": summary})


def statement_text(new: Statement, folder: Path, *, exact: bool = False) -> str:
    """Write a statement for people: one figure a line, one currency a column."""
    period = new.period
    name = single_line(str(new.merchant.get("display_name") or new.merchant["id"]))
    log = new.options.get("webhooks")
    as_of = format_instant(new.as_of)
    remarks = [
        *(f"{new.status} because {reason.text}" for reason in new.reasons),
        *([document.status_note(new)] if document.sealed_state(new) or not new.reasons else []),
        *document.proof_lines(new),
        *(unknown.text for unknown in new.unknown),
        *new.unread_sentences,
        *_readings(new),
        *describe_accepted(new.tables),
        *describe_balances(new.tables),
    ]
    head = [
        f"Statement {period.folder} of {name}",
        wrapped(in_words(f"{period.title}: {period.local_bounds}; data as of {as_of}")),
        f"status: {document.status_word(new)}",
        *(wrapped(in_words(single_line(text)), "  ") for text in remarks),
        *([wrapped(f"webhooks: {single_line(describe(log))}")] if log else []),
    ]
    findings = folded_table(new.tables[CHECKS], "Findings")
    shown = [_figures(new, exact=exact), *[table_text(findings)] * bool(findings.rows)]
    return "\n".join([*head, *(f"\n{part}" for part in shown), f"\nfiles: {folder}"])


def _readings(new: Statement) -> list[str]:
    """Warn of what was read only once: a list that moved may have passed over a record."""
    rows = new.tables["reading"].to_pylist()
    single = [STREAMS[row["stream"]].words for row in rows if row["reading"] == "single"]
    text = "were read only once: closing reads them again and compares"
    return [f"{' and '.join(single)} {text}"] if single else []


def _figures(new: Statement, *, exact: bool) -> str:
    if not new.tables["summary"].num_rows:
        return "no movement and no position in any currency"
    return table_text(replace(figures_table(new, exact=exact), caption=""))


def _refuse_options_of_one() -> None:
    """Refuse what the command that runs was given, and takes for one merchant only."""
    context = click.get_current_context()
    for option in context.command.params:
        is_given = context.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT
        if option.name in _OF_ONE and is_given:
            raise ConfigError(f"{option.opts[0]} is of one merchant: give --data-dir once")


def _state_together(
    data_dirs: Sequence[str],
    engine: shared_options.EngineSetting,
    name: str,
    at: PeriodOptions,
    out: str | None,
    *,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Print or write the figures of several merchants over one period."""
    if out and Path(out).suffix.lower() != ".html":
        tables.check_form(out)
    group = shared_options.open_together(data_dirs, engine).statement(name, **at)
    _write_together(group, out, as_csv=as_csv, as_json=as_json)
    exit_if_attention(group.needs_attention)


def _write_together(group: GroupStatement, out: str | None, *, as_csv: bool, as_json: bool) -> None:
    if out and Path(out).suffix.lower() == ".html":
        with tables.output_file(out) as temporary:
            temporary.write_text(group.to_html(), encoding="utf-8")
    elif out:
        tables.write_rows([group.table], group.table.schema, "figures", out, as_json)
    if as_json:
        click.echo(tables.to_json(_together_document(group)))
    elif as_csv:
        click.echo(tables.to_safe_csv(group.table), nl=False)
    elif not out:
        click.echo(str(group))
    if out:
        echo_note(f"written to {out}", "written", path=out)


def _together_document(group: GroupStatement) -> dict[str, Any]:
    merchants = [
        {
            "merchant_id": merchant,
            "status": each.status,
            "reasons": [reason.text for reason in each.reasons],
            "content_digest": each.content_digest(),
        }
        for merchant, each in group.statements.items()
    ]
    facts = {"label": group.period.folder, "status": group.status, "merchants": merchants}
    return facts | {"figures": tables.to_objects(group.table)}
