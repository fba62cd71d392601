"""Texts: counts with their nouns, ids, escapes for what other people wrote, and templates."""

import re
import shutil
import sys
from collections.abc import Callable
from importlib.resources import files
from textwrap import TextWrapper
from typing import TYPE_CHECKING

from svc_analytics.messages import Label, Message, translated

if TYPE_CHECKING:
    from jinja2 import Template


# Control characters, and those that turn the direction of the text around them. The marks
# that Persian needs (zero-width joiners, direction marks of one character) are not among them.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
FORMULA = r"^'*[=+\-@\t\r]"  # how a text begins that a spreadsheet may run
_FORMULA = re.compile(FORMULA)
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?\Z")


def escape_invisible(text: str) -> str:
    """Write characters that hide or reverse text as their code points.

    >>> escape_invisible("gpj\u202eexe")
    'gpj[U+202E]exe'
    """
    return _INVISIBLE.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


def visible(text: str) -> str:
    """Return a text, or a message with its values, in which every character is visible.

    >>> visible(Message("no {coin}", coin="gpj\u202eexe")).values
    {'coin': 'gpj[U+202E]exe'}
    """
    shown = escape_invisible(text)
    if shown == text:
        return text
    if not isinstance(text, Message):
        return shown
    texts = {name: _visible_value(value) for name, value in text.values.items()}
    return Message(text.code, **texts)


def _visible_value(value: object) -> str:
    shown = visible(value if isinstance(value, str) else str(value))
    return translated(shown) if isinstance(value, Label) else shown


def single_line(text: str) -> str:
    """Return a text as one line in which every character is visible."""
    return escape_invisible(" ".join(text.split()))


def cut_short(text: str, most: int) -> str:
    """Return a text of so many letters at most, the last of which says that it was longer.

    >>> cut_short("saffron", 7), cut_short("saffron", 4)
    ('saffron', 'saf…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def terminal_width() -> int | None:
    """Return how many letters wide the terminal is; None where there is none to fit."""
    is_terminal = sys.stdout and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if is_terminal else None


def wrapped(text: str, indent: str = "") -> str:
    """Return a line that fits the terminal: the lines behind its first are indented further."""
    width = terminal_width()
    if width is None:
        return indent + text
    wrapper = TextWrapper(max(width, 40), indent, indent + " " * 4)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.fill(text)


def escape_formula(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would run it.

    A text that already has one gets one more, so that `unescape_formula` restores every
    text. Numbers stay as they are.

    >>> [escape_formula(text) for text in ("=cmd()", "-2.5", "'=cmd()", "it's")]
    ["'=cmd()", '-2.5', "''=cmd()", "it's"]
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.match(text) else text


def unescape_formula(text: str) -> str:
    """Return the text that `escape_formula` was given.

    >>> unescape_formula("'=cmd()"), unescape_formula("'quoted'")
    ('=cmd()', "'quoted'")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


def canonical_id(text: str) -> str:
    """Return a UUID in lower case, and any other id as it is.

    >>> canonical_id("6BA7B810-9DAD-11D1-80B4-00C04FD430C8"), canonical_id("SVC-0A1")
    ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'SVC-0A1')
    """
    return text.lower() if _UUID.fullmatch(text) else text


def counted(count: int, noun: str, many: str = "") -> str:
    """Write a count before its noun; `many` is a plural that takes more than an s.

    >>> counted(1, "record"), counted(1200, "record"), counted(0, "entry", "entries")
    ('1 record', '1,200 records', '0 entries')
    """
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def load_text(
    package: str,
    name: str,
    write: Callable[[object], str] | None = None,
    **filters: Callable[..., str],
) -> "Template":
    """Load a text from the templates of a package; `write` makes a text of each value in it."""
    from jinja2 import Environment, StrictUndefined  # takes long to load

    environment = Environment(
        autoescape=False,  # noqa: S701 - a text is no page
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=write,
    )
    environment.filters |= filters
    text = files(package).joinpath("templates", name).read_text("utf-8")
    return environment.from_string(text)
