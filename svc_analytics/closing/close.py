"""Close a month: read it until nothing new comes, write its statement, seal it.

A quarter or a year is not read: it is sealed over the seals of its months, which it names.

A sealed folder is never written again. When the lake gives other figures, the next version
is written beside it, with what differs. A month that cannot be final is written unsealed.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from svc_analytics.closing import seals
from svc_analytics.closing.chain import oddities
from svc_analytics.closing.diff import RESTATEMENT
from svc_analytics.closing.due import check_is_over, check_kinds, longer_due, months_due
from svc_analytics.closing.job import Job, Read, one_at_a_time, start
from svc_analytics.closing.months import (
    MONTH_SEALS,
    name_seals,
    require_footed,
    require_same,
    require_sealable,
    sealed_months,
)
from svc_analytics.closing.readings import Readings
from svc_analytics.closing.rederive import rederive, restatement
from svc_analytics.closing.register import seal_in
from svc_analytics.closing.result import CloseResult, State
from svc_analytics.closing.verification.proof import require_unaltered
from svc_analytics.config import Settings
from svc_analytics.files import merge_into
from svc_analytics.lake.lake import Lake
from svc_analytics.named_periods import named_period
from svc_analytics.periods import Period
from svc_analytics.receipts.verify_lake import verify_month
from svc_analytics.render.folder import Note, write_folder
from svc_analytics.statements.statement import Statement, statement

GRACE_HOURS = 24


def close(
    lake: Lake,
    month: str,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    formats: Collection[str] = ("csv", "parquet"),
    out: str | Path | None = None,
    grace_hours: int = GRACE_HOURS,
    metadata: Collection[str] = (),
    settings: Settings | None = None,
    read: Read | None = None,
    lang: str = "en",
    digits: str = "latin",
    note: Note = lambda text: None,
) -> CloseResult:
    """Close a month: read it twice, write its statement and seal it.

    A quarter, such as `2026-Q3`, or a year, such as `2026`, needs the seals of all its months,
    which its manifest names in `month_seals`; it is not read again, for they were.

    Reads the month until two passes find the same, at most three times. A `statement` is final
    as read; `close` waits `grace_hours` longer. A month that cannot be final is written
    unsealed, with the reasons. Receipts are verified when a receipt secret is set. `month`,
    `zone`, `calendar` and `metadata` are as in `svc.statement`; a restatement keeps the metadata
    of the version before, unless it is given others. `read` extracts a request; by default
    `extract` does, with `settings` or those of the environment. `lang` and `digits` are as in
    `Statement.save`. `note` is called with what is being done.

    Returns:
        What became of the month: `state` (sealed, unchanged, restated or provisional),
        `folder`, `version`, `seal`, `reasons`, and `restatement`, a frame of what differs
        from the version before, or None.

    Raises:
        PeriodNotClosed: for a month that is running, or ended within the grace hours, and for a
            year of which a month is not sealed, or was sealed with other figures.
        ConfigError: for a month that does not exist, or settings that are missing.
        LakeError: when a sealed folder was altered. The errors of `extract` come through.

    Examples:
        >>> svc.close(lake, "2026-10").state  # doctest: +SKIP
        'sealed'
    """
    period = named_period(month, time.time_ns() // 1000, zone, calendar)
    require_sealable(period)
    words = (lang, digits)
    job = start(lake, formats, metadata, grace_hours, settings, read, note, words, out)
    check_is_over(period, job.clock, job.grace)
    with one_at_a_time(lake):
        return _add_notes(job, _close(job, period, Readings(job)))


def close_all_due(
    lake: Lake,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    formats: Collection[str] = ("csv", "parquet"),
    grace_hours: int = GRACE_HOURS,
    metadata: Collection[str] = (),
    settings: Settings | None = None,
    read: Read | None = None,
    lang: str = "en",
    digits: str = "latin",
    longer: Collection[str] = (),
    note: Note = lambda text: None,
    on_closed: Callable[[CloseResult], None] = lambda closed: None,
) -> list[CloseResult]:
    """Close every month that is over, oldest first, since the first with a record.

    A sealed month is not read again while the lake gives the same figures. Of the others the
    first is read alone, and those behind it together, as long as they are not large. Stops at the
    first month that cannot be sealed, because each seal names the one before. With `longer`, a
    list of "quarter", "year" or both, also closes those that are over and have the seals of all
    their months. `on_closed` is called with each when it is done, `note` with what is being done.

    Returns:
        A list with what became of each month, as `close` returns it.

    Raises:
        ConfigError: when settings are missing. The errors of `close` come through.

    Examples:
        >>> [closed.state for closed in svc.close_all_due(lake)]  # doctest: +SKIP
    """
    kinds = check_kinds(longer)
    job = start(lake, formats, metadata, grace_hours, settings, read, note, (lang, digits))
    with one_at_a_time(lake):
        months = [*months_due(lake, job.clock, job.grace, zone, calendar)]
        results: list[CloseResult] = []
        for closed in _close_all(job, months, kinds):
            results.append(closed if results else _add_notes(job, closed))
            on_closed(results[-1])
    return results


def _close_all(job: Job, months: Sequence[Period], kinds: Collection[str]) -> Iterator[CloseResult]:
    """Close each month up to one that cannot be sealed; then the longer periods, if all were."""
    readings = Readings(job, months)
    for period in months:
        sealed = _compare_with_seal(job, period)
        is_unchanged = sealed and sealed.table is None
        closed = sealed if sealed and is_unchanged else _close(job, period, readings)
        yield closed
        if closed.seal is None:
            return
    for period in longer_due(months, kinds):
        yield _close(job, period, readings)


def _close(job: Job, period: Period, readings: Readings) -> CloseResult:
    """Close a period; in a bucket anew, where another machine was first to write it."""
    if period.is_longer:
        return merge_into(job.lake.path, partial(_close_longer, job, period))
    return merge_into(job.lake.path, partial(_close_month, job, period, readings))


def _close_month(job: Job, period: Period, readings: Readings) -> CloseResult:
    """Read a month again, then seal it, restate it, or leave it as it is."""
    doubts = readings.doubts(period)
    if job.settings and job.settings.receipt_secrets:
        verify_month(job.lake, job.settings, period.start, period.end)
    sealed = _compare_with_seal(job, period)
    if sealed and sealed.table is None:
        return replace(sealed, reasons=(*sealed.reasons, *doubts))
    new = _state(job, period, sealed)
    return _write(job, replace(new, reasons=(*new.reasons, *doubts)), sealed)


def _close_longer(job: Job, period: Period) -> CloseResult:
    """Seal a quarter or a year over the seals of its months, or leave it as it is."""
    months = sealed_months(period, [job.folder(period), job.statements / period.folder])
    for folder, manifest in months:
        job.note(f"comparing {manifest['label']} with its seal")
        require_unaltered(job.lake, folder, manifest)
        require_same(job.lake, folder, manifest)
    sealed = _compare_with_seal(job, period)
    if sealed and sealed.table is None:
        return sealed
    new = _state(job, period, sealed)
    require_footed(new, months)
    return _write(job, new, sealed, {MONTH_SEALS: name_seals(months)})


def _state(job: Job, period: Period, sealed: CloseResult | None) -> Statement:
    """Make the statement of a period; a restatement keeps the columns of the version before."""
    job.note(f"stating {period.folder}")
    names_before = seals.chosen_metadata(seals.read_manifest(sealed.folder)) if sealed else ()
    return statement(
        job.lake,
        period.label,
        zone=period.zone,
        calendar=period.calendar,
        now=job.clock,
        metadata=job.metadata or names_before,
    )


def _compare_with_seal(job: Job, period: Period) -> CloseResult | None:
    """Compare the newest seal of a month with the lake; None for a month without a seal.

    The result has a table only when the lake now gives something else.
    """
    sealed = seals.versions(job.folder(period))
    if not sealed:
        return None
    folder = sealed[-1]
    manifest = seals.read_manifest(folder)
    require_unaltered(job.lake, folder, manifest)
    new = rederive(job.lake, manifest)
    table = restatement(job.lake, folder, manifest, new)
    label, seal = period.folder, manifest["seal"]
    result = CloseResult(label, "unchanged", folder, len(sealed), seal, new.reasons, new.unknown)
    return replace(result, table=table) if table.num_rows else result


def _seal_before(lake: Lake, period: Period, folder: Path) -> str | None:
    """Return the seal of the month before, if it has one; refuse a folder that was altered."""
    before = seals.sealed_folders(period.shift(-1), folder)
    if not before:
        return None
    path, manifest = before[-1]
    require_unaltered(lake, path, manifest)
    return str(manifest["seal"])


def _write(
    job: Job, new: Statement, sealed: CloseResult | None, more: Mapping[str, Any] | None = None
) -> CloseResult:
    """Write the next version of a period, with a seal if it is final.

    `more` are further facts of its manifest.
    """
    first, table, is_final = job.folder(new.period), None, new.status == "final"
    if sealed:
        table = restatement(job.lake, sealed.folder, seals.read_manifest(sealed.folder), new)
        new = replace(new, tables=new.tables | {RESTATEMENT: table})
    version = sealed.version + 1 if sealed else 1
    chain = {
        **(more or {}),
        "version": version,
        "supersedes": sealed.seal if sealed else None,
        "previous_seal": _seal_before(job.lake, new.period, first),
    }
    make_seal = partial(seal_in, job.lake) if is_final else None
    folder = write_folder(
        new,
        seals.version_folder(first, version),
        job.formats,
        chain,
        make_seal,
        job.note,
        job.language,
    )
    state: State = "provisional" if not is_final else "restated" if sealed else "sealed"
    seal, label = seals.read_manifest(folder)["seal"], new.period.folder
    note = None if sealed else oddities(job.lake, folder, new.period.shift(1))
    return CloseResult(label, state, folder, version, seal, new.reasons, new.unknown, table, note)


def _add_notes(job: Job, closed: CloseResult) -> CloseResult:
    notes = [closed.note] if closed.note else []
    return replace(closed, note="; ".join([*notes, *job.notes]) or None)
