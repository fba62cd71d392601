"""`svc.show`: a table, or a statement's figures, displayed in a notebook."""

from collections.abc import Sequence
from typing import Any

from svc_analytics.formatting.display import MOST_ROWS, Display, display_table
from svc_analytics.notebook.picked import Live, Picked
from svc_analytics.render.figures import figures_table
from svc_analytics.warehouse.figures import label_of


def show(
    table: Any,
    title: str = "",
    *,
    why: str = "unknown",
    most: int = MOST_ROWS,
    only: Sequence[str] | None = None,
    coins: Sequence[str] | None = None,
    exact: bool = False,
) -> Display | Live:
    """Return a frame, an Arrow table or a statement as a table for people.

    A notebook shows it as HTML. Numbers are rounded for display where they are long, and
    marked so: USD to 2 places, rates to 8, amounts to their coin's; `exact` shows every
    digit, as pointing at a number does. `why` is the reason shown for NULL values; at most `most`
    rows are shown, with a note of how many there are; `only` names the columns to show. A
    statement shows its figures, one column per coin: `only` names figures, `coins` names
    coins. What is shown of the statement of `svc.pick` follows the pickers.

    Returns:
        A table, which a notebook displays; its text is the same table.

    Raises:
        ConfigError: for what is no frame, no Arrow table and no statement, and for a name
            that it does not have.

    Examples:
        >>> svc.show(st, only=["gross_sales", "net_settlement"], coins=["btc"])  # doctest: +SKIP
    """
    if isinstance(table, Picked):
        return table.show(
            lambda st, coin: show(st, title, only=only, coins=coins or only_coin(coin), exact=exact)
        )
    return display_of(table, title, why=why, most=most, only=only, coins=coins, exact=exact)


def display_of(
    table: Any,
    title: str,
    *,
    why: str,
    most: int,
    only: Sequence[str] | None,
    coins: Sequence[str] | None = None,
    exact: bool = False,
) -> Display:
    """Do what `show` does of what does not change."""
    if is_statement(table):
        return Display("", [], [figures_table(table, title, only, coins, exact=exact)])
    shown = display_table(
        table, title, why=why, most=most, only=only, exact=exact, label_of=label_of
    )
    return Display("", [], [shown])


def only_coin(coin: str | None) -> list[str] | None:
    """Return a picked coin as the coins to show; None shows all."""
    return None if coin is None else [coin]


def is_statement(table: Any) -> bool:
    """Whether this is a statement; asked without loading what makes one."""
    return isinstance(getattr(table, "tables", None), dict)


def has_trend(table: Any) -> bool:
    """Whether this is a comparison of months; asked without loading what makes one."""
    return callable(getattr(type(table), "trend_table", None))
