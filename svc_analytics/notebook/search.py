"""Long tables that can be searched and sorted in a notebook, by itables."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pandas as pd
import pyarrow as pa

from svc_analytics.formatting.display import Display, arrow_of
from svc_analytics.formatting.display_html import framed
from svc_analytics.formatting.display_table import DisplayTable, cell_text
from svc_analytics.notebook.errors import ipython_shell
from svc_analytics.notebook.show import show

SHORT = 40  # letters, up to which a text is not broken into lines
MOST_SEARCHED = 10_000  # a notebook holds them all in its file


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
    table: Any, title: str = "", *, why: str = "unknown", most: int = MOST_SEARCHED
) -> Display | SearchableTable:
    """Return a table to search and sort, in a notebook with itables installed.

    Elsewhere, and for a table without rows, it returns what `show` does. At most `most`
    rows are shown, with a note of how many there are. It loads nothing from elsewhere.
    """
    if ipython_shell() is None or not len(table):
        return show(table, title, why=why)
    try:
        from itables import to_html_datatable  # an optional extra
    except ModuleNotFoundError:
        return show(table, title, why=why)
    arrow = arrow_of(table)
    (shown,) = show(arrow, title, why=why, most=most).tables
    html = to_html_datatable(
        _frame(arrow.slice(0, most), shown),
        connected=False,
        allow_html=False,
        maxBytes=0,
        maxColumns=0,
        display_logo_when_loading=False,
        classes="display compact",
        style="table-layout:auto;width:auto;margin:0",
        columnDefs=_column_definitions(arrow, shown),
    )
    return SearchableTable(_scripts() + framed(shown, html), shown)


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


def _frame(arrow: pa.Table, shown: DisplayTable) -> pd.DataFrame:
    """Return the texts to display, and hidden columns of ranks to sort by.

    The browser itself would compare numbers as floats, or as texts.
    """
    columns: list[list[Any]] = [
        [cell_text(row[n]) for row in shown.rows] for n in range(len(shown.header))
    ]
    ranks = [_ranks(arrow.column(n).to_pylist()) for n in _sorted_by_value(arrow)]
    frame = pd.DataFrame(dict(enumerate(columns + ranks)))
    frame.columns = pd.Index(shown.header + [f"order {n}" for n in range(len(ranks))])
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
    ranks = list(range(len(shown.header), len(shown.header) + len(by_value)))
    return [
        *({"targets": n, "className": _look(shown, n, by_value)} for n in range(len(shown.header))),
        {"targets": ranks, "visible": False, "searchable": False},
        *({"targets": n, "orderData": [rank]} for n, rank in zip(by_value, ranks, strict=True)),
    ]


def _look(shown: DisplayTable, n: int, by_value: list[int]) -> str:
    is_whole = n in by_value or all(len(row[n].text) <= SHORT for row in shown.rows)
    return f"{'dt-right' if shown.rights[n] else 'dt-left'}{' dt-nowrap' * is_whole}"
