"""`figures`, and `statement --explain`: what a figure means, and what it is made of.

Of the second: its value, its SQL, and the records behind it.
"""

import shutil
from collections.abc import Iterator
from textwrap import fill

import click
import pyarrow as pa

from svc_analytics.cli.console import table_text
from svc_analytics.cli.shared_options import check_one_form, json_option, verbose_option
from svc_analytics.errors import ConfigError
from svc_analytics.formatting import tables
from svc_analytics.formatting.cells import USD
from svc_analytics.formatting.texts import counted, escape_invisible, single_line
from svc_analytics.formatting.values import display_text, value_text
from svc_analytics.statements import explain
from svc_analytics.warehouse.figures import (
    Figure,
    definitions_table,
    describe,
    find_figures,
    grouped_figures,
    in_sentence,
    label_of,
)

_WIDEST = 96
_MARGIN = " " * 4
MOST_ROWS = 20  # the same in a pipe as on a terminal: only a form that is asked for has all
_NAMED = 5  # of the columns that are not shown
_WIDTH = 100  # where there is no terminal
# What tells most of a record, in order; then the others.
_FIRST = (
    *(*explain.MOMENTS, "kind", explain.CONTRIBUTION, explain.NUMERATOR, explain.DENOMINATOR),
    *("order_reference", "receipt_no", "customer", "verdict", "record_id"),
)
_LAST = ("entry_id", "session_id", "month", "currency", "metadata", "receipt", "extra")


@click.command()
@click.argument("names", nargs=-1, metavar="[FIGURE]...")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
@verbose_option
def figures(*, names: tuple[str, ...], as_csv: bool, as_json: bool) -> None:
    """Say what each figure of a statement means, and how it is made.

    FIGURE is a name or a label; without one, all figures are listed. No lake is needed.

    \b
    svc-analytics figures "Sales after fees" usd_exposure
    """
    check_one_form(as_csv=as_csv, as_json=as_json)
    chosen = find_figures(names)
    if as_json or as_csv:
        table = definitions_table()
        if names:
            table = pa.Table.from_pylist([*map(describe, chosen)], schema=table.schema)
        listed = {"figures": tables.to_objects(table)}
        click.echo(tables.to_json(listed) + "\n" if as_json else tables.to_csv(table), nl=False)
        return
    texts = map(_figure_text, chosen) if names else _glossary()
    click.echo("\n\n".join(texts))


def _glossary() -> Iterator[str]:
    """Yield the texts of all figures, each group under its heading."""
    for group, members in grouped_figures().items():
        yield f"{group}\n{'-' * len(group)}"
        yield from map(_figure_text, members)


def _figure_text(figure: Figure) -> str:
    """Write one figure for people: what it means, how it is made, what it needs."""
    row = describe(figure)
    facts = [_wrapped(row[name], f"{name:<9}") for name in ("formula", "unit", "sign", "needs")]
    return "\n".join([f"{row['label']} ({row['name']})", _wrapped(row["definition"]), *facts])


def _wrapped(text: str, lead: str = "") -> str:
    """Wrap a text to the terminal, behind a margin and its lead."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    first, rest = _MARGIN + lead, _MARGIN + " " * len(lead)
    return fill(text, max(width, 40), initial_indent=first, subsequent_indent=rest)


def explanation_text(explanation: explain.Explanation) -> str:
    """Show what a figure is made of: its value, its first records, and its SQL."""
    name = f"{label_of(explanation.figure)} ({explanation.figure}) of {explanation.currency}"
    value = explanation.value
    shown = explanation.why_none if value is None else display_text(value)
    sql = escape_invisible(explanation.sql)
    title = single_line(f"{name}, {explanation.period.folder}: {shown}")
    meaning = fill(explanation.meaning, _WIDTH)
    parts = [title, meaning, _parts_text(explanation), _records_text(explanation), sql]
    return "\n\n".join(filter(None, parts))


def _parts_text(explanation: explain.Explanation) -> str:
    """Name the figures that a figure is made of, each with its value."""
    made_of = explanation.made_of.items()
    parts = [f"{in_sentence(name)} {display_text(value)}" for name, value in made_of]
    return single_line(f"made of: {'; '.join(parts)}") if parts else ""


def write_explanation(
    explanation: explain.Explanation, out: str | None, *, as_json: bool
) -> str | None:
    """Write all records as CSV to stdout, or to a file; return the JSON document if wanted."""
    table = explanation.table
    rows = tables.write_rows([table], table.schema, "rows", out, as_json)
    if not as_json:
        return None
    value = None if explanation.value is None else value_text(explanation.value)
    document = {
        "figure": explanation.figure,
        "label": label_of(explanation.figure),
        "meaning": explanation.meaning,
        "currency": explanation.currency,
        "period": explanation.period.folder,
        "value": value,
        "sql": explanation.sql,
    }
    return tables.to_json(document | rows)


def check_choice(figure: str | None, currency: str | None, *, as_csv: bool) -> None:
    """Refuse options that only make sense together."""
    if figure and (currency or USD).upper() == USD:
        text = "--explain is of one coin: give --currency btc, or another coin, with it"
        raise ConfigError(f"{text}; the USD of all coins is the sum of what explains each coin")
    if (currency or as_csv) and not figure:
        raise ConfigError("give --explain FIGURE and --currency C together")


def _records_text(explanation: explain.Explanation) -> str:
    """Show the first records, as many of their columns as fit, and say what is not shown."""
    records, total = explanation.table, len(explanation.table)
    if not total:
        return "0 records"
    order = _columns_first(records)
    text, count = _fitting(records.slice(0, MOST_ROWS).select(order))
    sums = ", ".join(f"{n} {display_text(total)}" for n, total in explanation.totals.items())
    lines = [text, "", *[f"total of all records: {sums}" for _ in sums[:1]]]
    if hidden := order[count:]:
        more = ", …" if len(hidden) > _NAMED else ""
        named = ", ".join(hidden[:_NAMED])
        lines.append(f"{counted(len(hidden), 'column')} not shown: {named}{more}")
    if total > MOST_ROWS:
        lines.append(f"the first {MOST_ROWS} of {total:,} records")
    else:
        lines.append(counted(total, "record"))
    if hidden or total > MOST_ROWS:
        lines.append("everything: add --csv, --json, or --out FILE (.csv, .parquet or .json)")
    return "\n".join(lines)


def _columns_first(records: pa.Table) -> list[str]:
    """Return the columns in the order in which a person wants them."""
    names = records.column_names
    rest = [name for name in names if name not in _LAST]
    return list(dict.fromkeys([*(name for name in _FIRST if name in names), *rest, *names]))


def _fitting(rows: pa.Table) -> tuple[str, int]:
    """Return as many of the first columns as fit, as text, and how many these are."""
    width = shutil.get_terminal_size((_WIDTH, 24)).columns
    for count in range(rows.num_columns, 1, -1):
        text = table_text(rows.select(range(count)), is_wide=False)
        if max(map(len, text.splitlines())) <= width:
            return text, count
    return table_text(rows.select(range(1)), is_wide=False), 1
