"""The forms of a sealed statement that go with its notice: PDF, or page, and workbook."""

import mimetypes
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from svc_analytics.closing import seals
from svc_analytics.closing.verification.derived_forms import read_facts, write_forms
from svc_analytics.closing.verification.proof import require_unaltered
from svc_analytics.errors import LakeError
from svc_analytics.files import hash_file
from svc_analytics.lake.lake import Lake
from svc_analytics.language.catalogue import Language
from svc_analytics.render.folder import Output
from svc_analytics.render.formats import DOCUMENTS, has_typst


@dataclass(frozen=True)
class Attachment:
    """One file of a statement as it was sealed, or is stated by the forms beside the seal."""

    path: Path
    sha256: str
    content: bytes = field(repr=False)

    @property
    def name(self) -> str:
        """The name for whoever gets it: of several months, each has its own."""
        return f"{self.path.parent.name}-{self.path.name}"

    @property
    def kind(self) -> str:
        """The type of its content, as mail names it."""
        return mimetypes.guess_type(self.path.name)[0] or "application/octet-stream"

    def to_json(self, *, has_path: bool) -> dict[str, Any]:
        """Say what it is; on the machine of the lake also where."""
        facts = {"name": self.name, "sha256": self.sha256, "bytes": len(self.content)}
        return facts | ({"path": str(self.path)} if has_path else {})


def readable_forms() -> tuple[str, ...]:
    """Return the forms that go with a notice: PDF, or without Typst the page, and workbook."""
    return ("pdf" if has_typst() else "html", "xlsx")


def attachments(
    lake: Lake, folder: Path, manifest: seals.Manifest, language: Language
) -> list[Attachment]:
    """Return the readable forms of a sealed statement.

    Those that the seal lacks are written beside it, as `close` does. Raises `LakeError` for a
    file that is not as its digest says.
    """
    wanted = readable_forms()
    proof = require_unaltered(lake, folder, manifest)
    if proof.sealed is None:
        return []
    write_forms(proof.sealed, Output(wanted, language), lake.storage)
    files = {name: (folder, facts) for name, facts in manifest["files"].items()}
    derived = read_facts(proof.sealed.place).get("files", {})
    beside = {name: (proof.sealed.place, facts) for name, facts in derived.items()}
    files = beside | files if proof.sealed.is_proven else files | beside
    names = [name for form in wanted for name in DOCUMENTS[form].files if name in files]
    return [_attachment(files[name][0] / name, files[name][1]["sha256"]) for name in names]


def _attachment(path: Path, sha256: str) -> Attachment:
    if hash_file(path) != sha256:
        raise LakeError(f"{path} was altered, so it is not sent")
    return Attachment(path, sha256, path.read_bytes())
