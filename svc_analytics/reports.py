"""What the commands print: values in, text out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from tqdm.auto import tqdm

from svc_analytics.coverage import Coverage
from svc_analytics.explanations import Explanation
from svc_analytics.extraction import Extraction
from svc_analytics.lake import Lake, describe_span, gaps
from svc_analytics.legible import one_line, visible
from svc_analytics.periods import BEGINNING, format_instant
from svc_analytics.render.cells import is_ratio, rows_of, shown, text_of
from svc_analytics.render.sheets import ago
from svc_analytics.render.tables import align, on_the_point, to_json, to_objects, to_text
from svc_analytics.schema import STREAMS, Stream
from svc_analytics.side_streams import LookUps
from svc_analytics.statements import Statement
from svc_analytics.testimony import describe
from svc_analytics.warehouse import Warehouse, open_warehouse


class PageBar:
    """Progress for people: how many rows and pages so far; nobody knows how many there are."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._pages = 0

    def show(self, stream: Stream, rows: int) -> None:
        """Count one page."""
        self._pages += 1
        self._bar.update(rows)
        self._bar.set_postfix_str(f"{self._pages} pages, now {stream.name}", refresh=False)

    def say(self, text: str) -> None:
        """Tell what is being done now."""
        self._bar.set_description_str(text)


@contextmanager
def page_bar() -> Iterator[PageBar]:
    """Show a bar on stderr if that is a terminal (or a notebook)."""
    with tqdm(desc="extracting", unit=" rows", disable=None, leave=False) as bar:
        yield PageBar(bar)


def extraction_text(lake: Lake, done: Extraction, asked: Sequence[LookUps] = ()) -> str:
    """Tell what an extraction did."""
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


def extraction_json(lake: Lake, done: Extraction, asked: Sequence[LookUps] = ()) -> str:
    """Tell the same as one JSON document."""
    document = asdict(done) | {
        "read_to": format_instant(done.read_to),
        "data_dir": str(lake.path),
        "looked_up": [asdict(each) for each in asked],
    }
    return to_json(document)


@dataclass(frozen=True)
class StreamStatus:
    """What the lake holds of one stream."""

    name: str
    rows: int
    months: int
    coverage: Coverage
    quarantined: int
    first_at: int | None
    last_at: int | None
    written_at: int | None

    @property
    def is_proven(self) -> bool:
        """Whether the beginning of history was read."""
        return any(start == BEGINNING for start, _ in self.coverage.complete)

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """The unread time between what was read."""
        read = self.coverage.read
        return gaps(self.coverage, read[0][0], read[-1][1]) if read else ()


@dataclass(frozen=True)
class LakeStatus:
    """What the lake holds, and of whom."""

    path: str
    merchant: dict[str, Any]
    streams: tuple[StreamStatus, ...]


def lake_status(lake: Lake) -> LakeStatus:
    """Read the state of a lake from its footers and views."""
    merchant = lake.merchant
    with open_warehouse(lake) as warehouse:
        coverage = warehouse.coverage()
        streams = tuple(
            _stream_status(stream, coverage[stream.name], warehouse) for stream in STREAMS.values()
        )
    return LakeStatus(str(lake.path), merchant, streams)


def _stream_status(stream: Stream, coverage: Coverage, warehouse: Warehouse) -> StreamStatus:
    found = warehouse.fetch(
        "select coalesce(sum(rows), 0)::bigint as rows, count(*) - 1 as months, "
        "coalesce(sum(quarantined), 0)::bigint as quarantined, "
        f"epoch_us(max(written_at)) as written_at, (select epoch_us(min({stream.instant})) "
        f"from {stream.name}) as first_at, (select epoch_us(max({stream.instant})) "
        f"from {stream.name}) as last_at from stg_files where stream = $stream",
        {"stream": stream.name},
    ).to_pylist()[0]
    return StreamStatus(name=stream.name, coverage=coverage, **found)


def status_text(found: LakeStatus) -> str:
    """Tell the state of a lake to a person."""
    merchant = found.merchant
    names = " / ".join(str(merchant[key]) for key in _NAMES if merchant.get(key)) or "(no name)"
    status = str(merchant.get("status", "status unknown"))
    lines = [
        f"lake      {found.path}",
        f"merchant  {one_line(names)}, {one_line(status)}, {one_line(merchant['id'])}",
    ]
    for stream in found.streams:
        lines += ["", *_stream_lines(stream)]
    return "\n".join(lines)


_NAMES = ("display_name", "display_name_fa")


def _stream_lines(stream: StreamStatus) -> list[str]:
    if not stream.coverage.read:
        return [stream.name, "  never extracted: what needs it is unknown"]
    read_to = stream.coverage.read[-1][1]
    start = "proven" if stream.is_proven else "not proven: earlier time was not read to its end"
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
    name = one_line(str(made.merchant.get("display_name") or made.merchant["id"]))
    head = [
        f"Statement {period.folder} of {name}",
        f"{format_instant(period.start)} .. {format_instant(period.end)} ({period.zone}), "
        f"data as of {format_instant(made.as_of)}",
        f"status: {made.status}",
        *(f"  because {one_line(reason.text)}" for reason in made.reasons),
        *_accepted(made),
        *_witnessed(made),
    ]
    return "\n".join([*head, "", _figures(made), "", f"files: {folder}"])


def _accepted(made: Statement) -> list[str]:
    """Name every finding that a person accepted."""
    return [
        f"  accepted {row['check_name']} of {one_line(row['record_id'] or 'no record')}: "
        + one_line(f"{row['acknowledged_reason']} ({row['acknowledged_by']})")
        for row in made.tables["checks"].to_pylist()
        if row["acknowledged_by"]
    ]


def _witnessed(made: Statement) -> list[str]:
    """Tell what a log of webhooks had to say, where one was given."""
    log = made.options.get("webhooks")
    return [f"webhooks: {one_line(describe(log))}"] if log else []


def statement_json(made: Statement, folder: Path) -> str:
    """Print the same as one JSON document: the manifest, and the summary's rows."""
    import json

    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    summary = to_objects(made.tables["summary"])
    return to_json(manifest | {"folder": str(folder), "summary": summary})


def explanation_text(found: Explanation, *, as_json: bool) -> str:
    """Tell what a figure is made of: its value, its SQL, and its records."""
    if as_json:
        document = {
            "figure": found.figure,
            "currency": found.currency,
            "period": found.period.folder,
            "value": text_of(found.value) if found.value is not None else None,
            "sql": found.sql,
            "rows": to_objects(found.table),
        }
        return to_json(document)
    value = (
        "unknown: not all of its records were read" if found.value is None else shown(found.value)
    )
    head = f"{found.figure} of {found.currency}, {found.period.folder}: {value}"
    parts = [one_line(head), visible(found.sql), to_text(found.table)]
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
            shown(value, is_ratio=is_ratio(field))
            for value, field in zip(column, fields, strict=True)
        ]
        for column in columns
    ]
    names = [field.name for field in fields]
    header = ["figure", *summary["currency"].to_pylist()]
    rows = [list(row) for row in zip(names, *map(on_the_point, cells), strict=True)]
    return align(header, rows, [False, *(True for _ in columns)])


def _instant(micros: int | None) -> str | None:
    return None if micros is None else format_instant(micros)


def _spans(spans: tuple[tuple[int, int], ...]) -> list[list[str]]:
    return [[format_instant(start), format_instant(end)] for start, end in spans]
