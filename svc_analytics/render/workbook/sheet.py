"""A sheet that makes a cell into XML when it is written: a statement has a hundred thousand.

The library keeps the cells of a row, and then makes each into XML by some twenty calls: a quarter
of what a statement cost in all its forms. The XML here is the library's own, byte for byte; a
text that is not plain is left to it.
"""

import re
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any

from xlsxwriter.utility import xl_col_to_name
from xlsxwriter.worksheet import Worksheet

# Texts that XML or a spreadsheet does not hold as they are, or that have blanks at an end.
_NOT_PLAIN = re.compile(r"[&<>\x00-\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_|\A\s|\s\Z")
_LONG = 16_000  # letters


class PlainSheet(Worksheet):  # type: ignore[misc]  # the library's types are not read
    """A sheet of the library for texts, numbers and dates, written row by row."""

    def write_string(self, row: int, col: int, string: str, cell_format: Any = None) -> int:
        """Write a text as it is."""
        if len(string) > _LONG or _NOT_PLAIN.search(string):
            return int(super().write_string(row, col, string, cell_format))
        return self._put(row, col, cell_format, f' t="inlineStr"><is><t>{string}</t></is></c>')

    def write_number(self, row: int, col: int, number: Decimal, cell_format: Any = None) -> int:
        """Write a number of at most 15 digits."""
        return self._put(row, col, cell_format, f"><v>{number:.16G}</v></c>")

    def write_datetime(self, row: int, col: int, date: date, cell_format: Any = None) -> int:
        """Write a day or a time of day as the number that a spreadsheet has for it."""
        return self._put(row, col, cell_format, f"><v>{self._convert_date_time(date):.16G}</v></c>")

    def _put(self, row: int, col: int, cell_format: Any, xml: str) -> int:
        """Keep the XML of a cell behind its place and look, until its row is whole."""
        if self._check_dimensions(row, col):
            return -1
        if row > self.previous_row:
            self._write_single_row(row)
        self.table[row][col] = (cell_format, xml)
        return 0

    def _write_cell(self, row: int, col: int, cell: Any) -> None:
        if type(cell) is not tuple:  # the library's own are of classes of theirs
            super()._write_cell(row, col, cell)
            return
        cell_format, xml = cell
        look = f' s="{cell_format._get_xf_index()}"' if cell_format else ""
        self.fh.write(f'<c r="{_column(col)}{row + 1}"{look}{xml}')


@cache
def _column(col: int) -> str:
    return str(xl_col_to_name(col))
