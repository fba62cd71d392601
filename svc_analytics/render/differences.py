"""What differs between two versions of a statement, in words: records, then figures they moved."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.cells import COIN, Cell, kind_of_unit, number_cell, read_difference
from svc_analytics.formatting.display import DisplayTable, label, lined_up
from svc_analytics.formatting.texts import single_line
from svc_analytics.instants import in_words
from svc_analytics.messages import Message, translated
from svc_analytics.money import is_plain
from svc_analytics.warehouse.figures import as_moved, label_of, read_figures

RESTATEMENT = "restatement"  # the table: no statement has one of its own
RECORDS = "lines"  # the table whose rows are records; the rows of all others are figures
SHOWN = ("name", "currency", "change", "cause", "old_value", "new_value", "delta", "detail")
MOST_ROWS = 200  # of one table; the rest is in the other forms
_VALUES = ("old_value", "new_value", "delta")


def records_first(table: pa.Table, most: int) -> pa.Table:
    """Return the first rows of a table of differences, those of records before all others."""
    is_record = pc.equal(table["table_name"], RECORDS)
    parts = [table.filter(is_record), table.filter(pc.invert(is_record))]
    return pa.concat_tables(parts).slice(0, most)


def main_differences(table: pa.Table) -> pa.Table:
    """Return the differences of records, and of the figures that are numbers, each once."""
    numbers = [name for name, figure in read_figures().items() if figure.is_number]
    is_number = pc.is_in(table["name"], value_set=pa.array(numbers, pa.string()))
    is_figure = pc.is_in(table["table_name"], value_set=pa.array(["summary", "figures"]))
    is_record = pc.equal(table["table_name"], RECORDS)
    return table.filter(pc.or_(is_record, pc.and_(is_figure, is_number)))


def differences_table(
    table: pa.Table,
    title: str = "",
    columns: Sequence[str] = SHOWN,
    lines: pa.Table | None = None,
) -> DisplayTable:
    """Return differences to display: those of records, then the figures they moved.

    Records have the names by which the lines have them.
    """
    rows = records_first(table, MOST_ROWS).to_pylist()
    names = record_names(rows, lines)
    cells = lined_up([[difference_cell(row, each, names) for each in columns] for row in rows])
    heads, keys = [*map(label, columns)], columns.index("currency") + 1
    return DisplayTable(title, heads, cells, names=columns, keys=keys, count=table.num_rows)


def record_names(
    differences: Iterable[Mapping[str, str | None]], lines: pa.Table | None
) -> dict[str, Message]:
    """Return by id the names of the records of differences, where the lines have them."""
    return known_names((row["name"] for row in differences if row["table_name"] == RECORDS), lines)


def known_names(ids: Iterable[str | None], lines: pa.Table | None) -> dict[str, Message]:
    """Return by id how people know records, where the lines have them."""
    ids = {*ids}
    if lines is None or not ids:
        return {}
    own = lines.filter(pc.is_in(lines["record_id"], value_set=pa.array(ids, pa.string())))
    return {row["record_id"]: _known_by(row) for row in own.to_pylist()}


def _known_by(line: Mapping[str, Any]) -> Message:
    """Return a record's kind, its receipt number or its payment's, its order and its time."""
    receipt = line.get("receipt_no") or line.get("parent_receipt_no")
    order = line.get("reference_id") or line.get("parent_reference_id")
    at = in_words(str(line["occurred_at_local"]))
    known = ", ".join(filter(None, [receipt, order, at]))
    return Message("{KIND} {names}", kind=translated(str(line["kind"])), names=single_line(known))


def difference_cell(
    row: Mapping[str, str | None], column: str, names: Mapping[str, Message]
) -> Cell:
    """Return a text of a difference as a cell: a number, or a name."""
    text = row[column] or ""
    if column == "name" and row["table_name"] == RECORDS:
        return Cell(names[text]) if text in names else Cell(text, is_fixed=True)
    if column == "name":
        return Cell(label_of(text), is_fixed=True)
    if column == "table_name":
        return Cell(label(text))
    if column in _VALUES and is_plain(text):
        name = row["name"] or ""
        kind = kind_of_unit(read_figures()[name].unit) if name in read_figures() else COIN
        texts = [row["old_value"] or "", row["new_value"] or ""]
        if column == "delta" and all(map(is_plain, texts)):
            old, new = (as_moved(name, Decimal(each)) for each in texts)
            return read_difference(old, new, kind)
        return number_cell(as_moved(name, Decimal(text)), kind)
    is_moment = column in _VALUES and (row["name"] or "").endswith("_at")
    is_of_a_day = column == "detail" and text.startswith("day ")
    return Cell(in_words(text) if is_moment or is_of_a_day else text)
