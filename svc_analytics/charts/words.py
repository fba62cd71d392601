"""What a chart says: each text in the language of its axes, as it is written on them."""

from typing import TYPE_CHECKING

from svc_analytics.language.catalogue import ENGLISH, Language

if TYPE_CHECKING:
    import matplotlib.axes


def language_of(axes: "matplotlib.axes.Axes") -> Language:
    """Return the language of axes: English, unless they were made for another one."""
    language: Language = getattr(axes, "language", ENGLISH)
    return language


def in_line(axes: "matplotlib.axes.Axes", text: str) -> str:
    """Return a text that has one line, such as an entry of a legend."""
    return worded(text, language_of(axes))


def apart(axes: "matplotlib.axes.Axes", text: str) -> str:
    """Return a text that may have a line for each of two languages."""
    return worded(text, language_of(axes), "\n")


def worded(text: str, language: Language, between: str = " ") -> str:
    """Return a text in the language; a number in its digits.

    With both languages, the Persian of a sentence stands `between` and the English before it.
    """
    if not any(letter.isalpha() for letter in text):
        return language.number(text)
    translated = None if language.is_english else language.translation(text)
    if translated is None:
        return text
    return f"{text}{between}{translated}" if language.is_both else translated
