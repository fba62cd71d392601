"""The lines of stderr as JSON, for programs that collect them: `--log json`, or SVC_LOG."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, suppress
from typing import Any, Literal, TextIO

from svc_analytics.environment import SettingPlaces
from svc_analytics.errors import ConfigError
from svc_analytics.instants import format_instant, now
from svc_analytics.signing.secrets import hide_keys_in

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

    def close(self) -> None:
        """Write no more."""
        self._out.close()

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
