"""What the template of a PDF says: the words and values of the page, as texts of Typst."""

import re
from collections.abc import Callable
from html import unescape

from svc_analytics.formatting.sanitize import escape_invisible
from svc_analytics.language.catalogue import END, LEFT_TO_RIGHT, RIGHT_TO_LEFT, Language
from svc_analytics.render.page.words import PageWords

_FIRST_STRONG = "\N{FIRST STRONG ISOLATE}"
_BREAK = "\N{ZERO WIDTH SPACE}"
_LONG = re.compile(r"[!-~]{24,}")  # ids, digests and addresses, which may be broken anywhere
_PIECE = 8  # letters between two places where they may
# The elements of a text in two directions, as the marks that a paragraph knows.
_MARKS = (
    (re.compile(r'<bdi class="below"[^>]*>'), f"\n{RIGHT_TO_LEFT}"),
    (re.compile(r'<bdi[^>]* dir="rtl">'), RIGHT_TO_LEFT),
    (re.compile(r'<bdi[^>]* dir="ltr">'), LEFT_TO_RIGHT),
    (re.compile(r"<bdi[^>]*>"), _FIRST_STRONG),
    (re.compile(r"</bdi>"), END),
    (re.compile(r"</?span[^>]*>"), ""),
)


class Typst(str):
    """A text that is written in Typst: a template puts it in as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """Tell the template that nothing in it is to be escaped."""
        return str(self)


def as_string(text: object) -> Typst:
    r"""Return a text as a string of Typst.

    >>> print(as_string('"x" \\'))
    "\"x\" \\"
    """
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"')
    return Typst(f'"{escaped}"')


def literal(text: str) -> Typst:
    """Return a text as Typst: nothing in it is a command.

    >>> print(literal("#panic() or *bold*"))
    #"#panic() or *bold*";
    """
    shown = _LONG.sub(lambda long: re.sub(rf"(.{{{_PIECE}}})(?=.)", rf"\1{_BREAK}", long[0]), text)
    return Typst(f"#{as_string(shown)};")


def as_typst(html: str) -> Typst:
    """Return a text of a page, whose only elements isolate what runs to its own side."""
    for element, mark in _MARKS:
        html = element.sub(mark, html)
    return literal(unescape(html))


def in_typst(value: object) -> object:
    """Return a value of a template: what a macro or a word made as it is, any other as a text."""
    return value if hasattr(value, "__html__") else literal(escape_invisible(str(value)))


def words_of(language: Language) -> dict[str, Callable[..., Typst]]:
    """Return the functions that the template calls, by the names that they have in a page's."""

    def typeset(function: Callable[..., str]) -> Callable[..., Typst]:
        def call(*texts: object, **values: object) -> Typst:
            return as_typst(function(*texts, **values))

        return call

    return {name: typeset(each) for name, each in PageWords(language).functions.items()}
