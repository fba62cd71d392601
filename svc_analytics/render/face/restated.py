"""What differs between two versions of a statement, in words: records, then what they moved."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import label
from svc_analytics.money import group_digits, is_plain
from svc_analytics.warehouse.figures import label_of

RESTATEMENT = "restatement"  # the table: no statement has one of its own
RECORDS = "lines"  # the table whose rows are records; the rows of all others are figures
SHOWN = ("name", "currency", "change", "cause", "old_value", "new_value", "delta", "detail")
_VALUES = ("old_value", "new_value", "delta")


def records_first(table: pa.Table, most: int) -> pa.Table:
    """Return the first rows of a table of differences, those of records before all others."""
    is_record = pc.equal(table["table_name"], RECORDS)
    parts = [table.filter(is_record), table.filter(pc.invert(is_record))]
    return pa.concat_tables(parts).slice(0, most)


def difference_cell(row: Mapping[str, str | None], column: str) -> Cell:
    """Return a text of a difference as a cell: a number with all its digits, or a name."""
    text = row[column] or ""
    if column == "name":
        return Cell(text if row["table_name"] == RECORDS else label_of(text), is_fixed=True)
    if column == "table_name":
        return Cell(label(text))
    if column in _VALUES and is_plain(text):
        return Cell(group_digits(text), is_number=True)
    return Cell(text)
