"""Runs of `extract` and `close`: watched where a timer starts them, or planned with --dry-run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svc_analytics.cli.console import echo_warning
from svc_analytics.closing.due import Reckoning
from svc_analytics.closing.seals import STATEMENTS, version_folder, versions
from svc_analytics.config import Settings, read_data_dir
from svc_analytics.coverage import describe_span, format_spans
from svc_analytics.extraction import clock
from svc_analytics.extraction.plan import PlannedReading, Request, plan_readings
from svc_analytics.formatting import tables
from svc_analytics.lake.lake import Lake
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.periods import Period
from svc_analytics.unattended.notifiers import read_watching
from svc_analytics.unattended.watch import Watch

_FEWEST_READINGS = 2  # of a month before it is sealed


def watched(
    command: str,
    data_dir: str | None,
    months: Reckoning | None = None,
    period: str = "",
    language: Language = ENGLISH,
) -> Watch:
    """Return the watch of a run, for `with`; without settings of notices it does nothing.

    `months` is the zone and the calendar of the months that are to be sealed, if any are, and
    `period` the folder's name of the one period that is.
    """

    def place() -> Lake:
        return Lake(read_data_dir(data_dir))

    return Watch(command, place, read_watching(), echo_warning, months, period, language)


@dataclass(frozen=True)
class PlannedMonth:
    """What `close` would do with a month, a quarter or a year."""

    label: str
    does: str  # seal it, or compare the newest seal with the lake
    folder: Path
    calls: int


def plan_months(
    lake: Lake, settings: Settings, months: Sequence[Period], *, out: str | None, is_named: bool
) -> list[PlannedMonth]:
    """Plan the close of each; one that is named is read again, even if it is sealed."""
    planned = []
    for month in months:
        first = Path(out).absolute() if out else lake.path / STATEMENTS / month.folder
        sealed = len(versions(first))
        does = "compare" if sealed else "seal"
        is_read = not month.is_longer and (is_named or not sealed)
        request = Request(start=month.start, end=month.end, rereads=True)
        again = plan_readings(lake, settings, request, clock.machine_clock()) if is_read else []
        calls = _FEWEST_READINGS * sum(each.calls for each in again)
        planned.append(
            PlannedMonth(month.folder, does, version_folder(first, max(sealed, 1)), calls)
        )
    return planned


def dry_run(
    lake: Lake,
    settings: Settings,
    request: Request,
    months: Sequence[PlannedMonth] | None = None,
    *,
    as_json: bool,
) -> str:
    """Describe a run that would read what is requested, and then close these months."""
    readings = plan_readings(lake, settings, request, clock.machine_clock())
    keys = len(settings.key_classes)
    calls = keys + sum(each.calls for each in readings) + sum(each.calls for each in months or ())
    if as_json:
        return tables.to_json(_document(lake, readings, months, calls))
    lines = [text for each in readings for text in _reading_lines(each)]
    for month in months or ():
        lines += _month_lines(month)
    if months is not None and not months:
        lines.append("no month would be closed")
    return "\n".join([*lines, f"at least {calls:,} calls; nothing was asked or written"])


def _reading_lines(planned: PlannedReading) -> list[str]:
    if planned.why_not:
        return [f"{planned.stream} would not be read: {planned.why_not}"]
    spans = "; ".join(map(describe_span, planned.spans)) or "nothing"
    files = ", ".join(planned.files)
    return [
        f"{planned.stream} would be read: {spans}",
        *([f"  files that may change: {files}"] if files else []),
    ]


def _month_lines(month: PlannedMonth) -> list[str]:
    if month.does == "seal":
        return [f"{month.label} would be sealed, if it can be final: {month.folder}"]
    return [f"{month.label} is sealed, and would be compared with the lake: {month.folder}"]


def _document(
    lake: Lake,
    readings: Sequence[PlannedReading],
    months: Sequence[PlannedMonth] | None,
    calls: int,
) -> dict[str, Any]:
    streams = [
        {
            "stream": each.stream,
            "spans": format_spans(each.spans),
            "files": [*each.files],
            "not_extracted": each.why_not or None,
        }
        for each in readings
    ]
    document = {"dry_run": True, "data_dir": lake.place, "streams": streams, "calls": calls}
    if months is None:
        return document
    planned = [
        {"label": each.label, "does": each.does, "folder": str(each.folder)} for each in months
    ]
    return document | {"months": planned}
