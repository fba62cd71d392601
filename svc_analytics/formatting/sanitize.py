"""Escapes for texts of other people: formulas in spreadsheets, control characters."""

import re

from svc_analytics.messages import Message

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
    texts = {
        name: visible(value if isinstance(value, str) else str(value))
        for name, value in text.values.items()
    }
    return Message(text.code, **texts)


def single_line(text: str) -> str:
    """Return a text as one line in which every character is visible."""
    return escape_invisible(" ".join(text.split()))


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
