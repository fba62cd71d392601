"""`sql`, `views`: queries on a lake, and the file by which other tools query it."""

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click
import pyarrow as pa

from svc_analytics.cli import shared_options
from svc_analytics.cli.console import echo_note, table_text
from svc_analytics.config import read_engine
from svc_analytics.errors import ConfigError, QueryError, needs_extra
from svc_analytics.formatting import tables
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.warehouse.images import write_views
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import count, describe_views

_DBT_HEAD = """\
# Written by svc-analytics views --dbt. DuckDB's profile names analytics.duckdb or a bundle.
version: 2
sources:
  - name: svc_analytics
    description: Records of the Merchant Payments API, and what follows from them.
    schema: main
    tables:
"""


@click.command()
@click.argument("query", required=False)
@click.option("--csv", "form", flag_value="csv", help="Print CSV.")
@click.option(
    "--table", "form", flag_value="table", default="table", help="Print a table (default)."
)
@click.option(
    "--print",
    "is_printed",
    is_flag=True,
    help="Print what --engine would be asked, and run nothing; no server is needed.",
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="Print it in the SQL of databricks, spark or trino.  [default: spark]",
)
@shared_options.engine_options
@shared_options.wide_option
@shared_options.several_lakes_options
def sql(
    *,
    query: str | None,
    form: str,
    is_printed: bool,
    dialect: str | None,
    engine: str | None,
    engine_data: tuple[str, ...],
    is_wide: bool,
    data_dir: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run one read-only query on the views.

    Without QUERY, the query is read from stdin. With --data-dir several times, each view
    is that of all these lakes, with the column merchant_id first.

    \b
    svc-analytics sql "select month, currency, net_settlement from net_settlement_monthly"
    """
    shared_options.check_one_form(as_csv=form == "csv", as_json=as_json)
    text = query if query is not None else sys.stdin.read()
    if not text.strip():
        raise ConfigError('no query: give one, such as svc-analytics sql "from coverage"')
    if dialect and not is_printed:
        raise ConfigError("--dialect says how to print a query: give it with --print")
    lakes = shared_options.open_each(data_dir, read_engine(engine, engine_data))
    if is_printed:
        with needs_extra("spark"):
            from svc_analytics.engines.connect import rehearse
        click.echo(rehearse(lakes, text, dialect or "spark"), nl=False)
        return
    if len(lakes) > 1:
        from svc_analytics.lakes import query_lakes  # loads what states and closes months

        answer = query_lakes(lakes, text)
    else:
        names = models_used_by(text)
        answer = count(lakes[0], names, lambda views: views.query_readonly(text))
    _print_answer(answer, form, is_wide=is_wide, as_json=as_json)


def _print_answer(answer: pa.Table, form: str, *, is_wide: bool, as_json: bool) -> None:
    if as_json:
        _require_single_names(answer.column_names)
        click.echo(tables.to_json(tables.to_objects(answer)))
    elif form == "csv":
        click.echo(tables.to_csv(answer), nl=False)
    else:
        click.echo(table_text(answer, is_wide=is_wide))


def _require_single_names(names: list[str]) -> None:
    """Refuse an answer that as objects would lose a column."""
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        message = f"two columns are named {doubled!r:.60}, and an object of JSON can hold one"
        raise QueryError(f"{message}: give one another name with AS")


@click.command()
@click.option("--dbt", "is_dbt", is_flag=True, help="Print the views as a source file of dbt.")
@shared_options.wide_option
@shared_options.several_lakes_options
def views(*, is_dbt: bool, is_wide: bool, data_dir: tuple[str, ...], as_json: bool) -> None:
    """Write analytics.duckdb and list its views.

    Other tools query the lake through this file; with --data-dir several times, each lake
    gets its own. --json lists the columns too, each with its name, its type and its meaning.
    """
    if is_dbt and as_json:
        raise ConfigError("--dbt prints YAML: leave out --json")
    lakes = shared_options.open_each(data_dir)
    paths = [_written(lake) for lake in lakes]
    described = describe_views(lakes[0])  # they are the same of every lake
    if as_json:
        places = {"path": paths[0]} if len(paths) == 1 else {"paths": paths}
        click.echo(tables.to_json(places | {"views": described}))
        return
    rows = [{"view": row["view"], "grain": row["grain"]} for row in described]
    if is_dbt:
        click.echo(dbt_sources(described), nl=False)
    else:
        click.echo(table_text(pa.Table.from_pylist(rows), is_wide=is_wide))
    for path in paths:
        echo_note(f"other tools find these views in {path}", "written", path=path)


def _written(lake: Lakehouse) -> str:
    """Write the views of a lake for other tools; return where they are."""
    with lake.snapshot():  # other tools check no checksums, so it is done here
        return str(write_views(lake))


def dbt_sources(views: Iterable[dict[str, Any]]) -> str:
    """Return the YAML that names each view, as `describe_views` gives them; a macro is no table."""
    tables = (view for view in views if "(" not in view["view"])
    return _DBT_HEAD + "".join(line for view in tables for line in _dbt_table(view))


def _dbt_table(view: dict[str, Any]) -> Iterator[str]:
    meaning = _quoted(f"{view['meaning']} Grain: {view['grain']}.")
    yield f"      - name: {view['view']}\n"
    yield f"        description: {meaning}\n"
    yield "        columns:\n"
    for column in view["columns"]:
        yield f"          - name: {column['name']}\n"
        yield f"            description: {_quoted(column['comment'])}\n"
        if column["type"]:
            yield f"            data_type: {column['type']}\n"


def _quoted(text: str) -> str:
    """Write a text in quotes: what JSON quotes, YAML reads. Jinja reads braces in it, as dbt does.

    >>> _quoted('say "no": {{ x }}')
    '"say \\\\"no\\\\": { { x } }"'
    """
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted.replace("{{", "{ {").replace("}}", "} }")
