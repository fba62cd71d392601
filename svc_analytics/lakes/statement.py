"""The statements of several merchants over one period, beside each other and summed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from svc_analytics.formatting.display import Display, names_of, text_table
from svc_analytics.formatting.display_table import DisplayTable
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.tables import to_frame
from svc_analytics.lakes.sums import TOTAL
from svc_analytics.money import format_amount, group_digits
from svc_analytics.periods import Period
from svc_analytics.render.standing import standing_text
from svc_analytics.statements.statement import Statement

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class GroupStatement(Displayable):
    """The figures of several merchants: of each, and summed per coin.

    `statements` has each merchant's own statement, by the merchant's id.
    """

    period: Period
    statements: dict[str, Statement] = field(repr=False)
    table: pa.Table = field(repr=False)

    @property
    def figures(self) -> pd.DataFrame:
        """One row per merchant, coin and figure; those of `all merchants` come last."""
        return to_frame(self.table)

    @property
    def status(self) -> str:
        """`final` when each merchant's statement is, else `provisional`."""
        is_final = all(statement.status == "final" for statement in self.statements.values())
        return "final" if is_final else "provisional"

    @property
    def needs_attention(self) -> bool:
        """Whether anything but a running month keeps one of them from being final."""
        return any(statement.needs_attention for statement in self.statements.values())

    def to_html(self) -> str:
        """Return the same as a page that stands alone."""
        from svc_analytics.render.compared.page import comparison_page  # loads matplotlib

        names = "; ".join(names_of(statement.merchant) for statement in self.statements.values())
        return comparison_page(self._display(), names)

    def _display(self) -> Display:
        own = list(self.statements.items())
        lines = [f"{self.period.title}: {self.period.local_bounds}", f"status: {self.status}"]
        for place, (merchant, statement) in enumerate(own, 1):
            name = single_line(f"{merchant}, {names_of(statement.merchant)}")
            lines.append(f"merchant {place}: {standing_text(statement)} · {name}")
        unknown = [row for row in self._rows(TOTAL) if row["value"] is None]
        names: dict[str, list[str]] = {str(row["note"]): [] for row in unknown}
        for row in unknown:
            names[str(row["note"])].append(f"{row['label']} of {row['currency']}")
        lines += [f"no sum: {', '.join(figures)}: {why}" for why, figures in names.items()]
        title = single_line(f"Statement {self.period.folder} of {len(own)} merchants")
        return Display(title, lines, [self._coin(coin) for coin in self._coins()])

    def _rows(self, merchant: str) -> list[dict[str, object]]:
        return [row for row in self.table.to_pylist() if row["merchant_id"] == merchant]

    def _coins(self) -> list[str]:
        return sorted(set(self.table["currency"].to_pylist()))

    def _coin(self, coin: str) -> DisplayTable:
        """Return a coin's figures: figures down, merchants and their sum across."""
        columns = [*self.statements, TOTAL]
        cells = {
            (row["figure"], row["merchant_id"]): _text(row["value"])
            for row in self.table.to_pylist()
            if row["currency"] == coin
        }
        labels = {row["figure"]: str(row["label"]) for row in self.table.to_pylist()}
        heads = [f"merchant {place}" for place in range(1, len(columns))]
        rows = [
            [labels[name], *(cells.get((name, merchant), "") for merchant in columns)]
            for name in labels
            if any((name, merchant) in cells for merchant in columns)
        ]
        return text_table(coin, [coin, *heads, TOTAL], rows)


def _text(value: object) -> str:
    """Write a figure with every digit; what has no value is a dash."""
    return "–" if value is None else group_digits(format_amount(value))  # type: ignore[arg-type]
