"""A comparison as one HTML page, for screen and paper; it loads nothing from elsewhere."""

from dataclasses import replace

from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import Display
from svc_analytics.formatting.display_html import TableWords, table_html
from svc_analytics.formatting.sanitize import escape_invisible, single_line
from svc_analytics.language.catalogue import ENGLISH, Language, is_number
from svc_analytics.messages import Message
from svc_analytics.render.page.front import page_symbols, style_text
from svc_analytics.render.page.template import load_template
from svc_analytics.render.page.words import PageWords


def comparison_page(shown: Display, names: str, language: Language = ENGLISH) -> str:
    """Return the page of a comparison, its folded tables to open."""
    words = PageWords(language)
    own = TableWords() if language.is_english else _table_words(words)
    folded = [(table.title, table_html(replace(table, title=""), own)) for table in shown.folded]
    page = load_template("comparison.html").render(
        lang="en" if language.is_both else language.code,
        direction=language.direction,
        foot=style_text(single_line(language.text(shown.title))),
        symbols=page_symbols(language),
        title=language.text(shown.title),
        heading=shown.title,
        names=single_line(names),
        lines=shown.lines,
        tables=[table_html(table, own) for table in shown.tables],
        folded=folded,
        **words.functions,
    )
    return escape_invisible(page)


def _table_words(words: PageWords) -> TableWords:
    """Return how a table is written in the language of a page."""

    def cell(each: Cell) -> str:
        is_worded = each.is_number and not is_number(each.text)
        if is_worded or isinstance(each.text, Message):
            return words.said(each.text)
        return words.cell(each)

    return TableWords(words.said, words.told, cell)
