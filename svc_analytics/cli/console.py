"""Notes on stderr, tables on stdout, and the exit code for what a person should look at."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from svc_analytics.formatting.sanitize import single_line

if TYPE_CHECKING:
    import pyarrow as pa


def echo_note(text: str) -> None:
    """Print a note on stderr."""
    click.echo(f"svc-analytics: {single_line(text)}", err=True)


def echo_progress(text: str) -> None:
    """Print on a terminal what is being done now; a timer's log needs no such line."""
    if sys.stderr.isatty():
        echo_note(text)


def table_text(table: pa.Table, *, is_wide: bool) -> str:
    """Return a table as text; on a terminal its long cells are cut, unless it shall be wide."""
    from svc_analytics.formatting.tables import LONGEST_CELL, to_text  # loads pyarrow

    is_whole = is_wide or not sys.stdout.isatty()
    return to_text(table, None if is_whole else LONGEST_CELL)
