"""Tables displayed in a notebook: `svc.show` to read them, `svc.search` to search and sort."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from numbers import Integral
from typing import Any

import pyarrow as pa

from svc_analytics.arguments import as_flag, check
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import (
    MOST_ROWS,
    Display,
    DisplayTable,
    arrow_of,
    cell_text,
    display_table,
    framed,
    label,
    select_known,
)
from svc_analytics.notebook.errors import ipython_shell
from svc_analytics.notebook.picked import Live, Picked, rows_of_coin, table_of
from svc_analytics.render.figures import figures_table
from svc_analytics.warehouse.figures import label_of

_TITLES = {"daily": "By day", "lines": "Every movement"}  # others are called as they are
SHORT = 40  # letters, up to which a text is not broken into lines
MOST_SEARCHED = 10_000  # a notebook holds them all in its file
MOST_PRINTED = 1_000
_TEXTS = files("svc_analytics.notebook")
_SCRIPT = (_TEXTS / "search.js").read_text("utf-8").replace("MOST", f"{MOST_PRINTED}")
_LESS = "\\u003c"  # within a script, no text may look like markup
_LOOK = f"<style>\n{(_TEXTS / 'search.css').read_text('utf-8')}</style>"


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
            lambda st, coin: show(
                st, title, only=only, coins=coins or (coin and [coin]), exact=exact
            )
        )
    _check(title, why, most)
    exact = as_flag("exact", exact)
    if is_statement(table):
        return Display("", [], [figures_table(table, title, only, coins, exact=exact)])
    if coins is not None:
        raise ConfigError("coins is for a statement: choose the rows of a frame yourself")
    shown = display_table(
        table, title, why=why, most=most, only=only, exact=exact, label_of=label_of
    )
    return Display("", [], [shown])


def _check(title: Any, why: Any, most: Any) -> None:
    check("title", title, str, "it as text")
    check("why", why, str, "it as text")
    check("most", most, Integral, "a whole number of rows")


def is_statement(table: Any) -> bool:
    """Whether this is a statement; asked without loading what makes one."""
    return isinstance(getattr(table, "tables", None), dict)


def has_trend(table: Any) -> bool:
    """Whether this is a comparison of months; asked without loading what makes one."""
    return callable(getattr(type(table), "trend_table", None))


@dataclass(frozen=True)
class SearchableTable:
    """A table that can be searched in a notebook."""

    html: str
    table: DisplayTable

    def __repr__(self) -> str:
        return repr(Display("", [], [self.table]))

    def _repr_html_(self) -> str:
        return self.html


def search(
    table: Any,
    title: str = "",
    *,
    why: str = "unknown",
    most: int = MOST_SEARCHED,
    only: Sequence[str] | None = None,
) -> Display | SearchableTable | Live:
    """Return a table to search and sort, in a notebook.

    Elsewhere, and for a table without rows, it returns what `show` does. At most `most`
    rows are shown, with a note of how many there are; `only` names the columns to show.
    It loads nothing from elsewhere. Of the statement of `svc.pick`, the title is the name
    of a table, such as `daily`, and what is shown follows the pickers.

    Returns:
        A table, which a notebook displays; columns sort by value, not by text.

    Raises:
        ConfigError: for what is no frame, no Arrow table and no statement.

    Examples:
        >>> svc.search(st.lines, "movements")  # doctest: +SKIP
    """
    if isinstance(table, Picked):
        heading = _TITLES.get(title, label(title))
        return table.show(
            lambda st, coin: search(
                rows_of_coin(table_of(st, title), coin), heading, why=why, most=most, only=only
            )
        )
    arrow = arrow_of(table)
    chosen = arrow if only is None else arrow.select(select_known(only, arrow.column_names))
    return _searchable(chosen, title, why, most)


def _searchable(arrow: pa.Table, title: str, why: str, most: int) -> Display | SearchableTable:
    """Return a table to search, or outside a notebook to look at."""
    is_plain = ipython_shell() is None or not len(arrow)
    most = MOST_ROWS if is_plain else most
    _check(title, why, most)
    shown = display_table(arrow, title, why=why, most=most, label_of=label_of)
    if is_plain:
        return Display("", [], [shown])
    columns = [_column(arrow.slice(0, most), shown, n) for n in range(len(shown.header))]
    rows = [[_text(cell) for cell in row] for row in shown.rows]
    data = json.dumps({"columns": columns, "rows": rows}, ensure_ascii=False)
    scripts = f'<script type="application/json">{data.replace("<", _LESS)}</script>'
    html = f'<div class="svc-search">{scripts}<script>{_SCRIPT}</script></div>'
    return SearchableTable(_LOOK + framed(shown, html + _on_paper(shown)), shown)


def _text(cell: Cell) -> str | tuple[str, str]:
    """Return the text of a cell, and behind a rounded number every digit of it."""
    return (cell_text(cell), cell.exact) if cell.exact else cell_text(cell)


def _on_paper(shown: DisplayTable) -> str:
    """Return a note, seen on paper only, of how many rows are printed."""
    count = len(shown.rows)
    if count <= MOST_PRINTED:
        return ""
    text = f"printed: the first {MOST_PRINTED:,} of {count:,} rows; on a screen this page has all"
    return f'<div class="svc-paper">{text}</div>'


def _ranks(values: list[Any]) -> list[int]:
    """Number values by size; unknown ones come first.

    >>> _ranks([30, None, 7, 30])
    [2, 0, 1, 2]
    """
    places = {value: place for place, value in enumerate(sorted({*values} - {None}), 1)}
    return [places.get(value, 0) for value in values]


def _column(arrow: pa.Table, shown: DisplayTable, n: int) -> dict[str, Any]:
    """Return a column: its name and its look, and the ranks of values that are no texts.

    By these it is sorted: the browser would read numbers as floats, and texts as they look.
    """
    column, texts = arrow.column(n), (pa.types.is_string, pa.types.is_large_string)
    is_ranked = not any(is_(column.type) for is_ in (*texts, pa.types.is_nested))
    is_whole = is_ranked or all(len(row[n].text) <= SHORT for row in shown.rows)
    meaning = shown.meanings[n] if shown.meanings else ""
    look = "svc-right" if shown.rights[n] else "svc-whole" * is_whole
    ranks = _ranks(column.to_pylist()) if is_ranked else None
    return {"name": shown.header[n], "look": look, "title": meaning, "ranks": ranks}
