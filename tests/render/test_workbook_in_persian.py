"""A workbook in Persian: words of ours translated, every day in both calendars, exact texts."""

import re
from datetime import date, datetime

import jdatetime
import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.worksheet.worksheet import Worksheet

from svc_analytics.render.workbook.tables import HEAD
from tests.support.prepared import once

LATIN = str.maketrans("۰۱۲۳۴۵۶۷۸۹٫٬", "0123456789.,", "\u2066\u2067\u2069")
PERSIAN = re.compile("[آ-ی]")


@pytest.fixture
def books(make, tmp_path) -> dict[str, Workbook]:
    """The workbook of the whole ledger in each language."""

    def write() -> dict[str, Workbook]:
        made, found = make(), {}
        for lang, digits in {"en": "latin", "fa": "fa", "en+fa": "fa"}.items():
            folder = made.save(tmp_path / lang, ["xlsx"], lang=lang, digits=digits)
            found[lang] = load_workbook(folder / "statement.xlsx")
        return found

    return once("workbooks in each language", write)


def test_it_runs_from_right_to_left_with_the_same_numbers(books):
    """To the last digit. Its sheets have Persian names; those of two languages run to the right."""
    assert books["fa"].sheetnames[:3] == ["صورت‌حساب", "یافته‌ها", "روزها"]
    for plain, persian, both in zip(books["en"], books["fa"], books["en+fa"], strict=True):
        assert persian.sheet_view.rightToLeft
        assert not plain.sheet_view.rightToLeft and not both.sheet_view.rightToLeft
        assert amounts(plain) == amounts(persian) == amounts(both)


def test_a_sentence_in_two_languages_has_latin_digits(books):
    """LibreOffice shows 2,155 as 155,2 in the Persian behind the English; numbers are Persian."""
    for sheet in books["en+fa"]:
        mixed = [str(cell.value) for row in sheet for cell in row if "\u2067" in str(cell.value)]
        assert mixed and not any(re.search("[۰-۹]", text) for text in mixed)
        assert not re.search("[۰-۹]", sheet.oddHeader.left.text + sheet.oddFooter.left.text)
    forms = {cell.number_format for row in books["en+fa"].worksheets[0] for cell in row}
    assert any(form.startswith("[$-3000429]") for form in forms)


def test_the_head_and_the_foot_of_paper_run_as_the_sheet_does(books):
    """Paper runs from left to right by itself, and would put a number last at the other end."""
    for sheet in books["fa"]:
        for line in (sheet.oddHeader.left.text, sheet.oddFooter.left.text):
            assert line.strip().startswith("\u2067") and line.endswith("\u2069")


def test_every_head_of_a_sheet_is_persian(books):
    """Of every table, those of exact texts and of Jalali days too."""
    for sheet in books["fa"].worksheets[1:]:
        if sheet.title == "منشأ":
            continue  # facts, one a row: it has no heads
        row = 1 if sheet.title == "تعریف‌ها" else HEAD + 1
        heads = [str(cell.value) for cell in sheet[row] if cell.value]
        assert heads and all(map(PERSIAN.search, heads)), (sheet.title, heads)


def test_words_in_cells_are_persian_and_ids_stay(books):
    """Kinds, severities, rules, details, verdicts; references and coins are as files have them."""
    plain, persian = (of_columns(books[lang].worksheets[3]) for lang in ("en", "fa"))
    assert set(plain["Kind"]) == {"payment", "refund", "payout"}
    assert set(persian["نوع"]) == {"پرداخت", "استرداد", "حواله"}
    assert persian["شناسهٔ مرجع"] == plain["Reference id"]
    assert persian["رمزارز"] == plain["Currency"]
    place = books["en"].sheetnames.index("Checks")
    findings = of_columns(books["fa"].worksheets[place])
    assert set(findings["اهمیت"]) <= {"هشدار", "بازدارنده"}
    rules = of_columns(books["en"].worksheets[place])["Check name"]
    for rule, shown in zip(rules, findings["نام کنترل"], strict=True):
        assert PERSIAN.search(str(shown)) and f"(\u2066{rule}\u2069)" in str(shown)
    assert all(PERSIAN.match(str(text).strip("\u2067")) for text in findings["جزئیات"])


def test_each_day_has_its_jalali_day_beside_it(books):
    """In every sheet, in the digits that were asked for; the Gregorian day stays a date."""
    seen = 0
    for lang in ("fa", "en+fa"):
        for sheet in books[lang]:
            for row in sheet.iter_rows(min_row=HEAD + 2):
                for cell in row:
                    if isinstance(cell.value, datetime) and sheet is not books[lang].worksheets[0]:
                        beside = sheet.cell(cell.row, cell.column + 1).value
                        assert str(beside).translate(LATIN) == jalali(cell.value)
                        seen += 1
    assert seen > 100


def jalali(day: date) -> str:
    return str(jdatetime.date.fromgregorian(date=date(day.year, day.month, day.day)))


def test_the_figure_that_is_an_instant_has_its_jalali_day_before_it(books):
    """The time of the implied rate, coin by coin; in English it is a date."""
    plain, persian = (
        {str(row[0]): row[1:] for row in books[lang].worksheets[0].values if row[0]}
        for lang in ("en", "fa")
    )
    days = [at for at in plain["Implied rate taken at"] if isinstance(at, datetime)]
    texts = [str(each).translate(LATIN) for each in persian["زمان نرخ ضمنی"]]
    begun = [text[:22] for text in texts if "(" in text]
    assert days and begun == [f"{jalali(day)} ({day:%Y-%m-%d}" for day in days]


def of_columns(sheet: Worksheet) -> dict[str, list[object]]:
    """Return the values of a sheet by the heads of its columns, empty cells left out."""
    heads, *rows = list(sheet.values)[HEAD:]
    return {
        str(head): [row[place] for row in rows if row[place] is not None]
        for place, head in enumerate(heads)
    }


def amounts(sheet: Worksheet) -> list[str]:
    """Return the numbers of a sheet, row by row, the exact ones that are texts too."""
    texts = [str(each).translate(LATIN) for row in sheet.values for each in row]
    return [text for text in texts if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?", text)]


@pytest.mark.parametrize("lang", ["fa", "en+fa"])
def test_a_column_is_as_wide_as_an_instant_of_two_calendars(books, lang):
    """Its neighbour cut it: the time of one stood upon the day of the next."""
    sheet = books[lang].worksheets[0]
    widths = {
        column: each.width
        for each in sheet.column_dimensions.values()
        for column in range(each.min, each.max + 1)
    }
    row = next(row for row in sheet.iter_rows() if "زمان نرخ ضمنی" in str(row[0].value))
    instants = [cell for cell in row[1:] if "(" in str(cell.value)]
    letters = {cell.column: len(cell.value.translate(LATIN)) for cell in instants}
    assert letters and all(widths[column] > count for column, count in letters.items())
