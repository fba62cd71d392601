"""The texts that commands print: for people, and as JSON documents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from svc_analytics.closing.acceptances import Finding
from svc_analytics.closing.states.month_states import LAST
from svc_analytics.coverage import describe_span, format_spans
from svc_analytics.errors import install
from svc_analytics.formatting import tables
from svc_analytics.formatting.display import names_of, table_text
from svc_analytics.formatting.texts import counted, single_line
from svc_analytics.instants import ago, duration, format_instant
from svc_analytics.lake.status import LakeStatus, StreamStatus
from svc_analytics.proofs.marks import LACKING
from svc_analytics.proofs.statuses import Status
from svc_analytics.render.document import (
    proof_lines,
    proof_statuses,
    sealed_state,
    status_note,
    status_word,
)
from svc_analytics.render.figures import figures_table
from svc_analytics.render.findings import describe_accepted, describe_balances
from svc_analytics.render.folder import MANIFEST
from svc_analytics.render.month_state import MonthState
from svc_analytics.schema import STREAMS
from svc_analytics.statements.statement import Statement
from svc_analytics.webhooks.reconcile import describe

_UNSIGNED = "  unsigned    {}: {}; svc-analytics sign --all proves them, and signs them"


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
    return "\n".join(lines)


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
    is_all = _is_done(state) and not state.reasons
    line = str(state.word) if is_all else f"{state.word}: {single_line(state.note)}"
    statuses = "; ".join(f"{each.name}: {_brief(each)}" for each in state.statuses)
    return f"{line} ({statuses})" if statuses else line


def _brief(status: Status) -> str:
    """Word a status in a line of several: what is not there, else how its check came out."""
    is_lacking = getattr(status.text, "code", "") in LACKING
    return str(status.text) if is_lacking else status.outcome


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
    states = [
        {**_named(each), "note": each.note, **each.to_json(), **_statuses(each.statuses)}
        for each in months
    ]
    return {"due": due, "changed": changed, "months": states}


def _named(state: MonthState) -> dict[str, str]:
    """Return the label of a month with its zone and calendar, which tell it from others."""
    period = state.period
    return {"label": state.label, "zone": str(period.zone), "calendar": period.calendar}


def statement_report(new: Statement, folder: Path, *, as_json: bool, exact: bool = False) -> str:
    """Write a statement for people, or its manifest and summary as a JSON document."""
    if not as_json:
        return statement_text(new, folder, exact=exact)
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    summary = tables.to_objects(new.tables["summary"])
    state = {"state": new.state.to_json()} if new.state else {}
    document = manifest | state | _statuses(proof_statuses(new))
    return tables.to_json(document | {"folder": str(folder), "summary": summary})


def _statuses(statuses: Sequence[Status]) -> dict[str, Any]:
    """Return the statuses of a sealed month as JSON documents hold them; nothing of any other."""
    return {"statuses": {each.name: each.to_json() for each in statuses}} if statuses else {}


def statement_text(new: Statement, folder: Path, *, exact: bool = False) -> str:
    """Write a statement for people: one figure a line, one currency a column."""
    period = new.period
    name = single_line(str(new.merchant.get("display_name") or new.merchant["id"]))
    log = new.options.get("webhooks")
    head = [
        f"Statement {period.folder} of {name}",
        f"{period.title}: {period.local_bounds}; data as of {format_instant(new.as_of)}",
        f"status: {status_word(new)}",
        *(f"  {new.status} because {single_line(reason.text)}" for reason in new.reasons),
        *([f"  {status_note(new)}"] if sealed_state(new) or not new.reasons else []),
        *(f"  {single_line(line)}" for line in proof_lines(new)),
        *(f"  {single_line(unknown.text)}" for unknown in new.unknown),
        *(f"  {single_line(text)}" for text in new.unread_sentences),
        *_readings(new),
        *(f"  {single_line(text)}" for text in describe_accepted(new.tables)),
        *(f"  {single_line(text)}" for text in describe_balances(new.tables)),
        *([f"webhooks: {single_line(describe(log))}"] if log else []),
    ]
    return "\n".join([*head, "", _figures(new, exact=exact), "", f"files: {folder}"])


def _readings(new: Statement) -> list[str]:
    """Warn of what was read only once: a list that moved may have passed over a record."""
    rows = new.tables["reading"].to_pylist()
    single = [STREAMS[row["stream"]].words for row in rows if row["reading"] == "single"]
    text = "were read only once: closing reads them again and compares"
    return [f"  {' and '.join(single)} {text}"] if single else []


def what_next(new: Statement, data_dir: str | None, merchant: str = "") -> str:
    """Name the next things to try, as commands that can be pasted.

    `merchant` are the options that make the sandbox's merchant again.
    """
    option = f" --data-dir {quote(data_dir)}" if data_dir else ""
    query = "select month, currency, net_settlement from net_settlement_monthly"
    return "\n".join(
        [
            "Try next:",
            f"  svc-analytics status{option}",
            f'  svc-analytics sql{option} "{query}"',
            f"  svc-analytics statement{option} --month {new.period.shift(-1).label}"
            " --zone Asia/Tehran",
            f"  svc-analytics sandbox serve --env-file .env{merchant}",
            "    in another terminal, this month: then extract, receipts verify and close work too",
            f"  {install('lab,sandbox')} && svc-analytics lab{option}",
        ]
    )


def _figures(new: Statement, *, exact: bool) -> str:
    if not new.tables["summary"].num_rows:
        return "no movement and no position in any currency"
    return table_text(replace(figures_table(new, exact=exact), caption=""))


def _instant(micros: int | None) -> str | None:
    return None if micros is None else format_instant(micros)
