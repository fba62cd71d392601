"""The state of a month: one value, in whose words every tile, command, form and page tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from svc_analytics.messages import Message, translated
from svc_analytics.periods import Period

if TYPE_CHECKING:
    from svc_analytics.proofs.statuses import Status

Kind = Literal["running", "due", "late", "blocked", "sealed", "changed"]
# Not by colour alone: each state has a sign too.
SIGNS: dict[Kind, str] = {
    "running": "\N{HORIZONTAL ELLIPSIS}",
    "due": "\N{WHITE CIRCLE}",
    "late": "\N{BLACK CIRCLE}",
    "blocked": "\N{WARNING SIGN}",
    "sealed": "\N{CHECK MARK}",
    "changed": "\N{CLOCKWISE OPEN CIRCLE ARROW}",
}
_WORDS: dict[Kind, str] = {
    "running": "state.running",
    "due": "state.due",
    "late": "state.late",
    "blocked": "state.blocked",
    "sealed": "state.sealed",
    "changed": "state.changed",
}


@dataclass(frozen=True)
class MonthState:
    """The state of a month, a quarter or a year, and why it is so.

    `running` until it can be closed, then `due`, and `late` once the one after it can be closed
    too; `blocked` where a reason keeps it from being final. With a seal it is `sealed`, or
    `changed` where the lake no longer gives what was sealed.
    """

    period: Period
    kind: Kind
    closes_at: int  # from when on it can be closed
    reasons: tuple[str, ...] = ()  # why it cannot be sealed, or would not be today
    version: int = 0  # the newest sealed one; 0 without a seal
    versions: tuple[Path, ...] = ()  # the folders of its sealed versions, oldest first
    statuses: tuple[Status, ...] = ()  # of the newest sealed one, where they were looked up
    lost: tuple[str, ...] = ()  # that the next version was sealed once, and its folder is gone

    @property
    def label(self) -> str:
        """Its label, such as `2026-10`."""
        return self.period.label

    @property
    def is_sealed(self) -> bool:
        """Whether a version of it is sealed, whatever became of the lake since."""
        return self.version > 0

    @property
    def is_open(self) -> bool:
        """Whether it is over and has no seal: someone has to close it."""
        return self.kind in ("due", "late", "blocked")

    @property
    def can_be_closed(self) -> bool:
        """Whether it is over, and the hours are past in which late records come."""
        return self.kind != "running"

    @property
    def word(self) -> Message:
        """Its state in a few words, such as `sealed, version 1`."""
        return Message(_WORDS[self.kind], version=self.version)

    @property
    def text(self) -> str:
        """Its label, a sign and its state."""
        return f"{self.label} {SIGNS[self.kind]} {self.word}"

    @property
    def note(self) -> str:
        """The note on the state: what there is to know or to do, in a line."""
        if self.kind == "running":
            return Message("state.can_be_closed", day=self._local(self.closes_at))
        if texts := self.lost + self.reasons:
            first, *others = texts
            more = Message(
                "{REASON} (and {count} more)", reason=translated(first), count=len(others)
            )
            return more if others else first
        if self.kind == "changed":
            return self.reissue
        return Message("state.nothing" if self.is_sealed else "state.since", day=self.since)

    @property
    def since(self) -> str:
        """The day on which it was over, in its own calendar and zone."""
        return self._local(self.period.end)

    @property
    def over(self) -> Message:
        """Since when it is over, for people, such as `over since 1 November`."""
        day = self.period.day_name(self.period.end)
        return Message("over since {DAY}", day=translated(day))

    @property
    def reissue(self) -> Message:
        """How to seal what the lake gives now, and what becomes of the sealed version."""
        return Message("state.reissue", version=self.version, next=self.version + 1)

    def to_json(self) -> dict[str, str | int]:
        """Return its state as JSON documents hold it."""
        return {"kind": self.kind, "version": self.version, "text": str(self.word)}

    def _local(self, micros: int) -> str:
        at = self.period.clock.local(micros)
        day = self.period.day_text(at.date())
        return f"{day} {at:%H:%M}" if (at.hour, at.minute) != (0, 0) else day
