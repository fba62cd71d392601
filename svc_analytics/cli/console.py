"""Notes on stderr, tables on stdout, and the exit code for what a person should look at."""

from __future__ import annotations

import io
import sys
import traceback
from typing import TYPE_CHECKING

import click

from svc_analytics.cli.json_lines import JsonLines, Level
from svc_analytics.errors import class_name
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.messages import Message
from svc_analytics.signing.secrets import hide_keys_in

if TYPE_CHECKING:
    import pyarrow as pa


def echo_note(text: str, event: str, level: Level = "info", /, **values: object) -> None:
    """Print a note on stderr; its event and the values in it are for programs alone.

    Of a message, its code and values stand among them.
    """
    line = single_line(text)
    if isinstance(sys.stderr, JsonLines):
        message = {"message": text.to_json()} if isinstance(text, Message) else {}
        sys.stderr.tell(line, event, level, {**values, **message})
    else:
        click.echo(f"svc-analytics: {hide_keys_in(line)}", err=True)


def echo_warning(text: str) -> None:
    """Print a warning on stderr."""
    echo_note(f"warning: {text}", "warning", "warning")


def echo_progress(text: str) -> None:
    """Print on a terminal what is being done now; a timer's log needs no such line."""
    if sys.stderr.isatty():
        echo_note(text, "progress")


def echo_error(text: str, code: int, error: BaseException | None = None) -> int:
    """Print an error in one line, with -vv also its traceback; return the exit code."""
    values: dict[str, object] = {"exit_code": code}
    if error is not None:
        values |= {"class": class_name(error), "codes": getattr(error, "codes", ())}
    frames = traceback.format_exc() if _shows_frames() else ""
    if frames and isinstance(sys.stderr, JsonLines):
        values["traceback"], frames = frames, ""
    echo_note(f"error: {text}", "error", "error", **values)
    sys.stderr.write(hide_keys_in(frames))
    return code


def _shows_frames() -> bool:
    return bool(sys.argv.count("-vv") or sys.argv.count("-v") > 1)


def echo_usage_error(error: click.UsageError) -> int:
    """Print what is wrong with a command line, and how it is used; return the exit code."""
    if isinstance(sys.stderr, JsonLines):
        shown = io.StringIO()
        error.show(shown)
        values = {"exit_code": error.exit_code, "class": "UsageError", "codes": ()}
        sys.stderr.tell(shown.getvalue().strip(), "error", "error", values)
    else:
        error.show()
    for note in notes_of(error):
        echo_note(note, "origin_of_option")
    return error.exit_code


def notes_of(error: Exception) -> list[str]:
    """Return the notes on an error."""
    return getattr(error, "__notes__", [])


def table_text(table: pa.Table, *, is_wide: bool) -> str:
    """Return a table as text; on a terminal its long cells are cut, unless it shall be wide."""
    from svc_analytics.formatting.tables import LONGEST_CELL, to_text  # loads pyarrow

    is_whole = is_wide or not sys.stdout.isatty()
    return to_text(table, None if is_whole else LONGEST_CELL)
