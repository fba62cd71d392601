"""`close`: read months twice, write their statements and seal them."""

from collections.abc import Sequence
from typing import Any, Unpack

import click
import pyarrow as pa

from svc_analytics.arguments import PeriodOptions
from svc_analytics.cli import shared_options
from svc_analytics.cli.console import echo_note, echo_progress, exit_if_attention
from svc_analytics.cli.runs import dry_run, plan_months, watched
from svc_analytics.closing import close as closing, due
from svc_analytics.closing.adjacent_periods import require_sealable
from svc_analytics.closing.job import JobOptions
from svc_analytics.closing.result import CloseResult
from svc_analytics.config import Settings, read_settings
from svc_analytics.environment import here
from svc_analytics.errors import ConfigError
from svc_analytics.extraction import clock
from svc_analytics.extraction.plan import Request
from svc_analytics.formatting.display import table_text
from svc_analytics.formatting.tables import to_json
from svc_analytics.formatting.texts import wrapped
from svc_analytics.instants import HOUR, in_words
from svc_analytics.lake.lake import Lake
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.language.catalogue import Language
from svc_analytics.periods import GREGORIAN, QUARTER, YEAR, parse_period
from svc_analytics.proofs.sealed_zones import lake_zone
from svc_analytics.render.differences import differences_table, main_differences
from svc_analytics.unattended.matched_lists import NAME, ListMatches
from svc_analytics.unattended.watch import Watch

_SHOWN = ("name", "currency", "cause", "old_value", "new_value", "delta", "detail")

_OTHERS = ", --last-month and --all-due"


@click.command()
@shared_options.period_argument
@shared_options.month_option
@shared_options.last_month_option
@click.option("--all-due", is_flag=True, help="Close every month that is over, oldest first.")
@click.option(
    "--quarters",
    "is_with_quarters",
    is_flag=True,
    help="With --all-due: close each quarter too whose three months are closed.",
)
@click.option(
    "--years",
    "is_with_years",
    is_flag=True,
    help="With --all-due: close each year too whose twelve months are closed.",
)
@shared_options.zone_options
@shared_options.format_option(
    "The forms to write, with commas between; csv is added where neither it nor parquet is named."
)
@shared_options.out_option
@shared_options.number_option(
    "--grace-hours",
    due.GRACE_HOURS,
    "Wait this long after the end of a month, for late records.",
    least=0,
)
@shared_options.metadata_option
@shared_options.language_options
@shared_options.currency_options
@click.option(
    "--sign",
    "is_signed",
    is_flag=True,
    help="Sign what is sealed with the key of SVC_SIGNING_KEY; where that fails, it is sealed, and "
    "a note says why.",
)
@shared_options.dry_run_option
@shared_options.patience_option
@shared_options.wide_option
@shared_options.shared_options
def close(
    *,
    period: str | None,
    month: str | None,
    is_last: bool,
    all_due: bool,
    is_with_quarters: bool,
    is_with_years: bool,
    out: str | None,
    currency_in: str | None,
    rates: str | None,
    is_signed: bool,
    is_dry: bool,
    patience: int | None,
    is_wide: bool,
    data_dir: str | None,
    as_json: bool,
    **job: Unpack[JobOptions],
) -> None:
    """Read a month twice, write its statement and seal it.

    Reads the month until two passes find the same, at most three times. Run it from a
    timer, as often as you like: a sealed month stays as it is. If the service later gives
    other figures, a restatement is written next to it.

    A quarter or a year is sealed over the seals of its months, which its manifest names:

    \b
    svc-analytics close 2026-Q3
    svc-analytics close 2026
    """
    longer = (QUARTER,) * is_with_quarters + (YEAR,) * is_with_years
    names = (period, month, "last month" if is_last else None)
    _check_choice(names, longer, out, currency_in, all_due=all_due)
    name = None if all_due else shared_options.choose_period(names, _OTHERS)
    shared_options.check_rates(currency_in, rates)
    if is_dry:
        settings = _settings(data_dir, patience, is_needed=True)
        click.echo(_plan(settings, name, longer, out, job, as_json=as_json))
        return
    with _watched(data_dir, name, job) as watch:
        settings = _settings(data_dir, patience, is_needed=name is None)
        job |= JobOptions(settings=settings, sign=is_signed, note=echo_progress)

        def echo(result: CloseResult) -> None:
            watch.closed(result)
            _echo_result(result, is_wide=is_wide, as_json=as_json)

        lake = Lakehouse(settings.data_dir)
        if name is None:
            results = closing.close_all_due(lake, longer=longer, on_closed=echo, **job)
        else:
            results = [closing.close(lake, name, out=out, currency=currency_in, rates=rates, **job)]
            echo(results[0])
        _match(lake, results, watch, job)
        _conclude(results, as_json=as_json)


def _match(lake: Lakehouse, results: Sequence[CloseResult], watch: Watch, job: JobOptions) -> None:
    """Match the lists of SVC_MATCH with what was closed; what becomes of it changes no close."""
    source = here()
    if not source.text(NAME):
        return
    at: PeriodOptions = {"zone": job["zone"], "calendar": job["calendar"]}
    for line, states in ListMatches(lake, source, at).states(results):
        watch.states += states
        echo_note(line, "matched", "warning" if states else "info", rows=len(states))


def _check_choice(
    names: Sequence[str | None],
    longer: Sequence[str],
    out: str | None,
    currency: str | None,
    *,
    all_due: bool,
) -> None:
    """Refuse what goes with --all-due alone, or not with it."""
    if longer and not all_due:
        raise ConfigError("--quarters and --years go with --all-due; one is named: close 2026")
    if all_due and (out or any(name is not None for name in names)):
        raise ConfigError(f"{shared_options.ONE_PERIOD}{_OTHERS}; --all-due takes no --out")
    if all_due and currency is not None:
        raise ConfigError("--in goes with one period, such as close 2026-10: --all-due has many")


def _watched(data_dir: str | None, name: str | None, job: JobOptions) -> Watch:
    """Watch a run that closes the period of that name, or all that are due."""
    zone, calendar = job["zone"], job["calendar"]
    language = Language(job["lang"], job["digits"])
    if name is None:
        return watched("close", data_dir, (zone, calendar or GREGORIAN), language=language)
    period = parse_period(name, clock.machine_clock(), zone, calendar)
    return watched("close", data_dir, period=period.folder, language=language)


def _settings(data_dir: str | None, patience: int | None, *, is_needed: bool) -> Settings:
    """Read the settings; where the service `is_needed`, refuse those that do not lead to it.

    A month that is named may be sealed: its forms are written without the service.
    """
    settings = read_settings(data_dir, patience=patience)
    if is_needed:
        settings.require_service()
    return settings


def _plan(
    settings: Settings,
    name: str | None,
    longer: Sequence[str],
    out: str | None,
    job: JobOptions,
    *,
    as_json: bool,
) -> str:
    """Say what a close would read, and what it would do with which months."""
    lake, time, grace = Lake(settings.data_dir), clock.machine_clock(), job["grace_hours"] * HOUR
    zone, calendar = job["zone"], job["calendar"]
    if name is None:
        over = [*due.months_over(lake, time, grace, zone, calendar)] if lake.exists else []
        months = [*over, *due.longer_over(over, due.check_kinds(longer))]
    else:
        months = [parse_period(name, time, lake_zone(lake, zone), calendar)]
        require_sealable(months[0])
        due.check_is_over(months[0], time, grace)
    planned = plan_months(lake, settings, months, out=out, is_named=name is not None)
    return dry_run(lake, settings, Request(), planned, as_json=as_json)


def _conclude(results: Sequence[CloseResult], *, as_json: bool) -> None:
    """Print the JSON document, or that there was nothing to do; exit as the results ask for."""
    if as_json:
        click.echo(to_json({"months": list(map(_result_document, results))}))
    elif not results:
        click.echo("no month is due")
    exit_if_attention(any(result.needs_attention for result in results))


def _echo_result(result: CloseResult, *, is_wide: bool, as_json: bool) -> None:
    """Print what became of a month, and why; on stderr, what waits for a person."""
    if result.state == "waiting":
        line = " ".join(map(str.strip, result.describe()))
        echo_note(line, "waiting", "warning", label=result.label)
    if result.state == "waiting" or as_json:
        return
    shown = [*map(wrapped, map(in_words, result.describe()))]
    if result.table is not None:
        shown += ["", differences_text(result.table, result.new_lines, is_wide)]
    click.echo("\n".join(shown))


def _result_document(result: CloseResult) -> dict[str, Any]:
    return {
        "label": result.label,
        "state": result.state,
        "version": result.version,
        "seal": result.seal,
        "folder": str(result.folder),
        "reasons": [*(reason.text for reason in result.reasons), *filter(None, [result.doubt])],
        "unknown": [unknown.to_json() for unknown in result.unknown],
        "receipts": result.receipts,
        "signed_by": result.signed_by,
        "is_stamped": result.is_stamped,
        "note": result.note,
        "restatement": [] if result.table is None else result.table.to_pylist(),
    }


def differences_text(table: pa.Table, lines: pa.Table | None, is_wide: bool) -> str:
    """Write what differs between two versions of a month, and how to see what is not shown."""
    shown = differences_table(main_differences(table), columns=_SHOWN, lines=lines)
    more = [f"all {table.num_rows:,}, of each table: --json"] * (shown.total < table.num_rows)
    text = table_text(shown, is_wide=is_wide, every_digit="--json")
    return "\n".join([text, *more])
