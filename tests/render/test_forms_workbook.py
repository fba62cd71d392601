"""A statement as a workbook, read back by another library."""

from dataclasses import replace
from datetime import datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest
from openpyxl.worksheet.worksheet import Worksheet

from svc_analytics.formatting.display import head_of, label
from svc_analytics.formatting.values import is_ratio, value_text
from svc_analytics.instants import to_micros
from svc_analytics.render.findings import shown_findings
from svc_analytics.render.workbook import cells as workbook_cells, workbook
from svc_analytics.render.workbook.tables import significant_digits
from svc_analytics.statements.statement import Statement
from svc_analytics.warehouse.figures import definitions_table, label_of, moved_table
from tests.support.fake_service import NOW
from tests.support.ledgers import LEDGER, PERSIAN
from tests.support.prepared import once

SHEETS = {"daily": "Days", "lines": "Movements"}


def open_book(folder: Path) -> openpyxl.Workbook:
    return openpyxl.load_workbook(folder / "statement.xlsx")


def sheet_of(book: openpyxl.Workbook, table: str) -> Worksheet:
    found: Worksheet = book[SHEETS.get(table, label(table))]
    return found


def bare(cell: Any) -> str:
    """The text of a head."""
    return str(cell.value)


def columns_of(sheet: Worksheet) -> dict[str, list[Any]]:
    """The cells below each head, which stands below the caption."""
    return {bare(column[1]): list(column[2:]) for column in sheet.iter_cols()}


def text_in(cell: Any, exact: Any) -> str:
    """What a reader of the sheet takes for the value, as a plain text."""
    if exact is not None:
        return str(exact.value or "")
    if cell.data_type == "n" and cell.value is not None:
        return value_text(Decimal(str(cell.value)))
    if cell.data_type == "d":
        return str(cell.value if cell.value.time() != time() else cell.value.date())
    return str(cell.value or "")


def wanted_text(value: Any, field: pa.Field, exact: Any) -> str:
    if isinstance(value, datetime) and exact is None:
        plain = value.replace(tzinfo=None)
        return str(plain if plain.time() != time() else plain.date())
    return value_text(value, is_ratio=is_ratio(field) and exact is not None)


def head_of_column(field: pa.Field) -> str:
    zone = ", UTC" if pa.types.is_timestamp(field.type) else ""
    return head_of(field, label_of) + zone


@pytest.fixture
def made(make) -> Statement:
    return make()


@pytest.fixture
def folder(made, tmp_path) -> Path:
    """A folder with the workbook of the whole ledger, which is written once."""

    def write() -> bytes:
        return (made.save(tmp_path / "made", ("xlsx",)) / "statement.xlsx").read_bytes()

    (tmp_path / "statement.xlsx").write_bytes(once("the workbook of the whole ledger", write))
    return tmp_path


@pytest.fixture
def book(folder) -> openpyxl.Workbook:
    """It, read back once; no test changes it."""
    return once("the workbook of the whole ledger, read", lambda: open_book(folder))


def test_every_cell_of_a_table_comes_back_exactly(made, book):
    """A value is its cell, or where that has too few digits the text behind."""
    for name, table in made.tables.items():
        found = columns_of(sheet_of(book, name)) if name != "summary" else {}
        people_read = [field for field in table.schema if field.name != "message"]
        table = shown_findings(table) if name == "checks" else moved_table(table)
        for field in people_read if found else ():
            head = head_of_column(field)
            cells, exact = found[head], found.get(f"{head}, exact")
            for row, value in enumerate(table[field.name].to_pylist()):
                beside = exact[row] if exact else None
                wanted = wanted_text(value, field, beside)
                assert text_in(cells[row], beside) == wanted, (name, field.name)


def test_a_sum_has_its_value_beside_its_formula(folder):
    """2 - 0.02 of btc, for whoever has no spreadsheet; the formulas are golden ones."""
    kept = openpyxl.load_workbook(folder / "statement.xlsx", data_only=True)
    [row] = [row for row in kept["Statement"].values if row[0] == "Sales after fees"]
    assert row[1] == 1.98


def test_each_sheet_names_the_merchant_and_the_month_on_paper(book):
    """Above, with the status; the heads of the figures stand on each sheet of paper."""
    assert all("October 2026 · final" in sheet.oddHeader.left.text for sheet in book)
    assert book["Statement"].print_title_rows and book["Statement"].print_area


def test_paper_has_what_people_read_and_no_list_of_single_records(book):
    """Nor is there a sheet of a table without a row."""
    assert book["Findings"].print_area and book["Days"].print_area
    assert not book["Movements"].print_area and not book["Checks"].print_area
    assert all(sheet.max_row > 2 for sheet in book)


def test_a_further_figure_has_the_format_of_its_unit(book):
    """A number of payments has no places, a ratio is a percentage, a coin has its own."""
    columns = columns_of(sheet_of(book, "figures"))
    forms = {
        str(name.value): value.number_format
        for name, value in zip(columns["Name"], columns["Value"], strict=True)
        if value.value is not None
    }
    assert forms["usd_gross_priced_count"] == "#,##0" and "%" in forms["fee_rate_min"]


def test_a_month_without_a_coin_is_a_workbook_too(save):
    """Its one column needs no merging, of which the library would warn on stderr."""
    sheet = open_book(save("xlsx", ledger=LEDGER.splitlines()[1]))["Statement"]
    assert sheet["A1"].value == "Statement October 2026" and not sheet.merged_cells.ranges


def test_the_first_sheet_is_a_statement_and_the_provenance_says_what_of(save):
    """What it is, its status and why, then figures in groups; an unknown one is a dash.

    Period, bounds, status with reasons, coverage, digest: all that trust needs.
    """
    book = open_book(save("xlsx", month="2026-11", now=to_micros(NOW)))
    sheet = book["Statement"]
    texts = [str(row[0].value) for row in sheet.iter_rows() if row[0].value]
    assert texts[0] == "Statement November 2026" and texts[3] == "provisional"
    assert "its figures can still change" in texts[4] and "not over" in texts[4]
    assert {"Sales", "Refunds", "Settlement", "Position"} <= set(texts)
    assert sheet.page_setup.paperSize == 9 and sheet.sheet_properties.pageSetUpPr.fitToPage
    facts = {row[0].value: row[1].value for row in book["Provenance"].iter_rows()}
    assert facts["status"] == "provisional" and "not over" in facts["because"]
    assert facts["start"] == "2026-11-01T00:00:00Z" and facts["zone"] == "UTC"
    assert facts["merchant display_name_fa"] == PERSIAN and len(facts["content_digest"]) == 64


def test_the_definitions_are_in_the_workbook(book):
    """Each figure has a row below the heads."""
    assert book["Definitions"].max_row == 1 + definitions_table().num_rows


def test_a_table_longer_than_a_sheet_goes_on_in_the_next(made, tmp_path, monkeypatch):
    """7 lines in sheets of 3: no row is lost and each sheet has its header."""
    monkeypatch.setattr(workbook, "SHEET_ROWS", 3)
    few = {name: table[:3] for name, table in made.tables.items()}
    cut = replace(made, tables=few | {"lines": made.tables["lines"]})
    book = open_book(cut.save(tmp_path / "out", ("xlsx",)))
    names = ("Movements", "Movements 2", "Movements 3")
    parts = [columns_of(book[name])["Line no"] for name in names]
    assert [cell.value for part in parts for cell in part] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("value", "digits"),
    [("0", 0), ("1200", 2), ("999999999999999", 15), ("0.1234567890123456", 16)],
)
def test_significant_digits_decide_what_is_exact(value, digits):
    """Zeros at either end cost a spreadsheet nothing."""
    assert significant_digits(pa.array([value])).to_pylist() == [digits]


def test_a_text_stays_what_it_is_and_says_where_it_was_cut(made, tmp_path):
    """Whoever pays writes the reference: it neither breaks the file nor shows as another text.

    A spreadsheet holds 32,767 characters; what is longer is not dropped in silence.
    """
    lines = made.tables["lines"]
    place = lines.schema.get_field_index("reference_id")
    texts = ["<r><t>paid</t></r>", "<r>a & b</r>", "<r></r>", "<r>", "</t>", "&lt;", "]]>"]
    odd = lines.set_column(place, "reference_id", pa.array(texts, pa.string()))
    long = pa.table({"note": ["x" * 40_000, "\x01_x0041_\ufffe"]})
    changed = replace(made, tables=made.tables | {"lines": odd, "notes": long})
    book = open_book(changed.save(tmp_path / "out", ("xlsx",)))
    found = columns_of(sheet_of(book, "lines"))[label_of("reference_id")]
    assert [cell.value for cell in found] == texts
    text = str(book["Notes"]["A3"].value)
    assert len(text) == 32_767 and text.endswith(workbook_cells.CUT)
