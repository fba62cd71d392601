"""A statement as an Excel workbook: the statement itself first, then its tables and definitions.

A spreadsheet keeps 15 significant digits. Where a value has more, its exact text stands
behind the last column of its sheet.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import xlsxwriter

from svc_analytics.formatting.display import label
from svc_analytics.formatting.standing import Standing
from svc_analytics.formatting.values import value_text
from svc_analytics.instants import from_micros
from svc_analytics.language.catalogue import (
    ENGLISH,
    Language,
    is_number,
)
from svc_analytics.language.words import name_keys
from svc_analytics.messages import Message
from svc_analytics.render.document import Document, unknown_lines
from svc_analytics.render.findings import CHECKS, shown_findings
from svc_analytics.render.page.front import running_head
from svc_analytics.render.standing import document_standing, proof_statuses, status_word
from svc_analytics.render.workbook.cells import LINE_HEIGHT, CellWriter, lines_in
from svc_analytics.render.workbook.external import write_external
from svc_analytics.render.workbook.sentences import write_sentences
from svc_analytics.render.workbook.summary import write_summary
from svc_analytics.render.workbook.tables import SheetContents, set_up_print, write_table
from svc_analytics.warehouse.definitions import definitions_table

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
