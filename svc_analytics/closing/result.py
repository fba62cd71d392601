"""The result of closing a month: sealed, unchanged, unproven, restated, provisional or waiting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from svc_analytics.closing.seals import SEALED_BEFORE
from svc_analytics.formatting.display import Display
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.tables import to_frame
from svc_analytics.formatting.texts import single_line
from svc_analytics.log import log_lines
from svc_analytics.messages import Message, clauses, translated
from svc_analytics.periods import noun_of
from svc_analytics.render.differences import differences_table
from svc_analytics.render.document import UNCHECKED, Reason, ReceiptsState, Unknown

if TYPE_CHECKING:
    import pandas as pd

    from svc_analytics.config import Settings
    from svc_analytics.statements.statement import Statement

State = Literal["sealed", "unchanged", "unproven", "restated", "provisional", "waiting"]
_OUTCOMES: dict[State, str] = {
    "sealed": "{label} sealed as {seal}: {folder}",
    "unchanged": "{label} was sealed before and is unchanged, as {seal}: {folder}",
    "unproven": "{label} was sealed before as {seal}, and not all of it is proven: {folder}",
    "restated": "{label} restated as version {version}, sealed as {seal}: {folder}",
    "provisional": "{label} was not closed; its figures so far: {folder}",
    "waiting": "{label} is not closed",
}
_UNCHECKED_RECEIPTS = (
    "no receipt secret is set (SVC_RECEIPT_SECRETS), so receipts were not checked; with one, "
    "svc-analytics receipts verify checks them, and restates no sealed month"
)


@dataclass(frozen=True)
class CloseResult(Displayable):
    """The result of closing one month: its state, its folder and seal, and the reasons.

    Examples:
        >>> svc.close(lake, "2026-10").state  # doctest: +SKIP
        'sealed'
    """

    label: str
    state: State
    folder: Path
    version: int
    seal: str | None
    reasons: tuple[Reason, ...] = ()
    unknown: tuple[Unknown, ...] = ()  # figures that it leaves open, and why
    table: pa.Table | None = field(default=None, repr=False)  # differences from the last seal
    note: Message | None = None  # worth knowing, though nothing is wrong
    receipts: ReceiptsState = "none"  # how many of its receipts the lake has a verdict on
    signed_by: str | None = None  # the fingerprint of the key, where it was to be signed
    is_stamped: bool = False  # by the authority that the settings name
    doubt: Message | None = None  # its lake is not the one that this machine knew
    is_sealed_anew: bool = False  # the register knows a seal of it, whose folder is gone: see note
    new_lines: pa.Table | None = field(default=None, repr=False, compare=False)
    # What was just sealed of a single month, for who shows it next: it need not be made again.
    statement: Statement | None = field(default=None, repr=False, compare=False)

    @property
    def needs_attention(self) -> bool:
        """Whether a person should look: at a month that is restated, not final, or has unknowns.

        What a seal leaves unknown is told when it is made, and not when it is found unchanged.
        """
        is_odd = self.state in ("restated", "provisional") or bool(self.is_new and self.unknown)
        return is_odd or bool(self.reasons or self.doubt or self.is_sealed_anew)

    @property
    def is_new(self) -> bool:
        """Whether something became of it that was not so before."""
        return self.state not in ("unchanged", "unproven")

    @property
    def restatement(self) -> pd.DataFrame | None:
        """One row per difference from the version before; None for a first version."""
        return None if self.table is None else to_frame(self.table)

    def with_notes(self, notes: Iterable[Message]) -> CloseResult:
        """Return the result with further notes behind its own."""
        texts = [*filter(None, [self.note, *notes])]
        is_anew = self.is_sealed_anew or any(each.code == SEALED_BEFORE for each in texts)
        return replace(self, note=clauses(*texts) if texts else None, is_sealed_anew=is_anew)

    def logged(self) -> CloseResult:
        """Return the result, and tell the library's logger what became of the month."""
        log_lines(self.describe(), needs_attention=self.needs_attention)
        return self

    def describe(self) -> list[str]:
        """Say in lines of text what became of the month, and why."""
        first, *rest = self.lines()
        return [single_line(first), *(f"  {single_line(line)}" for line in rest)]

    def lines(self) -> Iterator[Message]:
        """Yield the outcome, the reasons and the notes, each with words in other languages."""
        facts = {name: getattr(self, name) for name in ("label", "seal", "version", "folder")}
        yield Message(_OUTCOMES[self.state], **facts)
        why = "but {REASON}" if self.seal else "because {REASON}"
        yield from (Message(why, reason=translated(reason.text)) for reason in self.reasons)
        yield from [Message(why, reason=self.doubt)] if self.doubt else []
        yield from (unknown.text for unknown in self.unknown)
        if self.is_new:
            yield from [Message("signed by key {key}", key=self.signed_by)] * bool(self.signed_by)
            yield from [Message("stamped by the authority of SVC_TSA_URL")] * self.is_stamped
            yield from [Message("receipts not checked")] * (self.receipts == UNCHECKED)
        if self.note:
            yield Message("note: {NOTE}", note=self.note)

    def _display(self) -> Display:
        title = "differences from the version before"
        tables = []
        if self.table is not None:
            tables.append(differences_table(self.table, title, lines=self.new_lines))
        kind = noun_of(self.label).title()
        return Display(f"{kind} {self.label}", self.describe(), tables)


def unchecked(settings: Settings | None, closed: CloseResult) -> list[Message]:
    """Say what a month that was closed without a receipt secret lacks, and how it comes by it."""
    has_secret = bool(settings and settings.receipt_secrets)
    if has_secret or not closed.is_new or closed.receipts not in (UNCHECKED, "partly_checked"):
        return []
    return [Message(_UNCHECKED_RECEIPTS)]
