"""The state of each month of a lake, which the desk, commands, statements and notebooks repeat."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path, PurePath

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.closing import adjacent_periods, due, rederive, result, seals, table_diff
from svc_analytics.coverage import Span
from svc_analytics.errors import SvcError, text_of
from svc_analytics.files import program_digest, read_cached, write_cached
from svc_analytics.instants import from_micros, parse_bound
from svc_analytics.lake.checksums import content_digests, require_whole
from svc_analytics.lake.lake import Lake, known_months
from svc_analytics.lake.layout import VERDICTS_FOLDER, data_folders
from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period, known_until, month_of, read_label, utc_months
from svc_analytics.proofs.statuses import FAILED, HELD, UNCHECKED, Marks
from svc_analytics.render.document import Reason
from svc_analytics.render.folder import MANIFEST, Note
from svc_analytics.render.month_state import Kind, MonthState
from svc_analytics.schema import STREAMS
from svc_analytics.statements import balance_assertions, finality, reading, rules, sentences, tables
from svc_analytics.statements.statement import Statement, prepare
from svc_analytics.warehouse.acknowledgements import FILE as ACCEPTED, Acceptances
from svc_analytics.warehouse.models import Check, models_used_by, read_statement_checks
from svc_analytics.warehouse.sql_text import fill_places, instant_literal
from svc_analytics.warehouse.view_builder import findings_of
from svc_analytics.warehouse.warehouse import Warehouse, count

_RECORDS = (*STREAMS, VERDICTS_FOLDER)  # the folders of what a month's figures are made of
LAST = 12  # months that are shown one by one: a year of them
# What a comparison of a month with the lake said is kept for as long as the lake stays as it is. It
# lies in the cache folder under a hash of all that it was made of, by content: what a lake held
# before the comparison, and still holds behind it. What is lost there is only made again.
_KIND = "months"
_MOST = 1000  # answers that are kept
_MONTH_FILE = re.compile("[0-9]{4}-[0-9]{2}")
_SEALED = [f"{seals.STATEMENTS}/*/{name}" for name in (MANIFEST, "summary.*")]


def month_states(
    lake: Lake, clock: int, zone: str, calendar: str, contents: LakeContents | None = None
) -> list[MonthState]:
    """Return the months of a lake, newest first, up to the one that the clock is in.

    They are told as far as they are known of its contents, by default those that it has now:
    `judged` compares one with the lake.
    """
    # Refuses a lake into which nothing was read, and bounds the months that people look through.
    oldest = read_label(known_months(lake, zone, calendar)[-1], zone, calendar)
    months = due.lake_months(lake, clock, zone, calendar)
    periods = [month for month in months if month.start >= oldest.start]
    contents = contents or LakeContents.read(lake)
    return [state_of(lake, period, clock, contents) for period in reversed(periods)]


def judged_months(
    lake: Lake, clock: int, note: Note, scheduled: due.Reckoning | None = None
) -> list[MonthState]:
    """Return the months of a lake, oldest first, up to the one that the clock is in.

    They are of each zone and calendar that has a seal, those of the schedule first, by default
    of UTC. The last ones, and all that wait for a close, are compared with the lake; a sealed
    month before them is told as far as it is known. `note` is told which month is being looked at.
    """
    if rederive.read_until(lake) is None:
        return []
    contents, months = LakeContents.read(lake), list[MonthState]()
    for zone, calendar in due.reckonings(lake, scheduled):
        states = month_states(lake, clock, zone, calendar, contents)
        judge_open(lake, states, clock, contents, note)
        for place, state in enumerate(states):
            if place < LAST or not state.is_sealed:
                states[place] = judged(lake, state, clock, contents, note)
            if place < LAST:
                states[place] = with_statuses(states[place])
        months += states[::-1]
    return months


def judge_open(
    lake: Lake,
    states: Iterable[MonthState],
    clock: int,
    contents: LakeContents,
    note: Note = lambda text: None,
) -> list[MonthState]:
    """Return the states of those months that are over and have no seal, judged all together.

    The first one behind a sealed month is left to `judged`, which compares their positions, and
    so is a single one. `note` is told which months are looked at.
    """
    waiting = [
        state
        for state in states
        if not (state.kind == "running" or state.versions or is_judged(contents, state))
        and _sealed_before(lake, state.period) is None
    ]
    if len(waiting) < 2:
        return []
    waiting.sort(key=lambda state: state.period.start)
    ends = {"first": waiting[0].period.title, "last": waiting[-1].period.title}
    note(Message("looking at {FIRST} to {LAST}", **{k: translated(v) for k, v in ends.items()}))
    try:
        reasons = reasons_of_months(lake, [state.period for state in waiting], clock)
    except SvcError:  # `judged` says of each month what hinders it
        return []
    texts = (tuple(each.text for each in why) for why in reasons)
    answers = [*zip(waiting, map(Judgement, texts), strict=True)]
    moments = (contents, LakeContents.read(lake))
    for state, answer in answers:
        cache_judgement(moments, state.period, None, answer)
    return [_as_judged(state, answer, clock) for state, answer in answers]


def state_of(lake: Lake, period: Period, clock: int, contents: LakeContents) -> MonthState:
    """Return the state of a period, as far as it is known of these contents of the lake."""
    statements = (lake.path / seals.STATEMENTS).absolute()
    versions = tuple(seals.versions(statements / period.folder))
    lost = _lost(statements, period, len(versions) + 1)
    state = MonthState(period, "due", due.closes_at(period), (), len(versions), versions, lost=lost)
    return _as_judged(state, cached_judgement(contents, period, _manifest(state)), clock)


def _lost(statements: Path, period: Period, version: int) -> tuple[str, ...]:
    """Say of a version without a sealed folder that the register knows its seal, or why not."""
    try:
        return tuple(seals.sealed_before(statements, period, version).values())
    except SvcError as error:
        return (text_of(error),)


def judged(
    lake: Lake,
    state: MonthState,
    clock: int,
    contents: LakeContents,
    note: Note = lambda text: None,
) -> MonthState:
    """Return the state of a month after it was compared with the lake as it is now.

    What hinders the comparison is a reason too. `note` is told which month is compared; of one
    that was compared with these contents of the lake, only the files of its records are looked at.
    """
    if state.kind == "running":
        return state
    try:
        answer = _answer(lake, state, clock, contents, note)
    except SvcError as error:  # not kept: at the next look it may be over, as a stopped query is
        answer = Judgement((text_of(error),))
    return _as_judged(state, answer, clock)


def _answer(
    lake: Lake, state: MonthState, clock: int, before: LakeContents, note: Note
) -> Judgement:
    period, manifest = state.period, _manifest(state)
    if answer := cached_judgement(before, period, manifest):
        for month, folder in product(utc_months(period.start, period.end), _RECORDS):
            if (path := lake.path / folder / f"{month.label}.parquet").exists():
                require_whole(path)
        return answer
    note(Message("looking at {MONTH}", month=translated(period.title)))
    answer = _judge(lake, state, clock)
    if not (manifest and seals.broken_files(state.versions[-1], manifest)):
        cache_judgement((before, LakeContents.read(lake)), period, manifest, answer)
    return answer


def is_judged(contents: LakeContents, state: MonthState) -> bool:
    """Whether a month was compared with these contents of the lake."""
    known = cached_judgement(contents, state.period, _manifest(state))
    return state.kind == "running" or known is not None


def with_state(lake: Lake, statement: Statement, clock: int) -> Statement:
    """Return a statement that knows what became of its month.

    Of a month that waits for a close it has the reasons too for which `close` would not seal it.
    """
    contents = LakeContents.read(lake)
    state = state_of(lake, statement.period, clock, contents)
    stored = sentences.stored_sentences(lake.path / seals.STATEMENTS, statement.period.folder)
    statement = replace(statement, sentences=stored.sentences, unread_sentences=stored.unread)
    if state.is_sealed:
        return replace(statement, state=with_statuses(judged(lake, state, clock, contents)))
    if state.kind == "running":
        return replace(statement, state=state)
    held = _held(lake, statement)
    return replace(held, state=_as_judged(state, _judgement(held), clock))


def with_statuses(state: MonthState) -> MonthState:
    """Return the state of a month that was judged, with the statuses of its newest seal."""
    manifest = _manifest(state)
    if manifest is None:
        return state
    folder, seal = state.versions[-1], manifest["seal"]
    sealed, *marked, proven = Marks.of(folder).statuses(seal)
    faults, lacking = _faults(folder, manifest)
    if faults:
        sealed = replace(sealed, outcome=FAILED, text=faults[0])
    if state.kind == "changed":
        proven = replace(proven, outcome=FAILED, text=Message("proof.changed"))
    elif lacking:
        proven = replace(proven, outcome=UNCHECKED, text=lacking)
    elif not state.reasons:
        proven = replace(proven, outcome=HELD, text=Message("proof.given"))
    return replace(state, statuses=(sealed, *marked, proven))


def _faults(folder: Path, manifest: seals.Manifest) -> tuple[list[str], str | None]:
    """Say what of a folder fits neither its hashes nor the register, and what that one lacks."""
    broken: list[str] = [*seals.alterations(folder, manifest)]
    try:
        register = seals.read_register(folder.parent)
    except SvcError as error:
        return [*broken, text_of(error)], None
    other = register.contradicts(manifest)
    return [*broken, *([other] if other else [])], register.lacks(manifest)


def keep_open(lake: Lake, before: LakeContents, statement: Statement) -> None:
    """Keep what a statement of a month without a seal, made after that moment, says of it."""
    state = statement.state
    if state and state.is_open:
        moments = (before, LakeContents.read(lake))
        cache_judgement(moments, statement.period, None, Judgement(state.reasons))


def keep_results(
    lake: Lake, before: Mapping[str, LakeContents], results: Iterable[result.CloseResult]
) -> None:
    """Keep which months a close has sealed, or left as they were sealed, with nothing to say.

    `before` has what the lake held, by month, before it was compared or stated.
    """
    after, folder = LakeContents.read(lake), (lake.path / seals.STATEMENTS).absolute()
    for each in results:
        if each.seal and not each.reasons and each.folder.parent == folder:
            manifest, moments = seals.read_manifest(each.folder), (before[each.label], after)
            cache_judgement(moments, seals.sealed_period(manifest), manifest, Judgement())


def _manifest(state: MonthState) -> seals.Manifest | None:
    return seals.read_manifest(state.versions[-1]) if state.versions else None


def _as_judged(state: MonthState, answer: Judgement | None, clock: int) -> MonthState:
    """Return a state of the kind that follows from an answer."""
    answer = answer or Judgement()
    return replace(state, kind=_kind(state, answer, clock), reasons=answer.reasons)


def _kind(state: MonthState, answer: Judgement, clock: int) -> Kind:
    if state.versions:
        return "changed" if answer.has_changed else "sealed"
    if state.closes_at > clock:
        return "running"
    if answer.reasons:
        return "blocked"
    return "late" if due.closes_at(state.period.shift(1)) <= clock else "due"


def _judge(lake: Lake, state: MonthState, clock: int) -> Judgement:
    """Compare a month with its newest seal, as `close` does; without one, say what it waits for."""
    manifest = _manifest(state)
    if manifest is None:
        basis = reading.Basis(clock, balance_assertions.read_assertions(lake.path), has_trend=False)
        return _judgement(_held(lake, prepare(lake, state.period, basis)))
    folder = state.versions[-1]
    new = rederive.rederive(lake, manifest, folder)
    has_changed = rederive.restatement(lake, folder, manifest, new).num_rows > 0
    files = manifest["files"].keys() - seals.broken_files(folder, manifest)
    altered = table_diff.contradicting_tables(folder, files)
    texts = (*(each.text for each in new.reasons), *altered)
    return Judgement(texts, has_changed or bool(altered))


def _held(lake: Lake, statement: Statement) -> Statement:
    """Return a statement with all that keeps it from a seal, as where it meets no neighbour."""
    return adjacent_periods.held_to(_sealed_before(lake, statement.period), statement, lake)


def _sealed_before(lake: Lake, period: Period) -> seals.Sealed | None:
    place = lake.path / seals.STATEMENTS / period.folder
    return adjacent_periods.newest_sealed(period.shift(-1), [place], lake.merchant_id)


def _judgement(statement: Statement) -> Judgement:
    return Judgement(tuple(reason.text for reason in statement.reasons))


@dataclass(frozen=True)
class Judgement:
    """Why a month cannot be sealed, or would not be today, and whether it differs from its seal."""

    reasons: tuple[str, ...] = ()
    has_changed: bool = False

    @classmethod
    def read(cls, content: bytes) -> Judgement:
        """Read what was kept."""
        facts = json.loads(content)
        stored = facts.pop("reasons")
        reasons = (each if isinstance(each, str) else Message.from_json(each) for each in stored)
        return cls(tuple(reasons), **facts)

    def to_json(self) -> str:
        """Return it as it is kept: of a reason that is a message, what it was made of."""
        reasons = [each.to_json() if isinstance(each, Message) else each for each in self.reasons]
        return json.dumps({"reasons": reasons, "has_changed": self.has_changed})


def cached_judgement(
    contents: LakeContents, period: Period, sealed: seals.Manifest | None
) -> Judgement | None:
    """Return the kept judgement of a month, or of its newest seal; None where there is none."""
    content = read_cached(_KIND, contents.beneath(period, sealed))
    return Judgement.read(content) if content else None


def cache_judgement(
    moments: tuple[LakeContents, LakeContents],
    period: Period,
    sealed: seals.Manifest | None,
    answer: Judgement,
) -> None:
    """Keep what was found of a month between two moments, if the lake was the same at both."""
    before, after = (contents.beneath(period, sealed) for contents in moments)
    if before == after:
        write_cached(_KIND, before, lambda: answer.to_json().encode(), _MOST)


@dataclass(frozen=True)
class LakeContents:
    """What a lake held at a moment: whose it is, and a digest of each file that answers rest on."""

    facts: tuple[str, ...]
    records: dict[str, str]  # by path below the lake
    beside: dict[str, str]  # what only a month without a seal is held to: balances, other seals

    @classmethod
    def read(cls, lake: Lake) -> LakeContents:
        """Read what Parquet files say of themselves, and all bytes of the others."""
        facts = (lake.place, lake.merchant_id, program_digest())
        records = [ACCEPTED, *(f"{name}/*.parquet" for name in data_folders())]
        beside = [balance_assertions.FILE, *_SEALED]
        return cls(facts, content_digests(lake.path, records), content_digests(lake.path, beside))

    def beneath(self, period: Period, sealed: seals.Manifest | None) -> str:
        """Name all that an answer on a month is made of: on its newest seal, if it has one.

        A sealed month is stated as of its seal, so months behind that have no part in it.
        """
        facts = [*self.facts, period.folder, period.calendar, f"{period.start} {period.end}"]
        if sealed:
            until = month_of(parse_bound(sealed["as_of"])).label
            facts.append(seals.seal_of(sealed))
            paths = [path for path in self.records if not _is_behind(path, until)]
        else:
            met = (balance_assertions.FILE, f"{seals.STATEMENTS}/{period.shift(-1).folder}")
            paths = [*self.records, *(path for path in self.beside if path.startswith(met))]
        files = self.records | self.beside
        return "\n".join([*facts, *(f"{path} {files[path]}" for path in paths)])


def _is_behind(path: str, until: str) -> bool:
    month = PurePath(path).stem
    return bool(_MONTH_FILE.fullmatch(month)) and month > until


# ---------- What keeps months from a seal, of all of them in one reading of the lake


def reasons_of_months(
    lake: Lake, periods: Sequence[Period], clock: int
) -> list[tuple[Reason, ...]]:
    """List for each month that is over why its statement would be provisional, in their order.

    These are unread time and findings of the rules over records and files. What a finished
    statement's tables say of one another, and of the statement before it, `close` looks at.
    """
    bounds = (min(each.start for each in periods), max(each.end for each in periods))
    work = partial(_read_reasons, lake, periods, clock, bounds)
    return count(lake, _blocking_models(), work, as_written=True, period=bounds)


def _read_reasons(
    lake: Lake, periods: Sequence[Period], clock: int, bounds: Span, warehouse: Warehouse
) -> list[tuple[Reason, ...]]:
    coverage = warehouse.coverage()
    read_to = finality.read_until(lake, coverage, None)
    acceptances = Acceptances.of(lake)
    tables.materialize_accepted(warehouse, acceptances.table())
    findings = acceptances.applied_to(_read_findings(warehouse, bounds))
    return [
        finality.find_reasons(
            period,
            coverage,
            findings.filter(_is_of(period, findings)),
            known_until(period, read_to, max(clock, read_to)),
            is_over=True,
        )
        for period in periods
    ]


def _read_findings(warehouse: Warehouse, bounds: Span) -> pa.Table:
    """Read what breaks a blocking rule; of many records one rule after another, in less memory."""
    places = dict(zip(("starts_at", "ends_at"), map(instant_literal, bounds), strict=True))
    if warehouse.is_held:
        rules.hold_shared(warehouse, _blocking_models())
    queries = [fill_places(findings_of(rule), places) for rule in _blocking_rules()]
    if not warehouse.is_large:
        queries = [" union all ".join(queries)]
    return pa.concat_tables(warehouse.query(query) for query in queries)


def _is_of(period: Period, findings: pa.Table) -> pa.ChunkedArray:
    """Say of each finding whether it concerns a period; one of no instant concerns all."""
    begins = pc.less(findings["occurred_at"], from_micros(period.end))
    ends = pc.greater_equal(findings["last_at"], from_micros(period.start))
    return pc.fill_null(pc.and_(begins, ends), True)


@cache
def _blocking_rules() -> tuple[Check, ...]:
    return tuple(rule for rule in read_statement_checks() if rule.severity == "blocking")


@cache
def _blocking_models() -> frozenset[str] | None:
    return models_used_by(*map(findings_of, _blocking_rules()), "stg_accepted", "stg_spans")
