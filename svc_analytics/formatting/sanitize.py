"""Escapes for texts of other people: what a spreadsheet would run, what a terminal would obey."""

import re

# Control characters, and those that turn the direction of the text around them. The marks
# that Persian needs (zero-width joiners, direction marks of one character) are not among them.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?\Z")


def escape_invisible(text: str) -> str:
    """Show characters that could hide or turn text as what they are.

    >>> escape_invisible("gpj\u202eexe")
    'gpj[U+202E]exe'
    """
    return _INVISIBLE.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def single_line(text: str) -> str:
    """Set a text into one line that shows every character of it."""
    return escape_invisible(" ".join(text.split()))


def escape_formula(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run as a formula.

    What has one before such a mark already gets one more, so that `unescape_formula` gives
    every text back. Numbers are left alone.

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
