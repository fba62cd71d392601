"""`extract`: bring the lake up to date with the service."""

from collections.abc import Sequence
from dataclasses import asdict

import click

from svc_analytics.cli import shared_options
from svc_analytics.cli.console import echo_note, exit_if_attention
from svc_analytics.cli.runs import dry_run, watched
from svc_analytics.config import Settings, read_settings
from svc_analytics.coverage import format_spans
from svc_analytics.errors import ConfigError
from svc_analytics.extraction import lookups, update
from svc_analytics.extraction.lookups import LookupResult
from svc_analytics.extraction.plan import ExtractionResult, Request, missing_key_class
from svc_analytics.extraction.segments import FEWEST
from svc_analytics.formatting import tables
from svc_analytics.formatting.texts import counted, wrapped
from svc_analytics.instants import BEGINNING, HOUR, format_instant, in_words, parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.schema import STREAMS


@click.command()
@click.option(
    "--from", "start", metavar="T", help="Read from a date (midnight UTC) or an RFC 3339 instant."
)
@click.option("--to", "end", metavar="T", help="Read up to here, not including it.")
@click.option(
    "--stream",
    "streams",
    multiple=True,
    type=click.Choice(["payments", "payout_records"]),
    help="Read only this stream.  [default: both]",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Read this many pages at a time.  [default: 8; up to 16 where answers take long]",
)
@shared_options.number_option(
    "--overlap-hours", 24, "Also read this many of the newest hours again, for late records.", 0
)
@click.option("--reread", is_flag=True, help="Read the whole interval again, even complete time.")
@shared_options.dry_run_option
@click.option("--sessions", is_flag=True, help="Look up the checkout sessions of the payments too.")
@click.option(
    "--bindings",
    metavar="FILE",
    help="Look up the bindings of the customers in FILE too, one customer id a line.",
)
@shared_options.patience_option
@shared_options.shared_options
def extract(
    *,
    start: str | None,
    end: str | None,
    streams: tuple[str, ...],
    workers: int | None,
    overlap_hours: int,
    reread: bool,
    is_dry: bool,
    sessions: bool,
    bindings: str | None,
    patience: int | None,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Bring the lake up to date with the service.

    Reads the time that is missing, and the newest day again. You can interrupt it at
    any time: the lake keeps what was read, and the next run continues from there.
    """
    request = Request(
        streams=tuple(dict.fromkeys(streams)) or tuple(STREAMS),
        start=parse_bound(start) if start else BEGINNING,
        end=parse_bound(end) if end else None,
        overlap=overlap_hours * HOUR,
        rereads=reread,
    )
    if is_dry:
        settings = _settings(data_dir, patience, streams, sessions=sessions)
        click.echo(dry_run(Lake(settings.data_dir), settings, request, as_json=as_json))
        return
    with watched("extract", data_dir) as watch:
        settings = _settings(data_dir, patience, streams, sessions=sessions)
        customers = lookups.read_customers(bindings) if bindings else None
        lake = Lake(settings.data_dir)
        done = update.extract(lake, settings, request, workers=workers)
        watch.extracted(done)
        span = (request.start, request.end or done.read_to) if sessions else None
        results = lookups.look_up(
            lake, settings, sessions_of=span, customers=customers, workers=workers or FEWEST
        )
        report = extraction_json if as_json else extraction_text
        click.echo(report(lake, done, results))
        _echo_notes(done)
        exit_if_attention(done.needs_attention or any(result.rejected for result in results))


def _echo_notes(done: ExtractionResult) -> None:
    for name, line in done.left_out.items():
        reason = done.not_extracted[name]
        echo_note(line, "not_extracted", "warning", stream=name, reason=reason)
    for text in done.notes:
        echo_note(text, "extraction")


def _settings(
    data_dir: str | None, patience: int | None, streams: tuple[str, ...], *, sessions: bool
) -> Settings:
    """Return the settings; refuse to begin without the keys for what the command line names."""
    settings = read_settings(data_dir, patience=patience)
    settings.require_service()
    for name in streams:
        if key_class := missing_key_class(settings, STREAMS[name]):
            variable = f"SVC_{key_class.upper()}_KEY"
            raise ConfigError(f"{name} needs a {key_class}-class key: set {variable}")
    if sessions and not settings.checkout_key:  # the only class that reaches them
        raise ConfigError("--sessions needs a checkout-class key: set SVC_CHECKOUT_KEY")
    return settings


def extraction_text(
    lake: Lake, done: ExtractionResult, lookups: Sequence[LookupResult] = ()
) -> str:
    """Describe what an extraction did."""
    stats = done.published
    lines = [f"{name}: {counted(rows, 'row')} read" for name, rows in done.rows.items()]
    files = counted(stats.files, "month file")
    lines.append(f"{counted(done.pages, 'page')} read, {files} written to {lake.place}")
    lines.append(f"read up to {format_instant(done.read_to)}")
    if stats.quarantined:
        records = counted(stats.quarantined, "record")
        lines.append(f"{records} set aside: see {lake.path / 'quarantine'}")
    if stats.changed:
        lines.append(
            f"{counted(stats.changed, 'record')} changed since the first reading, "
            f"{stats.restated} of them in money or identity: see {lake.path / 'changes'}"
        )
    lines += [*done.vanished, *done.retractions]
    for each in lookups:
        lines.append(f"{each.stream}: {each.fetched:,} fetched, {_not_found(each.not_found)}")
        lines += [f"{each.stream}: {id_!r:.60}: {reason}" for id_, reason in each.rejected.items()]
    return "\n".join(wrapped(in_words(line)) for line in lines)


def _not_found(ids: Sequence[str]) -> str:
    """Count ids and name the first three; the JSON document names all."""
    names = [f"{id_!r:.60}" for id_ in ids[:3]] + ["…"] * (len(ids) > 3)
    return f"{len(ids):,} not found" + (f" ({', '.join(names)})" if ids else "")


def extraction_json(
    lake: Lake, done: ExtractionResult, lookups: Sequence[LookupResult] = ()
) -> str:
    """Describe what an extraction did as a JSON document."""
    document = asdict(done) | {
        "doubtful": {name: format_spans(spans) for name, spans in done.doubtful.items()},
        "read_to": format_instant(done.read_to),
        "short_lists": {name: each.text for name, each in done.short_lists.items()},
        "retracted": {name: format_spans(spans) for name, spans in done.retracted.items()},
        "data_dir": lake.place,
        "looked_up": [asdict(each) for each in lookups],
    }
    del document["seen"], document["is_confirmed"]  # of `close` alone
    return tables.to_json(document)
