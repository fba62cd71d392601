"""Close a month: read it until nothing new comes, write its statement, seal it.

A quarter or a year is not read: it is sealed over the seals of its months, which it names.

A sealed folder is never written again. When the lake gives other figures, the next version
is written beside it, with what differs. A month that cannot be final is written unsealed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain, takewhile
from pathlib import Path
from typing import Any

from svc_analytics.arguments import PATH, AnyPath, check
from svc_analytics.closing import adjacent_periods, due, seals
from svc_analytics.closing.chain import keep_chain, seal_folder
from svc_analytics.closing.handover.readable import forms_left_out, only_forms, write_lacking
from svc_analytics.closing.handover.sign import Signer, Stamper
from svc_analytics.closing.job import Job, Read, chosen_output, one_at_a_time, prepare_job
from svc_analytics.closing.month_states import LakeContents, judged_months, keep_results, with_state
from svc_analytics.closing.rederive import balance_notes, rederive, restatement
from svc_analytics.closing.result import CloseResult, State, unchecked
from svc_analytics.closing.verification.proof import require_same, require_unaltered
from svc_analytics.config import Settings
from svc_analytics.errors import ConfigError, NoService, Unavailable
from svc_analytics.extraction.plan import Request, Seen
from svc_analytics.instants import now
from svc_analytics.lake.lake import Lake
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period, parse_period, utc_months
from svc_analytics.proofs.sealed_zones import bound_notes, lake_zone
from svc_analytics.receipts.verify_lake import verify_month
from svc_analytics.render.differences import RESTATEMENT
from svc_analytics.render.document import Reason
from svc_analytics.render.folder import Note, check_currency, write_folder
from svc_analytics.schema import STREAMS
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.finality import unread_again
from svc_analytics.statements.reading import Basis, check_names, name_empty
from svc_analytics.statements.statement import Statement, prepare
from svc_analytics.storage import merge_into


def close(
    lake: Lake,
    month: str,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    formats: Collection[str] = ("csv", "parquet"),
    grace_hours: int = due.GRACE_HOURS,
    metadata: Collection[str] = (),
    settings: Settings | None = None,
    read: Read | None = None,
    lang: str = "en",
    digits: str = "latin",
    sign: bool = False,
    note: Note = lambda text: None,
    out: str | Path | None = None,
    currency: str | None = None,
    rates: AnyPath | None = None,
) -> CloseResult:
    """Close a month: read it twice, write its statement and seal it.

    A quarter, such as `2026-Q3`, or a year, such as `2026`, needs the seals of all its months,
    which its manifest names in `month_seals`; it is not read again, for they were.

    Reads the month until two passes find the same, at most three times. A `statement` is final as
    read; `close` waits `grace_hours` longer. A month that cannot be final, or does not open with
    what the sealed month before closed with, is written unsealed, with the reasons. Receipts are
    verified when a receipt secret is set. `month`, `zone`, `calendar` and `metadata` are as in
    `svc.statement`; a restatement keeps the metadata of the version before, unless it is given
    others. `read` extracts a request; by default `extract` does, with `settings` or those of the
    environment. `lang` and `digits` are as in `Statement.save`. With `currency`, forms that people
    read are written beside the seal, in a folder of their own, with a second figure beside each in
    USD; `rates` is as in `Statement.in_currency`, by default the file of SVC_RATES, else
    `rates.csv` in the lake. With `sign`, the key of SVC_SIGNING_KEY signs it, as `svc.sign` does;
    where it cannot, the month is sealed all the same, and a note says why. So it is where
    SVC_TSA_URL names an authority that does not stamp it. `note` is called with
    what is being done.

    Returns:
        What became of the month: `state` (sealed, unchanged, unproven, restated or provisional),
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
    check("out", out, (*PATH, type(None)), 'a path, such as "out/2026-10"')
    beside = [Path(out).absolute().parent] if out else []
    zone = lake_zone(lake, zone, *beside)
    period = parse_period(month, now(), zone, calendar)
    adjacent_periods.require_sealable(period)
    check_currency(currency, formats)
    output = chosen_output(formats, Language(lang, digits), note)
    job = prepare_job(lake, output, grace_hours, metadata, settings, read, out)
    job = job.with_rates(currency, rates)
    try:
        job = job.started()
    except (ConfigError, NoService, Unavailable) as error:
        return only_forms(job, period, error)
    due.check_is_over(period, job.clock, job.grace)
    with one_at_a_time(lake):
        doubts = () if period.is_longer else Readings(job).doubts(period)
        closed = adjacent_periods.say_unmet(_close(job, period, doubts), job.places(period), lake)
        keep_results(lake, job.contents, [closed])
        keep_chain(lake)
        if sealed := job.shown.get(closed.seal or ""):
            closed = replace(closed, statement=sealed.statement)
        closed = _marked(job, closed, Signer(lake, sign), Stamper(lake.storage))
        return closed.with_notes([*job.notes, *unchecked(job.settings, closed)]).logged()


def close_all_due(
    lake: Lake,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    formats: Collection[str] = ("csv", "parquet"),
    grace_hours: int = due.GRACE_HOURS,
    metadata: Collection[str] = (),
    settings: Settings | None = None,
    read: Read | None = None,
    lang: str = "en",
    digits: str = "latin",
    sign: bool = False,
    note: Note = lambda text: None,
    longer: Collection[str] = (),
    on_closed: Callable[[CloseResult], None] = lambda closed: None,
) -> list[CloseResult]:
    """Close every month that is over, oldest first, since the first with a record.

    A sealed month is not read again while the lake gives the same figures. Of the others the
    first is read alone, and those behind it together, as long as they are not large. Stops at the
    first month that cannot be sealed, because each seal names the one before. With `longer`, a
    list of "quarter", "year" or both, also closes those that are over and have the seals of all
    their months. `on_closed` is called with each when it is done, `note` with what is being
    done. `sign` is as in `close`.

    Returns:
        A list with what became of each month, as `close` returns it; behind them, with the
        state `waiting`, a month that is over by the service's clock alone, or this machine's.

    Raises:
        ConfigError: when settings are missing. The errors of `close` come through.

    Examples:
        >>> [closed.state for closed in svc.close_all_due(lake)]  # doctest: +SKIP
    """
    kinds = due.check_kinds(longer)
    output = chosen_output(formats, Language(lang, digits), note)
    job = prepare_job(lake, output, grace_hours, metadata, settings, read).started()
    with one_at_a_time(lake):
        months = [*due.months_over(lake, job.clock, job.grace, zone, calendar)]
        waiting = [
            *job.waiting_for_a_clock(months, zone, calendar),
            *job.waiting_for_a_list(months, zone, calendar),
        ]
        results: dict[str, CloseResult] = {}
        _verify_receipts(job, months)
        keep_chain(lake)
        signer, stamper = Signer(lake, sign), Stamper(lake.storage)
        for closed in chain(_close_all(job, months, kinds), waiting):
            notes = _notes(job, closed, months, results)
            marked = _marked(job, closed, signer, stamper)
            results[closed.label] = marked.with_notes(notes).logged()
            on_closed(results[closed.label])
    keep_results(lake, job.contents, results.values())
    return [*results.values()]


def _verify_receipts(job: Job, months: Sequence[Period]) -> None:
    """Verify the receipts of all months without a seal: all that blocks one is known in one run."""
    due = [month for month in months if not seals.versions(job.folder(month))]
    if due and job.settings and job.settings.receipt_secrets:
        span = {"first": due[0].folder, "last": due[-1].folder}
        job.note(Message("verifying receipts of {first} to {last}", **span))
        verify_month(job.lake, job.settings, due[0].start, due[-1].end)


def _marked(job: Job, closed: CloseResult, signer: Signer, stamper: Stamper) -> CloseResult:
    """Sign and stamp a sealed month, and write the forms beside it, which tell of both."""
    closed = stamper.stamp(signer.sign(closed))
    sealed = job.shown.pop(closed.seal or "", None)
    return closed.with_notes(write_lacking(job, sealed)) if sealed else closed


def _notes(
    job: Job, closed: CloseResult, months: Sequence[Period], done: Mapping[str, CloseResult]
) -> list[Message]:
    """Say once in a run of several months what is to be known of all, and which were not tried."""
    notes = [*job.notes] if closed.label == next(iter(done), closed.label) else []
    if not any(unchecked(job.settings, each) for each in done.values()):
        notes += unchecked(job.settings, closed)
    if closed.state == "provisional":
        tried = {*done, closed.label}
        notes += [*due.name_untried(months, tried, closed.label), *_blocked_too(job, months, tried)]
    return notes


def _blocked_too(job: Job, months: Sequence[Period], tried: Collection[str]) -> Iterator[Message]:
    """Say of the months that were not tried what blocks them, so that all can be mended at once."""
    untried = {month for month in months if month.folder not in tried}
    if not untried:
        return
    reckoning = (str(months[0].zone), months[0].calendar)
    for state in judged_months(job.lake, job.clock, job.note, reckoning):
        if state.kind == "blocked" and state.period in untried:
            yield Message(
                "{label} is blocked too: {NOTE}", label=state.label, note=translated(state.note)
            )


def _close_all(job: Job, months: Sequence[Period], kinds: Collection[str]) -> Iterator[CloseResult]:
    """Close each month up to one that cannot be sealed; then the longer periods, if all were."""
    closed = None
    for closed in _close_in_turn(job, months, Readings(job, months)):
        yield closed
    if closed is None or closed.seal:
        for period in due.longer_over(months, kinds):
            yield _close(job, period)


def _close_in_turn(job: Job, months: Sequence[Period], readings: Readings) -> Iterator[CloseResult]:
    """Close months, oldest first, up to one that cannot be sealed.

    Reading a month may bring in records of those before it: these are then closed once more,
    so that it opens with what they close with.
    """
    for place, period in enumerate(months):
        sealed = _compare_with_seal(job, period)
        if sealed and sealed.table is None:
            yield sealed
            continue
        doubts = readings.doubts(period)
        earlier = months[:place] if readings.has_news else ()
        for again in _close_in_turn(job, earlier, readings):
            if again.is_new:
                yield again
            if again.seal is None:
                return
        yield (closed := _close(job, period, doubts))
        if closed.seal is None:
            return


def _close(job: Job, period: Period, doubts: Collection[Reason] = ()) -> CloseResult:
    """Close a period; in a bucket anew, where another machine was first to write it.

    `doubts` are what the readings of a month leave open.
    """
    if period.is_longer:
        return merge_into(job.lake.storage, partial(_close_longer, job, period))
    return merge_into(job.lake.storage, partial(_close_month, job, period, doubts))


def _close_month(job: Job, period: Period, doubts: Collection[Reason]) -> CloseResult:
    """Seal a month that was read again, restate it, or leave it as it is."""
    if job.settings and job.settings.receipt_secrets:
        verify_month(job.lake, job.settings, period.start, period.end)
    sealed = _compare_with_seal(job, period)
    if sealed and sealed.table is None:
        return replace(sealed, reasons=(*sealed.reasons, *doubts))
    new = _state(job, period, sealed)
    return _write(job, replace(new, reasons=(*new.reasons, *doubts)), sealed)


def _close_longer(job: Job, period: Period) -> CloseResult:
    """Seal a quarter or a year over the seals of its months, or leave it as it is."""
    folders = [job.folder(period), job.statements / period.folder]
    months = adjacent_periods.sealed_months(period, folders)
    for folder, manifest in months:
        job.note(Message("comparing {label} with its seal", label=manifest["label"]))
        require_same(require_unaltered(job.lake, folder, manifest))
    sealed = _compare_with_seal(job, period)
    if sealed and sealed.table is None:
        return sealed
    new = _state(job, period, sealed)
    adjacent_periods.require_footed(new, months)
    named = {adjacent_periods.MONTH_SEALS: adjacent_periods.name_seals(months)}
    return _write(job, new, sealed, named)


def _state(job: Job, period: Period, sealed: CloseResult | None) -> Statement:
    """Make the statement of a period; a restatement keeps the columns of the version before."""
    job.note(Message("stating {label}", label=period.folder))
    names_before = seals.chosen_metadata(seals.read_manifest(sealed.folder)) if sealed else ()
    names = job.metadata or check_names(names_before)
    basis = Basis(job.clock, read_assertions(job.lake.path), names)
    return prepare(job.lake, period, basis)


def _compare_with_seal(job: Job, period: Period) -> CloseResult | None:
    """Compare the newest seal of a month with the lake; None for a month without a seal.

    The result has a table only when the lake now gives something else.
    """
    job.contents[period.folder] = LakeContents.read(job.lake)
    sealed = seals.versions(job.folder(period))
    if not sealed:
        return None
    folder = sealed[-1]
    manifest = seals.read_manifest(folder)
    proof = require_unaltered(job.lake, folder, manifest)
    new, table = proof.new or rederive(job.lake, manifest, folder), proof.table
    label, seal = period.folder, manifest["seal"]
    job.proven.add(seal)
    reasons = (*new.reasons, *map(Reason, proof.findings.of_files))
    result = CloseResult(label, proof.state, folder, len(sealed), seal, reasons, new.unknown)
    result = replace(result, receipts=new.receipts_state)
    if table.num_rows:
        result = replace(result, table=table, new_lines=new.tables["lines"])
    elif proof.sealed:
        job.shown[seal] = proof.sealed
    known = [*proof.findings.verdicts, *proof.findings.left_out]
    notes = [*balance_notes(job.lake, manifest, period), *known]
    return result.with_notes([*notes, *forms_left_out(job.output, new)])


def _sealed_before(job: Job, period: Period) -> seals.Sealed | None:
    """Return the newest seal of the period before; refuse a folder that was altered.

    What this run has proven, or sealed, is not made again: only its hashes are compared.
    """
    before = adjacent_periods.newest_sealed(
        period.shift(-1), job.places(period), job.lake.merchant_id
    )
    if before:
        require_unaltered(job.lake, *before, is_proven=before[1]["seal"] in job.proven)
    return before


def _write(
    job: Job, new: Statement, sealed: CloseResult | None, more: Mapping[str, Any] | None = None
) -> CloseResult:
    """Write the next version of a period, with a seal if it is final.

    `more` are further facts of its manifest. What is said of it is looked up before it is
    sealed: a stop behind the seal would lose it.
    """
    before = _sealed_before(job, new.period)
    new = adjacent_periods.held_to(before, new, job.lake)
    version, table, period = sealed.version + 1 if sealed else 1, None, new.period
    target = seals.version_folder(job.folder(period), version)
    if sealed:
        table = restatement(job.lake, sealed.folder, seals.read_manifest(sealed.folder), new)
        new = replace(new, tables=new.tables | {RESTATEMENT: table})
    links = {
        **(more or {}),
        "version": version,
        "supersedes": sealed.seal if sealed else None,
        "previous_seal": before[1]["seal"] if before else None,
    }
    warnings = seals.warnings_of(job.lake, target, period, version)
    notes = [*bound_notes(period), *name_empty(new.tables["lines"], period.noun)]
    make_seal = partial(seal_folder, job.lake) if new.status == "final" else None
    shown = job.converted(new)  # before it is sealed: a day without a rate ends it here
    output, notes = job.output.fitting(new), [*notes, *forms_left_out(job.output, new)]
    stated = new if make_seal else with_state(job.lake, shown, job.clock)
    write_folder(stated, target, output, links, make_seal, job.lake.storage)
    manifest = seals.read_manifest(target)
    if seal := manifest["seal"]:
        job.note_sealed(target, manifest, new)
    state: State = "provisional" if not seal else "restated" if sealed else "sealed"
    closed = CloseResult(period.folder, state, target, version, seal, new.reasons, new.unknown)
    closed = replace(closed, table=table, receipts=new.receipts_state)
    return closed.with_notes([*(text for of, text in warnings.items() if of != seal), *notes])


# ---------- Reading months again before they are sealed
# Until two readings in a row see the same.
#
# The months behind the first one are read together: a reading costs nearly as much for one small
# month as for twelve.


MOST_PASSES = 3  # time is read at most so often; two passes in a row must find the same
MOST_TOGETHER = 200_000  # records: the months of so many are sealed before the next are read


class Readings:
    """Reads the months of one run of closing again, each before it is closed.

    `due` are all the months of the run, oldest first. The first that has to be read is read
    alone: where it cannot be sealed, the run ends there, and the others were read for nothing.
    """

    def __init__(self, job: Job, due: Sequence[Period] = ()) -> None:
        self._job = job
        self._due = due
        self._is_begun = False
        self.has_news = False  # whether what was read last brought records, or other versions
        self._doubts: dict[Period, list[Reason]] = {}  # of months that were read together

    def doubts(self, period: Period) -> list[Reason]:
        """Read a month again, unless it was read with others before it was its turn.

        Returns what could not be read, or that no two passes in a row agreed.
        """
        self.has_news = False
        if waits := self._job.waits_for(period):
            return waits
        if self._is_begun and not self._doubts:
            self._read_together(self._following(period))
        self._is_begun = True
        if period in self._doubts:
            return self._doubts.pop(period)
        self._job.note(Message("reading {label} again", label=period.folder))
        unread = self._read(period.start, period.end)
        changes = Message("reason.still_changes", count=MOST_PASSES)
        return [Reason(changes)] if unread is None else unread

    def _following(self, first: Period) -> list[Period]:
        """Return a month and those behind it that have no seal, not too many to read together."""
        behind = (month for month in self._due if month.start > first.start)
        months = [first, *takewhile(self._is_to_read, behind)]
        counts = accumulate(_records(self._job.lake, months))
        return [m for m, count in zip(months, counts, strict=True) if count <= MOST_TOGETHER]

    def _is_to_read(self, month: Period) -> bool:
        return not (seals.versions(self._job.folder(month)) or self._job.waits_for(month))

    def _read_together(self, months: Sequence[Period]) -> None:
        """Read several months at once; where something moves, each is read alone from then on."""
        if len(months) > 1:
            span = {"first": months[0].folder, "last": months[-1].folder}
            self._job.note(Message("reading {first} to {last} again", **span))
            unread = self._read(months[0].start, months[-1].end)
            if unread is None:
                self._due = ()
            else:
                self._doubts = dict.fromkeys(months, unread)

    def _read(self, start: int, end: int) -> list[Reason] | None:
        """Read an interval again and again, until one pass sees what the pass before it saw.

        Returns what could not be read; None where no two passes in a row agreed.
        """
        seen: Seen = {}
        for number in range(MOST_PASSES):
            result = self._job.read(Request(start=start, end=end, rereads=True, confirms=seen))
            seen = result.seen
            self.has_news |= result.published.files > 0
            if number and result.is_confirmed:
                return unread_again(self._could_be_read(result.not_extracted))
        return None

    def _could_be_read(self, not_extracted: Mapping[str, str]) -> dict[str, str]:
        """Leave out the streams that were never read: the statement says so of them."""
        lake = self._job.lake
        return {
            name: why for name, why in not_extracted.items() if lake.coverage(STREAMS[name]).read
        }


def _records(lake: Lake, months: Iterable[Period]) -> list[int]:
    """Count the records that the lake holds of each month, those of its UTC months included."""
    rows = [
        {label: footer.totals.rows for label, footer in lake.footers(stream).items()}
        for stream in STREAMS.values()
    ]
    return [
        sum(held.get(utc.label, 0) for held in rows for utc in utc_months(month.start, month.end))
        for month in months
    ]
