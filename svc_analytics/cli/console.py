"""Notes on stderr, tables on stdout, and the exit code for what a person should look at."""

from __future__ import annotations

import io
import shutil
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

import click

from svc_analytics.environment import SettingPlaces
from svc_analytics.errors import EXIT_ATTENTION, ConfigError, class_name
from svc_analytics.formatting.texts import single_line
from svc_analytics.instants import format_instant, now
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
    """Print on a terminal what is being done now, until the next line; a timer's log needs none."""
    if isinstance(sys.stderr, Terminal):
        sys.stderr.show(hide_keys_in(single_line(f"svc-analytics: {text}")))
    elif sys.stderr.isatty():
        echo_note(text, "progress")


class Terminal:
    """A stream of a terminal, on which a line of progress is gone when anything else is written."""

    _pending: list[TextIO] = []  # noqa: RUF012 - of both streams: where such a line stands now

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, text: str) -> None:
        """Write a line of progress in the place of the one before."""
        self.write(text[: shutil.get_terminal_size().columns - 1])
        self._out.flush()
        self._pending.append(self._out)

    def write(self, text: str) -> int:
        """Write a text where the line of progress stood."""
        self.erase()
        return self._out.write(text)

    def erase(self) -> None:
        """Take the line of progress away, if there is one."""
        while self._pending:
            out = self._pending.pop()
            out.write("\r\x1b[K")
            out.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


@contextmanager
def progress_that_passes() -> Iterator[None]:
    """Let nothing stay of lines of progress on a terminal, until the block ends."""
    if not all(stream and stream.isatty() for stream in (sys.stdout, sys.stderr)):
        yield
        return
    out, err = (cast("TextIO", Terminal(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        try:
            yield
        finally:
            err.write("")


def echo_error(text: str, code: int, error: BaseException) -> int:
    """Print an error in one line, with -vv also its traceback; return the exit code."""
    codes = getattr(error, "codes", ())
    values: dict[str, object] = {"exit_code": code, "class": class_name(error), "codes": codes}
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


def exit_if_attention(is_needed: object) -> None:
    """End the command with the exit code of what a person should look at, if there is any."""
    if is_needed:
        raise SystemExit(EXIT_ATTENTION)


def table_text(table: pa.Table, *, is_wide: bool) -> str:
    """Return a table as text; on a terminal its long cells are cut, unless it shall be wide."""
    from svc_analytics.formatting.tables import LONGEST_CELL, to_text  # loads pyarrow

    is_whole = is_wide or not sys.stdout.isatty()
    return to_text(table, None if is_whole else LONGEST_CELL)


# ---------- The lines of stderr as JSON, for programs that collect them
# `--log json`, or SVC_LOG.


VARIABLE = "SVC_LOG"
FORMS = ("text", "json")
Level = Literal["info", "warning", "error"]


class JsonLines:
    """A stream that writes one JSON object a line; lines of others become events as well."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._begun = out, ""

    def tell(self, text: str, event: str, level: Level, values: Mapping[str, object]) -> None:
        """Write one event, without any key of the service."""
        import json  # most commands write no such line

        document = {"time": format_instant(now()), "level": level, "event": event}
        line = json.dumps(_plain({**document, "values": values, "text": text}))
        self._out.write(f"{line}\n")
        self._out.flush()

    def write(self, text: str) -> int:
        """Take what another program part writes, line by line."""
        *lines, self._begun = (self._begun + text).split("\n")
        for line in filter(str.strip, lines):
            self.tell(line.rstrip(), "other", "warning", {})
        return len(text)

    def flush(self) -> None:
        """Write what is whole; a line that has only begun waits for its end."""
        self._out.flush()

    def isatty(self) -> bool:
        """It is no terminal: no bar and no line of progress is drawn here."""
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


def _plain(value: object) -> object:
    """Return a value as JSON holds it, with a mark in place of each key of the service."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, (bool, int)) else hide_keys_in(str(value))


@contextmanager
def stderr_in_form(words: Iterable[str], source: SettingPlaces) -> Iterator[None]:
    """Let stderr have the form that a command line or the settings name, until the block ends.

    A form that is wrong is refused when the command line is read; until then it is text.
    """
    if (_form_of(words) or _form_set(source)) != "json":
        yield
        return
    lines = JsonLines(sys.stderr)
    with redirect_stderr(lines):
        try:
            yield
        finally:
            lines.write("\n")  # the end of a line that has none


def _form_of(words: Iterable[str]) -> str:
    """Return the form that the words before the command name; the last one counts."""
    form, rest = "", iter(words)
    for word in rest:
        if word == "--log":
            form = next(rest, "")
        elif word.startswith("--log="):
            form = word.partition("=")[2]
        elif not word.startswith("-"):
            break
    return form


def _form_set(source: SettingPlaces) -> str:
    """Return the form that the settings name, also where another line of `.env` is refused."""
    with suppress(ConfigError):
        return source.text(VARIABLE)
    with suppress(ConfigError):
        return source.as_written.get(VARIABLE) or ""
    return ""


def check_form(text: str) -> str:
    """Return the text of SVC_LOG; raise `ConfigError` unless it is a form.

    >>> check_form("json")
    'json'
    """
    if text not in ("", *FORMS):
        raise ConfigError(f"{VARIABLE} is {' or '.join(FORMS)}")
    return text
