"""Closing a month: read it until two readings agree, state it, seal it, or say why not.

A sealed month is never written again. When the lake yields other figures than a seal,
the restatement is a version of its own beside it, with what differs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from svc_analytics.closing.diff import RESTATEMENT
from svc_analytics.closing.seals import (
    STATEMENTS,
    chosen_metadata,
    read_manifest,
    seal_violations,
    seals_beside,
    version_folder,
    versions,
    with_seal,
    with_version,
)
from svc_analytics.closing.verify import rederive, restatement
from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import ConfigError, LakeError, PeriodNotClosed
from svc_analytics.extraction import update
from svc_analytics.extraction.plan import ExtractionResult, Request
from svc_analytics.files import locked
from svc_analytics.formatting.display import Display, display_table
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import HOUR, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period, month_of, named_month
from svc_analytics.receipts.verify_lake import verify_month
from svc_analytics.render.folder import check_formats, write_folder
from svc_analytics.statements.metadata import check_names
from svc_analytics.statements.statement import Reason, Statement, statement
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import open_warehouse

if TYPE_CHECKING:
    import pandas as pd

READINGS = 3  # at most, of which two in a row must agree
GRACE_HOURS = 24

State = Literal["sealed", "unchanged", "restated", "provisional"]
Read = Callable[[Request], ExtractionResult]


@dataclass(frozen=True)
class CloseResult(Displayable):
    """What became of one month."""

    label: str
    state: State
    folder: Path
    version: int
    seal: str | None
    reasons: tuple[Reason, ...] = ()
    table: pa.Table | None = field(default=None, repr=False)  # what differs from the seal before
    note: str | None = None  # what a person may wish to know, though nothing is wrong

    @property
    def needs_attention(self) -> bool:
        """Whether a person should look: at a restatement, or at what is in the way."""
        return self.state in ("restated", "provisional") or bool(self.reasons)

    @property
    def restatement(self) -> pd.DataFrame | None:
        """One row per figure or record that differs from the version before; None for a first."""
        return None if self.table is None else to_frame(self.table)

    def _display(self) -> Display:
        lines = [f"{self.state}, version {self.version}, in {self.folder}"]
        lines += [f"seal {self.seal}"] * bool(self.seal)
        lines += [reason.text for reason in self.reasons]
        lines += [f"note: {self.note}"] if self.note else []
        tables = (
            []
            if self.table is None
            else [display_table(self.table, "differences from the version before")]
        )
        return Display(f"Month {self.label}", lines, tables)


@dataclass(frozen=True)
class _Job:
    """What is to be closed, and how."""

    lake: Lake
    read: Read
    clock: int  # the service's own, in UTC microseconds
    formats: tuple[str, ...]
    grace: int
    settings: Settings | None = None
    out: Path | None = None
    metadata: tuple[str, ...] = ()

    def folder(self, period: Period) -> Path:
        """The place of a month's first version."""
        return (self.out or self.lake.path / STATEMENTS / period.folder).absolute()


def close(
    lake: Lake,
    month: str,
    *,
    zone: str = "UTC",
    calendar: str = "gregorian",
    formats: tuple[str, ...] = ("csv", "parquet"),
    out: str | Path | None = None,
    grace_hours: int = GRACE_HOURS,
    metadata: Collection[str] = (),
    settings: Settings | None = None,
    read: Read | None = None,
) -> CloseResult:
    """Close a month: read it twice, write its statement and seal it.

    Reads the month until two readings agree, at most three times. Returns what became of
    the month. A month that cannot be final is written unsealed, with the reasons.
    Receipts are verified when a receipt secret is set. `metadata` names properties of the
    payments' metadata to add to `lines` as columns; a restatement keeps those of the
    version before, unless it is given others. `read` extracts a request; by default
    `extract` does, with `settings` or those of the environment.

    Raises `PeriodNotClosed` for a month that is running or ended within the grace hours,
    and the errors of `extract`.
    """
    _check_formats(formats)
    chosen = check_names(metadata)
    period = named_month(month, time.time_ns() // 1000, zone, calendar)
    settings, read = _ways(lake, settings, read)
    clock = read(Request()).read_to
    place = None if out is None else Path(out)
    grace = grace_hours * HOUR
    job = _Job(lake, read, clock, tuple(formats), grace, settings, place, chosen)
    _require_over(period, job)
    with _one_at_a_time(lake):
        return _close_again(job, period)


def close_all_due(
    lake: Lake,
    *,
    zone: str = "UTC",
    calendar: str = "gregorian",
    formats: tuple[str, ...] = ("csv", "parquet"),
    grace_hours: int = GRACE_HOURS,
    metadata: Collection[str] = (),
    settings: Settings | None = None,
    read: Read | None = None,
    on_closed: Callable[[CloseResult], None] = lambda closed: None,
) -> list[CloseResult]:
    """Close every month that is over, oldest first, since the first with a record.

    A sealed month is not read again while the lake gives the same figures. Stops at the
    first month that cannot be sealed, because each seal names the one before. `on_closed`
    is called with each month when it is done.
    """
    _check_formats(formats)
    chosen = check_names(metadata)
    settings, read = _ways(lake, settings, read)
    clock = read(Request()).read_to
    grace = grace_hours * HOUR
    job = _Job(lake, read, clock, tuple(formats), grace, settings, metadata=chosen)
    found = []
    with _one_at_a_time(lake):
        for period in _due(job, zone, calendar):
            held = _compare_with_seal(job, period)
            found.append(held if held and held.table is None else _close_again(job, period))
            on_closed(found[-1])
            if found[-1].seal is None:
                break
    return found


def _ways(lake: Lake, settings: Settings | None, read: Read | None) -> tuple[Settings | None, Read]:
    """Return the settings and the way to read with them, from the environment unless given."""
    if read is None:
        settings = settings or read_settings(lake.path)
        read = partial(update.extract, lake, settings)
    return settings, read


def _due(job: _Job, zone: str, calendar: str) -> Iterator[Period]:
    query = (
        "select epoch_us(min(starts_at)) as first from ("
        "select min(paid_at) as starts_at from payments "
        "union all select min(settled_at) from payout_records) as firsts"
    )
    with open_warehouse(job.lake, models_used_by(query)) as warehouse:
        first = warehouse.query(query)["first"][0].as_py()
    period = None if first is None else month_of(first, zone, calendar)
    while period and period.end + job.grace <= job.clock:
        yield period
        period = period.shift(1)


def _close_again(job: _Job, period: Period) -> CloseResult:
    """Read a month until two readings agree, then seal it, restate it, or leave it as it is."""
    doubts = _read_until_agreed(job, period)
    if job.settings and job.settings.receipt_secrets:
        verify_month(job.lake, job.settings, period.start, period.end)
    held = _compare_with_seal(job, period)
    if held and held.table is None:
        return replace(held, reasons=(*held.reasons, *doubts))
    before = chosen_metadata(read_manifest(held.folder)) if held else ()
    made = statement(
        job.lake,
        period.label,
        zone=period.zone,
        calendar=period.calendar,
        now=job.clock,
        metadata=job.metadata or before,
    )
    return _write(job, replace(made, reasons=(*made.reasons, *doubts)), held)


def _read_until_agreed(job: _Job, period: Period) -> list[Reason]:
    """Read a month again until one reading finds what the one before it found.

    Returns what of it could not be read, or that no two readings agreed.
    """
    again = Request(start=period.start, end=period.end, rereads=True)
    for reading in range(READINGS):
        done = job.read(again)
        found = done.published
        is_news = found.files or found.changed or found.quarantined
        if reading and not is_news:
            left = sorted(done.not_extracted.items())
            return [Reason(f"{name} could not be read again: {why}") for name, why in left]
    text = f"{READINGS} readings in a row differed: the service still changes the month"
    return [Reason(text)]


def _compare_with_seal(job: _Job, period: Period) -> CloseResult | None:
    """Hold the newest seal of a month against the lake; None where it has none."""
    sealed = versions(job.folder(period))
    if not sealed:
        return None
    folder = sealed[-1]
    manifest = read_manifest(folder)
    if broken := seal_violations(folder, manifest):
        message = f"{folder} was altered after it was sealed ({broken[0]}): restore it from a copy"
        raise LakeError(message)
    made = rederive(job.lake, manifest)
    table = restatement(job.lake, folder, manifest, made)
    found = CloseResult(
        period.folder, "unchanged", folder, len(sealed), manifest["seal"], made.reasons
    )
    return replace(found, table=table) if table.num_rows else found


def _write(job: _Job, made: Statement, held: CloseResult | None) -> CloseResult:
    """Write the next version of a month, sealed if it is final."""
    first, table = job.folder(made.period), None
    if held:
        table = restatement(job.lake, held.folder, read_manifest(held.folder), made)
        made = replace(made, tables=made.tables | {RESTATEMENT: table})
    version = held.version + 1 if held else 1
    finish = partial(
        with_seal if made.status == "final" else with_version,
        version=version,
        previous_seal=_newest(seals_beside(first, made.period.shift(-1))),
        supersedes=held.seal if held else None,
    )
    folder = write_folder(made, version_folder(first, version), job.formats, finish)
    state: State = "restated" if held else "sealed"
    return CloseResult(
        made.period.folder,
        state if made.status == "final" else "provisional",
        folder,
        version,
        read_manifest(folder)["seal"],
        made.reasons,
        table,
        None if held else _note_order(first, made.period.shift(1)),
    )


def _note_order(folder: Path, after: Period) -> str | None:
    """Say where the chain does not reach: a seal cannot name one that was made after it."""
    if not seals_beside(folder, after):
        return None
    return (
        f"{after.folder} was sealed first, so its seal does not name this month's: "
        "close months oldest first, as --all-due does, to chain them"
    )


def _newest(seals: dict[int, str]) -> str | None:
    return seals[max(seals)] if seals else None


def _check_formats(formats: tuple[str, ...]) -> None:
    check_formats(tuple(formats))
    if not {"csv", "parquet"} & set(formats):
        raise ConfigError(
            "csv or parquet must be among the formats: a restatement is made from them"
        )


def _require_over(period: Period, job: _Job) -> None:
    if period.start >= job.clock:
        raise ConfigError(f"{period.folder} has not begun: choose a month that is over")
    if period.end > job.clock:
        message = f"{period.folder} is not over: it ends at {format_instant(period.end)}"
        raise PeriodNotClosed(message)
    if period.end + job.grace > job.clock:
        due = format_instant(period.end + job.grace)
        raise PeriodNotClosed(f"{period.folder} ended too recently: close it from {due} on")


def _one_at_a_time(lake: Lake) -> AbstractContextManager[None]:
    """Let one process close at a time: two would not see each other's versions."""
    return locked(lake.path / ".close.lock", f"is closing a month of {lake.path}", patience=0)
