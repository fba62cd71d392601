"""What the commands print: values in, text out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote

import click

from svc_analytics.coverage import describe_span
from svc_analytics.extraction.lookups import LookupResult
from svc_analytics.extraction.plan import ExtractionResult
from svc_analytics.formatting.sanitize import escape_invisible, single_line
from svc_analytics.formatting.tables import (
    align,
    align_decimal_points,
    to_json,
    to_objects,
    to_text,
)
from svc_analytics.formatting.values import display_text, is_ratio, rows_of, value_text
from svc_analytics.instants import ago, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.statements.explain import Explanation
from svc_analytics.statements.statement import Statement
from svc_analytics.warehouse.status import LakeStatus, StreamStatus
from svc_analytics.webhooks.findings import describe


def extraction_text(lake: Lake, done: ExtractionResult, asked: Sequence[LookupResult] = ()) -> str:
    """Describe what an extraction did."""
    found = done.published
    lines = [f"{name}: {rows:,} rows read" for name, rows in done.rows.items()]
    lines.append(f"{done.pages:,} pages read, {found.files} month files written to {lake.path}")
    lines.append(f"read up to {format_instant(done.read_to)}")
    if found.quarantined:
        lines.append(f"{found.quarantined} records set aside: see {lake.path / 'quarantine'}")
    if found.changed:
        lines.append(
            f"{found.changed} records changed since they were first read, "
            f"{found.restated} of them in money or identity: see {lake.path / 'changes'}"
        )
    for each in asked:
        lines.append(f"{each.stream}: {each.fetched:,} fetched, {_not_found(each.not_found)}")
        lines += [f"{each.stream}: {id_!r:.60}: {reason}" for id_, reason in each.rejected.items()]
    return "\n".join(lines)


def _not_found(ids: Sequence[str]) -> str:
    """Count ids, and name the first: the JSON has them all."""
    named = ", ".join(f"{id_!r:.60}" for id_ in ids[:3])
    more = ", …" if len(ids) > 3 else ""
    return f"{len(ids):,} not found" + (f" ({named}{more})" if ids else "")


def extraction_json(lake: Lake, done: ExtractionResult, asked: Sequence[LookupResult] = ()) -> str:
    """Describe the same as one JSON document."""
    document = asdict(done) | {
        "read_to": format_instant(done.read_to),
        "data_dir": str(lake.path),
        "looked_up": [asdict(each) for each in asked],
    }
    return to_json(document)


def status_text(found: LakeStatus) -> str:
    """Describe the state of a lake to a person."""
    merchant = found.merchant
    names = " / ".join(str(merchant[key]) for key in _NAMES if merchant.get(key)) or "(no name)"
    status = str(merchant.get("status", "status unknown"))
    lines = [
        f"lake      {found.path}",
        f"merchant  {single_line(names)}, {single_line(status)}, {single_line(merchant['id'])}",
    ]
    for stream in found.streams:
        lines += ["", *_stream_lines(stream)]
    return "\n".join(lines)


_NAMES = ("display_name", "display_name_fa")


def _stream_lines(stream: StreamStatus) -> list[str]:
    if not stream.coverage.read:
        return [stream.name, "  never extracted: figures that need it are unknown"]
    read_to = stream.coverage.read[-1][1]
    start = "proven" if stream.is_proven else "not proven: older records may exist"
    first = format_instant(stream.first_at) if stream.first_at is not None else "none"
    last = format_instant(stream.last_at) if stream.last_at is not None else "none"
    lines = [
        stream.name,
        f"  rows        {stream.rows:,} in {stream.months} months",
        f"  records     {first} .. {last}",
        f"  beginning   {start}",
        *(f"  complete    {describe_span(span)}" for span in stream.coverage.complete),
        *(f"  provisional {describe_span(span)}" for span in stream.coverage.provisional),
        *(f"  gap         {describe_span(span)}" for span in stream.gaps),
        f"  freshness   read up to {format_instant(read_to)}, {ago(read_to)}",
        f"  quarantine  {stream.quarantined}",
    ]
    return lines if stream.gaps else [*lines[:-2], "  gaps        none", *lines[-2:]]


def status_json(found: LakeStatus) -> str:
    """Tell the same as one JSON document."""
    streams = [
        {
            "stream": stream.name,
            "rows": stream.rows,
            "months": stream.months,
            "is_start_proven": stream.is_proven,
            "first_record_at": _instant(stream.first_at),
            "last_record_at": _instant(stream.last_at),
            "complete": _spans(stream.coverage.complete),
            "provisional": _spans(stream.coverage.provisional),
            "gaps": _spans(stream.gaps),
            "read_to": _instant(stream.coverage.read[-1][1]) if stream.coverage.read else None,
            "written_at": _instant(stream.written_at),
            "quarantined": stream.quarantined,
        }
        for stream in found.streams
    ]
    return to_json({"data_dir": found.path, "merchant": found.merchant, "streams": streams})


def statement_text(made: Statement, folder: Path) -> str:
    """Print a statement: one figure a line, one currency a column."""
    period = made.period
    name = single_line(str(made.merchant.get("display_name") or made.merchant["id"]))
    head = [
        f"Statement {period.folder} of {name}",
        f"{format_instant(period.start)} .. {format_instant(period.end)} ({period.zone}), "
        f"data as of {format_instant(made.as_of)}",
        f"status: {made.status}",
        *(f"  because {single_line(reason.text)}" for reason in made.reasons),
        *_accepted(made),
        *_witnessed(made),
    ]
    return "\n".join([*head, "", _figures(made), "", f"files: {folder}"])


def _accepted(made: Statement) -> list[str]:
    """Name every finding that a person accepted."""
    return [
        f"  accepted {row['check_name']} of {single_line(row['record_id'] or 'no record')}: "
        + single_line(f"{row['acknowledged_reason']} ({row['acknowledged_by']})")
        for row in made.tables["checks"].to_pylist()
        if row["acknowledged_by"]
    ]


def _witnessed(made: Statement) -> list[str]:
    """Describe the log of webhooks, if one was given."""
    log = made.options.get("webhooks")
    return [f"webhooks: {single_line(describe(log))}"] if log else []


def statement_json(made: Statement, folder: Path) -> str:
    """Print the same as one JSON document: the manifest, and the summary's rows."""
    import json

    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    summary = to_objects(made.tables["summary"])
    return to_json(manifest | {"folder": str(folder), "summary": summary})


def explanation_text(found: Explanation, *, as_json: bool) -> str:
    """Show what a figure is made of: its value, its SQL, and its records."""
    if as_json:
        document = {
            "figure": found.figure,
            "currency": found.currency,
            "period": found.period.folder,
            "value": value_text(found.value) if found.value is not None else None,
            "sql": found.sql,
            "rows": to_objects(found.table),
        }
        return to_json(document)
    value = (
        "unknown: not all of its records were read"
        if found.value is None
        else display_text(found.value)
    )
    head = f"{found.figure} of {found.currency}, {found.period.folder}: {value}"
    parts = [single_line(head), escape_invisible(found.sql), to_text(found.table)]
    return "\n\n".join([*parts, f"{len(found.table)} records"])


def what_next(made: Statement, data_dir: Path | None) -> str:
    """Name the next things to try, as commands that can be pasted."""
    option = f" --data-dir {quote(str(data_dir))}" if data_dir else ""
    query = "select month, currency, net_settlement from net_settlement_monthly"
    return "\n".join(
        [
            "Try next:",
            f"  svc-analytics status{option}",
            f'  svc-analytics sql{option} "{query}"',
            f"  svc-analytics statement{option} --month {made.period.shift(-1).label}"
            " --zone Asia/Tehran",
            f'  pip install -e ".[lab,sandbox]" && svc-analytics lab{option}',
        ]
    )


def _figures(made: Statement) -> str:
    summary = made.tables["summary"]
    if not summary.num_rows:
        return "no movement and no position in any currency"
    fields = [field for field in summary.schema if field.name not in ("period", "currency")]
    columns = list(rows_of(summary.select([field.name for field in fields])))
    cells = [
        [
            display_text(value, is_ratio=is_ratio(field))
            for value, field in zip(column, fields, strict=True)
        ]
        for column in columns
    ]
    names = [field.name for field in fields]
    header = ["figure", *summary["currency"].to_pylist()]
    rows = [list(row) for row in zip(names, *map(align_decimal_points, cells), strict=True)]
    return align(header, rows, [False, *(True for _ in columns)])


def _instant(micros: int | None) -> str | None:
    return None if micros is None else format_instant(micros)


def _spans(spans: tuple[tuple[int, int], ...]) -> list[list[str]]:
    return [[format_instant(start), format_instant(end)] for start, end in spans]


def echo_statement(made: Statement, folder: Path, *, as_json: bool) -> None:
    """Print a statement: its summary for people, or its manifest and summary as JSON."""
    click.echo(statement_json(made, folder) if as_json else statement_text(made, folder))
