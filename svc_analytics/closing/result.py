"""The result of closing a month: sealed, unchanged, restated or provisional, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from svc_analytics.formatting.display import Display, display_table
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.tables import to_frame
from svc_analytics.month_texts import noun_of
from svc_analytics.render.document import Reason, Unknown

if TYPE_CHECKING:
    import pandas as pd

State = Literal["sealed", "unchanged", "restated", "provisional"]
_OUTCOMES: dict[State, str] = {
    "sealed": "sealed as {seal}",
    "unchanged": "was sealed before and is unchanged, as {seal}",
    "restated": "restated as version {version}, sealed as {seal}",
    "provisional": "is provisional and not sealed",
}


@dataclass(frozen=True)
class CloseResult(Displayable):
    """What became of one month."""

    label: str
    state: State
    folder: Path
    version: int
    seal: str | None
    reasons: tuple[Reason, ...] = ()
    unknown: tuple[Unknown, ...] = ()  # figures that it leaves open, and why
    table: pa.Table | None = field(default=None, repr=False)  # differences from the last seal
    note: str | None = None  # worth knowing, though nothing is wrong

    @property
    def needs_attention(self) -> bool:
        """Whether a person should look: the month is restated, or cannot be final."""
        return self.state in ("restated", "provisional") or bool(self.reasons)

    @property
    def restatement(self) -> pd.DataFrame | None:
        """One row per difference from the version before; None for a first version."""
        return None if self.table is None else to_frame(self.table)

    def describe(self) -> list[str]:
        """Say in lines of text what became of the month, and why."""
        outcome = _OUTCOMES[self.state].format(seal=self.seal, version=self.version)
        lines = [f"{self.label} {outcome}: {self.folder}"]
        lines += [f"  because {single_line(reason.text)}" for reason in self.reasons]
        lines += [f"  {single_line(unknown.text)}" for unknown in self.unknown]
        return [*lines, f"  note: {self.note}"] if self.note else lines

    def _display(self) -> Display:
        title = "differences from the version before"
        tables = [] if self.table is None else [display_table(self.table, title)]
        kind = noun_of(self.label.partition("@")[0]).title()
        return Display(f"{kind} {self.label}", self.describe(), tables)
