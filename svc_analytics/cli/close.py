"""`close`, `statement-verify` and `statement-diff`: sealing months and holding seals to account."""

from __future__ import annotations

from functools import partial
from typing import Any

import click
import pyarrow as pa

from svc_analytics.cli.console import EXIT_ATTENTION
from svc_analytics.cli.options import (
    calendar_option,
    choose_month,
    metadata_option,
    patience_option,
    shared_options,
    split_names,
)
from svc_analytics.closing import close as close_module
from svc_analytics.closing.close import CloseResult
from svc_analytics.closing.verify import (
    SealVerification,
    StatementDiff,
    diff_statements,
    verify_statement,
)
from svc_analytics.config import read_settings
from svc_analytics.errors import ConfigError
from svc_analytics.extraction import progress, update
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.tables import to_json, to_text
from svc_analytics.lakehouse import Lakehouse

SHOWN_ROWS = 40


@click.command()
@click.option("--month", metavar="MONTH", help="The month: 2026-10, or october for the latest one.")
@click.option("--last-month", "choice", flag_value="last", help="The last month that is over.")
@click.option("--all-due", is_flag=True, help="Close every month that is over, oldest first.")
@click.option("--zone", default="UTC", show_default=True, help="An IANA zone, such as Asia/Tehran.")
@calendar_option
@click.option(
    "--format",
    "formats",
    default="csv,parquet",
    show_default=True,
    help="The forms to write, with commas between; csv or parquet must be one of them.",
)
@click.option(
    "--out", metavar="DIR", help="The statement's folder.  [default: in statements/ of the lake]"
)
@click.option(
    "--grace-hours",
    default=24,
    show_default=True,
    type=click.IntRange(0),
    help="Wait this long after the end of a month, for late records.",
)
@metadata_option
@patience_option
@shared_options
def close(all_due: bool, patience: int | None, as_json: bool, **options: Any) -> None:
    """Read a month twice, write its statement and seal it.

    Reads the month until two readings agree, at most three times. Run it from a timer, as
    often as you like: a sealed month stays as it is. If the service later gives other
    figures, a restatement is written next to it.
    """
    is_one = options["month"] is not None or options["choice"] is not None
    if all_due == is_one or (all_due and options["out"]):
        raise ConfigError(
            "give exactly one of --month 2026-10, --last-month and --all-due; "
            "--all-due takes no --out"
        )
    settings = read_settings(options.pop("data_dir"), patience=patience)
    settings.require_service()
    lake = Lakehouse(settings.data_dir)
    tell = _ignore if as_json else _tell
    with progress.page_bar() as bar:
        read = partial(update.extract, lake, settings, on_page=bar.show)
        found = _close(lake, settings, read, tell, all_due=all_due, **options)
    if as_json:
        click.echo(_closed_json(found))
    elif not found:
        click.echo("no month is due")
    if any(closed.needs_attention for closed in found):
        raise SystemExit(EXIT_ATTENTION)


@click.command("statement-verify")
@click.argument("folder", metavar="DIR")
@shared_options
def statement_verify(folder: str, data_dir: str | None, as_json: bool) -> None:
    """Check a sealed statement against its seal and the lake.

    Checks every file against the seal, the seals of the months and versions before, and
    every figure against the lake; prints each difference.
    """
    found = verify_statement(folder, None if data_dir is None else Lakehouse(data_dir))
    click.echo(_verified_json(found) if as_json else _verified_text(found))
    if not found.holds:
        raise SystemExit(EXIT_ATTENTION)


@click.command("statement-diff")
@click.argument("old", metavar="DIR")
@click.argument("new", metavar="DIR")
@shared_options
def statement_diff(old: str, new: str, data_dir: str | None, as_json: bool) -> None:
    """Compare two statements, figure by figure, row by row.

    Names the cause of each difference.
    """
    found = diff_statements(old, new)
    click.echo(_diff_json(found) if as_json else _diff_text(found))


def _close(
    lake: Any, settings: Any, read: Any, tell: Any, *, all_due: bool, **options: Any
) -> list[CloseResult]:
    common = {
        "zone": options["zone"],
        "calendar": options["calendar"],
        "formats": split_names(options["formats"]),
        "metadata": split_names(options["metadata"]),
        "grace_hours": options["grace_hours"],
        "settings": settings,
        "read": lambda request: read(request=request),
    }
    if all_due:
        return close_module.close_all_due(lake, on_closed=tell, **common)
    month = choose_month(options["month"], options["choice"], options["zone"], options["calendar"])
    closed = close_module.close(lake, month, out=options["out"], **common)
    tell(closed)
    return [closed]


def _tell(closed: CloseResult) -> None:
    """Print whether a month was sealed, restated or left provisional, and why."""
    said = {
        "sealed": f"sealed as {closed.seal}",
        "unchanged": f"was sealed before and is unchanged, as {closed.seal}",
        "restated": f"restated as version {closed.version}, sealed as {closed.seal}",
        "provisional": "is provisional and not sealed",
    }[closed.state]
    lines = [f"{closed.label} {said}: {closed.folder}"]
    lines += [f"  because {single_line(reason.text)}" for reason in closed.reasons]
    lines += [f"  note: {closed.note}"] if closed.note else []
    if closed.table is not None:
        lines += ["", _restatement_text(closed.table)]
    click.echo("\n".join(lines))


def _ignore(closed: CloseResult) -> None:
    """Print nothing: a JSON document follows."""


def _closed_json(found: list[CloseResult]) -> str:
    months = [
        {
            "label": closed.label,
            "state": closed.state,
            "version": closed.version,
            "seal": closed.seal,
            "folder": str(closed.folder),
            "reasons": [reason.text for reason in closed.reasons],
            "note": closed.note,
            "restatement": _objects(closed.table),
        }
        for closed in found
    ]
    return to_json({"months": months})


def _verified_text(found: SealVerification) -> str:
    if found.holds:
        return f"{found.folder} holds: the files and the lake agree with seal {found.seal}"
    lines = [f"{found.folder} does not hold", *(f"  {text}" for text in found.broken)]
    lines += [
        f"  today it would not be final: {single_line(reason.text)}" for reason in found.reasons
    ]
    if found.table.num_rows:
        lines += [
            "  the lake now gives other figures or records:",
            "",
            _restatement_text(found.table),
        ]
    return "\n".join(lines)


def _verified_json(found: SealVerification) -> str:
    document = {
        "folder": str(found.folder),
        "seal": found.seal,
        "holds": found.holds,
        "broken": list(found.broken),
        "reasons": [reason.text for reason in found.reasons],
        "restatement": _objects(found.table),
    }
    return to_json(document)


def _diff_text(found: StatementDiff) -> str:
    head = [f"{sign} {_title(one)}" for sign, one in (("-", found.old), ("+", found.new))]
    body = _restatement_text(found.table) if found.table.num_rows else "no difference"
    return "\n".join([*head, "", body])


def _title(manifest: dict[str, Any]) -> str:
    seal = manifest.get("seal") or "not sealed"
    return f"{manifest['label']} version {manifest['version']}, {manifest['status']}, {seal}"


def _diff_json(found: StatementDiff) -> str:
    document = {"old": found.old, "new": found.new, "differences": _objects(found.table)}
    return to_json(document)


def _restatement_text(table: pa.Table) -> str:
    columns = [name for name in table.column_names if name != "subject"]
    text = to_text(table.slice(0, SHOWN_ROWS).select(columns))
    left = table.num_rows - SHOWN_ROWS
    return text if left <= 0 else f"{text}\n... and {left} more: see --json"


def _objects(table: pa.Table | None) -> list[dict[str, Any]]:
    return [] if table is None else table.to_pylist()
