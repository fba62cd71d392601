"""Commands over several lakes: each merchant beside the others; of a statement, their sums too."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from svc_analytics.cli import options
from svc_analytics.cli.console import EXIT_ATTENTION, echo_note
from svc_analytics.cli.options import HERE, EngineSetting
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.row_files import check_form, output_file, write_rows
from svc_analytics.formatting.tables import to_json, to_objects, to_safe_csv
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.lakes.lakes import Lakes, open_lakes
from svc_analytics.lakes.statement import GroupStatement
from svc_analytics.lakes.views import MERCHANT

# What a statement of one merchant takes, and one of several does not; as it is when not given.
_OF_ONE = {
    "figure": ("--explain", None),
    "currency": ("--currency", None),
    "webhooks": ("--webhooks", None),
    "metadata": ("--metadata", None),
    "formats": ("--format", "csv,parquet"),
}


def with_several_lakes(command: Callable[..., None]) -> Callable[..., None]:
    """Give `statement` --data-dir more than once; with one it is run as it is."""

    @wraps(command)
    def run(data_dir: tuple[str, ...], **given: Any) -> None:
        if len(data_dir) > 1:
            state_together(data_dir, given)
        else:
            command(data_dir=next(iter(data_dir), None), **given)

    return options.several_lakes_options(run)


def open_together(data_dirs: tuple[str, ...], engine: EngineSetting = HERE) -> Lakes:
    """Open the lakes of several merchants; `engine` is what a command with its options gets."""
    address, places = engine
    return open_lakes(data_dirs, engine=address, engine_data=(address and places) or None)


def open_each(data_dirs: tuple[str, ...], engine: EngineSetting = HERE) -> tuple[Lakehouse, ...]:
    """Open the one lake of the settings, or the lake of each merchant."""
    if len(data_dirs) > 1:
        return open_together(data_dirs, engine).lakes
    return (options.open_lake(next(iter(data_dirs), None), engine),)


def beside(lakes: Sequence[Lakehouse], tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of each lake's table, the merchant first where there are several."""
    if len(lakes) == 1:
        return tables[0]
    named = zip((lake.merchant_id for lake in lakes), tables, strict=True)
    found = [rows.add_column(0, MERCHANT, pa.repeat(name, len(rows))) for name, rows in named]
    return pa.concat_tables(rows.replace_schema_metadata() for rows in found)


def state_together(data_dirs: tuple[str, ...], given: dict[str, Any]) -> None:
    """Print or write the figures of several merchants over one period."""
    for name, (option, default) in _OF_ONE.items():
        if given[name] != default:
            raise ConfigError(f"{option} is of one merchant: give --data-dir once")
    if not given["language"].is_english:
        raise ConfigError("--lang is of one merchant: give --data-dir once")
    out = given["out"]
    if out and Path(out).suffix.lower() != ".html":
        check_form(out)
    lakes = open_together(data_dirs, given["engine"])
    made = lakes.statement(given["name"], zone=given["zone"], calendar=given["calendar"])
    _write(made, out, as_csv=given["as_csv"], as_json=given["as_json"])
    if made.needs_attention:
        raise SystemExit(EXIT_ATTENTION)


def _write(made: GroupStatement, out: str | None, *, as_csv: bool, as_json: bool) -> None:
    if out and Path(out).suffix.lower() == ".html":
        with output_file(out) as temporary:
            temporary.write_text(made.to_html(), encoding="utf-8")
    elif out:
        write_rows([made.table], made.table.schema, "figures", out, as_json)
    if as_json:
        click.echo(to_json(_document(made)))
    elif as_csv:
        click.echo(to_safe_csv(made.table), nl=False)
    elif not out:
        click.echo(str(made))
    if out:
        echo_note(f"written to {out}")


def _document(made: GroupStatement) -> dict[str, Any]:
    merchants = [
        {
            "merchant_id": merchant,
            "status": each.status,
            "reasons": [reason.text for reason in each.reasons],
            "content_digest": each.content_digest(),
        }
        for merchant, each in made.statements.items()
    ]
    facts = {"label": made.period.folder, "status": made.status, "merchants": merchants}
    return facts | {"figures": to_objects(made.table)}
