"""Close a month: read it until nothing new comes, write its statement, seal it.

A sealed folder is never written again. When the lake gives other figures, the next version
is written beside it, with what differs. A month that cannot be final is written unsealed.
"""

import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from svc_analytics.arguments import as_names, check
from svc_analytics.closing import seals
from svc_analytics.closing.chain import oddities
from svc_analytics.closing.diff import RESTATEMENT
from svc_analytics.closing.due import check_is_over, months_due
from svc_analytics.closing.proof import require_unaltered
from svc_analytics.closing.rederive import rederive, restatement
from svc_analytics.closing.register import register_seal
from svc_analytics.closing.result import CloseResult, State
from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import ConfigError
from svc_analytics.extraction import update
from svc_analytics.extraction.plan import ExtractionResult, Request, Seen
from svc_analytics.files import locked
from svc_analytics.instants import HOUR
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.language.catalogue import Language
from svc_analytics.periods import Period, named_month
from svc_analytics.receipts.verify_lake import verify_month
from svc_analytics.render.document import Reason
from svc_analytics.render.folder import Note, check_formats, remove_stale, write_folder
from svc_analytics.statements.metadata import check_names
from svc_analytics.statements.reasons import unread_again
from svc_analytics.statements.statement import Statement, statement

MOST_PASSES = 3  # the month is read at most so often; two passes in a row must find the same
GRACE_HOURS = 24

Read = Callable[[Request], ExtractionResult]


@dataclass(frozen=True)
class _Job:
    """One run of `close`: the lake, how it is read, and what is to be written."""

    lake: Lake
    read: Read
    settings: Settings | None
    formats: tuple[str, ...]
    metadata: tuple[str, ...]
    grace: int
    out: Path | None
    clock: int  # up to when the lake was read, in UTC microseconds
    note: Note  # told what is being done now
    language: Language  # of html, xlsx and pdf
    notes: tuple[str, ...] = ()  # what bringing it up to date brought to light

    def folder(self, period: Period) -> Path:
        """Return the folder of a month's first version."""
        return (self.out or self.lake.path / seals.STATEMENTS / period.folder).absolute()


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
        PeriodNotClosed: for a month that is running, or ended within the grace hours.
        ConfigError: for a month that does not exist, or settings that are missing.
        LakeError: when a sealed folder was altered. The errors of `extract` come through.

    Examples:
        >>> svc.close(lake, "2026-10").state  # doctest: +SKIP
        'sealed'
    """
    period = named_month(month, time.time_ns() // 1000, zone, calendar)
    words = (lang, digits)
    job = _start(lake, formats, metadata, grace_hours, settings, read, note, words, out)
    check_is_over(period, job.clock, job.grace)
    with _one_at_a_time(lake):
        return _add_notes(job, _close_month(job, period))


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
    note: Note = lambda text: None,
    on_closed: Callable[[CloseResult], None] = lambda closed: None,
) -> list[CloseResult]:
    """Close every month that is over, oldest first, since the first with a record.

    A sealed month is not read again while the lake gives the same figures. Stops at the first
    month that cannot be sealed, because each seal names the one before. `on_closed` is called
    with each month when it is done, `note` with what is being done.

    Returns:
        A list with what became of each month, as `close` returns it.

    Raises:
        ConfigError: when settings are missing. The errors of `close` come through.

    Examples:
        >>> [closed.state for closed in svc.close_all_due(lake)]  # doctest: +SKIP
    """
    job = _start(lake, formats, metadata, grace_hours, settings, read, note, (lang, digits))
    results: list[CloseResult] = []
    with _one_at_a_time(lake):
        for period in months_due(lake, job.clock, job.grace, zone, calendar):
            sealed = _compare_with_seal(job, period)
            is_unchanged = sealed and sealed.table is None
            closed = sealed if sealed and is_unchanged else _close_month(job, period)
            results.append(closed if results else _add_notes(job, closed))
            on_closed(results[-1])
            if results[-1].seal is None:
                break
    return results


def _start(
    lake: Lake,
    formats: Collection[str],
    metadata: Collection[str],
    grace_hours: int,
    settings: Settings | None,
    read: Read | None,
    note: Note,
    words: tuple[str, str],
    out: str | Path | None = None,
) -> _Job:
    """Check the options, bring the lake up to date, and take the run's clock."""
    check_lake(lake)
    check("grace_hours", grace_hours, (int, float), "a number of hours, such as 24")
    formats = as_names("formats", formats, "csv")
    language = Language(*words)
    check_formats(formats, language)
    if not {"csv", "parquet"} & set(formats):
        message = "csv or parquet must be among the formats: a restatement is made from them"
        raise ConfigError(message)
    names = check_names(metadata)
    if read is None:
        settings = settings or read_settings(lake.path)
        done = update.extract(lake, settings, Request())
        read = partial(update.read_again, lake, settings)
    else:
        done = read(Request())
    notes, grace = (*done.retractions, *done.notes), grace_hours * HOUR
    remove_stale(lake.path / seals.STATEMENTS)  # of months that are not written again, too
    folder = None if out is None else Path(out)
    chosen = (lake, read, settings, formats, names, grace, folder)
    return _Job(*chosen, done.read_to, note, language, notes)


def _close_month(job: _Job, period: Period) -> CloseResult:
    """Read a month again, then seal it, restate it, or leave it as it is."""
    job.note(f"reading {period.folder} again")
    doubts = _read_until_unchanged(job, period)
    if job.settings and job.settings.receipt_secrets:
        verify_month(job.lake, job.settings, period.start, period.end)
    sealed = _compare_with_seal(job, period)
    if sealed and sealed.table is None:
        return replace(sealed, reasons=(*sealed.reasons, *doubts))
    job.note(f"stating {period.folder}")
    names_before = seals.chosen_metadata(seals.read_manifest(sealed.folder)) if sealed else ()
    new = statement(
        job.lake,
        period.label,
        zone=period.zone,
        calendar=period.calendar,
        now=job.clock,
        metadata=job.metadata or names_before,
    )
    return _write(job, replace(new, reasons=(*new.reasons, *doubts)), sealed)


def _read_until_unchanged(job: _Job, period: Period) -> list[Reason]:
    """Read a month again and again, until one pass sees what the pass before it saw.

    Returns what could not be read, or that no two passes in a row agreed.
    """
    seen: Seen = {}
    for number in range(MOST_PASSES):
        request = Request(start=period.start, end=period.end, rereads=True, confirms=seen)
        result = job.read(request)
        seen = result.seen
        if number and result.is_confirmed:
            return unread_again(result.not_extracted)
    text = f"the month was read {MOST_PASSES} times and differed each time: it still changes"
    return [Reason(text)]


def _compare_with_seal(job: _Job, period: Period) -> CloseResult | None:
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


def _seal(lake: Lake, manifest: seals.Manifest) -> str:
    """Return the seal of a manifest, which the lake's register then knows."""
    seal = seals.seal_of(manifest)
    register_seal(lake.path / seals.STATEMENTS, manifest, seal)
    return seal


def _write(job: _Job, new: Statement, sealed: CloseResult | None) -> CloseResult:
    """Write the next version of a month, with a seal if it is final."""
    first, table, is_final = job.folder(new.period), None, new.status == "final"
    if sealed:
        table = restatement(job.lake, sealed.folder, seals.read_manifest(sealed.folder), new)
        new = replace(new, tables=new.tables | {RESTATEMENT: table})
    version = sealed.version + 1 if sealed else 1
    chain = {
        "version": version,
        "supersedes": sealed.seal if sealed else None,
        "previous_seal": _seal_before(job.lake, new.period, first),
    }
    make_seal = partial(_seal, job.lake) if is_final else None
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


def _add_notes(job: _Job, closed: CloseResult) -> CloseResult:
    notes = [closed.note] if closed.note else []
    return replace(closed, note="; ".join([*notes, *job.notes]) or None)


def _one_at_a_time(lake: Lake) -> AbstractContextManager[None]:
    """Let one process close at a time: two would not see each other's versions."""
    return locked(lake.path / ".close.lock", f"is closing a month of {lake.path}", patience=0)
