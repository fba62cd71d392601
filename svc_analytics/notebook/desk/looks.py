"""How the close desk looks: its style, lines of text, and records as lines of equal columns."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import pyarrow as pa

from svc_analytics.formatting.display import display_table
from svc_analytics.formatting.display_table import DisplayTable, cell_text
from svc_analytics.formatting.numbers import plain_spaces
from svc_analytics.formatting.sanitize import escape_invisible, single_line
from svc_analytics.formatting.standing import Standing, attach
from svc_analytics.warehouse.definitions import label_of

PLAIN = "svc-desk-plain"  # the page that is read without a kernel
# A panel that lives takes the place of the page that is read without one.
STYLE = f"""<style>
.{PLAIN} {{ display: none; }}
.svc-desk .widget-button {{ height: auto; min-height: 28px; line-height: 1.4; }}
.svc-desk .svc-tile {{ width: 15em; white-space: pre-line; text-align: left; padding: .4em .6em; }}
.svc-desk .svc-chosen {{ outline: 3px solid var(--jp-brand-color1, #1976d2); }}
.svc-desk .svc-row {{
    width: max-content; min-width: 100%; max-width: none; flex: none; padding: 0;
    white-space: pre; text-align: left; background: none;
    font-family: var(--jp-code-font-family, monospace); border-radius: 0; margin: 0;
}}
.svc-desk .svc-head {{ white-space: pre; font-family: var(--jp-code-font-family, monospace); }}
.svc-desk .svc-figures {{ max-height: 28em; overflow: auto; }}
.svc-desk .svc-figure {{ text-align: right; padding: 0 .5em; font-variant-numeric: tabular-nums; }}
.svc-desk .widget-html-content {{ line-height: 1.5; }}
.svc-desk button:focus-visible {{ outline: 3px solid var(--jp-brand-color1, #1976d2); }}
</style>"""
# The columns of records that fit a line, in order; a record itself shows them all.
_COLUMNS = (
    *("occurred_at", "paid_at", "settled_at", "incurred_at", "asserted_at", "kind", "incurred_by"),
    *("payment_id", "payout_id", "record_id", "status", "gross", "net", "base"),
    *("amount", "charged_amount", "fee", "fee_amount", "net_amount", "rate", "usd_value"),
)


def line_html(text: str, *, is_told: bool = False) -> str:
    """Return a text as a line; one that is told is read out when it changes."""
    role = ' role="status" aria-live="polite"' if is_told else ""
    return f"<div{role}>{escape(escape_invisible(single_line(text)))}</div>" if text else ""


def escaped(text: str) -> str:
    """Return a text as HTML, its spaces as they are."""
    return escape(escape_invisible(text))


def heading_html(text: str) -> str:
    """Return a heading within the panel."""
    return f"<h4>{escape(single_line(text))}</h4>"


def list_html(texts: Iterable[str]) -> str:
    """Return texts as a list."""
    items = "".join(f"<li>{escape(escape_invisible(single_line(text)))}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def sql_html(sql: str) -> str:
    """Return SQL to open; it can be copied."""
    return f"<details><summary>SQL of this figure</summary><pre>{escape(sql)}</pre></details>"


def record_columns(table: pa.Table) -> list[str]:
    """Return the columns of records that are shown in a line."""
    return [name for name in _COLUMNS if name in table.column_names]


def record_lines(table: pa.Table, standing: Standing) -> tuple[str, list[str]]:
    """Return records as lines of equal columns, the points of amounts below one another.

    The first text is the head. Every digit is there.
    """
    chosen = attach(table.select(record_columns(table)), standing)
    shown = display_table(chosen, exact=True, label_of=label_of)
    return _in_columns(shown)


def _in_columns(shown: DisplayTable) -> tuple[str, list[str]]:
    texts = [[plain_spaces(cell_text(cell)) for cell in row] for row in shown.rows]
    widths = [max(map(len, column)) for column in zip(shown.header, *texts, strict=True)]
    rights = shown.rights

    def line(cells: Iterable[str]) -> str:
        placed = zip(cells, widths, rights, strict=True)
        return "  ".join(t.rjust(w) if right else t.ljust(w) for t, w, right in placed).rstrip()

    return line(shown.header), [line(row) for row in texts]
