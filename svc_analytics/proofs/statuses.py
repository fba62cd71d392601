"""The statuses of a sealed statement, by the very checks of `verify.py`.

There are four, and never one tick for all: sealed, signed and stamped are found here, and whether
it is proven by its records, by a verification against its lake. A form is no check: it tells the
marks that its folder bears, and of what it cannot know who checks it and how.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svc_analytics.arguments import AnyPath
from svc_analytics.errors import ConfigError, LakeError, system_refusals
from svc_analytics.messages import Message
from svc_analytics.proofs import verify
from svc_analytics.proofs.checkpoint import CHAIN, CHAIN_SIGNATURE, FILE, SIGNATURE
from svc_analytics.proofs.line_proof import MOST, SingleProof
from svc_analytics.proofs.signature import signer_in
from svc_analytics.proofs.stamp import has_stamp

HELD, FAILED, UNCHECKED = "held", "FAILED", "not checked"
NOT_COMPARED = "not compared"  # a form that another release made
Check = tuple[Any, ...]  # what is checked, the function of verify.py, and what it takes
LACKING = ("proof.not_signed", "proof.not_stamped")  # the codes of what is not there
UNREAD = ""  # the signer of a signature that fits no key that can be read here
_NOT_BY = {None: Message("proof.not_signed"), UNREAD: Message("proof.unread")}


@dataclass(frozen=True)
class Status:
    """One status of a statement: what became of a check, and a text that says why.

    It is `held`, `FAILED`, `not checked` or `not compared`.
    """

    name: str
    outcome: str
    text: str

    def to_json(self) -> dict[str, str]:
        """Return its outcome and its text as JSON documents hold them."""
        return {"status": self.outcome, "text": self.text}


@dataclass(frozen=True)
class Trust:
    """What a reader brings to a verification: nothing that comes with a statement is trusted."""

    signers: bytes | None = None  # allowed signers, as ssh-keygen reads them
    authority: str | None = None  # the path of certificates
    earlier: bytes | None = None  # a chain of checkpoints that was kept

    @classmethod
    def read(
        cls, signers: AnyPath | None, authority: AnyPath | None, earlier: AnyPath | None
    ) -> "Trust":
        """Read the files that a reader names.

        Raises `ConfigError` for one that is not there, and for a file of signers without a key.
        """
        known = _content("signers", signers), _content("earlier", earlier)
        if known[0] is not None and b"AAAA" not in known[0]:  # with which each key begins
            raise ConfigError(
                f"--signers {signers} names no key: write a name and its public key on each line, "
                "in UTF-8"
            )
        _content("authority", authority)
        return cls(known[0], None if authority is None else os.fspath(authority), known[1])

    def signer_of(self, folder: Path) -> str | None:
        """Tell which key that is trusted signed a folder's checkpoint; None where none did."""
        outcome, text, _ = verify.outcome(verify.check_signed, folder, FILE, self.signers)
        return str(text) if outcome == HELD else None

    def statuses_of(self, folder: Path) -> list[Status]:
        """Tell whether a folder is sealed, signed and stamped.

        The chain of checkpoints lies in a package, or beside the folder in its lake. There it grows
        with each month, and who signs it does so later.
        """
        place = folder if (folder / CHAIN).exists() else folder.parent
        signed: list[Check] = [("signature", verify.check_signed, folder, FILE, self.signers)]
        if (place / CHAIN_SIGNATURE).exists() or (folder / CHAIN).exists():
            signed.append(("chain's signature", verify.check_signed, place, CHAIN, self.signers))
        facts: dict[str, Any] = {}
        sealed: list[Check] = [
            ("seal", verify.check_seal, folder, facts),
            ("files", verify.check_files, folder, facts),
            ("lines", verify.check_lines, folder, facts),
            ("checkpoint", verify.check_checkpoint, folder, facts),
            ("chain", verify.check_chain, folder, place, facts, self.earlier, self.signers),
        ]
        stamped: list[Check] = [("stamp", verify.check_stamp, folder, self.authority)]
        named = {"sealed": sealed, "signed": signed, "stamped": stamped}
        return [_status(name, checks) for name, checks in named.items()]


def _content(option: str, path: AnyPath | None) -> bytes | None:
    if path is None:
        return None
    with system_refusals(ConfigError, f"--{option} {path} cannot be read"):
        return Path(path).read_bytes()


def _status(name: str, checks: Sequence[Check]) -> Status:
    """Join checks: one that failed says why; else what held, and what of it was not checked."""
    by_outcome: dict[str, list[str]] = {FAILED: [], HELD: [], UNCHECKED: []}
    left = []
    for label, check, *facts in checks:
        outcome, text, code = verify.outcome(check, *facts)
        by_outcome[outcome].append(text if label == checks[0][0] else f"{label}: {text}")
        left += [f"not checked: {label}: {text}"] if outcome == UNCHECKED and code else []
    outcome = next(outcome for outcome, texts in by_outcome.items() if texts)
    return Status(name, outcome, "; ".join(by_outcome[outcome] + left * (outcome == HELD)))


@dataclass(frozen=True)
class Outcome:
    """What became of one check: held, FAILED or not checked, with what or why."""

    name: str
    status: str
    text: str
    code: int  # what a command ends with

    def __str__(self) -> str:
        shown = "".join(each if each.isprintable() else "?" for each in self.text)
        return f"{self.status}  {self.name}: {shown}"


def check_proof(path: Path, signers: Path | None = None) -> list[Outcome]:
    """Check a proof of one line, and its signature by the keys that a file of signers allows.

    Raises `LakeError` where a file is no proof, and `ConfigError` where one cannot be read.
    """
    with system_refusals(ConfigError, f"cannot read {path}"), path.open("rb") as file:
        content = file.read(MOST + 1)  # a byte of what is too much
    try:
        SingleProof.require(content)
    except LakeError as error:
        raise LakeError(f"{path} is no proof of a line: {error}") from error
    keys = Trust.read(signers, None, None).signers
    return [
        Outcome("proof", *verify.outcome(verify.check_proof, content)),
        Outcome("proof's signature", *verify.outcome(verify.check_proof_signature, content, keys)),
    ]


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
