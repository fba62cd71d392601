"""The statement as renderers see it: its tables, period and manifest."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Protocol, Self

import pyarrow as pa

from svc_analytics.messages import Message, listed, stored_text
from svc_analytics.periods import Period
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
        because = self.because
        if isinstance(because, Message):
            because = because.replaced(_AS_FILES, _IN_WORDS)
        else:  # of an earlier release, whose page said it so
            because = because.replace("payout_records", "payout records")
        code = "unknown.sentence_of_one" if len(self.figures) == 1 else "unknown.sentence"
        values = {"FIGURES": listed(names), "COINS": listed(self.coins), "BECAUSE": because}
        return Message(code, **values)

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
