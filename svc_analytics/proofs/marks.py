"""The marks that a sealed folder bears, and the four statuses that a form of it tells.

A form is no check: what it cannot know it says, with who checks it and how. Whether the files are
as sealed, whose key and whose stamp it is, and what the records give, `statement-verify` tells.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svc_analytics.messages import Message
from svc_analytics.proofs.checkpoint import SIGNATURE
from svc_analytics.proofs.signature import signer_in
from svc_analytics.proofs.stamp import has_stamp
from svc_analytics.proofs.statuses import HELD, UNCHECKED, Status

LACKING = ("proof.not_signed", "proof.not_stamped")  # the codes of what is not there
UNREAD = ""  # the signer of a signature that fits no key that can be read here
_PROVEN = Status("proven", UNCHECKED, Message("proof.proven"))
# What a form that the seal covers can tell: it is signed and stamped behind the seal.
WITHIN = (
    Status("sealed", UNCHECKED, Message("proof.sealed_within")),
    Status("signed", UNCHECKED, Message("proof.signed_behind")),
    Status("stamped", UNCHECKED, Message("proof.stamped_behind")),
    _PROVEN,
)


@dataclass(frozen=True)
class Marks:
    """The marks on a sealed folder: the key that signed it, if one did, and whether it is stamped.

    They are found quickly, however many lines it has.

    >>> [str(each.text) for each in Marks().statuses("5f0c")][1:3]
    ['not signed', 'no stamp']
    """

    signer: str | None = None  # the fingerprint of a key
    is_stamped: bool = False

    @classmethod
    def of(cls, folder: Path) -> "Marks":
        """Look for the marks on a folder, whoever made them."""
        is_signed = (folder / SIGNATURE).is_file()
        return cls((signer_in(folder) or UNREAD) if is_signed else None, has_stamp(folder))

    @classmethod
    def from_json(cls, facts: Any) -> "Marks":
        """Read what `to_json` wrote; no marks where it is something else."""
        known = facts if isinstance(facts, dict) else {}
        signer = known.get("signed")
        return cls(signer if isinstance(signer, str) else None, known.get("stamped") is True)

    def to_json(self) -> dict[str, str | bool | None]:
        """Return the marks as a file keeps them."""
        return {"signed": self.signer, "stamped": self.is_stamped}

    def statuses(self, seal: str) -> tuple[Status, ...]:
        """Tell the four statuses, as they are known without a verification."""
        signed = Message("proof.signed", key=self.signer) if self.signer else _NOT_BY[self.signer]
        stamped = Message("proof.stamped" if self.is_stamped else "proof.not_stamped")
        return (
            Status("sealed", HELD, Message("proof.sealed", seal=seal)),
            Status("signed", UNCHECKED, signed),
            Status("stamped", UNCHECKED, stamped),
            _PROVEN,
        )


_NOT_BY = {None: Message("proof.not_signed"), UNREAD: Message("proof.unread")}
