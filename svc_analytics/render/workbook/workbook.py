"""A statement as an Excel workbook: the statement itself first, then its tables and definitions.

A spreadsheet keeps 15 significant digits. Where a value has more, its exact text stands
behind the last column of its sheet.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.formatting.cells import USD, Cell
from svc_analytics.formatting.display import DisplayTable, label, names_of
from svc_analytics.formatting.status_line import StatusLine
from svc_analytics.formatting.texts import single_line
from svc_analytics.formatting.values import value_text
from svc_analytics.instants import from_micros, in_words, readable_instant
from svc_analytics.language.catalogue import ENGLISH, Language, is_number, name_keys
from svc_analytics.messages import Message, translated
from svc_analytics.render import document
from svc_analytics.render.findings import CHECKS, folded_table, shown_findings
from svc_analytics.render.front import NOT_MEANINGFUL, Band, Tile, front_lines, running_head
from svc_analytics.render.tables import TITLE, StatementTables
from svc_analytics.render.workbook.blocks import Place, TableSheet
from svc_analytics.render.workbook.cells import LINE_HEIGHT, CellWriter, lines_in, open_workbook
from svc_analytics.render.workbook.tables import set_up_print, write_table
from svc_analytics.warehouse.figures import definitions_table, label_of, moved_table

SHEET_ROWS = 1_048_574  # below the caption and the head
# The tables that a reader wants first, by the names of their sheets.
_FIRST = {"daily": "Days", "lines": "Movements"}
_IN_PRINT = ("daily",)  # not the lists of single records, which take a hundred sheets
# What of a movement is read first; its other columns stand behind.
_FIRST_OF_LINES = (
    *("line_no", "occurred_at_local", "kind", "reference_id", "receipt_no", "currency"),
    *("gross", "fee", "net", "running_position", "flags"),
)
_DEFINITIONS = ("label", "definition", "formula", "unit", "sign", "needs", "group", "name")
_WIDTHS = (26, 60, 44, 8, 16, 36, 12, 26)


def write_workbook(
    statement: document.Document, facts: dict[str, Any], path: Path, language: Language = ENGLISH
) -> None:
    """Write the workbook; the same statement gives the same bytes."""
    status_line = document.document_status_line(statement, language)
    statuses = {each.name: each.text for each in document.proof_statuses(statement)}
    facts = facts | {"status": document.status_word(statement), "statuses": statuses}
    title = language.text("Statement {label}", label=facts["label"])
    with open_workbook(path, title, statement.as_of, language) as pen:
        pen.running = running_head(statement, pen.spoken)
        own = StatementTables(statement, status_line)
        _write_statement(pen, statement, facts, own)
        for name, heading, tables, more in _parts(statement, own):
            page = TableSheet(pen, pen.sheet(name), tables)
            page.write(heading, [status_line.text, *more], status_line)
        _write_tables(pen, statement, list(_FIRST), status_line)
        _write_definitions(pen, status_line)
        _write_provenance(pen, facts, status_line)
        others = [name for name in statement.tables if name not in (*_FIRST, "summary")]
        _write_tables(pen, statement, others, status_line)


def _write_tables(
    pen: CellWriter, statement: document.Document, names: list[str], status_line: StatusLine
) -> None:
    for name in names:
        table = _in_order(name, statement.tables[name])
        for number, start in enumerate(range(0, table.num_rows, SHEET_ROWS), 1):
            sheet = sheet_name(_FIRST.get(name, label(name)), number)
            part = table.slice(start, SHEET_ROWS)
            is_printed, zone = name in _IN_PRINT, statement.period.zone
            write_table(pen, sheet, part, status_line, zone, is_printed=is_printed)


def _in_order(name: str, table: pa.Table) -> pa.Table:
    """Return a table with the columns to read first before the others."""
    if name == CHECKS:
        return shown_findings(table)
    if name != "lines":
        return moved_table(table)
    first = [column for column in _FIRST_OF_LINES if column in table.column_names]
    others = [column for column in table.column_names if column not in first]
    return table.select([*first, *others])


def sheet_name(title: str, number: int) -> str:
    """Return the name of a table's sheet; a long table goes on in a second sheet.

    >>> sheet_name("Movements", 1), sheet_name("Movements", 2)
    ('Movements', 'Movements 2')
    """
    cleaned = "".join("-" if mark in "[]:*?/\\'" else mark for mark in title)
    return cleaned[:28] if number == 1 else f"{cleaned[:24]} {number}"


def _write_definitions(pen: CellWriter, status_line: StatusLine) -> None:
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
    set_up_print(pen, sheet, status_line, is_wide=True)


def _write_provenance(pen: CellWriter, facts: dict[str, Any], status_line: StatusLine) -> None:
    sheet = pen.sheet("Provenance")
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, 1, 100)
    for row, (name, text) in enumerate(provenance(facts)):
        pen.words(sheet, row, 0, name, bold=True, valign="top")
        look = {"text_wrap": True, "valign": "top", "align": pen.start}
        pen.words(sheet, row, 1, _fact(text, pen.language), **look)
    set_up_print(pen, sheet, status_line, is_wide=True)


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
    yield from (("unknown", text) for text in document.unknown_lines(facts))
    for name in (*name_keys().values(), "id"):
        yield f"merchant {name}", value_text(merchant.get(name))
    for name in ("version", "calendar", "zone", "start", "end", "as_of"):
        yield name, value_text(facts[name])
    for stream, spans in facts["coverage"].items():
        for start, end, state in spans or [("", "", "not read")]:
            span = Message(
                "{start} .. {end} {STATE}", start=start, end=end, state=translated(state)
            )
            yield f"coverage {stream}", span if start else state
    for name in ("content_digest", "tool_version", "previous_seal", "supersedes"):
        yield name, value_text(facts.get(name))
    for month in facts.get("month_seals") or ():
        yield f"seal of {month['label']}", month["seal"]
    yield "options", json.dumps(facts["options"], ensure_ascii=False) if facts["options"] else ""


# ---------- The sheets of the page's own tables: the statement, another currency, sentences


SHEET = "Statement"
# A sheet's name, its heading, its tables, and the lines above these.
_Part = tuple[str, str, Sequence[DisplayTable], Sequence[str]]
_ADDED = {  # which rows above add up to a row, where they do
    "net_sales": ("gross_sales", "payment_fees"),
    "refunds_debited": ("refunds_same_period", "refunds_prior_period", "refunds_unresolved"),
    "net_settlement": ("net_sales", "refunds_debited"),
    "payouts_debited": ("payouts_sent", "payout_fees"),
    "rail_movement": ("net_settlement", "payouts_debited"),
    "closing_position": ("opening_position", "rail_movement"),
}


def _write_statement(
    pen: CellWriter, statement: document.Document, facts: dict[str, Any], own: StatementTables
) -> None:
    """Write the statement as a person reads it, and every exact text behind it."""
    band = Band(own.summary_page, own.status_line.is_running(statement.period.label))
    tables = [_headline(band), own.whole()] if own.summary_page.coins.rows else []
    page = TableSheet(pen, pen.sheet(SHEET), tables)
    names = single_line(names_of(statement.merchant, own=pen.language.code))
    read_to = readable_instant(from_micros(statement.as_of))
    read = Message(
        "{BOUNDS}; data as of {instant}",
        bounds=translated(statement.period.local_bounds),
        instant=read_to if pen.language.has_jalali else in_words(read_to),
    )
    title = Message("Statement {PERIOD}", period=translated(statement.period.title))
    row = page.write_head(title, [names, read])
    row = page.write_lines(row, [document.status_word(statement)], bold=True, font_size=14)
    lines = [document.status_note(statement), *document.unknown_lines(facts)]
    row = page.write_lines(row, [*lines, *front_lines(statement)]) + 1
    heads = page.write_tables(row, _adds, ["The sheet Definitions says what each figure means."])
    if tables:
        page.sheet.freeze_panes(heads + 1, 1)
        page.sheet.repeat_rows(heads)
    page.set_up(own.status_line)


def _adds(table: DisplayTable, place: Place) -> Iterator[tuple[str, Place]]:
    """Yield the cells that may add up to one: above it, or of all coins beside it."""
    row, column = place
    names = list(table.names)
    above = [name for name in _ADDED.get(names[row], ()) if name in names] if names else []
    yield from (("", (names.index(name), column)) for name in above)
    if not above and column in table.sums:
        yield from (("", (row, coin)) for coin in range(1, column))


def _headline(band: Band) -> DisplayTable:
    """Return the sums in USD of all coins, each with what there is to say of it."""
    tiles = [(tile, [*_notes(tile, band)]) for tile in band.tiles()]
    most = max((len(notes) for _, notes in tiles), default=0)
    rows = [
        [Cell(label_of(tile.name), is_fixed=True), tile.value]
        + [Cell(note) for note in (*notes, *[""] * (most - len(notes)))]
        for tile, notes in tiles
    ]
    return DisplayTable("", [band.summary_page.coins.head, USD, *[""] * most], rows)


def _notes(tile: Tile, band: Band) -> Iterator[Message]:
    """Say a sum in another currency, how it changed, and how many records add nothing to it."""
    if tile.external:
        amount = tile.external.text
        yield Message(
            "{amount} {CURRENCY}, external rates", amount=amount, currency=translated(band.currency)
        )
    if tile.change == NOT_MEANINGFUL:
        before = band.summary_page.statement.period.shift(-1).title
        yield Message("n/m on {MONTH}", month=translated(before))
    elif tile.before:
        yield Message("{change} on {MONTH}", change=tile.change, month=translated(tile.before))
    if tile.unpriced:
        yield Message("without a USD value: {count}", count=f"{tile.unpriced:,}")


def _parts(statement: document.Document, own: StatementTables) -> Iterator[_Part]:
    """Yield sheets of findings by rule, of another currency and of sentences, where any are."""
    if statement.tables[CHECKS].num_rows:
        yield "Findings", "Findings", [folded_table(statement.tables[CHECKS])], ()
    if external := own.external():
        title = Message("In {CURRENCY}, by external rates", currency=translated(external.currency))
        rates = replace(external.rates, title="Rates used")
        yield "External rates", title, [external.figures, rates], ()
    sentences, unread = own.sentences(), statement.unread_sentences
    if sentences or unread:
        yield TITLE, TITLE, [sentences] if sentences else [], unread
