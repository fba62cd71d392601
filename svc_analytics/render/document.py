"""The statement as renderers see it: its tables, period and manifest, and what it is worth."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.cells import coin_scales
from svc_analytics.formatting.status_line import StatusLine
from svc_analytics.instants import from_micros
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.messages import Message, clauses, listed, stored_text, translated
from svc_analytics.periods import GREGORIAN, Period, month_of
from svc_analytics.proofs.statuses import LACKING, Status
from svc_analytics.render.external import ExternalFigures
from svc_analytics.render.month_state import MonthState
from svc_analytics.warehouse.figures import in_sentence

Hashes = Mapping[str, str]  # of tables that were just written as CSV, by name

UNFINISHED = "reason.unfinished"  # the code of a period that is running


@dataclass(frozen=True)
class Reason:
    """Why a statement is provisional; `is_unfinished` while its month is still running.

    Examples:
        >>> [reason.text for reason in st.reasons]  # doctest: +SKIP
    """

    text: str  # a message, unless a manifest kept no more than its English

    @property
    def is_unfinished(self) -> bool:
        """Whether it says that the period is running."""
        return isinstance(self.text, Message) and self.text.code == UNFINISHED


_NAMED = 6  # figures named in a sentence
_AS_FILES, _IN_WORDS = "stream.payout_records", Message("stream.payout_records_in_words")


@dataclass(frozen=True)
class Unknown:
    """Which figures of the summary are unknown, of which coins, and why.

    Examples:
        >>> [unknown.text for unknown in st.unknown]  # doctest: +SKIP
    """

    figures: tuple[str, ...]
    coins: tuple[str, ...]
    because: str  # a message, unless a manifest kept no more than its English

    @property
    def text(self) -> Message:
        """The same in one sentence."""
        names = [in_sentence(name) for name in self.figures]
        if len(names) > _NAMED:
            names = [*names[:3], Message("unknown.more_figures", count=len(names) - 3)]
        code = "unknown.sentence_of_one" if len(self.figures) == 1 else "unknown.sentence"
        values = {
            "figures": listed(names),
            "coins": listed(self.coins),
            "because": translated(self.cause),
        }
        return Message(code, **values)

    @property
    def cause(self) -> str:
        """The cause as people say it: a manifest names a stream as the lake's files do."""
        if isinstance(self.because, Message):
            return self.because.replaced(_AS_FILES, _IN_WORDS)
        return self.because.replace("payout_records", "payout records")  # of an earlier release

    def to_json(self) -> dict[str, Any]:
        """Return the same as a manifest holds it."""
        facts: dict[str, Any] = {"figures": [*self.figures], "coins": [*self.coins]}
        facts["because"] = self.because
        if isinstance(self.because, Message):
            facts["message"] = self.because.to_json()
        return facts

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> "Unknown":
        """Read what `to_json` wrote, in a manifest of this release or an earlier one."""
        because = stored_text(str(facts["because"]), facts.get("message"))
        return cls(tuple(facts["figures"]), tuple(facts["coins"]), because)


def reason_facts(reasons: Sequence[Reason]) -> dict[str, Any]:
    """Return reasons as a manifest keeps them: their English, and their messages beside it."""
    texts = [reason.text for reason in reasons]
    messages = [text.to_json() if isinstance(text, Message) else None for text in texts]
    return {"reasons": texts, **({"reason_messages": messages} if any(messages) else {})}


def reasons_of(facts: Mapping[str, Any]) -> tuple[Reason, ...]:
    """Return the reasons that `reason_facts` wrote, or a manifest without messages."""
    texts = facts.get("reasons")
    if not isinstance(texts, list):
        return ()
    messages = facts.get("reason_messages")
    pairs = zip_longest(texts, messages[: len(texts)] if isinstance(messages, list) else [])
    return tuple(Reason(stored_text(str(english), message)) for english, message in pairs)


def unknown_lines(facts: dict[str, Any]) -> list[Message]:
    """Return the unknowns of a statement's facts, a sentence each."""
    return [Unknown.from_json(unknown).text for unknown in facts["unknown"]]


class Open(Protocol):
    """The causes of unknown figures: those of the whole statement, and of single figures."""

    @property
    def reasons(self) -> Sequence[Reason]: ...

    @property
    def unknown(self) -> Sequence[Unknown]: ...


@dataclass(frozen=True, kw_only=True)
class Document(ABC):
    """A statement as renderers see it."""

    period: Period
    merchant: dict[str, Any]
    as_of: int
    reasons: tuple[Reason, ...]
    unknown: tuple[Unknown, ...]
    tables: dict[str, pa.Table]
    options: dict[str, Any] = field(default_factory=dict)
    state: MonthState | None = None  # of its month, where it was looked up
    external: ExternalFigures | None = None  # its USD in another currency, where it was asked for
    sentences: tuple[dict[str, str], ...] = ()  # that people wrote on what moved; no seal has them
    unread_sentences: tuple[Message, ...] = ()  # what of their files was not read

    @property
    def status(self) -> str:
        """`final`, or `provisional` when there are reasons."""
        return "provisional" if self.reasons else "final"

    @abstractmethod
    def as_version(self, version: int) -> Self:
        """Return it with the state of a sealed version."""

    @abstractmethod
    def manifest(self, files: dict[str, Any], hashes: Hashes | None = None) -> dict[str, Any]:
        """Return the facts of its folder."""


# ---------- What a statement is worth, and what its status rests on


RECEIPTS = "receipts"  # the table with a row for each receipt
UNCHECKED = "not_checked"  # the verdict on a receipt that nothing verified, and the state of all
_MISSING = "missing"  # the verdict on a payment without a receipt
ReceiptsState = Literal["none", "not_checked", "partly_checked", "checked"]
_RECEIPTS = {"not_checked": "standing.not_checked", "partly_checked": "standing.partly_checked"}
_AMOUNTS = ("currency", "gross", "fee", "net")  # of a line: the places of its coin


def document_status_line(statement: Document, language: Language = ENGLISH) -> StatusLine:
    """Return the standing that every table and picture of a statement carries."""
    period = statement.period
    lines = statement.tables["lines"]
    amounts = lines.select([name for name in _AMOUNTS if name in lines.column_names])
    return StatusLine(
        text=status_text(statement),
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
    """Return the four statuses of a sealed statement as lines; none of any other.

    What is neither signed nor stamped says so in one line.
    """
    statuses = proof_statuses(statement)
    lacking = [each for each in statuses if getattr(each.text, "code", "") in LACKING]
    is_bare = len(lacking) == len(LACKING)
    lines = [
        Message("proof.line", name=translated(each.name), text=translated(each.text))
        for each in statuses
        if not (is_bare and each in lacking)
    ]
    return [*lines[:1], *[Message("proof.neither")] * is_bare, *lines[1:]]


def status_word(statement: Document) -> str:
    """Return the status of a statement for people: the state of its month, where it is known."""
    return statement.state.word if statement.state else statement.status


def status_look(statement: Document) -> str:
    """Return how the status looks on a page: sealed, changed or provisional."""
    state = sealed_state(statement)
    return state.kind if state else "provisional"  # what is not sealed can still change


def status_text(statement: Document) -> Message:
    """Return a statement's period, zone and status in one line, with the first reason."""
    head = _head(statement, status_word(statement))
    if not statement.reasons:
        return head
    read = f"{from_micros(statement.as_of):%Y-%m-%d %H:%MZ}"
    text = Message(
        "standing.open",
        head=translated(head),
        instant=read,
        reason=translated(statement.reasons[0].text),
    )
    if others := len(statement.reasons) - 1:
        code = "standing.one_more" if others == 1 else "standing.more"
        return Message(code, head=translated(text), count=others)
    return text


def _head(statement: Document, status: str) -> Message:
    period = statement.period
    values = {"label": period.label, "zone": period.zone, "status": translated(status)}
    if period.calendar == GREGORIAN:
        return Message("standing.settled", **values)
    return Message("standing.settled_in", calendar=translated(period.calendar), **values)


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
    return Message(_RECEIPTS[receipts], standing=translated(note))


def _status_note(statement: Document) -> Message:
    period, state = statement.period, sealed_state(statement)
    version = state.version if state else 0
    if state and state.kind == "changed":
        return Message("standing.changed", version=version, reissue=translated(state.reissue))
    if statement.reasons:
        reasons = clauses(*(reason.text for reason in statement.reasons))
        code = "standing.sealed_open" if state else "standing.provisional"
        return Message(
            code, period=translated(period.noun), reasons=translated(reasons), version=version
        )
    if period.is_longer:
        code = "standing.longer_sealed" if state else "standing.final"
    else:
        code = "standing.sealed" if state else "standing.final"
    if state is None:
        return Message(code, title=translated(period.title))
    return Message(code, version=version, next=version + 1)
