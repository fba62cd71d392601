"""`figures`: the glossary of the figures that a statement shows."""

import shutil
from collections.abc import Iterator
from textwrap import fill

import click
import pyarrow as pa

from svc_analytics.cli.options import check_one_form, json_option, verbose_option
from svc_analytics.formatting import tables
from svc_analytics.warehouse.figures import (
    Figure,
    definitions_table,
    describe,
    find_figures,
    grouped_figures,
)

_WIDEST = 96
_MARGIN = " " * 4


@click.command()
@click.argument("names", nargs=-1, metavar="[FIGURE]...")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
@verbose_option
def figures(names: tuple[str, ...], as_csv: bool, as_json: bool) -> None:
    """Say what each figure of a statement means, and how it is made.

    FIGURE is a name or a label; without one, all figures are listed. No lake is needed.

    \b
    svc-analytics figures "Sales after fees" usd_exposure
    """
    check_one_form(as_csv=as_csv, as_json=as_json)
    chosen = find_figures(names)
    if as_json or as_csv:
        table = _only(chosen) if names else definitions_table()
        listed = {"figures": tables.to_objects(table)}
        click.echo(tables.to_json(listed) + "\n" if as_json else tables.to_csv(table), nl=False)
        return
    texts = map(_figure_text, chosen) if names else _glossary()
    click.echo("\n\n".join(texts))


def _only(chosen: list[Figure]) -> pa.Table:
    rows = list(map(describe, chosen))
    return pa.Table.from_pylist(rows, schema=definitions_table().schema)


def _glossary() -> Iterator[str]:
    """Yield the texts of all figures, each group under its heading."""
    for group, members in grouped_figures().items():
        yield f"{group}\n{'-' * len(group)}"
        yield from map(_figure_text, members)


def _figure_text(figure: Figure) -> str:
    """Write one figure for people: what it means, how it is made, what it needs."""
    row = describe(figure)
    lines = [f"{row['label']} ({row['name']})", _wrapped(row["definition"])]
    facts = {"formula": row["formula"], "unit": row["unit"], "sign": row["sign"]}
    for name, text in (facts | {"needs": row["needs"]}).items():
        lines.append(_wrapped(text, f"{name:<9}"))
    return "\n".join(lines)


def _wrapped(text: str, lead: str = "") -> str:
    """Wrap a text to the terminal, behind a margin and its lead."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    first, rest = _MARGIN + lead, _MARGIN + " " * len(lead)
    return fill(text, max(width, 40), initial_indent=first, subsequent_indent=rest)
