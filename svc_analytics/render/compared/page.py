"""A comparison as one HTML page, for screen and paper; it loads nothing from elsewhere."""

from dataclasses import replace
from functools import partial

import pyarrow as pa

from svc_analytics import charts
from svc_analytics.formatting.display import Display, table_html
from svc_analytics.formatting.display_table import ON_PAGES
from svc_analytics.formatting.sanitize import escape_invisible, single_line
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.render.page.front import page_symbols, style_text
from svc_analytics.render.page.page import load_template
from svc_analytics.render.page.words import PageWords
from svc_analytics.render.picture import Look, draw_svg

_WIDTH, _HEIGHT, _BAR = 5.6, 1.0, 0.24  # inches: of the picture, of each bar in it


def comparison_page(
    shown: Display, names: str, language: Language = ENGLISH, change: pa.Table | None = None
) -> str:
    """Return the page of a comparison, its folded tables to open.

    With a change of each coin in USD, it is drawn above the tables.
    """
    words = PageWords(language)
    own = replace(words.table_words, pointed=ON_PAGES)
    folded = [(table.title, table_html(replace(table, title=""), own)) for table in shown.folded]
    page = load_template("comparison.html").render(
        lang="en" if language.is_both else language.code,
        direction=language.direction,
        is_translated=not language.is_english,
        foot=style_text(single_line(language.text(shown.title))),
        symbols=page_symbols(language),
        title=language.text(shown.title),
        heading=shown.title,
        names=single_line(names),
        lines=shown.lines,
        chart=_chart(change, shown.title, language) if change is not None else "",
        tables=[table_html(table, own) for table in shown.tables],
        folded=folded,
        **words.functions,
    )
    return escape_invisible(page)


def _chart(change: pa.Table, title: str, language: Language) -> str:
    """Return the change from one period to the other as a picture, coin by coin."""
    look = Look((_WIDTH, _HEIGHT + _BAR * len(change)), language=language)
    return draw_svg("change", partial(charts.usd_change, table=change), title, look)
