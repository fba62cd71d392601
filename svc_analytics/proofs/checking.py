"""Check the proof of one line as `verify.py` does, in the same words."""

from dataclasses import dataclass
from pathlib import Path

from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.proofs import verify
from svc_analytics.proofs.single import MOST, SingleProof
from svc_analytics.proofs.statuses import Trust


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
    try:
        with path.open("rb") as file:
            content = file.read(MOST + 1)  # a byte of what is too much
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    try:
        SingleProof.parse(content)
    except LakeError as error:
        raise LakeError(f"{path} is no proof of a line: {error}") from error
    keys = Trust.read(signers, None, None).signers
    return [
        Outcome("proof", *verify.outcome(verify.check_proof, content)),
        Outcome("proof's signature", *verify.outcome(verify.check_proof_signature, content, keys)),
    ]
