"""How the close desk looks: its style, and lines of text."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from svc_analytics.formatting.sanitize import escape_invisible, single_line

PLAIN = "svc-desk-plain"  # the page that is read without a kernel
STYLE = f"<style>{(files('svc_analytics.notebook.desk') / 'desk.css').read_text('utf-8')}</style>"


def line_html(text: str, *, is_told: bool = False) -> str:
    """Return a text as a line; one that is told is read out when it changes."""
    role = ' role="status" aria-live="polite"' if is_told else ""
    shown = escape(escape_invisible(single_line(text)))
    return f'<div dir="auto"{role}>{shown}</div>' if text else ""


def heading_html(text: str) -> str:
    """Return a heading within the panel."""
    return f"<h4>{escape(single_line(text))}</h4>"


def sql_html(sql: str) -> str:
    """Return SQL to open; it can be copied."""
    return f"<details><summary>SQL of this figure</summary><pre>{escape(sql)}</pre></details>"
