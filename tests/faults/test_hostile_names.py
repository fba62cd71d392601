"""Texts of merchants and payers in every output: exact as data, harmless where shown (D6, G5)."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import openpyxl
import pyarrow.parquet as pq
import pytest

import svc_analytics as svc
from svc_analytics import Lakehouse, Statement, charts, diff_statements, statement
from svc_analytics.formatting.texts import escape_formula, unescape_formula
from svc_analytics.warehouse.images import write_views
from svc_analytics.warehouse.view_builder import quote
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.browsers import Markup
from tests.support.closings import findings_of
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, payment, payout
from tests.support.forms import FORMS
from tests.support.rings import rings, sample
from tests.support.sandboxes import check_all

HOSTILE = {
    "sql": "'; drop table payments; --",
    "sql comment": "*/ union all select 1 /*",
    "csv": 'a,"b";c\r\nd\re',
    "formula": "=cmd|' /C calc'!A0",
    "plus formula": "+1+cmd()",
    "minus formula": "-2+3+cmd()",
    "at formula": "@SUM(A1:A9)",
    "tab formula": "\t=1+1",
    "shielded already": "'=1+1",
    "html": "<img src=x onerror=alert(1)>",
    "end of a tag": '"></td><script>alert(1)</script>',
    "markdown": "[x](javascript:alert(1)) | **b** | `c` \\| $x$",
    "beancount": 'x" #tag ^link\n2026-10-01 open Assets:Evil\n"',
    "mathtext": r"$\frac{1}{$ 100% _x_",
    "template": "{{7*7}}{% raw %}${x}%(x)s{0}{payments}",
    "terminal": "a\x1b[2J\x1b]0;owned\x07\x9b31m",
    "nul": "a\x00b\x01",
    "turned": "invoice\u202exslx.exe\u2066",
    "persian": "دفتر\u200c\u06f1\u06f2\u06f3 \U0001f600",
    "xml": "]]>&lt;&#x0;\ufffe_x0041_",
    "path": "../../../etc/passwd",
    "json": '","amount":"9","x":"\\',
    "json path": "$.x",
    "pointer": "/a/b~1",
    "glob": "*[a]?.parquet",
    "long": "lorem " * 8_000,
}


NO_COLUMNS = {".beancount", ".html", ".json", ".parquet", ".xlsx"}  # of no spreadsheet, or typed
NOT_SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
TEXTS = ("id", "receipt_no", "session_id", "reference_id", "fee_bearer", "payer_id", "currency")
COINS = ("sql", "csv", "formula", "html", "beancount", "mathtext", "terminal", "json path",
         "pointer", "template", "persian")  # fmt: skip


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> Desk:
    """A lake in which every text of a record is hostile, also the merchant's own names."""
    service = FakeService()
    names = {"display_name": HOSTILE["end of a tag"], "display_name_fa": HOSTILE["turned"]}
    service.merchant |= names
    for number, (name, text) in enumerate(HOSTILE.items()):
        coin = text if name in COINS else "usdt"
        same = dict.fromkeys(TEXTS, text) | {"currency": coin, "metadata": {text: text}}
        service.payments.append(payment(number, f"2026-10-02T00:00:{number:02}Z") | same)
        sent = {"id": f"sent {text}", "reference_id": text, "comment": text, "currency": coin}
        service.payouts.append(payout(number, f"2026-10-03T00:00:{number:02}Z") | sent)
    desk = Desk.at(tmp_path_factory.mktemp("hostile") / "data", service)
    desk.extract()
    return desk


@pytest.fixture(scope="module")
def made(desk) -> Statement:
    return statement(desk.lake, "2026-10")


@pytest.fixture(scope="module")
def folder(made, tmp_path_factory) -> Path:
    return made.save(tmp_path_factory.mktemp("hostile") / "out", FORMS)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


def cells_of(path: Path) -> list[str]:
    """The cells of a text file of columns, whatever stands between these and around each."""
    if path.suffix == ".csv":
        return [cell for row in rows_of(path) for cell in row.values()]
    text = path.read_text(encoding="utf-8")
    between = max(",;\t", key=text.partition("\n")[0].count)
    return re.split(f'[{between}\n]"?', text)


def test_every_text_is_held_exactly(desk):
    """D6: character for character, in a row of its own."""
    check_all(desk.lake, desk.service)
    held = {row["id"]: row for row in desk.rows()}
    for record in desk.service.payments:
        row = held[record["id"]]
        assert {name: row[name] for name in TEXTS} == {name: record[name] for name in TEXTS}
        assert json.loads(row["metadata"]) == record["metadata"]


def test_every_text_is_found_by_sql(desk):
    """A literal is a literal: nothing in it ends it."""
    with open_warehouse(desk.lake) as warehouse:
        for text in HOSTILE.values():
            query = f"select reference_id from payments where payer_id = {quote(text)}"
            assert warehouse.query_readonly(query)["reference_id"].to_pylist() == [text]


def test_no_rule_takes_a_coins_name_for_an_expression(desk):
    """A coin called $.x or /a/b is not a path into our own footers."""
    for rule in ("month_file_matches_its_totals", "month_file_matches_its_footer"):
        assert findings_of(desk.lake, rule).empty


def test_csv_comes_back(made, folder):
    """D6: one row a line of the table, each text as it was."""
    lines = made.tables["lines"].to_pylist()
    found = rows_of(folder / "lines.csv")
    assert len(found) == len(lines) == 2 * len(HOSTILE)
    for row, line in zip(found, lines, strict=True):
        assert unescape_formula(row["reference_id"]) == line["reference_id"]
        assert unescape_formula(row["currency"]) == line["currency"]


def test_no_file_that_a_spreadsheet_takes_begins_a_formula(folder):
    """Whatever form it is of: what a spreadsheet would run has an apostrophe before it."""
    for path in folder.iterdir():
        for cell in () if path.suffix in NO_COLUMNS else cells_of(path):
            is_number = re.fullmatch(r"[+-]?\d*\.?\d*", cell)
            assert is_number or not re.match(r"[=+\-@\t\r]", cell), path.name


def test_csv_and_parquet_say_the_same(made, tmp_path):
    """The shield is taken off again where two statements are compared."""
    table, text = (made.save(tmp_path / form, (form,)) for form in ("parquet", "csv"))
    assert diff_statements(table, text).table.num_rows == 0
    assert pq.read_table(table / "lines.parquet").equals(made.tables["lines"].combine_chunks())


def test_a_workbook_holds_texts_only(folder):
    """No formula but sums, no link, and no text missing but what no XML can hold."""
    book = openpyxl.load_workbook(folder / "statement.xlsx")
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    formulas = [str(cell.value) for cell in cells if cell.data_type == "f"]
    assert all(re.fullmatch(r"=(ROUND\()?SUM\([A-Z0-9,]+\)(,\d+\))?", each) for each in formulas)
    assert not any(sheet._hyperlinks for sheet in book)
    values = {cell.value for cell in cells}
    for name in ("sql", "formula", "html", "end of a tag", "beancount", "persian", "path"):
        assert HOSTILE[name] in values, name


def harmless(html: str) -> bool:
    found = Markup(html).seen
    has_scripts = {"script", "img", "iframe", "object"} & {name for name, _ in found}
    return not (has_scripts or [name for _, own in found for name in own if name.startswith("on")])


def test_a_page_holds_no_markup_of_others(folder):
    """Nothing is an element, an attribute or a control character that we did not write."""
    text = (folder / "statement.html").read_text(encoding="utf-8")
    assert harmless(text) and not NOT_SHOWN.search(text)
    assert "&lt;img src=x onerror=alert(1)&gt;" in text and "{{7*7}}" in text


def test_beancount_accepts_the_journal(folder):
    """Every text stays in its string, every coin has a name that can be read."""
    path = folder / "journal.beancount"
    command = [Path(sys.executable).with_name("bean-check"), "--no-cache", path]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    text = path.read_text(encoding="utf-8")
    assert "\n2026-10-01 open Assets:Evil" not in text
    assert len(rows_of(folder / "journal.csv")) >= 4 * len(HOSTILE)


def test_notebooks_show_no_markup_of_others(desk, made):
    """Sheets, tables that can be searched, and charts of coins of any name."""
    frame = desk.lake.sql("select reference_id, currency, comment from payouts")
    for shown in (svc.show(frame), svc.search(frame), made, desk.lake):
        assert harmless(shown._repr_html_())
        assert not NOT_SHOWN.search(shown._repr_html_()) and not NOT_SHOWN.search(str(shown))
    coins = [HOSTILE["mathtext"], HOSTILE["html"]]
    assert harmless(svc.draw(charts.net_settlement_daily, made.daily, *coins)._repr_html_())


COMMANDS = [
    ["sql", "select reference_id, currency, payer_id from payments"],
    ["sql", "select \x1b[2J\u202e from nowhere"],
    ["sql", 'select 1 as "\x1b[2J"'],
]
MORE = [
    *(["status"], ["check"], ["statement", "--month", "2026-10", "--out", "out"]),
    ["statement", "--month", "2026-10", "--explain", "gross_sales", "--currency", "usdt"],
]


@pytest.mark.parametrize("command", rings(COMMANDS, MORE))
def test_a_terminal_is_not_told_what_to_do(desk, run, command):
    """No escape sequence and nothing that turns a line reaches a person's screen."""
    done = run(*command, "--data-dir", str(desk.lake.path))
    said = done.out + done.err
    assert done.code in (0, 1, 3) and said and "Traceback" not in said and "internal" not in said
    assert not NOT_SHOWN.search(said)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_shielded_text_comes_back(text):
    """And shielding twice comes back twice."""
    for once in (text, f"'{text}", escape_formula(text), f"''{text}"):
        assert unescape_formula(escape_formula(once)) == once
        assert not re.match(r"[=+\-@\t\r]", escape_formula(once))


# ---------- names of folders


ODD = {"quotes": "a b'c\"d;e{f}دفتر$(id)%s&#~", "lines": "new\nline\t-- '; drop table x"}


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("name", sample(ODD.values(), 2), ids=ODD.keys())
def test_a_lake_lives_in_a_folder_of_any_name(tmp_path, run, name):
    """G5: every reader and writer takes its path as a name, and never as a part of SQL."""
    service = FakeService(payments=[payment(n, f"2026-10-0{n}T00:00:00Z") for n in (1, 2, 3)])
    lake = tmp_path / name / "data"
    Desk.at(lake, service).extract()
    write_views(Lakehouse(lake))
    for command in (("status",), ("sql", "from payments"), ("statement", "--month", "2026-10")):
        done = run(*command, "--data-dir", str(lake))
        assert done.code == 0, done.err
    with duckdb.connect(lake / "analytics.duckdb", read_only=True) as connection:
        assert connection.sql("select count(*) from payments").fetchall() == [(3,)]
    assert rows_of(lake / "statements" / "2026-10" / "summary.csv")[0]["gross_sales"] == "30"
