"""A statement as a workbook, read back by another library."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest
from openpyxl.worksheet.worksheet import Worksheet

from svc_analytics.formatting.values import is_ratio, value_text
from svc_analytics.instants import to_micros
from svc_analytics.render import workbook
from tests.support.fake_service import NOW
from tests.support.form_material import FORMULA, PERSIAN, Make, Save


def open_book(folder: Path) -> openpyxl.Workbook:
    return openpyxl.load_workbook(folder / "statement.xlsx")


def columns_of(sheet: Worksheet) -> dict[str, list[Any]]:
    return {str(column[0].value): list(column[1:]) for column in sheet.iter_cols()}


def text_in(cell: Any, exact: Any) -> str:
    """What a reader of the sheet takes for the figure, as a plain text."""
    if exact is not None:
        return str(exact.value or "")
    if cell.data_type == "n" and cell.value is not None:
        return value_text(Decimal(str(cell.value)))
    return str(cell.value.date() if cell.data_type == "d" else cell.value or "")


def test_every_cell_comes_back_exactly(make: Make, tmp_path: Path) -> None:
    """A figure is its number, or where that has too many digits the text beside it."""
    made = make()
    book = open_book(made.save(tmp_path / "out", ("xlsx",)))
    for name, table in made.tables.items():
        found = columns_of(book[name])
        for field in table.schema:
            cells, exact = found[field.name], found.get(f"{field.name} exact")
            for row, value in enumerate(table[field.name].to_pylist()):
                read = text_in(cells[row], exact[row] if exact else None)
                wanted = value_text(value, is_ratio=is_ratio(field) and exact is not None)
                assert read == wanted, (name, field.name)


def test_long_amounts_have_an_exact_text_beside_them(save: Save) -> None:
    """19 digits: the number is rounded to 15, the text is not."""
    summary = columns_of(open_book(save("xlsx"))["summary"])
    row = [cell.value for cell in summary["currency"]].index("eth")
    assert summary["gross_sales"][row].value == 1
    exact = summary["gross_sales exact"][row]
    assert (exact.value, exact.data_type) == ("1.000000000000000003", "s")
    assert exact.alignment.horizontal == "right" and "payouts_sent exact" not in summary


def test_texts_never_become_formulas_or_links(save: Save) -> None:
    """What staff or customers typed stays a string, marked as one for editing."""
    book = open_book(save("xlsx"))
    kinds = {cell.data_type for sheet in book for row in sheet.iter_rows() for cell in row}
    assert "f" not in kinds and not any(sheet._hyperlinks for sheet in book)
    cells = columns_of(book["lines"])["reference_id"]
    hostile = [cell for cell in cells if cell.value in (FORMULA, "@SUM(A1)", "-2+3")]
    assert len(hostile) == 3 and all(cell.quotePrefix for cell in hostile)


def test_sheets_are_ready_to_be_worked_with(save: Save) -> None:
    """A frozen header, a filter over all columns, amounts with thousands apart."""
    sheet = open_book(save("xlsx"))["daily"]
    assert sheet.freeze_panes == "C2" and sheet.auto_filter.ref.startswith("A1:")
    found = columns_of(sheet)["gross_sales"][0]
    assert found.number_format.startswith("#,##0.00")


def test_the_first_sheet_says_what_the_figures_are(save: Save) -> None:
    """Period, bounds, status with reasons, coverage, digest: all that trust needs."""
    running = save("xlsx", month="2026-11", now=to_micros(NOW))
    sheet = open_book(running)["provenance"]
    facts = {row[0].value: row[1].value for row in sheet.iter_rows()}
    assert facts["status"] == "provisional" and "not over" in facts["because"]
    assert facts["start"] == "2026-11-01T00:00:00Z" and facts["zone"] == "UTC"
    assert facts["merchant display_name_fa"] == PERSIAN and len(facts["content_digest"]) == 64


def test_a_table_longer_than_a_sheet_goes_on_in_the_next(
    save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    """7 lines in sheets of 3: no row is lost and each sheet has its header."""
    monkeypatch.setattr(workbook, "SHEET_ROWS", 3)
    book = open_book(save("xlsx"))
    parts = [columns_of(book[name])["line_no"] for name in ("lines", "lines 2", "lines 3")]
    assert [cell.value for part in parts for cell in part] == [1, 2, 3, 4, 5, 6, 7]


def test_a_text_longer_than_a_cell_says_that_it_was_cut(make: Make, tmp_path: Path) -> None:
    """A spreadsheet holds 32,767 characters; what is longer is not dropped in silence."""
    made = make()
    long = pa.table({"note": ["x" * 40_000, "\x01_x0041_\ufffe"]})
    made.tables["notes"] = long
    sheet = open_book(made.save(tmp_path / "out", ("xlsx",)))["notes"]
    text = str(sheet["A2"].value)
    assert len(text) == 32_767 and text.endswith(workbook.CUT)


@pytest.mark.parametrize(
    ("value", "digits"),
    [("0", 0), ("1200", 2), ("999999999999999", 15), ("0.1234567890123456", 16)],
)
def test_significant_digits_decide_what_is_exact(value: str, digits: int) -> None:
    """Zeros at either end cost a spreadsheet nothing."""
    assert workbook.significant_digits(Decimal(value)) == digits
