"""What the templates of a page say: words of ours in its language, values as they are.

Each text is put into the language when it is rendered. Numbers, ids and foreign words stand in
isolating elements, so that no sign or bracket changes sides in a line of Persian.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest

from jinja2.filters import do_forceescape as escape, do_mark_safe as as_html

from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import POINTED, TableWords
from svc_analytics.formatting.texts import escape_invisible, visible
from svc_analytics.instants import in_words
from svc_analytics.language.catalogue import (
    BETWEEN,
    END,
    LEFT_TO_RIGHT,
    RIGHT_TO_LEFT,
    Language,
    is_number,
    isolate,
)
from svc_analytics.messages import Message

_MARKS = re.compile(f"([{LEFT_TO_RIGHT}{RIGHT_TO_LEFT}{END}])")
# Words of another script within a text of the catalogue, such as the name of a command.
_FOREIGN = re.compile(r"([+-]?[A-Za-z0-9_](?:[A-Za-z0-9_ .,:/%&'@#+*=-]*[A-Za-z0-9_%])?)")
# A number within words of ours; values stand isolated between them, in digits of their own.
_OWN_NUMBER = re.compile(
    rf"[{LEFT_TO_RIGHT}{RIGHT_TO_LEFT}][^{END}]*{END}|(?<![\w.,-])(?P<own>[0-9]+)(?![\w.,-]*\w)"
)
# In one line: a day and its time, and a day and the same one of the other calendar.
_GAP, _WHOLE, _BEHIND = re.compile(r"(?<=\d) (?=\d)"), "\N{NO-BREAK SPACE}", " ("
_LINE = 60  # letters: of a longer text in two languages, the second stands below
_AND = as_html(f'<span class="and">{BETWEEN}</span>')  # not shown where the second stands below
_ISOLATED = as_html('<bdi dir="ltr">{}</bdi>')
_UNBROKEN = as_html('<bdi dir="ltr" class="number">')  # a day that breaks within is read backwards
_FOREIGN_NAME = as_html("<bdi>{}</bdi>")


@dataclass(frozen=True)
class PageWords:
    """Renders texts in the language of a page, as HTML."""

    language: Language

    @property
    def functions(self) -> dict[str, Callable[..., str]]:
        """The functions that a template calls, by the names that they have there."""
        return {
            "t": self.words,
            "display": self.shown,
            "hint": self.hint,
            "value": self.value,
            "verbatim": self.verbatim,
            "cell_text": self.cell,
            "exact_text": lambda cell: self.cell(replace(cell, text=cell.exact)),
        }

    @property
    def table_words(self) -> TableWords:
        """How a table is written in the language, for a person who calls no Python."""
        if self.language.is_english:
            return TableWords(hides_digits=POINTED)
        return TableWords(self.shown, self.hint, self.cell, POINTED)

    def words(self, english: str, **values: object) -> str:
        """Return words of the template itself, which need no escaping, with their values."""
        if self.language.is_english:
            places = Message(english, **values).values
            shown = {name: escape_invisible(in_words(str(each))) for name, each in places.items()}
            return as_html(english).format(**shown)
        return self.shown(english, **values)

    def shown(self, text: str, **values: object) -> str:
        """Return a text of ours in the language; one that has no words there stays a value."""
        message = Message(text, **values) if values else text
        if self.language.is_english:
            return escape(in_words(visible(message)))
        translated = self._translated(message)
        return self.value(message) if translated is None else translated

    def hint(self, text: str, **values: object) -> str:
        """Return the text of a title, or of pointing at an element: it holds no elements."""
        message = visible(Message(text, **values) if values else text)
        if not self.language.is_english and is_number(message):
            return escape(isolate(self.language.number(message)))
        shown = self.language.text(message)
        if self.language.is_both or self.language.translation(message) is None:
            return escape(shown)
        return escape(_OWN_NUMBER.sub(self._own_number, shown))

    def _own_number(self, match: re.Match[str]) -> str:
        """Return a number of ours in the digits of the language, anything else as it is."""
        return self.language.number(match["own"]) if match["own"] else match[0]

    def value(self, text: object) -> str:
        """Return a number, a day, an id or a name, isolated and in the digits of the language."""
        shown = escape_invisible(str(text))
        if self.language.is_english:
            return escape(shown)
        if not is_number(shown):
            return self.verbatim(shown)
        return self._elements(self.language.value(shown))

    def verbatim(self, text: object) -> str:
        """Return a text of other people, or a digest: letter by letter, and isolated."""
        shown = escape_invisible(str(text))
        if self.language.is_english or not any(map(str.isalnum, shown)):
            return escape(shown)
        return (_ISOLATED if shown.isascii() else _FOREIGN_NAME).format(shown)

    def cell(self, cell: Cell, *, has_words: bool = False) -> str:
        """Return the text of a cell, which holds a number, a day, words of ours or a name."""
        if self.language.is_english:
            return escape(visible(cell.in_english))
        if isinstance(cell.text, Message) or (cell.is_number and not is_number(cell.text)):
            return self.shown(cell.text)
        if cell.is_number:
            return self.value(cell.text)
        translated = self._translated(cell.text) if has_words or cell.is_fixed else None
        if translated is not None:
            return translated
        return self.value(cell.text) if cell.is_fixed else self.verbatim(cell.text)

    def _translated(self, text: str) -> str | None:
        """Return a text of ours in the language; None where it has no words there."""
        shown = visible(text)
        if self.language.is_english:
            return escape(shown)
        translated = self.language.translation(shown)
        if translated is None:
            return None
        if not self.language.is_both:
            return self._elements(self.language.text(shown))
        behind = self._elements(self.language.isolated(translated))
        if len(shown) > _LINE:
            return escape(shown) + as_html(str(behind).replace("<bdi ", '<bdi class="below" ', 1))
        return self._elements(shown) + _AND + behind

    def _elements(self, text: str) -> str:
        """Return a text as HTML: its marks as elements, what runs to the right isolated."""
        html, depth = as_html(""), [self.language.direction == "rtl"]
        pieces = _MARKS.split(text)
        for piece, behind in zip_longest(pieces, pieces[1:], fillvalue=""):
            if piece in self._marks:
                is_whole = piece == LEFT_TO_RIGHT and is_number(behind)
                html += _UNBROKEN if is_whole else self._marks[piece]
                if piece == END:
                    depth.pop()
                else:
                    depth.append(piece == RIGHT_TO_LEFT)
            elif piece == _BEHIND:
                html += escape(_BEHIND.replace(" ", _WHOLE))
            else:
                html += self._within(piece) if depth[-1] else escape(_GAP.sub(_WHOLE, piece))
        return html

    @cached_property
    def _marks(self) -> dict[str, str]:
        """The elements that stand for the marks of isolated texts."""
        other = as_html('<bdi lang="{}" dir="rtl">').format(self.language.other)
        return {
            LEFT_TO_RIGHT: as_html('<bdi dir="ltr">'),
            RIGHT_TO_LEFT: other,
            END: as_html("</bdi>"),
        }

    def _within(self, text: str) -> str:
        """Return words of the catalogue that run from right to left, the foreign ones isolated."""
        pieces = enumerate(_FOREIGN.split(text))  # every other one is foreign
        shown = [self.value(piece) if place % 2 else escape(piece) for place, piece in pieces]
        return as_html("").join(shown)
