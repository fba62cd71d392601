"""A comparison as one HTML page and as the first sheets of a workbook, which say the same.

Both periods stand side by side: what is known of them, a picture of what moved, all coins in USD,
then coin by coin. What moved, part by part, and the sentences of people come with them.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from io import BytesIO
from typing import Any

import pyarrow as pa

from svc_analytics import charts
from svc_analytics.charts.bridge import CHANGE, UNKNOWN, change_steps, sentence_of_change
from svc_analytics.formatting.display import Display, DisplayTable
from svc_analytics.formatting.status_line import StatusLine
from svc_analytics.formatting.texts import escape_invisible, single_line
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.render.compared.side_by_side import MovedTables
from svc_analytics.render.front import page_symbols, style_text
from svc_analytics.render.page import load_template
from svc_analytics.render.picture import Look, draw_svg, save_picture
from svc_analytics.render.words import PageWords
from svc_analytics.render.workbook.blocks import Place, TableSheet
from svc_analytics.render.workbook.cells import CellWriter

SHEET, MOVED = "Side by side", "What moved"
_OLD, _NEW, _DIFFERENCE = 1, 2, 3  # columns of a table with both periods side by side
_WIDTH, _HEIGHT, _BAR = 5.6, 1.0, 0.24  # inches: of the picture, of each bar in it
_DPI, _ROW = 200, 15 / 72  # of the picture; inches of a row of a sheet
_PNG_HEIGHT = slice(20, 24)  # where a PNG says how many pixels high it is


def comparison_page(
    shown: Display, names: str, language: Language = ENGLISH, change: pa.Table | None = None
) -> str:
    """Return the page of a comparison, its folded tables to open.

    With a change of each coin in USD, it is drawn above the tables.
    """
    drawn = ""
    if change is not None:
        draw = partial(charts.usd_change, table=change)
        drawn = draw_svg("change", draw, shown.title, _look(change, language))
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
        chart=drawn,
        tables=shown.tables,
        folded=shown.folded,
        definitions={},
        worded=(),
        **PageWords(language).functions,
    )
    return escape_invisible(page)


def _look(change: pa.Table, language: Language) -> Look:
    return Look((_WIDTH, _HEIGHT + _BAR * len(change)), language=language)


def write_sides(
    pen: CellWriter, shown: Display, names: str, change: pa.Table | None, status_line: StatusLine
) -> None:
    """Write the sheet of both periods side by side."""
    page = TableSheet(pen, pen.sheet(SHEET), shown.tables)
    row = page.write_head(shown.title, [single_line(names), *shown.lines]) + 1
    if change is not None:
        row = _insert_picture(pen, page.sheet, row, change)
    page.write_tables(row, _difference)
    page.set_up(status_line)


def write_moved(pen: CellWriter, title: str, moved: MovedTables, status_line: StatusLine) -> None:
    """Write the parts of what moved, and the sentences on it."""
    for name, tables, line in (
        (MOVED, moved.bridges, moved.line),
        *((table.title, [replace(table, title="")], "") for table in moved.sentences),
    ):
        page = TableSheet(pen, pen.sheet(name), tables)
        page.write(name, [title, *filter(None, [line])], status_line, _last)


def _insert_picture(pen: CellWriter, sheet: Any, row: int, change: pa.Table) -> int:
    """Draw the change from one period to the other, coin by coin; return the row below."""
    picture, look = BytesIO(), _look(change, pen.language)
    draw = partial(charts.usd_change, table=change)
    save_picture(picture, "png", draw, look, dpi=_DPI)
    sentence = sentence_of_change(change_steps(change.to_pylist())) or UNKNOWN
    description = "\n".join(map(pen.spoken.text, (CHANGE, sentence)))
    options = {"image_data": picture, "description": description}
    sheet.insert_image(row, 0, "change.png", options)
    pixels = int.from_bytes(picture.getvalue()[_PNG_HEIGHT])
    return row + int(pixels / _DPI / _ROW) + 2


def _difference(_table: DisplayTable, place: Place) -> Iterable[tuple[str, Place]]:
    """Return the cells of a difference: the new figure less the old one."""
    row, column = place
    return [("", (row, _NEW)), ("-", (row, _OLD))] if column == _DIFFERENCE else []


def _last(table: DisplayTable, place: Place) -> Iterable[tuple[str, Place]]:
    """Return the cells of the new figure: the old one and the parts of its change, above it."""
    row, column = place
    return [("", (above, column)) for above in range(row)] if row in table.totals else []
