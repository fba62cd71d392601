"""The part of a page with the sentences that people wrote on what moved."""

from __future__ import annotations

from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display_table import DisplayTable
from svc_analytics.formatting.standing import Standing
from svc_analytics.messages import Message
from svc_analytics.render.document import Document
from svc_analytics.render.page.tables import PageTable, page_table
from svc_analytics.warehouse.definitions import label_of

TITLE = "Sentences on what moved"
HEADS = ("figure", "coin", "compared with", "why", "prepared by", "reviewed by")
NAMES = ("figure", "currency", "before", "sentence", "prepared_by", "reviewed_by")


def sentences_part(statement: Document, standing: Standing) -> PageTable | None:
    """Return the table of the sentences; None where there are none."""
    rows = [
        [
            Cell(Message(label_of(row["figure"])), is_fixed=True),
            Cell(row["currency"], is_fixed=True),
            *(Cell(row[name]) for name in NAMES[2:]),
        ]
        for row in statement.sentences
    ]
    shown = DisplayTable(
        "", [*HEADS], rows, len(rows), meanings=[""] * len(HEADS), caption=standing.text
    )
    return page_table(shown, NAMES) if rows else None
