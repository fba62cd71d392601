"""Long tables that can be searched, in a notebook with itables; elsewhere plain ones."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.formatting.display import Display, DisplayTable, arrow_of, cell_text, framed
from svc_analytics.notebook.show import show

if TYPE_CHECKING:
    import pandas as pd

SHORT = 40  # letters, up to which a text is not broken into lines
MOST_SEARCHED = 10_000  # a notebook holds them all in its file


@dataclass(frozen=True)
class SearchableTable:
    """A table that can be searched."""

    html: str
    grid: DisplayTable

    def __repr__(self) -> str:
        return repr(Display("", [], [self.grid]))

    def _repr_html_(self) -> str:
        return self.html


def search(
    table: Any, title: str = "", *, why: str = "unknown", most: int = MOST_SEARCHED
) -> Display | SearchableTable:
    """Return a table to search and sort, in a notebook with itables installed.

    Elsewhere, and for a table without rows, it returns what `show` does. At most `most`
    rows are shown, with a note of how many there are. It loads nothing from elsewhere.
    """
    if not _is_in_notebook() or not len(table):
        return show(table, title, why=why)
    try:
        from itables import to_html_datatable
    except ModuleNotFoundError:
        return show(table, title, why=why)
    arrow = arrow_of(table)
    (grid,) = show(arrow, title, why=why, most=most).grids
    html = to_html_datatable(
        _frame(arrow.slice(0, most), grid),
        connected=False,
        allow_html=False,
        maxBytes=0,
        maxColumns=0,
        display_logo_when_loading=False,
        classes="display compact",
        style="table-layout:auto;width:auto;margin:0",
        columnDefs=_column_definitions(arrow, grid),
    )
    return SearchableTable(_scripts() + framed(grid, html), grid)


def _scripts() -> str:
    """Return what the tables need, so that each stands on its own.

    itables would show it at once, and what sets the dark look before what defines it.
    """
    from itables import init_notebook_mode

    capture = import_module("IPython.utils.capture")  # it is there: this is a notebook
    with capture.capture_output() as captured:
        init_notebook_mode(all_interactive=False, connected=False)
    return "".join(str(shown.data["text/html"]) for shown in reversed(captured.outputs))


def _is_in_notebook() -> bool:
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return get_ipython() is not None


def _ordered(arrow: pa.Table) -> list[int]:
    """Return the columns that are put in order by their values, not by what is shown of them."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_nested)
    return [n for n, field in enumerate(arrow.schema) if not any(is_(field.type) for is_ in kinds)]


def _frame(arrow: pa.Table, grid: DisplayTable) -> pd.DataFrame:
    """Return the texts that are shown, and behind them the order of numbers and instants.

    The browser would compare numbers as floats, or as texts: it is told their order.
    """
    import pandas as pd

    columns: list[list[Any]] = [
        [cell_text(row[n]) for row in grid.rows] for n in range(len(grid.header))
    ]
    ranks = [_ranks(arrow.column(n).to_pylist()) for n in _ordered(arrow)]
    frame = pd.DataFrame(dict(enumerate(columns + ranks)))
    frame.columns = pd.Index(grid.header + [f"order {n}" for n in range(len(ranks))])
    return frame


def _ranks(values: list[Any]) -> list[int]:
    """Number values by size; what is unknown comes first.

    >>> _ranks([30, None, 7, 30])
    [2, 0, 1, 2]
    """
    places = {value: place for place, value in enumerate(sorted({*values} - {None}), 1)}
    return [places.get(value, 0) for value in values]


def _column_definitions(arrow: pa.Table, grid: DisplayTable) -> list[dict[str, Any]]:
    ordered = _ordered(arrow)
    ranks = list(range(len(grid.header), len(grid.header) + len(ordered)))
    return [
        *(
            {"targets": n, "className": _look(right, n in ordered or _is_short(grid, n))}
            for n, right in enumerate(grid.rights)
        ),
        {"targets": ranks, "visible": False, "searchable": False},
        *({"targets": n, "orderData": [rank]} for n, rank in zip(ordered, ranks, strict=True)),
    ]


def _is_short(grid: DisplayTable, column: int) -> bool:
    return all(len(row[column].text) <= SHORT for row in grid.rows)


def _look(is_right: bool, is_whole: bool) -> str:
    return f"{'dt-right' if is_right else 'dt-left'}{' dt-nowrap' * is_whole}"
