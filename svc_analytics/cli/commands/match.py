"""`match`: a month beside a list of theirs."""

from pathlib import Path
from typing import Unpack

import click

from svc_analytics.arguments import PeriodOptions
from svc_analytics.books.presets import PRESETS
from svc_analytics.cli import shared_options
from svc_analytics.cli.console import echo_note, exit_if_attention
from svc_analytics.closing.verification.matches import DOCUMENT
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.tables import to_json, to_safe_csv
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.matching.headings import FILE, KINDS, starter
from svc_analytics.matching.list_file import read_list
from svc_analytics.matching.match import Match, match as match_list
from svc_analytics.matching.matcher import WINDOW


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("file", metavar="FILE")
@shared_options.month_option
@click.option(
    "--within",
    metavar="AMOUNT",
    default="0",
    show_default=True,
    help="Take amounts that differ by so much for equal; they have a line of their own.",
)
@shared_options.number_option(
    "--window",
    WINDOW,
    "How many days two sides may lie apart that only coin and amount match.",
    least=0,
)
@click.option("--preset", type=click.Choice(list(PRESETS)), help="The ledger, with books.")
@click.option(
    "--init",
    "is_init",
    is_flag=True,
    help="Write match.toml, commented, from the headings of FILE: which column is what.",
)
@click.option(
    "--known",
    metavar="KEY",
    help="Write a --reason beside the open row of this key: from then on it is known.",
)
@click.option("--reason", help="Why the row of --known is as it is.")
@click.option("--by", help="Who says so.  [default: your account]")
@click.option("--csv", "as_csv", is_flag=True, help="Print each row as CSV.")
@click.option(
    "--save",
    "is_saved",
    is_flag=True,
    help="Save the match beside the lake, as evidence: package takes it along.",
)
@click.option("--out", metavar="DIR", help="Write the match into this folder too, as evidence.")
@shared_options.format_option(
    "Forms to write with --save and --out: csv, parquet; with commas between.", "csv"
)
@shared_options.zone_options
@shared_options.shared_options
def match(
    *,
    kind: str,
    file: str,
    month: str | None,
    within: str,
    window: int,
    preset: str | None,
    is_init: bool,
    known: str | None,
    reason: str | None,
    by: str | None,
    as_csv: bool,
    is_saved: bool,
    out: str | None,
    formats: tuple[str, ...],
    data_dir: str | None,
    as_json: bool,
    **at: Unpack[PeriodOptions],
) -> None:
    """Match a month with another list, such as orders: does it agree?

    KIND is orders (of a shop), payouts (what arrived, by an exchange or a bank) or books (a
    ledger's own export); FILE is CSV, XLSX or Parquet. What agrees is counted, and what
    differs has a line for each way in which it does; nothing is left over.
    """
    shared_options.check_one_form(as_csv=as_csv, as_json=as_json)
    if (reason or by) and not known:
        raise ConfigError("--reason and --by are of a row: name it by --known KEY")
    lake = shared_options.open_lake(data_dir)
    if is_init:
        path = _begin(lake, kind, file)
        click.echo(to_json({"match": path}) if as_json else f"{path} is written: edit [{kind}]")
        return
    if month is None:
        raise ConfigError(f"no month given: svc-analytics match {kind} {file} --month 2026-10")
    how = {"within": within, "window": window, "preset": preset}
    both = match_list(lake, kind, file, month=month, **how, **at)  # type: ignore[arg-type]
    if known:
        both.know(known, reason or "", shared_options.account_name() if by is None else by)
        both = match_list(lake, kind, file, month=month, **how, **at)  # type: ignore[arg-type]
    for place in (*[both.place] * is_saved, *map(Path, filter(None, [out]))):
        _save(both, place, formats)
    click.echo(_shown(both, as_csv=as_csv, as_json=as_json), nl=not as_csv)
    # A month that was not read whole is no agreement.
    exit_if_attention(both.open_count or both.notes)


def _shown(both: Match, *, as_csv: bool, as_json: bool) -> str:
    return to_safe_csv(both.table) if as_csv else to_json(both.to_json()) if as_json else str(both)


def _begin(lake: Lakehouse, kind: str, file: str) -> str:
    """Write `match.toml` from the headings of a list, or add the section that it lacks."""
    path = lake.path / FILE
    old = path.read_text("utf-8") if path.exists() else ""
    if f"[{kind}]" in old:
        raise ConfigError(f"{path} has [{kind}] already: it stays as it is")
    text = starter(kind, read_list(file).headings)
    with lake.storage.write(path) as temporary:
        temporary.write_text("\n".join(filter(None, [old, text])), encoding="utf-8", newline="\n")
    return str(path)


def _save(both: Match, place: Path, formats: tuple[str, ...]) -> None:
    """Write a match; where one of the month is there already, tell what was settled since."""
    if (place / DOCUMENT).exists():
        since = both.since(place)
        count = f"{len(since['settled'])} settled, {len(since['new'])} new"
        line = f"since the match in {place}: {count}"
        echo_note(line, "settled", settled=since["settled"], new=since["new"])
    both.save(None if place == both.place else place, formats)
    echo_note(f"written to {place}", "written", path=str(place))
