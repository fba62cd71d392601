"""How the close desk looks: its style, and lines of text."""

from __future__ import annotations

from html import escape

from svc_analytics.formatting.sanitize import escape_invisible, single_line

PLAIN = "svc-desk-plain"  # the page that is read without a kernel
# A panel that lives takes the place of the page that is read without one.
STYLE = f"""<style>
.{PLAIN} {{ display: none; }}
.svc-desk .widget-button {{ height: auto; min-height: 28px; line-height: 1.4; }}
.svc-desk .svc-tile {{
    min-width: 13em; white-space: pre-line; text-align: start; padding: .4em .6em;
}}
.svc-desk .svc-chosen {{ outline: 3px solid var(--jp-brand-color1, #1976d2); }}
.svc-desk .svc-table {{ max-height: 32em; overflow: auto; max-width: 100%; }}
.svc-desk .svc-table table {{ border-collapse: separate; border-spacing: 0; margin: 0; }}
.svc-desk .svc-table :is(td, th) {{
    padding: 1px .7em; white-space: nowrap; text-align: start; vertical-align: top;
    border-bottom: 1px solid var(--jp-border-color2, #ddd);
}}
.svc-desk .svc-table .svc-right {{
    text-align: right; font-variant-numeric: tabular-nums lining-nums; padding: 1px .3em;
}}
.svc-desk .svc-table thead th {{
    position: sticky; top: 0; z-index: 1; background: var(--jp-layout-color1, Canvas);
}}
.svc-desk .svc-table :is(td, thead th):first-child {{
    position: sticky; inset-inline-start: 0; background: var(--jp-layout-color1, Canvas);
}}
.svc-desk .svc-table thead th:first-child {{ z-index: 2; }}
.svc-desk .svc-table tfoot td {{
    position: sticky; bottom: 0; font-weight: bold; background: var(--jp-layout-color1, Canvas);
    border-top: 2px solid var(--jp-border-color1, #888);
}}
.svc-desk .svc-heading span {{ position: sticky; inset-inline-start: .7em; }}
.svc-desk .svc-heading {{ padding-top: .8em !important; }}
.svc-desk :is(.svc-press, .svc-order) {{ cursor: pointer; }}
.svc-desk button:is(.svc-press, .svc-order) {{
    border: 0; background: none; color: inherit; font: inherit; padding: 0 .4em;
    white-space: pre; text-align: inherit;
}}
.svc-desk button.svc-press {{
    width: 100%; text-align: right; color: var(--jp-content-link-color, #1565c0);
}}
.svc-desk :is(tr.svc-press:hover > td, button:is(.svc-press, .svc-order):hover) {{
    background: var(--jp-layout-color2, #eee);
}}
.svc-desk .svc-table tr[aria-selected=true] > td {{ background: var(--jp-brand-color3, #bbdefb); }}
.svc-desk .svc-findings td {{ white-space: normal; overflow-wrap: anywhere; }}
.svc-desk .svc-findings td:first-child {{ min-width: 8em; }}
.svc-desk .svc-findings td:last-child {{ min-width: 16em; }}
.svc-desk .svc-forms {{ display: flex; flex-wrap: wrap; gap: 0 2em; align-items: start; }}
.svc-desk .svc-forms > div {{ flex: 1 1 30em; min-width: 0; }}
.svc-desk .svc-forms td:first-child {{ white-space: nowrap; }}
.svc-desk .svc-forms td {{ overflow-wrap: anywhere; white-space: normal; padding: 1px .5em; }}
.svc-desk :is(h4, p) {{ margin: .3em 0; }}
.svc-desk h4 {{ font-size: 1.1em; margin-top: .8em; }}
.svc-desk .widget-html-content {{ line-height: 1.5; }}
.svc-desk :is(button, tr):focus-visible {{
    outline: 3px solid var(--jp-brand-color1, #1976d2); outline-offset: -3px;
}}
</style>"""


def line_html(text: str, *, is_told: bool = False) -> str:
    """Return a text as a line; one that is told is read out when it changes."""
    role = ' role="status" aria-live="polite"' if is_told else ""
    return f"<div{role}>{escape(escape_invisible(single_line(text)))}</div>" if text else ""


def heading_html(text: str) -> str:
    """Return a heading within the panel."""
    return f"<h4>{escape(single_line(text))}</h4>"


def sql_html(sql: str) -> str:
    """Return SQL to open; it can be copied."""
    return f"<details><summary>SQL of this figure</summary><pre>{escape(sql)}</pre></details>"
