"""A page printed as PDF: the same page gives the same bytes."""

import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from html import escape
from typing import Any

EPOCH = "SOURCE_DATE_EPOCH"
_UNFIT = re.compile(r"unsupported by fonts: .*\((U\+[0-9A-F]+)\)", re.DOTALL)
_FROM_THE_RIGHT = re.compile("[\u0590-\u08ff]")  # letters of languages that run so


class _Whole(str):
    """A text that counts as one letter: drawn letter by letter, Persian would be reversed."""

    __slots__ = ()

    def __iter__(self) -> Iterator[str]:
        yield str(self)


def print_page(page: str) -> bytes:
    """Return the page as PDF; the same page gives the same bytes.

    Nothing is loaded, whatever the page asks for: a statement holds all it shows.
    """
    from weasyprint import HTML  # an optional extra
    from weasyprint.urls import URLFetcher

    whole = _whole_texts() if _FROM_THE_RIGHT.search(page) else nullcontext()
    with _fixed_clock(), whole:
        return bytes(HTML(string=page, url_fetcher=URLFetcher(allowed_protocols=())).write_pdf())


class _LettersWithoutFont(logging.Handler):
    """Takes from the printer's log the letters that no font of this machine has."""

    def __init__(self) -> None:
        super().__init__()
        self.letters: dict[str, None] = {}
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self.letters |= dict.fromkeys(_UNFIT.findall(record.getMessage()))


@contextmanager
def letters_without_font() -> Iterator[dict[str, None]]:
    """Yield the letters, such as `U+6F22`, that are printed as boxes meanwhile."""
    printer, handler = logging.getLogger("weasyprint"), _LettersWithoutFont()
    printer.addHandler(handler)
    try:
        yield handler.letters
    finally:
        printer.removeHandler(handler)


def with_last_line(page: str, text: str) -> str:
    """Return a page with another line at its end."""
    body, end, rest = page.rpartition("</main>")
    return f"{body}<footer>{escape(text)}</footer>{end}{rest}"


@contextmanager
def _fixed_clock() -> Iterator[None]:
    """Embed fonts without the time of day, so that the bytes stay the same."""
    before = os.environ.get(EPOCH)
    os.environ[EPOCH] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[EPOCH]
        else:
            os.environ[EPOCH] = before


@contextmanager
def _whole_texts() -> Iterator[None]:
    """Draw each text of a picture whole, so that its letters join and run to their own side.

    The library has no setting for it: a page without such letters does without its inner names.
    """
    from weasyprint import svg

    before, tags = svg.text, dict(svg.TAGS)

    def whole(picture: Any, node: Any, font_size: float) -> None:
        if node.text:
            node._etree_node.text = _Whole(node.text)
        before(picture, node, font_size)

    svg.text = whole
    svg.TAGS.update({tag: whole for tag, drawn in tags.items() if drawn is before})
    try:
        yield
    finally:
        svg.text = before
        svg.TAGS.update(tags)
