"""`svc.show`: a table, or a statement's figures, as notebooks show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svc_analytics.formatting.display import MOST_ROWS, Display, display_table
from svc_analytics.render.figures import figures_grid


def show(
    table: Any,
    title: str = "",
    *,
    why: str = "unknown",
    most: int = MOST_ROWS,
    only: Sequence[str] | None = None,
    coins: Sequence[str] | None = None,
) -> Display:
    """Return a frame or an Arrow table as it is shown in a notebook: exact, with units.

    `why` is the reason given for what is NULL; `most` rows are shown, and how many there
    are. `only` names some columns. Of a statement, figures are shown, a coin a column;
    `only` names some figures, `coins` some coins.
    """
    if hasattr(table, "tables"):
        return Display("", [], [figures_grid(table, title, only, coins)])
    return Display("", [], [display_table(table, title, why=why, most=most, only=only)])
