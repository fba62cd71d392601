"""The first sheet of a workbook: the statement as on the page, figures down and coins across.

The headline comes first, then what is open, then the figures: the face of the statement in its
order, and the details below.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svc_analytics.formatting.cells import DASH
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.numbers import USD
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.standing import Standing
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message
from svc_analytics.render.document import Document, unknown_lines
from svc_analytics.render.face.all_coins import ALL_COINS
from svc_analytics.render.face.face import Face
from svc_analytics.render.face.pricing import describe_pricing
from svc_analytics.render.figures import FigureCells
from svc_analytics.render.page.band import NOT_MEANINGFUL, Band, Tile
from svc_analytics.render.page.front import front_lines
from svc_analytics.render.standing import status_note, status_word
from svc_analytics.render.workbook.cells import (
    HEADING,
    ROUNDED_NOTE,
    CellWriter,
    format_of,
    hides_digits,
    marked,
)
from svc_analytics.render.workbook.figures import GAP, FigureRows
from svc_analytics.render.workbook.tables import set_up_print
from svc_analytics.warehouse.definitions import label_of

SHEET = "Statement"
_COINS, _EXACT = 21, 30  # widths
_ENGLISH, _OTHER, _BOTH = 30, 36, 54  # widths of the first column, by the language
_MOST_UPRIGHT = 4  # coins on an upright page
_MEANINGS = "What each figure means stands in the sheet Definitions."


def write_summary(
    pen: CellWriter, statement: Document, facts: dict[str, Any], standing: Standing
) -> None:
    """Write the statement as a person reads it, and every exact text behind it."""
    sheet = pen.sheet(SHEET)
    cells, face = FigureCells(statement, standing.scales), Face(statement)
    coins = len(cells.rows)
    last = coins + 1 if coins else 0  # the column of all coins
    sheet.set_column(0, 0, _label_width(pen.language))
    if coins:
        sheet.set_column(1, last, _COINS)
        sheet.set_column(last + 1, last + GAP, 3)
        sheet.set_column(last + GAP + 1, 2 * last + GAP, _EXACT, None, {"level": 1})
    width = max(last, 3)
    head = _write_head(pen, sheet, statement, facts, width)
    head = _write_headline(
        pen, sheet, Band(face, standing.is_running(statement.period.label)), head
    )
    head = _write_lines(pen, sheet, [*front_lines(statement)], head, width) + 1
    end = FigureRows(pen, sheet, cells, face).write(head)
    end = _write_notes(pen, sheet, statement, cells, end + 1, width)
    sheet.freeze_panes(head + 1, 1)
    sheet.repeat_rows(head)
    sheet.print_area(0, 0, end, width)
    set_up_print(pen, sheet, standing, is_wide=coins > _MOST_UPRIGHT)


def _label_width(language: Language) -> int:
    if language.is_english:
        return _ENGLISH
    return _BOTH if language.is_both else _OTHER


def _write_head(
    pen: CellWriter, sheet: Any, statement: Document, facts: dict[str, Any], width: int
) -> int:
    """Write what the statement is, and return the row below."""
    names = single_line(names_of(statement.merchant, own=pen.language.code))
    texts = [
        (
            Message("Statement {PERIOD}", PERIOD=statement.period.title),
            {"bold": True, "font_size": 16},
        ),
        (names, {"font_size": 12}),
        (
            Message(
                "{BOUNDS}; data as of {instant}",
                BOUNDS=statement.period.local_bounds,
                instant=facts["as_of"],
            ),
            {},
        ),
        (status_word(statement), {"bold": True, "font_size": 14}),
        (status_note(statement), {}),
        *((text, {}) for text in unknown_lines(facts)),
        *((text, {}) for text in describe_pricing(statement.tables)),
    ]
    for row, (text, look) in enumerate(texts):
        pen.wide(sheet, row, _span(pen.language, width), text, **look)
    return len(texts) + 1


def _write_headline(pen: CellWriter, sheet: Any, band: Band, row: int) -> int:
    """Write the sums in USD of all coins, each with its change; return the row below."""
    tiles = list(band.tiles())
    if not tiles:
        return row
    values = [band.face.coins.usd(tile.name) for tile in tiles]
    is_told = any(value is not None and hides_digits(value, 2) for value in values)
    pen.words(sheet, row, 0, ALL_COINS, bold=True, font_color=HEADING)
    pen.words(sheet, row, 1, marked(USD) if is_told else USD, bold=True, align="right")
    for place, (tile, value) in enumerate(zip(tiles, values, strict=True), row + 1):
        pen.words(sheet, place, 0, label_of(tile.name), bold=True)
        if value is None:
            pen.text(sheet, place, 1, DASH, bold=True, align="right")
        else:
            pen.number(sheet, place, 1, value, format_of(USD, 2, is_cut=False), bold=True)
        for beside, text in enumerate(_notes(tile, band), 2):
            pen.words(sheet, place, beside, text, **pen.indent)
    return row + len(tiles) + 2


def _notes(tile: Tile, band: Band) -> Iterator[Message]:
    """Say a sum in another currency, how it changed, and how many records add nothing to it."""
    if tile.external:
        amount = tile.external.text
        yield Message("{amount} {CURRENCY}, external rates", amount=amount, CURRENCY=band.currency)
    before = band.face.statement.period.shift(-1).title
    if tile.change == NOT_MEANINGFUL:
        yield Message("n/m on {MONTH}", MONTH=before)
    elif tile.before:
        yield Message("{change} on {MONTH}", change=tile.change, MONTH=tile.before)
    if tile.unpriced:
        yield Message("without a USD value: {count}", count=f"{tile.unpriced:,}")


def _write_lines(pen: CellWriter, sheet: Any, lines: list[Message], row: int, width: int) -> int:
    """Write sentences, each over the whole width; return the row below."""
    for place, line in enumerate(lines, row):
        pen.wide(sheet, place, _span(pen.language, width), line)
    return row + len(lines)


def _span(language: Language, width: int) -> tuple[int, float]:
    """Return the last column of a text over the whole width, and the letters of its lines."""
    return width, _label_width(language) + width * _COINS - 8


def _write_notes(
    pen: CellWriter, sheet: Any, statement: Document, cells: FigureCells, row: int, width: int
) -> int:
    """Write why figures are unknown and what the marks mean; return the last row."""
    names = [name for name in cells.statement.tables["summary"].column_names if cells.rows]
    shown = [cells.cell(values, name) for values in cells.rows for name in names]
    reasons = dict.fromkeys(f"{cell.text} {cell.note}" for cell in shown if cell.note)
    notes = [*map(single_line, reasons), ROUNDED_NOTE, _MEANINGS]
    for place, note in enumerate(notes):
        pen.wide(sheet, row + place, _span(pen.language, width), note, font_size=9)
    return row + len(notes)
