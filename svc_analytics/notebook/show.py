"""Tables displayed in a notebook: `svc.show` to read them, `svc.search` to search and sort."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any

import pyarrow as pa

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
# A column is sorted by the ranks of its values. Pointing at a rounded number says every digit.
_RENDER = (_TEXTS / "search_ranks.js").read_text("utf-8").rstrip()
# Paper has no pages to turn: all rows are printed, as the reader sorted and searched them.
_PRINT = (_TEXTS / "search_print.js").read_text("utf-8").rstrip().replace("MOST", f"{MOST_PRINTED}")
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
    """Return a table to search and sort, in a notebook with itables installed.

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
    """Return a table to search, or to look at where that cannot be."""
    plain = display_of(arrow, title, why=why, most=MOST_ROWS, only=None)
    if ipython_shell() is None or not len(arrow):
        return plain
    try:
        from itables import JavascriptFunction, to_html_datatable  # an optional extra
    except ModuleNotFoundError:
        return plain
    (shown,) = display_of(arrow, title, why=why, most=most, only=None).tables
    html = to_html_datatable(
        _frame(shown),
        connected=False,
        allow_html=False,
        maxBytes=0,
        maxColumns=0,
        display_logo_when_loading=False,
        text_in_header_can_be_selected=False,  # so a click on a name sorts
        classes="display compact svc-search",
        style="table-layout:auto;width:auto;margin:0",
        columnDefs=_column_definitions(arrow.slice(0, most), shown),
        drawCallback=JavascriptFunction(_PRINT),
    )
    return SearchableTable(_scripts() + _LOOK + framed(shown, html + _on_paper(shown)), shown)


def _on_paper(shown: DisplayTable) -> str:
    """Return a note, seen on paper only, of how many rows are printed."""
    count = len(shown.rows)
    if count <= MOST_PRINTED:
        return ""
    text = f"printed: the first {MOST_PRINTED:,} of {count:,} rows; on a screen this page has all"
    return f'<div class="svc-paper">{text}</div>'


def _scripts() -> str:
    """Return the scripts of itables, so that each table works on its own.

    itables itself would print them at once, and in an order in which its dark mode fails.
    """
    from itables import init_notebook_mode  # an optional extra

    capture = import_module("IPython.utils.capture")  # it is there: this is a notebook
    with capture.capture_output() as captured:
        init_notebook_mode(all_interactive=False, connected=False)
    return "".join(str(output.data["text/html"]) for output in reversed(captured.outputs))


def _sorted_by_value(arrow: pa.Table) -> list[int]:
    """Return the columns to sort by value: all but texts, sorted as displayed."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_nested)
    return [n for n, field in enumerate(arrow.schema) if not any(is_(field.type) for is_ in kinds)]


def _frame(shown: DisplayTable) -> Any:
    """Return the texts to display."""
    import pandas as pd  # takes long to load

    texts = [[cell_text(row[n]) for row in shown.rows] for n in range(len(shown.header))]
    frame = pd.DataFrame(dict(enumerate(texts)))
    frame.columns = pd.Index(shown.header)
    return frame


def _ranks(values: list[Any]) -> list[int]:
    """Number values by size; unknown ones come first.

    >>> _ranks([30, None, 7, 30])
    [2, 0, 1, 2]
    """
    places = {value: place for place, value in enumerate(sorted({*values} - {None}), 1)}
    return [places.get(value, 0) for value in values]


def _column_definitions(arrow: pa.Table, shown: DisplayTable) -> list[dict[str, Any]]:
    by_value = _sorted_by_value(arrow)
    return [
        {"targets": n, "className": _look(shown, n, by_value)}
        | (_by_rank(arrow, shown, n) if n in by_value else {})
        for n in range(len(shown.header))
    ]


def _by_rank(arrow: pa.Table, shown: DisplayTable, n: int) -> dict[str, Any]:
    """Return how a column is sorted by its values, which the browser would read as floats."""
    from itables import JavascriptCode  # an optional extra

    ranks = json.dumps(_ranks(arrow.column(n).to_pylist()))
    exact = {place: row[n].exact for place, row in enumerate(shown.rows) if row[n].exact}
    code = _RENDER.replace("RANKS", ranks).replace("EXACT", json.dumps(exact))
    return {"type": "num", "render": JavascriptCode(code)}


def _look(shown: DisplayTable, n: int, by_value: list[int]) -> str:
    is_whole = n in by_value or all(len(row[n].text) <= SHORT for row in shown.rows)
    return f"{'dt-right' if shown.rights[n] else 'dt-left'}{' dt-nowrap' * is_whole}"
