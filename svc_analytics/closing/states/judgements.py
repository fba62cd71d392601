"""What a comparison of a month with the lake said, kept for as long as the lake stays as it is.

It lies in the cache folder under a hash of all that it was made of, by content: what a lake held
before the comparison, and still holds behind it. What is lost there is only made again.
"""

import json
from dataclasses import dataclass

from svc_analytics.closing.contents import LakeContents
from svc_analytics.closing.seals import Manifest
from svc_analytics.files import find_made, keep_made
from svc_analytics.messages import Message
from svc_analytics.periods import Period

_KIND = "months"
_MOST = 1000  # answers that are kept


@dataclass(frozen=True)
class Judgement:
    """Why a month cannot be sealed, or would not be today, and whether it differs from its seal."""

    reasons: tuple[str, ...] = ()
    has_changed: bool = False

    @classmethod
    def read(cls, content: bytes) -> "Judgement":
        """Read what was kept."""
        facts = json.loads(content)
        stored = facts.pop("reasons")
        reasons = (each if isinstance(each, str) else Message.from_json(each) for each in stored)
        return cls(tuple(reasons), **facts)

    def to_json(self) -> str:
        """Return it as it is kept: of a reason that is a message, what it was made of."""
        reasons = [each.to_json() if isinstance(each, Message) else each for each in self.reasons]
        return json.dumps({"reasons": reasons, "has_changed": self.has_changed})


def find_judgement(
    contents: LakeContents, period: Period, sealed: Manifest | None
) -> Judgement | None:
    """Return the kept judgement of a month, or of its newest seal; None where there is none."""
    content = find_made(_KIND, contents.beneath(period, sealed))
    return Judgement.read(content) if content else None


def keep_judgement(
    moments: tuple[LakeContents, LakeContents],
    period: Period,
    sealed: Manifest | None,
    answer: Judgement,
) -> None:
    """Keep what was found of a month between two moments, if the lake was the same at both."""
    before, after = (contents.beneath(period, sealed) for contents in moments)
    if before == after:
        keep_made(_KIND, before, lambda: answer.to_json().encode(), _MOST)
