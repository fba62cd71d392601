"""What a statement is worth: its period, zone and status, and what the status rests on."""

from collections.abc import Mapping
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.cells import coin_scales
from svc_analytics.formatting.standing import Standing
from svc_analytics.instants import from_micros
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.messages import Message, clauses
from svc_analytics.periods import GREGORIAN, month_of
from svc_analytics.proofs.statuses import Status
from svc_analytics.render.document import Document
from svc_analytics.render.month_state import MonthState

RECEIPTS = "receipts"  # the table with a row for each receipt
UNCHECKED = "not_checked"  # the verdict on a receipt that nothing verified, and the state of all
_MISSING = "missing"  # the verdict on a payment without a receipt
ReceiptsState = Literal["none", "not_checked", "partly_checked", "checked"]
_RECEIPTS = {"not_checked": "standing.not_checked", "partly_checked": "standing.partly_checked"}
_AMOUNTS = ("currency", "gross", "fee", "net")  # of a line: the places of its coin


def document_standing(statement: Document, language: Language = ENGLISH) -> Standing:
    """Return the standing that every table and picture of a statement carries."""
    period = statement.period
    lines = statement.tables["lines"]
    amounts = lines.select([name for name in _AMOUNTS if name in lines.column_names])
    return Standing(
        text=standing_text(statement),
        first_open_day=f"{period.clock.local(statement.as_of):%Y-%m-%d}",
        first_open_month=month_of(statement.as_of, period.zone, period.calendar).label,
        scales=coin_scales([statement.tables["summary"], amounts]),
        calendar=period.calendar,
        language=language.code,
        digits=language.digits,
    )


def sealed_state(statement: Document) -> MonthState | None:
    """Return the state of a statement's month, if a version of it is sealed."""
    return statement.state if statement.state and statement.state.is_sealed else None


def proof_statuses(statement: Document) -> tuple[Status, ...]:
    """Return the four statuses of a sealed statement; none of any other."""
    state = sealed_state(statement)
    return state.statuses if state else ()


def proof_lines(statement: Document) -> list[Message]:
    """Return the four statuses of a sealed statement as lines; none of any other."""
    statuses = proof_statuses(statement)
    return [Message("proof.line", NAME=each.name, TEXT=each.text) for each in statuses]


def status_word(statement: Document) -> str:
    """Return the status of a statement for people: the state of its month, where it is known."""
    return statement.state.word if statement.state else statement.status


def status_look(statement: Document) -> str:
    """Return how the status looks on a page: sealed, changed, provisional or final."""
    state = sealed_state(statement)
    return state.kind if state else statement.status


def standing_text(statement: Document) -> Message:
    """Return a statement's period, zone and status in one line, with the first reason."""
    head = _head(statement, status_word(statement))
    if not statement.reasons:
        return head
    read = f"{from_micros(statement.as_of):%Y-%m-%d %H:%MZ}"
    text = Message("standing.open", HEAD=head, instant=read, REASON=statement.reasons[0].text)
    if others := len(statement.reasons) - 1:
        code = "standing.one_more" if others == 1 else "standing.more"
        return Message(code, HEAD=text, count=others)
    return text


def _head(statement: Document, status: str) -> Message:
    period = statement.period
    values = {"label": period.label, "zone": period.zone, "STATUS": status}
    if period.calendar == GREGORIAN:
        return Message("standing.settled", **values)
    return Message("standing.settled_in", CALENDAR=period.calendar, **values)


def receipts_state(tables: Mapping[str, pa.Table]) -> ReceiptsState:
    """Return whether the receipts of a statement were checked; `none` if it has no receipt."""
    if RECEIPTS not in tables:
        return "none"
    verdicts = tables[RECEIPTS]["verdict"]
    is_open = pc.equal(verdicts.filter(pc.not_equal(verdicts, _MISSING)), UNCHECKED)
    if not len(is_open):
        return "none"
    if not pc.any(is_open).as_py():
        return "checked"
    return "not_checked" if pc.all(is_open).as_py() else "partly_checked"


def status_note(statement: Document) -> Message:
    """Explain a statement's status, in sentences for people."""
    note, receipts = _status_note(statement), receipts_state(statement.tables)
    if statement.reasons or receipts not in _RECEIPTS:
        return note
    return Message(_RECEIPTS[receipts], STANDING=note)


def _status_note(statement: Document) -> Message:
    period, state = statement.period, sealed_state(statement)
    version = state.version if state else 0
    if state and state.kind == "changed":
        return Message("standing.changed", version=version, REISSUE=state.reissue)
    if statement.reasons:
        reasons = clauses(*(reason.text for reason in statement.reasons))
        code = "standing.sealed_open" if state else "standing.provisional"
        return Message(code, PERIOD=period.noun, REASONS=reasons, version=version)
    if period.is_longer:
        code = "standing.longer_sealed" if state else "standing.longer_final"
        return Message(code, PERIOD=period.noun, version=version)
    return Message("standing.sealed" if state else "standing.final", version=version)
