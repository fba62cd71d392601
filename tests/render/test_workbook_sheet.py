"""The sheet that makes cells into XML itself has the bytes of the library's own."""

import zipfile
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from svc_analytics.render.workbook.sheet import PlainSheet

TEXTS = [
    *("SVC-000017846", "پرداخت", "a & b", "1 < 2", "<r>x</r>", '"quoted"', "it's", "two\nlines"),
    *(" blank before", "blank behind ", "\N{NO-BREAK SPACE}x", "tab\tin it", "\x07", "_x0041_"),
    *("\ufffe", "\U0001f600" * 20_000, "x" * 32_767, "=1+1", "é"),
]
NUMBERS = [
    *("0", "-12.5", "1E+2", "0.000000000000000001", "123456789012345", "0.1"),
    *("-0", "1E-7", "99999999999999900000"),
]
TIMES = [date(2026, 10, 31), datetime(2026, 10, 31, 23, 59, 59), datetime(1904, 1, 1)]


def book(path: Path, kind: type[Any]) -> dict[str, bytes]:
    """The parts of a workbook with every text, number and time, plain and with a look."""
    with xlsxwriter.Workbook(str(path), {"constant_memory": True}) as workbook:
        sheet = workbook.add_worksheet("Movements", worksheet_class=kind)
        looks = [None, workbook.add_format({"num_format": "0.00"}), workbook.add_format()]
        sheet.set_row(1, 31)
        sheet.merge_range(0, 0, 0, 3, "", looks[1])
        sheet.write_string(0, 0, "over the whole width", looks[1])
        for row, look in enumerate(looks, 1):
            cells = [(sheet.write_string, text) for text in TEXTS]
            cells += [(sheet.write_number, Decimal(number)) for number in NUMBERS]
            cells += [(sheet.write_boolean, True)]
            for place, (write, value) in enumerate(cells):
                write(row + 2 * (row == 3), 2 * place, value, look)
        for place, time in enumerate(TIMES):
            sheet.write_datetime(9, place, time, looks[1])
    with zipfile.ZipFile(path) as parts:
        return {name: parts.read(name) for name in parts.namelist() if "docProps" not in name}


def test_its_cells_are_those_of_the_library_byte_for_byte(tmp_path: Path) -> None:
    """Marks of XML, blanks at an end, letters that XML lacks, texts that are too long, gaps."""
    own, theirs = book(tmp_path / "own.xlsx", PlainSheet), book(tmp_path / "a.xlsx", Worksheet)
    assert own == theirs
    assert own["xl/worksheets/sheet1.xml"].count(b"<c ") > 80


@pytest.mark.parametrize(("row", "column"), [(1_048_576, 0), (0, 16_384)])
def test_it_refuses_a_cell_that_no_sheet_has(tmp_path: Path, row: int, column: int) -> None:
    """As the library does: nothing is written, and the answer says so."""
    with xlsxwriter.Workbook(str(tmp_path / "x.xlsx"), {"constant_memory": True}) as workbook:
        sheet = workbook.add_worksheet(worksheet_class=PlainSheet)
        assert sheet.write_number(row, column, Decimal(1)) == -1
