"""A comparison as one HTML page, for screen and paper; it loads nothing from elsewhere."""

from dataclasses import replace

from svc_analytics.formatting.display import Display
from svc_analytics.formatting.display_html import table_html
from svc_analytics.formatting.sanitize import escape_invisible, single_line
from svc_analytics.language.catalogue import ENGLISH
from svc_analytics.render.page.front import page_symbols, style_text
from svc_analytics.render.page.template import load_template


def comparison_page(shown: Display, names: str) -> str:
    """Return the page of a comparison, its folded tables to open."""
    folded = [(table.title, table_html(replace(table, title=""))) for table in shown.folded]
    page = load_template("comparison.html").render(
        lang="en",
        direction="ltr",
        foot=style_text(single_line(shown.title)),
        symbols=page_symbols(ENGLISH),
        title=shown.title,
        names=single_line(names),
        lines=list(map(single_line, shown.lines)),
        tables=list(map(table_html, shown.tables)),
        folded=folded,
    )
    return escape_invisible(page)
