"""How the close desk looks and speaks: its style, and its texts in the language of the desk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.resources import files

from svc_analytics.errors import SvcError, class_name
from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import Display, DisplayTable, cell_text, table_html
from svc_analytics.formatting.texts import escape_invisible, single_line, visible
from svc_analytics.language.catalogue import ENGLISH, Language, is_number
from svc_analytics.messages import Message, translated
from svc_analytics.notebook.errors import sentence_of
from svc_analytics.render.words import PageWords

PLAIN = "svc-desk-plain"  # the page that is read without a kernel
STYLE = f"<style>{(files('svc_analytics.notebook.desk') / 'desk.css').read_text('utf-8')}</style>"
_BETWEEN = " \N{MIDDLE DOT} "


@dataclass(frozen=True)
class Looks:
    """Writes the texts of the desk in its language: plain for buttons, and as HTML."""

    language: Language = ENGLISH

    @cached_property
    def _words(self) -> PageWords:
        return PageWords(self.language)

    def text(self, english: str, **values: object) -> str:
        """Return words of ours for a button or a field, which hold no elements."""
        return self.language.text(Message(english, **values) if values else english)

    def cell(self, cell: Cell, *, is_ours: bool) -> str:
        """Return the text of a cell; one of other people stays as it is, where it is not ours."""
        text = escape_invisible(cell_text(cell))
        if self.language.is_english or not text:
            return text
        if is_number(cell.text):
            return self.language.number(text)
        is_ours = is_ours or cell.is_fixed or isinstance(cell.text, Message)
        return self.language.text(visible(cell.text)) if is_ours else text

    def line(self, *parts: str, is_told: bool = False) -> str:
        """Return texts as a line; one that is told is read out when it changes."""
        role = ' role="status" aria-live="polite"' if is_told else ""
        shown = _BETWEEN.join(self.html(part) for part in parts if part)
        return f'<div dir="auto"{role}>{shown}</div>' if shown else ""

    def sentence(self, error: BaseException) -> str:
        """Word an error; English words stand behind the kind of error that it is."""
        text = sentence_of(error)
        if self.language.is_english or self.language.translation(text):
            return text
        kind = class_name(error if isinstance(error, SvcError) else SvcError())
        return Message("{KIND}: {text}", kind=translated(kind), text=text)

    def error(self, error: BaseException) -> str:
        """Return an error as a line that is read out."""
        return self.line(self.sentence(error), is_told=True)

    def heading(self, text: str) -> str:
        """Return a heading within the panel."""
        return f"<h4>{self.html(text)}</h4>"

    def folded(self, title: str, html: str) -> str:
        """Return HTML to open by its title."""
        return f"<details><summary>{self.html(title)}</summary>{html}</details>"

    def sql(self, sql: str) -> str:
        """Return SQL to open; it can be copied."""
        return self.folded("SQL of this figure", f"<pre>{escape(sql)}</pre>")

    def table(self, table: DisplayTable) -> str:
        """Return a table to read."""
        return table_html(table, self._words.table_words)

    def page(self, shown: Display) -> str:
        """Return a title, its lines and its tables, as they are read without a kernel."""
        lines = "".join(map(self.line, shown.lines))
        tables = "".join(map(self.table, shown.tables))
        return (
            f'<div dir="{self.language.direction}">{self.heading(shown.title)}{lines}{tables}</div>'
        )

    def html(self, text: str) -> str:
        """Return words of ours as HTML; those of other people are isolated within them."""
        if self.language.is_english:
            return escape(escape_invisible(single_line(text)))
        return self._words.said(text if isinstance(text, Message) else single_line(text))
