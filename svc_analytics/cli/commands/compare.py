"""`compare`, `statement-diff`: two months of the lake, or two statements in folders."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import click

from svc_analytics.arguments import PeriodOptions
from svc_analytics.cli import shared_options
from svc_analytics.cli.console import echo_note, exit_if_attention
from svc_analytics.closing.stated import compare as compare_months
from svc_analytics.closing.statement_diff import StatementDiff, diff_statements
from svc_analytics.config import read_engine
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.tables import output_file, to_json, to_objects, to_safe_csv
from svc_analytics.formatting.texts import wrapped
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.language.catalogue import Language
from svc_analytics.render.compared.folder import check_forms
from svc_analytics.statements.change import THRESHOLD, Change, explain_comparison
from svc_analytics.statements.comparison import Comparison
from svc_analytics.warehouse.several_lakes import MERCHANT, beside

csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print CSV, every digit.")
_SEE = "--rows, --csv or --json give each record that differs; --out diff.html writes a page."
exact_option = click.option("--exact", is_flag=True, help="Show every digit.")


@click.command()
@click.argument("before", metavar="[BEFORE]", required=False)
@click.argument("period", metavar="[PERIOD]", required=False)
@shared_options.zone_options
@shared_options.names_option("--currency", "C,...", "Only these coins, with commas between.")
@shared_options.names_option("--only", "FIGURE,...", "Only these figures, with commas between.")
@exact_option
@csv_option
@click.option("--out", metavar="DIR", help="Write the comparison into this folder too.")
@shared_options.format_option(
    "Forms to write into --out: csv, html, json, xlsx; with commas between.", "html,xlsx,csv"
)
@shared_options.language_options
@click.option("--why", "is_why", is_flag=True, help="Show the parts that each change is made of.")
@shared_options.number_option(
    "--threshold", THRESHOLD, "With --why: a change of more per cent needs a sentence.", least=0
)
@shared_options.engine_options
@shared_options.several_lakes_options
def compare(
    *,
    before: str | None,
    period: str | None,
    currency: tuple[str, ...],
    only: tuple[str, ...],
    exact: bool,
    as_csv: bool,
    out: str | None,
    formats: tuple[str, ...],
    lang: str,
    digits: str,
    is_why: bool,
    threshold: int,
    engine: str | None,
    engine_data: tuple[str, ...],
    data_dir: tuple[str, ...],
    as_json: bool,
    **at: Unpack[PeriodOptions],
) -> None:
    """Compare two months, quarters or years, figure by figure and coin by coin.

    Without months, the last full month is compared with the one before it; with one
    month, that one with the month before it. So are quarters, such as 2026-Q3, and years,
    such as 2026; a year to date, 2026-10-ytd, is compared with the same months of the year
    before, and so is any period with "previous year" in the place of BEFORE. With --data-dir
    several times, each merchant is compared with itself.
    """
    shared_options.check_one_form(as_csv=as_csv, as_json=as_json)
    if not Language(lang, digits).is_english and not out:
        raise ConfigError("--lang is for --out: what a terminal shows is in English")
    check_forms(formats)
    if out and len(data_dir) > 1:
        raise ConfigError("--out holds the comparison of one merchant: give --data-dir once")
    opened = shared_options.open_each(data_dir, read_engine(engine, engine_data))
    coins, compared = currency or None, list[Comparison | Change]()
    for lake in opened:
        both = compare_months(
            lake, before, period, **at, only=only or None, coins=coins, exact=exact
        )
        compared.append(explain_comparison(both, coins, threshold) if is_why else both)
    _require_same_months(compared)
    if out:
        folder = compared[0].save(out, formats, lang=lang, digits=digits)
        echo_note(f"written to {folder}", "written", path=folder)
    if as_json:
        click.echo(to_json(_compared(opened, compared)))
    elif as_csv:
        click.echo(to_safe_csv(beside(opened, [each.table for each in compared])), nl=False)
    else:
        click.echo("\n\n".join(map(str, compared)))
    exit_if_attention(any(each.needs_attention for each in compared))


def _require_same_months(comparisons: Sequence[Comparison | Change]) -> None:
    """Refuse to show other months of one merchant than of another, if none was named."""
    months = {each.new.period.folder for each in comparisons}
    if len(months) > 1:
        named = ", ".join(sorted(months))
        raise ConfigError(f"the last full months of these lakes differ ({named}): name a month")


def _compared(
    lakes: Sequence[Lakehouse], comparisons: Sequence[Comparison | Change]
) -> dict[str, Any]:
    """Return the JSON document of one comparison, or of one for each merchant."""
    if len(comparisons) == 1:
        return comparisons[0].to_json()
    named = zip((lake.merchant_id for lake in lakes), comparisons, strict=True)
    return {"merchants": [{MERCHANT: name} | each.to_json() for name, each in named]}


@click.command("statement-diff")
@click.argument("old", metavar="DIR")
@click.argument("new", metavar="DIR")
@click.option("--rows", "has_rows", is_flag=True, help="Show the changed rows of each table too.")
@click.option("--out", metavar="FILE", help="Write an HTML page instead, with the rows to open.")
@exact_option
@csv_option
@shared_options.shared_options
def statement_diff(
    *,
    old: str,
    new: str,
    has_rows: bool,
    out: str | None,
    exact: bool,
    as_csv: bool,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Compare two statements: two versions of a month, or two months.

    Of two versions it shows the figures that differ, with the cause of each, and how
    many rows of each table changed. Of two months it shows every figure of every coin,
    with the difference and the percentage. Names files that were altered.
    """
    shared_options.check_one_form(as_csv=as_csv, as_json=as_json)
    diff = diff_statements(old, new)
    if out:
        _write_page(diff, out, has_rows or diff.is_of_versions, exact)
    if as_json:
        click.echo(to_json(_document(diff)))
    elif as_csv:
        rows = diff.table if has_rows or diff.is_of_versions else diff.comparison
        click.echo(to_safe_csv(rows), nl=False)
    elif not out:
        click.echo(_diff_text(diff, has_rows, exact))
    for text in diff.altered:
        echo_note(f"altered: {text}", "altered", "warning", reason=text)
    exit_if_attention(diff.altered)


def _document(diff: StatementDiff) -> dict[str, Any]:
    return {
        "old": diff.old,
        "new": diff.new,
        "differences": diff.table.to_pylist(),
        "altered": list(diff.altered),
        "figures": to_objects(diff.comparison),
        "changed_rows": diff.counts,
    }


def _diff_text(diff: StatementDiff, has_rows: bool, exact: bool) -> str:
    """Show the figures, and what else differs or how to see it; notes name altered files."""
    diff = replace(diff, altered=())
    if has_rows:
        return repr(diff.display(has_rows=True, is_open=True, exact=exact))
    shown = diff.display(exact=exact)
    text = repr(shown)
    if diff.is_of_versions:
        others = "; ".join(str(table.title) for table in shown.folded)
        return (
            "\n".join([text, *map(wrapped, filter(None, [others])), _SEE]) if diff.counts else text
        )
    return f"{text}\nTwo months have no record in common. {_SEE}"


def _write_page(diff: StatementDiff, out: str, has_rows: bool, exact: bool) -> None:
    if Path(out).suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--out {out}: a page is written, so its name must end in .html")
    with output_file(out) as temporary:
        temporary.write_text(diff.to_html(has_rows=has_rows, exact=exact), encoding="utf-8")
    echo_note(f"written to {out}", "written", path=out)
