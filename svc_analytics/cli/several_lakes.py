"""Commands over several lakes: each merchant beside the others; of a statement, their sums too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
from click.core import ParameterSource

from svc_analytics.arguments import PeriodOptions
from svc_analytics.cli import options
from svc_analytics.cli.console import echo_note
from svc_analytics.errors import EXIT_ATTENTION, ConfigError
from svc_analytics.formatting.tables import (
    check_form,
    output_file,
    to_json,
    to_objects,
    to_safe_csv,
    write_rows,
)
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.lakes.lakes import GroupStatement, Lakes, open_lakes
from svc_analytics.lakes.views import MERCHANT

# Options that a statement of one merchant takes, and one of several does not.
_OF_ONE = {
    *("figure", "currency", "webhooks", "metadata", "formats", "lang", "digits"),
    *("currency_in", "rates"),
}


def refuse_options_of_one() -> None:
    """Refuse what the command that runs was given, and takes for one merchant only."""
    context = click.get_current_context()
    for option in context.command.params:
        is_given = context.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT
        if option.name in _OF_ONE and is_given:
            raise ConfigError(f"{option.opts[0]} is of one merchant: give --data-dir once")


def open_together(lakes: options.LakeOptions) -> Lakes:
    """Open the lakes of several merchants."""
    address, places = lakes.engine
    return open_lakes(lakes.data_dir, engine=address, engine_data=(address and places) or None)


def open_each(lakes: options.LakeOptions) -> tuple[Lakehouse, ...]:
    """Open the one lake of the settings, or the lake of each merchant."""
    if lakes.are_several:
        return open_together(lakes).lakes
    return (open_one(lakes),)


def open_one(lakes: options.LakeOptions) -> Lakehouse:
    """Open the one lake of the settings."""
    return options.open_lake(next(iter(lakes.data_dir), None), lakes.engine)


def beside(lakes: Sequence[Lakehouse], tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of each lake's table, the merchant first where there are several."""
    if len(lakes) == 1:
        return tables[0]
    named = zip((lake.merchant_id for lake in lakes), tables, strict=True)
    parts = [rows.add_column(0, MERCHANT, pa.repeat(name, len(rows))) for name, rows in named]
    return pa.concat_tables(rows.replace_schema_metadata() for rows in parts)


def state_together(
    name: str,
    at: PeriodOptions,
    lakes: options.LakeOptions,
    out: str | None,
    printed: options.Printed,
) -> None:
    """Print or write the figures of several merchants over one period."""
    if out and Path(out).suffix.lower() != ".html":
        check_form(out)
    group = open_together(lakes).statement(name, **at)
    _write(group, out, as_csv=printed.as_csv, as_json=printed.as_json)
    if group.needs_attention:
        raise SystemExit(EXIT_ATTENTION)


def _write(group: GroupStatement, out: str | None, *, as_csv: bool, as_json: bool) -> None:
    if out and Path(out).suffix.lower() == ".html":
        with output_file(out) as temporary:
            temporary.write_text(group.to_html(), encoding="utf-8")
    elif out:
        write_rows([group.table], group.table.schema, "figures", out, as_json)
    if as_json:
        click.echo(to_json(_document(group)))
    elif as_csv:
        click.echo(to_safe_csv(group.table), nl=False)
    elif not out:
        click.echo(str(group))
    if out:
        echo_note(f"written to {out}", "written", path=out)


def _document(group: GroupStatement) -> dict[str, Any]:
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
    return facts | {"figures": to_objects(group.table)}
