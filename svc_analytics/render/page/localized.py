"""A page in Persian or in two languages, made of the English page when that is finished.

Every text of other people is escaped by then. Texts of ours are translated; numbers, ids and
foreign words are put into isolating elements, so that no sign or bracket changes sides.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape, unescape

from svc_analytics.language.catalogue import Language, is_number
from svc_analytics.language.isolation import (
    END,
    LEFT_TO_RIGHT,
    RIGHT_TO_LEFT,
    isolate,
)

_TOKENS = re.compile(r"(<style>.*?</style>|<svg.*?</svg>|<[^>]+>)", re.DOTALL)
_TAG = re.compile(r"</?([a-z0-9]+)")
_TOLD = re.compile(r'\b(title|aria-label)="([^"]*)"')
_MARKS = re.compile(f"([{LEFT_TO_RIGHT}{RIGHT_TO_LEFT}{END}])")
_RUN = re.compile(
    r"([\N{ALMOST EQUAL TO}+-]?[A-Za-z0-9_](?:[A-Za-z0-9_ .,:/%&'@#+*=-]*[A-Za-z0-9_%])?)"
)
_LINE = 60  # letters: of a longer text in two languages, the second stands below
_VOID = {"meta", "br", "input", "link", "!doctype"}
_ELEMENTS = {
    LEFT_TO_RIGHT: '<bdi dir="ltr">',
    END: "</bdi>",
}
WORDS, KEPT, NUMBER, DAY, PLAIN = "words", "kept", "number", "day", "plain"
CELL = "cell"  # words of ours, or else a text that is kept
MARK = " data-words"  # of a cell whose text is of ours


def localized(page: str, language: Language) -> str:
    """Return a finished page in the language."""
    return (
        page if language.is_english else "".join(_Localizer(language, _marks(language)).parts(page))
    )


def _marks(language: Language) -> dict[str, str]:
    return _ELEMENTS | {RIGHT_TO_LEFT: f'<bdi lang="{language.other}" dir="rtl">'}


@dataclass
class _Localizer:
    """Goes through a page once, and knows what stands in the elements that are open."""

    language: Language
    marks: dict[str, str]  # the elements that stand for the marks of isolated texts
    open: list[tuple[str, str]] = field(default_factory=list)  # names, and what they hold

    def parts(self, page: str) -> Iterator[str]:
        for place, token in enumerate(_TOKENS.split(page)):
            if not place % 2:
                yield self._text(token)
            elif token.startswith(("<style", "<svg")):
                yield _TOLD.sub(self._told, token, count=1) if token.startswith("<svg") else token
            else:
                yield self._tag(token)

    def _tag(self, tag: str) -> str:
        match = _TAG.match(tag)
        name = match[1] if match else ""
        if tag.startswith("</"):
            while self.open and self.open.pop()[0] != name:
                pass
        elif name and name not in _VOID:
            self.open.append((name, _content(name, tag) or self._mode))
        if name == "html" and not self.language.is_both:
            return f'<html lang="{self.language.code}" dir="{self.language.direction}">'
        return _TOLD.sub(self._told, tag.replace(MARK, ""))

    @property
    def _mode(self) -> str:
        return self.open[-1][1] if self.open else WORDS

    def _told(self, match: re.Match[str]) -> str:
        """Translate what pointing at an element says."""
        text = unescape(match[2])
        if is_number(text):
            text = isolate(self.language.number(text))
        return f'{match[1]}="{escape(self.language.text(text))}"'

    def _text(self, token: str) -> str:
        """Translate a text, or isolate it, and keep the blanks around it."""
        core = unescape(" ".join(token.split()))
        if not core:
            return token
        before = token[: len(token) - len(token.lstrip())]
        after = token[len(token.rstrip()) :]
        return f"{before}{self._shown(core)}{after}"

    def _shown(self, text: str) -> str:
        mode, language = self._mode, self.language
        if mode in (WORDS, CELL, PLAIN, DAY) and language.translation(text):
            found = language.text(text)
            if language.is_both and len(text) > _LINE:
                return self._below(text)
            return escape(found) if mode == PLAIN else self._elements(found)
        if mode in (NUMBER, DAY) or (mode == WORDS and language.day(text) and is_number(text)):
            return self._elements(self._value(text))
        if mode in (KEPT, CELL):
            return self._elements(isolate(text)) if text.isascii() else escape(text)
        return escape(text) if mode == PLAIN else self._elements(text)

    def _below(self, text: str) -> str:
        """Return a long text with its Persian on lines of its own."""
        persian = self._elements(self.language.isolated(self.language.translation(text) or ""))
        return escape(text) + persian.replace("<bdi ", '<bdi class="below" ', 1)

    def _value(self, text: str) -> str:
        """Return a number or a day isolated; a dash is neither."""
        if self.language.day(text) and is_number(text):
            return self.language.value(text)
        known = self.language.number(text) if is_number(text) else text
        return isolate(known) if re.search("[0-9A-Za-z\u06f0-\u06f9]", known) else known

    def _elements(self, text: str) -> str:
        """Return a text as HTML: its marks as elements, what runs to the right isolated."""
        made, depth = [], [self.language.direction == "rtl"]
        for piece in _MARKS.split(text):
            if piece in self.marks:
                made.append(self.marks[piece])
                if piece == END:
                    depth.pop()
                else:
                    depth.append(piece == RIGHT_TO_LEFT)
            else:
                made.append(self._isolated(piece) if depth[-1] else escape(piece))
        return "".join(made)

    def _isolated(self, text: str) -> str:
        """Return a piece of Persian as HTML, its numbers and foreign words isolated."""
        parts = _RUN.split(text)
        for place in range(1, len(parts), 2):
            known = parts[place]
            number = self.language.number(known) if is_number(known) else known
            parts[place] = f"{_ELEMENTS[LEFT_TO_RIGHT]}{escape(number)}{_ELEMENTS[END]}"
        parts[::2] = map(escape, parts[::2])
        return "".join(parts)


def _content(name: str, tag: str) -> str:
    """Return the mode of an element; no text where it is that of its parent."""
    if name == "title":
        return PLAIN
    if name == "code" or "digest" in tag or 'dir="auto"' in tag:
        return KEPT
    if name != "td":
        return ""
    if MARK in tag:
        return CELL
    classes = tag.partition('class="')[2].partition('"')[0].split()
    return NUMBER if "n" in classes else DAY if classes[:1] == ["fixed"] else KEPT
