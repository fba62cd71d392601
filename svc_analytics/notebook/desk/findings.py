"""The findings of a month: what each is of, and accepting one with a reason and a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from svc_analytics.errors import ConfigError
from svc_analytics.formatting.display import label
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.instants import format_instant, now
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.typed_files import append_row
from svc_analytics.messages import KEPT, Message, stored_text
from svc_analytics.statements.statement import Statement
from svc_analytics.warehouse.acknowledgements import (
    COLUMNS,
    FILE,
    OPTIONAL,
    read_acknowledgements,
)

COLUMNS_SHOWN = ["state", "rule", "record", "finding"]
_WEIGHTS = {True: "blocks the close", False: "note"}


@dataclass(frozen=True)
class Finding:
    """One row of a statement's checks."""

    check: str
    record_id: str  # empty where it is of no single record
    is_blocking: bool
    detail: str
    accepted: str  # why and by whom; empty while nobody accepted it
    content: str = ""  # the digest of what it is about, which accepting it names

    @property
    def state(self) -> str:
        """Whether it blocks the close, is only a note, or was accepted, why and by whom."""
        accepted = Message("accepted: {why}", why=self.accepted)
        return accepted if self.accepted else Message(_WEIGHTS[self.is_blocking])

    @property
    def is_open_block(self) -> bool:
        """Whether it blocks the close, and nobody accepted it."""
        return self.is_blocking and not self.accepted

    @property
    def cells(self) -> list[str]:
        """Its row in a table: `COLUMNS_SHOWN` are the columns."""
        texts = (self.state, Message(label(self.check)), self.record_id, self.detail)
        return [text if isinstance(text, Message) else single_line(text) for text in texts]


def findings_of(statement: Statement) -> list[Finding]:
    """Return a statement's findings: those that block it first, accepted ones last."""
    findings = [_finding(row) for row in statement.tables["checks"].to_pylist()]
    return sorted(findings, key=lambda each: (bool(each.accepted), not each.is_blocking))


def _finding(row: dict[str, Any]) -> Finding:
    reason, by = row["acknowledged_reason"], row["acknowledged_by"]
    accepted = single_line(f"{reason} ({by})") if by else ""
    is_blocking = row["severity"] == "blocking"
    text = stored_text(str(row["detail"] or ""), row.get(KEPT))
    key, content = row["record_id"] or "", row["content"] or ""
    return Finding(row["check_name"], key, is_blocking, text, accepted, content)


def accept(lake: Lake, finding: Finding, reason: str, by: str) -> None:
    """Write down that a person accepts a finding, and why.

    Raises `ConfigError` without a reason or a name; then nothing is written.
    """
    reason, by = single_line(reason).strip(), single_line(by).strip()
    if not reason:
        raise ConfigError("say why it is accepted: the statement prints it")
    if not by:
        raise ConfigError("write your name: the statement prints who accepted it")
    read_acknowledgements(lake.path)  # a line that is wrong is told before another is added
    cells = (finding.check, finding.record_id, reason, by, format_instant(now()), finding.content)
    append_row(lake.storage, FILE, COLUMNS, dict(zip(COLUMNS, cells, strict=True)), OPTIONAL)


def last_name(lake: Lake) -> str:
    """Return who accepted a finding last, to offer it as the name; empty if nobody did."""
    try:
        accepted = read_acknowledgements(lake.path)
    except ConfigError:  # it is told when a statement is made
        return ""
    return accepted[-1].by if accepted else ""
