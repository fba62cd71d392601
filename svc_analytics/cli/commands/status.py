"""`status`: what the lake holds, for people and as a JSON document."""

from collections.abc import Sequence
from typing import Any

import click

from svc_analytics.cli.console import echo_progress
from svc_analytics.cli.shared_options import open_each, several_lakes_options
from svc_analytics.closing.acceptances import Finding, left_out
from svc_analytics.closing.handover.sign import unsigned_months
from svc_analytics.closing.month_states import LAST, judged_months
from svc_analytics.coverage import describe_span, format_spans
from svc_analytics.formatting import tables
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.texts import counted, single_line, wrapped
from svc_analytics.instants import ago, duration, format_instant, in_words, now
from svc_analytics.lake.status import LakeStatus, StreamStatus, lake_status
from svc_analytics.proofs.statuses import LACKING
from svc_analytics.render.month_state import MonthState
from svc_analytics.unattended.notices import scheduled_months

_UNSIGNED = "  unsigned    {}: {}; svc-analytics sign --all proves them, and signs them"


@click.command()
@several_lakes_options
def status(*, data_dir: tuple[str, ...], as_json: bool) -> None:
    """Show what the lake holds and how complete it is.

    Shows rows, coverage, gaps, freshness and quarantine of each stream, the records that a
    person accepted as not counted, and the state of each month: running, due, late, blocked
    and why, sealed or changed since; where months are signed, those that nobody signed; with
    --data-dir several times, of each merchant.
    """
    statuses = [
        (
            lake_status(lake),
            judged_months(lake, now(), echo_progress, scheduled_months(lake)),
            unsigned_months(lake),
            left_out(lake),
        )
        for lake in open_each(data_dir)
    ]
    if as_json:
        documents = [status_document(*each) for each in statuses]
        click.echo(tables.to_json(documents[0] if len(statuses) == 1 else {"lakes": documents}))
    else:
        click.echo("\n\n".join(status_text(*each) for each in statuses))


def status_text(
    status: LakeStatus,
    months: Sequence[MonthState],
    unsigned: Sequence[str] = (),
    accepted: Sequence[Finding] = (),
) -> str:
    """Describe the state of a lake, and of each of its months, to a person."""
    merchant = status.merchant
    account = single_line(str(merchant.get("status", "status unknown")))
    lines = [
        f"lake      {status.path}",
        f"merchant  {names_of(merchant)}, {account}, {single_line(merchant['id'])}",
        *_clock_lines(status),
    ]
    for stream in status.streams:
        lines += ["", *_stream_lines(stream)]
    left_out = [f"  {single_line(each.record_id)}: {single_line(each.detail)}" for each in accepted]
    lines += ["", "accepted as not counted", *left_out] if left_out else []
    for head, group in _by_reckoning(months):
        lines += ["", f"months{head}", *_month_lines(group)]
    lines += [] if months else ["", "months", "  none"]
    if unsigned:
        lines.append(_UNSIGNED.format(counted(len(unsigned), "sealed month"), ", ".join(unsigned)))
    return "\n".join([lines[0], *(wrapped(in_words(line)) for line in lines[1:])])


def _by_reckoning(months: Sequence[MonthState]) -> list[tuple[str, list[MonthState]]]:
    """Return the months of each zone and calendar, with its name where there are several."""
    groups: dict[tuple[str, str], list[MonthState]] = {}
    for each in months:
        groups.setdefault((each.period.calendar, each.period.zone), []).append(each)
    are_several = len(groups) > 1
    return [(f"    {', '.join(names)}" * are_several, group) for names, group in groups.items()]


def _month_lines(months: Sequence[MonthState]) -> list[str]:
    """Tell of the last months, and of all that wait for a close; count the sealed ones before."""
    last = len(months) - LAST
    shown = [each for place, each in enumerate(months) if place >= last or not _is_done(each)]
    more = len(months) - len(shown)
    earlier = [f"  earlier     {more} more, sealed"] if more else []
    return earlier + [f"  {each.label}     {_month_line(each)}" for each in shown]


def _is_done(state: MonthState) -> bool:
    return state.kind == "sealed"


def _month_line(state: MonthState) -> str:
    is_all = _is_done(state) and not (state.lost or state.reasons)
    line = str(state.word) if is_all else f"{state.word}: {single_line(state.note)}"
    # What is not there is not told, nor is of a changed month what its own word tells.
    statuses = "; ".join(
        f"{each.name}: {each.outcome}"
        for each in state.statuses
        if getattr(each.text, "code", "") not in LACKING
        and (state.kind, each.name) != ("changed", "proven")
    )
    return f"{line} ({statuses})" if statuses else line


def _clock_lines(status: LakeStatus) -> list[str]:
    """Say that the clocks of the newest run did not agree, if so."""
    ahead = status.clocks_differ_by
    if not ahead:
        return []
    difference = f"{duration(ahead)} {'ahead of' if ahead > 0 else 'behind'} this machine's"
    judged = format_instant(status.clocks["judged"])
    return [f"clocks    the service's was {difference} at the newest run: read only up to {judged}"]


def _stream_lines(stream: StreamStatus) -> list[str]:
    if not stream.coverage.read:
        return [stream.name, "  never extracted: figures that need it are unknown"]
    read_to = stream.coverage.read[-1][1]
    start = "proven" if stream.is_proven else "not proven: older records may exist"
    first, last = (_instant(at) or "none" for at in (stream.first_at, stream.last_at))
    lines = [
        stream.name,
        f"  rows        {stream.rows:,} in {counted(stream.months, 'month')}",
        f"  records     {first} .. {last}",
        f"  beginning   {start}",
        *(f"  complete    {describe_span(span)}" for span in stream.coverage.complete),
        *(f"  provisional {describe_span(span)}" for span in stream.coverage.provisional),
        *_confirmed_lines(stream),
        *(f"  gap         {describe_span(span)}" for span in stream.gaps),
        *(f"  too early   {describe_span(span)}: run extract" for span in stream.early),
        f"  freshness   read up to {format_instant(read_to)}, {ago(read_to)}",
        f"  quarantine  {stream.quarantined}",
    ]
    lines = lines if stream.gaps else [*lines[:-2], "  gaps        none", *lines[-2:]]
    lines += [
        f"  column      {name}: a newer release wrote it; here it stands in extra"
        for name in stream.unknown
    ]
    return lines + [
        f"  unlisted    the service no longer lists {count:,} record{'s' * (count > 1)} of {month}"
        for month, count in sorted(stream.unlisted.items())
    ]


def _confirmed_lines(stream: StreamStatus) -> list[str]:
    """Word the time that was read twice and alike; all other time was read only once."""
    if not stream.confirmed:
        return ["  confirmed   nothing yet: all of it was read only once (closing reads it again)"]
    return [f"  confirmed   {describe_span(span)}" for span in stream.confirmed]


def status_document(
    status: LakeStatus,
    months: Sequence[MonthState],
    unsigned: Sequence[str] = (),
    accepted: Sequence[Finding] = (),
) -> dict[str, Any]:
    """Describe the state of a lake, and of each of its months, to a program."""
    streams = [_stream_document(stream) for stream in status.streams]
    clocks = {name: format_instant(at) for name, at in status.clocks.items()}
    document = {"data_dir": status.path, "merchant": status.merchant, "streams": streams}
    left_out = [
        {"check_name": each.check, "record_id": each.record_id, "detail": each.detail}
        for each in accepted
    ]
    more = {"clocks": clocks, "unsigned": [*unsigned], "not_counted": left_out}
    return document | more | _months_document(months)


def _stream_document(stream: StreamStatus) -> dict[str, Any]:
    return {
        "stream": stream.name,
        "rows": stream.rows,
        "months": stream.months,
        "is_start_proven": stream.is_proven,
        "first_record_at": _instant(stream.first_at),
        "last_record_at": _instant(stream.last_at),
        "complete": format_spans(stream.coverage.complete),
        "provisional": format_spans(stream.coverage.provisional),
        "confirmed": format_spans(stream.confirmed),
        "gaps": format_spans(stream.gaps),
        "too_early": format_spans(stream.early),
        "read_to": _instant(stream.coverage.read[-1][1] if stream.coverage.read else None),
        "written_at": _instant(stream.written_at),
        "quarantined": stream.quarantined,
        "unlisted": stream.unlisted,
        "unknown_columns": list(stream.unknown),
    }


def _months_document(months: Sequence[MonthState]) -> dict[str, Any]:
    """Return the months with their states; apart, those to close and those that changed since."""
    due = [
        {**_named(each), "since": format_instant(each.period.end), "reason": each.note}
        for each in months
        if each.is_open
    ]
    changed = [
        {**_named(each), "version": each.version} for each in months if each.kind == "changed"
    ]
    return {"due": due, "changed": changed, "months": [*map(_state_document, months)]}


def _state_document(state: MonthState) -> dict[str, Any]:
    statuses = {each.name: each.to_json() for each in state.statuses}
    document = {**_named(state), "note": state.note, **state.to_json()}
    return document | ({"statuses": statuses} if statuses else {})


def _named(state: MonthState) -> dict[str, str]:
    """Return the label of a month with its zone and calendar, which tell it from others."""
    period = state.period
    return {"label": state.label, "zone": str(period.zone), "calendar": period.calendar}


def _instant(micros: int | None) -> str | None:
    return None if micros is None else format_instant(micros)
