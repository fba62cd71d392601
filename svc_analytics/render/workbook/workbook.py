"""A statement as an Excel workbook: the statement itself first, then its tables and definitions.

A spreadsheet keeps 15 significant digits. Where a value has more, its exact text stands
behind the last column of its sheet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import xlsxwriter

from svc_analytics.formatting.cells import DASH
from svc_analytics.formatting.display import label, names_of
from svc_analytics.formatting.numbers import USD
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.standing import Standing
from svc_analytics.formatting.values import value_text
from svc_analytics.instants import from_micros
from svc_analytics.language.catalogue import ENGLISH, Language, is_number
from svc_analytics.language.words import name_keys
from svc_analytics.messages import Message
from svc_analytics.render.document import Document, unknown_lines
from svc_analytics.render.face.all_coins import ALL_COINS, describe_pricing
from svc_analytics.render.face.face import Face
from svc_analytics.render.figures import FigureCells
from svc_analytics.render.findings import CHECKS, shown_findings
from svc_analytics.render.page.front import NOT_MEANINGFUL, Band, Tile, front_lines, running_head
from svc_analytics.render.page.tables import HEADS, NAMES, TITLE
from svc_analytics.render.standing import (
    document_standing,
    proof_statuses,
    status_note,
    status_word,
)
from svc_analytics.render.workbook.cells import (
    HEADING,
    LINE_HEIGHT,
    ROUNDED_NOTE,
    CellWriter,
    format_of,
    hides_digits,
    lines_in,
    marked,
)
from svc_analytics.render.workbook.external import write_external
from svc_analytics.render.workbook.figures import GAP, FigureRows
from svc_analytics.render.workbook.tables import SheetContents, set_up_print, write_table
from svc_analytics.warehouse.figures import definitions_table, label_of

SHEET_ROWS = 1_048_574  # below the caption and the head
# The tables that a reader wants first, by the names of their sheets.
_FIRST = {CHECKS: "Findings", "daily": "Days", "lines": "Movements"}
# What of a movement is printed; its other columns stand behind.
_PRINTED = (
    *("line_no", "occurred_at_local", "kind", "reference_id", "receipt_no", "currency"),
    *("gross", "fee", "net", "running_position", "flags"),
)
_DEFINITIONS = ("label", "definition", "formula", "unit", "sign", "needs", "group", "name")
_WIDTHS = (26, 60, 44, 8, 16, 36, 12, 26)


def write_workbook(
    statement: Document, facts: dict[str, Any], path: Path, language: Language = ENGLISH
) -> None:
    """Write the workbook; the same statement gives the same bytes."""
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    standing = document_standing(statement, language)
    statuses = {each.name: each.text for each in proof_statuses(statement)}
    facts = facts | {"status": status_word(statement), "statuses": statuses}
    with xlsxwriter.Workbook(str(path), options) as workbook:
        made_at = from_micros(statement.as_of).replace(tzinfo=None)
        title = language.text("Statement {label}", label=facts["label"])
        workbook.set_properties({"title": title, "created": made_at})
        pen = CellWriter(workbook, language)
        pen.running = running_head(statement, pen.spoken)
        write_summary(pen, statement, facts, standing)
        write_external(pen, statement, standing)
        write_sentences(pen, statement, standing)
        _write_tables(pen, statement, list(_FIRST), standing)
        _write_definitions(pen, standing)
        _write_provenance(pen, facts, standing)
        others = [name for name in statement.tables if name not in (*_FIRST, "summary")]
        _write_tables(pen, statement, others, standing)


def _write_tables(
    pen: CellWriter, statement: Document, names: list[str], standing: Standing
) -> None:
    for name in names:
        table, printed = _in_order(name, statement.tables[name])
        for number, start in enumerate(range(0, max(table.num_rows, 1), SHEET_ROWS), 1):
            sheet = sheet_name(_FIRST.get(name, label(name)), number)
            part = table.slice(start, SHEET_ROWS)
            zone = statement.period.zone
            write_table(pen, SheetContents(sheet, sheet, part, standing, zone, printed))


def _in_order(name: str, table: pa.Table) -> tuple[pa.Table, int | None]:
    """Return a table with the columns to print first, and how many these are."""
    if name == CHECKS:
        return shown_findings(table), None
    if name != "lines":
        return table, None
    first = [column for column in _PRINTED if column in table.column_names]
    others = [column for column in table.column_names if column not in first]
    return table.select([*first, *others]), len(first)


def sheet_name(title: str, number: int) -> str:
    """Return the name of a table's sheet; a long table goes on in a second sheet.

    >>> sheet_name("Movements", 1), sheet_name("Movements", 2)
    ('Movements', 'Movements 2')
    """
    cleaned = "".join("-" if mark in "[]:*?/\\'" else mark for mark in title)
    return cleaned[:28] if number == 1 else f"{cleaned[:24]} {number}"


def _write_definitions(pen: CellWriter, standing: Standing) -> None:
    """Write what each figure means, one figure a row."""
    sheet = pen.sheet("Definitions")
    for place, (name, width) in enumerate(zip(_DEFINITIONS, _WIDTHS, strict=True)):
        sheet.set_column(place, place, width)
        pen.words(sheet, 0, place, label(name), bold=True, bottom=1)
    for row, figure in enumerate(definitions_table().to_pylist(), 1):
        texts = [pen.worded(figure[name]) for name in _DEFINITIONS]
        sheet.set_row(row, LINE_HEIGHT * max(map(lines_in, texts, _WIDTHS)))
        for place, text in enumerate(texts):
            pen.text(sheet, row, place, text, **pen.own | {"text_wrap": True, "valign": "top"})
    sheet.freeze_panes(1, 1)
    sheet.repeat_rows(0)
    set_up_print(pen, sheet, standing, is_wide=True)


def _write_provenance(pen: CellWriter, facts: dict[str, Any], standing: Standing) -> None:
    sheet = pen.sheet("Provenance")
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, 1, 100)
    for row, (name, text) in enumerate(provenance(facts)):
        pen.words(sheet, row, 0, name, bold=True, valign="top")
        look = {"text_wrap": True, "valign": "top", "align": pen.start}
        pen.words(sheet, row, 1, _fact(text, pen.language), **look)
    set_up_print(pen, sheet, standing, is_wide=True)


def _fact(text: str, language: Language) -> str:
    """Return a fact with its days of both calendars; a digest and JSON stay as they are."""
    if language.is_english or not is_number(text):
        return text
    return language.value(text) if language.day(text) else language.number(text)


def provenance(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield where the figures come from, one fact a row: status, coverage, digest."""
    merchant = facts["merchant"]
    yield "statement", facts["label"]
    yield "status", facts["status"]
    yield from facts["statuses"].items()
    yield from (("because", reason) for reason in facts["reasons"])
    yield from (("unknown", text) for text in unknown_lines(facts))
    for name in (*name_keys().values(), "id"):
        yield f"merchant {name}", value_text(merchant.get(name))
    for name in ("version", "calendar", "zone", "start", "end", "as_of"):
        yield name, value_text(facts[name])
    for stream, spans in facts["coverage"].items():
        for start, end, state in spans or [("", "", "not read")]:
            span = Message("{start} .. {end} {STATE}", start=start, end=end, STATE=state)
            yield f"coverage {stream}", span if start else state
    for name in ("content_digest", "tool_version", "previous_seal", "supersedes"):
        yield name, value_text(facts.get(name))
    for month in facts.get("month_seals") or ():
        yield f"seal of {month['label']}", month["seal"]
    yield "options", json.dumps(facts["options"], ensure_ascii=False) if facts["options"] else ""


# ---------- The first sheet of a workbook
# The statement as on the page, figures down and coins across.
#
# The headline comes first, then what is open, then the figures: the face of the statement in its
# order, and the details below.


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


# ---------- The sheet of a workbook with the sentences that people wrote on what moved


_SENTENCE_WIDTHS = (34, 12, 14, 70, 18, 18)


def write_sentences(pen: CellWriter, statement: Document, standing: Standing) -> None:
    """Write the sheet, where there is a sentence, or one that was not read."""
    said, unread = statement.sentences, statement.unread_sentences
    if not (said or unread):
        return
    sheet = pen.sheet(TITLE)
    pen.words(sheet, 0, 0, TITLE, bold=True, font_size=14)
    pen.words(sheet, 1, 0, standing.text)
    for place, (head, width) in enumerate(zip(HEADS, _SENTENCE_WIDTHS, strict=True)):
        sheet.set_column(place, place, width)
        pen.words(sheet, 3, place, head, bold=True, bottom=1)
    for row, each in enumerate(said, 4):
        pen.words(sheet, row, 0, label_of(each["figure"]))
        for place, name in enumerate(NAMES[1:], 1):
            pen.text(sheet, row, place, each[name], text_wrap=True, valign="top")
    for row, text in enumerate(unread, 5 + len(said)):
        pen.words(sheet, row, 0, text)
    set_up_print(pen, sheet, standing, is_wide=True)
