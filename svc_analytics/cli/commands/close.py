"""`close`, `statement-verify`: seal months, and verify sealed statements."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import pyarrow as pa

from svc_analytics.cli import options
from svc_analytics.cli.console import echo_note, echo_progress, table_text
from svc_analytics.cli.dry_runs import dry_run, plan_months
from svc_analytics.cli.watched import watched
from svc_analytics.closing import close as closing
from svc_analytics.closing import due
from svc_analytics.closing.due import GRACE_HOURS
from svc_analytics.closing.job import JobOptions
from svc_analytics.closing.neighbours import require_sealable
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.verification import verify
from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import EXIT_ATTENTION, ConfigError
from svc_analytics.extraction import clock
from svc_analytics.extraction.plan import Request
from svc_analytics.formatting.tables import to_json
from svc_analytics.formatting.texts import single_line
from svc_analytics.instants import HOUR
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.language.catalogue import Language
from svc_analytics.periods import GREGORIAN, QUARTER, YEAR, parse_period
from svc_analytics.proofs.sealed_zones import lake_zone

MOST_ROWS = 40


_OTHERS = ", --last-month and --all-due"


@dataclass(frozen=True)
class Shown:
    """How a close is shown, and whether it is done at all."""

    is_wide: bool
    as_json: bool
    is_dry: bool


@dataclass(frozen=True)
class ClosedPeriods:
    """Which periods are closed, and into which folder."""

    name: str | None  # None for all months that are due
    longer: tuple[str, ...]  # what is closed with them: quarters, years
    out: str | None


def _which(
    period: str | None,
    month: str | None,
    is_last: bool,
    all_due: bool,
    is_with_quarters: bool,
    is_with_years: bool,
    out: str | None,
) -> ClosedPeriods:
    longer = (QUARTER,) * is_with_quarters + (YEAR,) * is_with_years
    names = (period, month, "last month" if is_last else None)
    if longer and not all_due:
        raise ConfigError("--quarters and --years go with --all-due; one is named: close 2026")
    if not all_due:
        return ClosedPeriods(options.choose_period(names, _OTHERS), (), out)
    if out or any(name is not None for name in names):
        message = "give exactly one of PERIOD (2026-10, 2026-Q3, 2026), --month 2026-10"
        raise ConfigError(f"{message}{_OTHERS}; --all-due takes no --out")
    return ClosedPeriods(None, longer, None)


def _job(
    zone: str,
    calendar: str | None,
    formats: str,
    grace_hours: int,
    metadata: str | None,
    lang: str,
    digits: str,
) -> JobOptions:
    return {
        "zone": zone,
        "calendar": calendar,
        "formats": options.split_names(formats),
        "grace_hours": grace_hours,
        "metadata": options.split_names(metadata),
        "lang": lang,
        "digits": digits,
    }


@click.command()
@options.period_argument
@options.month_option
@options.last_month_option
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
@options.zone_option
@options.calendar_option
@options.format_option(
    "The forms to write, with commas between; csv is added where neither it nor parquet is named."
)
@options.out_option
@options.number_option(
    "--grace-hours",
    GRACE_HOURS,
    "Wait this long after the end of a month, for late records.",
    least=0,
)
@options.metadata_option
@options.lang_option
@options.digits_option
@options.currency_options
@click.option(
    "--sign",
    "is_signed",
    is_flag=True,
    help="Sign what is sealed with the key of SVC_SIGNING_KEY; where that fails, it is sealed, and "
    "a note says why.",
)
@options.dry_run_option
@options.patience_option
@options.wide_option
@options.shared_options
@options.as_value("which", _which)
@options.as_value("job", _job)
@options.as_value("shown", Shown)
def close(
    which: ClosedPeriods,
    job: JobOptions,
    other: options.OtherCurrency,
    is_signed: bool,
    patience: int | None,
    shown: Shown,
    data_dir: str | None,
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
    other.check()
    if shown.is_dry:
        settings = _settings(data_dir, patience, is_needed=True)
        click.echo(_planned(Lakehouse(settings.data_dir), settings, which, job, shown))
        return
    language = Language(job["lang"], job["digits"])
    months = (job["zone"], job["calendar"] or GREGORIAN) if which.name is None else None
    with watched("close", data_dir, months, _period(which, job), language) as watch:
        settings = _settings(data_dir, patience, is_needed=which.name is None)
        more: JobOptions = {"settings": settings, "sign": is_signed, "note": echo_progress}

        def echo(result: CloseResult) -> None:
            watch.closed(result)
            _echo_result(result, is_wide=shown.is_wide, as_json=shown.as_json)

        results = _close(Lakehouse(settings.data_dir), which, {**job, **more}, other, echo)
        if shown.as_json:
            click.echo(to_json({"months": list(map(_result_document, results))}))
        elif not results:
            click.echo("no month is due")
        if any(result.needs_attention for result in results):
            raise SystemExit(EXIT_ATTENTION)


@click.command("statement-verify")
@click.argument("folder", metavar="DIR|ZIP")
@click.option("--signers", metavar="FILE", help="Whose keys you trust: allowed signers of SSH.")
@click.option("--authority", metavar="FILE", help="Whose stamps you trust: certificates (PEM).")
@click.option("--earlier", metavar="FILE", help="A chain.json that you kept.")
@options.wide_option
@options.shared_options
def statement_verify(
    folder: str, is_wide: bool, data_dir: str | None, as_json: bool, **trusted: str | None
) -> None:
    """Check a sealed statement against its seal and the lake.

    Renders the statement again and compares every file, every fact and the chain of
    earlier seals, and every figure with the lake; prints each difference, and what
    could not be proven. Then it says whether the statement is sealed, signed, stamped
    and proven, each held, FAILED, not checked, or not compared, as a page that another
    release made. DIR may be a package (ZIP).
    """
    lake = None if data_dir is None else Lakehouse(data_dir)
    checked = verify.verify_statement(folder, lake, **trusted)
    document = _verification_document(checked)
    click.echo(to_json(document) if as_json else _verification_text(checked, is_wide))
    if not checked.holds:
        raise SystemExit(EXIT_ATTENTION)


def _period(which: ClosedPeriods, job: JobOptions) -> str:
    """Return the folder's name of the one period that is closed; empty for all that are due."""
    if which.name is None:
        return ""
    time, zone, calendar = clock.machine_clock(), job["zone"], job["calendar"]
    return parse_period(which.name, time, zone, calendar).folder


def _settings(data_dir: str | None, patience: int | None, *, is_needed: bool) -> Settings:
    """Read the settings; where the service `is_needed`, refuse those that do not lead to it.

    A month that is named may be sealed: its forms are written without the service.
    """
    settings = read_settings(data_dir, patience=patience)
    if is_needed:
        settings.require_service()
    return settings


def _planned(
    lake: Lakehouse, settings: Settings, which: ClosedPeriods, job: JobOptions, shown: Shown
) -> str:
    """Say what a close would read, and what it would do with which months."""
    time, grace, at = (
        clock.machine_clock(),
        job["grace_hours"] * HOUR,
        (job["zone"], job["calendar"]),
    )
    if which.name is None:
        over = [*due.months_over(lake, time, grace, *at)] if lake.exists else []
        months = [*over, *due.longer_over(over, due.check_kinds(which.longer))]
    else:
        zone, calendar = at
        months = [parse_period(which.name, time, lake_zone(lake, zone), calendar)]
        require_sealable(months[0])
        due.check_is_over(months[0], time, grace)
    planned = plan_months(lake, settings, months, out=which.out, is_named=which.name is not None)
    return dry_run(lake, settings, Request(), planned, as_json=shown.as_json)


def _close(
    lake: Lakehouse,
    which: ClosedPeriods,
    wanted: JobOptions,
    other: options.OtherCurrency,
    echo: Callable[[CloseResult], None],
) -> list[CloseResult]:
    """Close the period of that name, or all that are due when none is chosen."""
    if which.name is None and other.currency is not None:
        raise ConfigError("--in goes with one period, such as close 2026-10: --all-due has many")
    if which.name is None:
        return closing.close_all_due(lake, longer=which.longer, on_closed=echo, **wanted)
    shown = {"currency": other.currency, "rates": other.rates}
    result = closing.close(lake, which.name, out=which.out, **shown, **wanted)
    echo(result)
    return [result]


def _echo_result(result: CloseResult, *, is_wide: bool, as_json: bool) -> None:
    """Print what became of a month, and why; on stderr, what waits for a person."""
    if result.state == "waiting":
        line = " ".join(map(str.strip, result.describe()))
        echo_note(line, "waiting", "warning", label=result.label)
    if result.state == "waiting" or as_json:
        return
    differences = [] if result.table is None else ["", _differences_text(result.table, is_wide)]
    click.echo("\n".join(result.describe() + differences))


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


def _verification_text(checked: verify.SealVerification, is_wide: bool) -> str:
    notes = [f"  note: {single_line(text)}" for text in checked.notes]
    for each in checked.statuses:
        notes.append(f"  {each.outcome}  {each.name}: {single_line(each.text)}")
    if checked.holds:
        text = f"{checked.folder} holds: the files and the lake agree with seal {checked.seal}"
        return "\n".join([text, *notes])
    if checked.broken or (checked.seal and (checked.reasons or checked.table.num_rows)):
        lines = [f"{checked.folder} does not hold"]
    elif checked.seal is None:
        lines = [f"{checked.folder} was never sealed"]
    else:
        lines = [f"{checked.folder} agrees with seal {checked.seal}, but not all was proven"]
    lines += [f"  {single_line(text)}" for text in checked.broken]
    lines += [f"  not proven: {single_line(text)}" for text in checked.unproven]
    if checked.signed_by is None:
        lines += [f"  not compared: {single_line(text)}" for text in checked.not_compared]
    reasons = [single_line(reason.text) for reason in checked.reasons]
    lines += [f"  today it would not be final: {reason}" for reason in reasons]
    lines += notes
    if checked.table.num_rows:
        lines += ["  the lake now gives other figures or records:", ""]
        lines.append(_differences_text(checked.table, is_wide))
    return "\n".join(lines)


def _verification_document(checked: verify.SealVerification) -> dict[str, Any]:
    return {
        "folder": str(checked.folder),
        "seal": checked.seal,
        "holds": checked.holds,
        "broken": list(checked.broken),
        "unproven": list(checked.unproven),
        "not_compared": list(checked.not_compared),
        "signed_by": checked.signed_by,
        "notes": list(checked.notes),
        "statuses": {each.name: each.to_json() for each in checked.statuses},
        "reasons": [reason.text for reason in checked.reasons],
        "restatement": checked.table.to_pylist(),
    }


def _differences_text(table: pa.Table, is_wide: bool) -> str:
    columns = [name for name in table.column_names if name != "subject"]
    text = table_text(table.slice(0, MOST_ROWS).select(columns), is_wide=is_wide)
    hidden = table.num_rows - MOST_ROWS
    return text if hidden <= 0 else f"{text}\n... and {hidden} more: see --json"
