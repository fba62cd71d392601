"""The forms of one small ledger, kept as texts: whatever changes in a form shows as a difference.

The ledger is `LEDGER` of `tests/support/ledgers.py`, whose figures can be added up by hand.
After a change that is wanted, write the texts anew, and read what git shows of them:

    SVC_GOLDEN=write pytest -n0 tests/render/test_golden.py
"""

import os
import re
import time
from collections.abc import Callable
from difflib import unified_diff
from html import unescape
from pathlib import Path

import openpyxl
import pytest

import svc_analytics as svc
from svc_analytics.instants import to_micros
from tests.support.fake_service import NOW
from tests.support.prepared import once

GOLDEN = Path(__file__).with_name("golden")
FORMS = ("csv", "html", "xlsx", "journal")
ROWS = 4  # of each sheet behind the first: another test compares every cell with its table
IN_EUR = "in EUR, statement.html"
MORE = {"Side by side": 61, "What moved": 47, "Sentences on what moved": 9}  # of a comparison
WORDS = {
    "statement.html": "page.txt",
    "statement.xlsx": "workbook.txt",
    IN_EUR: "page_in_eur.txt",
    "comparison.xlsx": "comparison.txt",
}
RATES = "date,currency,rate,source\n2026-09-30,EUR,0.5,ECB\n" + "".join(
    f"2026-10-{day:02},EUR,0.9{day:02},ECB\n" for day in range(1, 32)
)


def plain(path: Path) -> str:
    return path.read_text("utf-8")


def words_of_page(path: Path) -> str:
    """The texts of a page, one a line, as a person reads them down to its glossary."""
    page = plain(path).partition("<h2>What each figure means</h2>")[0]
    text = re.sub(r"<(style|svg|script).*?</\1>", "", page, flags=re.DOTALL)
    cells = re.sub(r"</(td|th)>", "\t", text)
    lines = re.sub(r"</?(tr|p|h\d|dt|dd|li|caption|figcaption|div|title)\b[^>]*>", "\n", cells)
    shown = (unescape(re.sub(r"<[^>]*>", "", line)) for line in lines.splitlines())
    return "".join(f"{line}\n" for line in (" ".join(each.split()) for each in shown) if line)


def cells_of_book(path: Path) -> str:
    """The cells of a workbook, a row a line: value, and of a number how it is shown."""
    lines = []
    for number, sheet in enumerate(openpyxl.load_workbook(path)):
        held = f"frozen {sheet.freeze_panes}, filter {sheet.auto_filter.ref}"
        fits = sheet.sheet_properties.pageSetUpPr.fitToPage
        printed = f"paper {sheet.page_setup.paperSize} fits {fits}, {sheet.oddFooter.left.text}"
        lines.append(f"== {sheet.title}: {held}, {printed}")
        most = MORE.get(sheet.title, ROWS) if number or sheet.title in MORE else None
        for row in sheet.iter_rows(max_row=most):
            shown = [f"{cell.coordinate} {_shown(cell)}" for cell in row if cell.value is not None]
            lines += ["\t".join(shown)] if shown else []
    return "".join(f"{line}\n" for line in lines)


def _shown(cell: openpyxl.cell.Cell) -> str:
    form = f" as {cell.number_format}" if cell.data_type in "nd" else ""
    return f"{cell.value!r}{form}{' quoted' * bool(cell.quotePrefix)}"


READ: dict[str, Callable[[Path], str]] = {
    "statement.html": words_of_page,
    "statement.xlsx": cells_of_book,
}


@pytest.fixture
def texts(make, desk, tmp_path, monkeypatch) -> dict[str, str]:
    """What each file of the statement says, of a lake that was read at noon of 20 November."""
    monkeypatch.setattr(time, "time_ns", lambda: to_micros(NOW) * 1000)

    def write() -> dict[str, str]:
        made, rates = make(now=to_micros(NOW)), tmp_path / "rates.csv"
        folder = made.save(tmp_path / "out", FORMS)
        rates.write_text(RATES)
        page = made.in_currency("EUR", rates).save(tmp_path / "in EUR", ["html"])
        moved = svc.explain_change(desk.lake, "2026-09", "2026-10", coins=["btc", "usdt"])
        compared = moved.save(tmp_path / "compared", ["xlsx"]) / "comparison.xlsx"
        found = {path.name: READ.get(path.name, plain)(path) for path in sorted(folder.iterdir())}
        found[IN_EUR] = words_of_page(page / "statement.html")
        return found | {compared.name: cells_of_book(compared)}

    return once("golden texts", write)


NAMES = [
    *("summary.csv", "figures.csv", "lines.csv", "daily.csv", "fees.csv", "refunds.csv"),
    *("cohorts.csv", "payouts.csv", "exposure.csv", "checks.csv", "reading.csv", "trend.csv"),
    *("journal.beancount", "journal.csv", "statement.html", "statement.xlsx"),
    *(IN_EUR, "comparison.xlsx"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_form_says_what_it_said(texts, name):
    """To the last character; the difference is shown line by line."""
    kept, text = GOLDEN / WORDS.get(name, name), texts[name]
    if os.environ.get("SVC_GOLDEN") == "write":
        kept.write_text(text, encoding="utf-8")
    before = kept.read_text("utf-8").splitlines()
    differing = unified_diff(before, text.splitlines(), "kept", "now", lineterm="", n=1)
    told = "\n".join(differing)
    assert not told, (
        f"{told}\nIf that is wanted: SVC_GOLDEN=write pytest -n0 tests/render/test_golden.py"
    )
