"""The state of each month of a lake, which the desk, commands, statements and notebooks repeat."""

from dataclasses import replace

from svc_analytics.closing import neighbours, seals
from svc_analytics.closing.due import closes_at, lake_months
from svc_analytics.closing.restatement.rederive import read_until, rederive, restatement
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.seals import Manifest
from svc_analytics.closing.states.judgements import Judgement, find_judgement, keep_judgement
from svc_analytics.errors import SvcError, text_of
from svc_analytics.lake.lake import Lake, known_months
from svc_analytics.messages import Message
from svc_analytics.periods import Period, read_label
from svc_analytics.proofs.marks import Marks
from svc_analytics.proofs.statuses import FAILED, HELD
from svc_analytics.render.folder import Note
from svc_analytics.render.month_state import Kind, MonthState
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.change.sentences import stored_sentences
from svc_analytics.statements.reading import Basis
from svc_analytics.statements.statement import Statement, prepare

LAST = 12  # months that are shown one by one: a year of them


def month_states(lake: Lake, clock: int, zone: str, calendar: str) -> list[MonthState]:
    """Return the months of a lake, newest first, up to the one that the clock is in.

    They are told as far as they are known: `judged` compares one with the lake.
    """
    # Refuses a lake into which nothing was read, and bounds the months that people look through.
    oldest = read_label(known_months(lake, zone, calendar)[-1], zone, calendar)
    months = lake_months(lake, clock, zone, calendar)
    periods = [month for month in months if month.start >= oldest.start]
    return [state_of(lake, period, clock) for period in reversed(periods)]


def judged_months(lake: Lake, clock: int, note: Note) -> list[MonthState]:
    """Return the months of a lake, oldest first, up to the one that the clock is in.

    They are of the zone and the calendar of the newest sealed one, else of UTC. The last ones,
    and all that wait for a close, are compared with the lake; a sealed month before them is told
    as far as it is known. `note` is told which month is being looked at.
    """
    if read_until(lake) is None:
        return []
    usual = seals.usual_months(lake.path / seals.STATEMENTS)
    states = month_states(lake, clock, *usual)
    for place, state in enumerate(states):
        if (place < LAST or not state.is_sealed) and not is_judged(lake, state):
            note(f"looking at {state.label}")
            states[place] = judged(lake, state, clock)
        if place < LAST:
            states[place] = with_statuses(states[place])
    return states[::-1]


def state_of(lake: Lake, period: Period, clock: int) -> MonthState:
    """Return the state of a period, as far as it is known."""
    versions = seals.versions((lake.path / seals.STATEMENTS / period.folder).absolute())
    state = MonthState(
        period, "due", closes_at(period), version=len(versions), versions=tuple(versions)
    )
    return _as_judged(state, find_judgement(lake, period, _manifest(state)), clock)


def judged(lake: Lake, state: MonthState, clock: int) -> MonthState:
    """Return the state of a month after it was compared with the lake as it is now.

    What hinders the comparison is a reason too.
    """
    if state.kind == "running":
        return state

    def judge() -> Judgement:
        return _judge(lake, state, clock)

    try:
        answer = keep_judgement(lake, state.period, _manifest(state), judge)
    except SvcError as error:  # not kept: at the next look it may be over, as a stopped query is
        answer = Judgement((text_of(error),))
    return _as_judged(state, answer, clock)


def is_judged(lake: Lake, state: MonthState) -> bool:
    """Whether the state is that of the lake as it is now."""
    known = find_judgement(lake, state.period, _manifest(state))
    return state.kind == "running" or known is not None


def with_state(lake: Lake, statement: Statement, clock: int) -> Statement:
    """Return a statement that knows what became of its month.

    Of a month that waits for a close it has the reasons too for which `close` would not seal it.
    """
    state = state_of(lake, statement.period, clock)
    said = stored_sentences(lake.path / seals.STATEMENTS, statement.period.folder)
    statement = replace(statement, sentences=said.sentences, unread_sentences=said.unread)
    if state.is_sealed:
        return replace(statement, state=with_statuses(judged(lake, state, clock)))
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
    if broken := seals.alterations(folder, manifest):
        sealed = replace(sealed, outcome=FAILED, text=broken[0])
    if state.kind == "changed":
        proven = replace(proven, outcome=FAILED, text=Message("proof.changed"))
    elif not state.reasons:
        proven = replace(proven, outcome=HELD, text=Message("proof.given"))
    return replace(state, statuses=(sealed, *marked, proven))


def keep_open(lake: Lake, statement: Statement) -> None:
    """Keep what a statement of a month without a seal says of it."""
    state = statement.state
    if state and state.is_open:
        keep_judgement(lake, statement.period, None, lambda: Judgement(state.reasons))


def keep_result(lake: Lake, closed: CloseResult) -> None:
    """Keep what a close has found of a month that it sealed, or left as it was sealed."""
    if closed.seal and closed.folder.parent == (lake.path / seals.STATEMENTS).absolute():
        manifest = seals.read_manifest(closed.folder)
        answer = Judgement(tuple(reason.text for reason in closed.reasons))
        keep_judgement(lake, seals.stated_period(manifest), manifest, lambda: answer)


def _manifest(state: MonthState) -> Manifest | None:
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
    return "late" if closes_at(state.period.shift(1)) <= clock else "due"


def _judge(lake: Lake, state: MonthState, clock: int) -> Judgement:
    """Compare a month with its newest seal, as `close` does; without one, say what it waits for."""
    manifest = _manifest(state)
    if manifest is None:
        basis = Basis(clock, read_assertions(lake.path), has_trend=False)
        return _judgement(_held(lake, prepare(lake, state.period, basis)))
    new = rederive(lake, manifest, state.versions[-1])
    table = restatement(lake, state.versions[-1], manifest, new)
    return Judgement(tuple(each.text for each in new.reasons), table.num_rows > 0)


def _held(lake: Lake, statement: Statement) -> Statement:
    """Return a statement with all that keeps it from a seal, as where it meets no neighbour."""
    place = lake.path / seals.STATEMENTS / statement.period.folder
    before = neighbours.newest_sealed(statement.period.shift(-1), [place], lake.merchant_id)
    return neighbours.held_to(before, statement, lake)


def _judgement(statement: Statement) -> Judgement:
    return Judgement(tuple(reason.text for reason in statement.reasons))
