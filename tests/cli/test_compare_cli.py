"""Months and statements beside each other from the command line."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from openpyxl import load_workbook

from svc_analytics.render.picture import css_families
from tests.cli.test_close_cli import OCTOBER
from tests.support.browsers import texts_of
from tests.support.closings import Closer
from tests.support.fake_service import payment
from tests.support.prepared import extracted
from tests.support.rings import rings


@pytest.fixture
def read(closer) -> Closer:
    """A lake that was read, of which no month is closed."""
    extracted(closer.desk)
    return closer


@pytest.fixture
def restated(closer) -> Closer:
    """October and its restatement, with a late payment of 7 usdt."""
    closer.sealed()
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    closer.close()
    return closer


def test_months_are_compared_for_people(call, read):
    """Every coin, both standings."""
    shown = call("compare", "2026-09", "2026-10")
    assert shown.code == 0 and "2026-09, UTC · late to close" in shown.out
    lines = shown.out.partition("\nbtc ")[2].splitlines()  # behind all coins in USD
    line = next(line for line in lines if line.startswith("Closing position"))
    assert line.split() == ["Closing", "position", "4.95", "4.45", "-0.50", "-10.10%"]
    assert "rounded, so a sum may miss" in shown.out and "≈" not in shown.out


def test_months_are_compared_for_machines(call, read):
    """Every digit, as CSV and as JSON, of the figures and coins that were chosen."""
    words = ("compare", "--only", "closing_position", "--currency", "btc")
    [row] = csv.DictReader(io.StringIO(call(*words, "--csv").out))
    assert (row["old"], row["new"], row["difference"]) == ("4.95", "4.45", "-0.5")
    assert row["percent"] == "-10.10101010"
    found = json.loads(call(*words, "--json").out)
    assert found["old"]["month"] == "2026-09" and found["is_whole"] is True
    assert [one["percent"] for one in found["rows"]] == ["-10.10101010"]


def test_a_comparison_is_written_in_every_form(call, read):
    """Of the last full month and the one before; another comparison takes their place.

    That one has a running month: it is said, and nobody need look.
    """
    words = ("compare", "--out", "both", "--format", "html,xlsx,csv,json")
    shown = call(*words)
    assert shown.code == 0 and "written to" in shown.err
    names = {path.name for path in Path("both").iterdir()}
    assert names == {f"comparison.{form}" for form in ("html", "xlsx", "csv", "json")}
    text = Path("both/comparison.html").read_text()
    assert text.startswith("<!doctype html>") and "Difference = 2026-10 minus 2026-09" in text
    found = csv.DictReader(Path("both/comparison.csv").read_text().splitlines())
    keys = ("closing_position", "btc")
    [row] = [each for each in found if (each["figure"], each["currency"]) == keys]
    assert (row["old"], row["percent"]) == ("4.95", "-10.10101010")
    book = load_workbook("both/comparison.xlsx")
    assert len(book.worksheets[0]._images) == 1  # what moved, as on the page
    rows = book["Comparison"].iter_rows(values_only=True)
    closing = next(row for row in rows if row[1:4:2] == keys)
    assert closing[5:9] == (4.95, 4.45, -0.5, -10.1010101)
    assert json.loads(Path("both/comparison.json").read_text())["new"]["month"] == "2026-10"
    done = call("compare", "2026-10", "2026-11", "--out", "both", "--format", "html")
    assert done.code == 0 and "2026-11 is not over" in done.out
    [page] = Path("both").iterdir()
    assert "Difference = 2026-11 minus 2026-10" in page.read_text()


def test_a_folder_with_other_files_is_left_alone(call, read):
    """Also one with a file beside those of a comparison; an unknown form is refused."""
    Path("both").mkdir()
    Path("both/comparison.csv").touch()
    Path("both/notes.txt").write_text("mine")
    done = call("compare", "--out", "both")
    assert done.code == 1 and "holds something else" in done.err
    assert {path.name for path in Path("both").iterdir()} == {"comparison.csv", "notes.txt"}
    assert call("compare", "--out", "new", "--format", "pdf").code == 2


def test_a_month_is_compared_with_that_of_the_previous_year(call, read):
    """As if both had been named."""
    done = call("compare", "previous year", "--only", "gross_sales", "--json")
    found = json.loads(done.out)
    assert (found["old"]["month"], found["new"]["month"]) == ("2025-10", "2026-10")
    assert done.code == 0 and {row["old"] for row in found["rows"]} == {"0"}


def test_why_shows_the_parts_of_each_change(call, read):
    """For people and for machines; the page and the files are those of the test in Persian.

    By `--exact` a percentage has every digit; without it two places, and a sentence says so.
    """
    shown = call("compare", "--why", "--exact", "--currency", "btc")
    assert "rounded" not in shown.out
    assert shown.code == 0 and "What moved from 2026-09 to 2026-10" in shown.out
    assert "Refund timing: of earlier sales" in shown.out and "usdt" not in shown.out
    rows = list(csv.DictReader(io.StringIO(call("compare", "--why", "--csv").out)))
    own = [row for row in rows if (row["figure"], row["unit"]) == ("usd_exposure", "coin")]
    btc = {row["part"]: row["amount"] for row in own if row["currency"] == "btc"}
    assert btc == {"refunds": "-0.5"}


@pytest.mark.thorough
def test_a_finding_that_blocks_a_month_is_3_and_a_formula_is_escaped(call, closer):
    """As of `statement`; a spreadsheet would run a coin that is called like a formula."""
    closer.desk.service.payments.pop(1)  # the payment that October's refund names
    hostile = payment(98, "2026-10-20T10:00:00Z", "7", "0.5") | {"currency": "=1+1"}
    closer.desk.service.payments.append(hostile)
    closer.desk.extract()
    done = call("compare", "2026-09", "2026-10")
    assert done.code == 3 and "2026-10, UTC · blocked" in done.out
    shown = call("compare", "--only", "gross_sales", "--csv")
    coins = {row["currency"] for row in csv.DictReader(io.StringIO(shown.out))}
    assert "'=1+1" in coins and "=1+1" not in coins


@pytest.mark.thorough
def test_versions_show_figures_first_then_what_else_differs(call, restated):
    """How many records of each table, and how to see them; --rows shows them."""
    shown = call("statement-diff", str(OCTOBER), f"{OCTOBER}-v2")
    assert shown.code == 0 and shown.out.index("Gross sales") < shown.out.index("lines: 1 record")
    assert "--rows, --csv or --json" in shown.out and "0000-" not in shown.out
    opened = call("statement-diff", str(OCTOBER), f"{OCTOBER}-v2", "--rows")
    assert restated.desk.service.payments[-1]["id"] in opened.out


@pytest.mark.thorough
def test_a_version_that_was_replaced_is_as_it_was_sealed_until_a_file_is_altered(call, restated):
    """It names the version to verify; altered, it does not hold."""
    shown = call("statement-verify", str(OCTOBER))
    first = f"{OCTOBER} is as it was sealed, and a later version replaced it: verify "
    assert shown.code == 3 and first in shown.out
    assert shown.out.partition("\n")[0].endswith(f"{OCTOBER.name}-v2")
    assert call("statement-verify", f"{OCTOBER}-v2").code == 0
    with (OCTOBER / "summary.csv").open("a") as file:
        file.write("\n")
    altered = call("statement-verify", str(OCTOBER)).out
    assert "does not hold" in altered and "is as it was sealed" not in altered


def test_csv_of_versions_has_every_difference(call, restated):
    """The columns of a restatement, and the figures of JSON beside them."""
    words = ("statement-diff", str(OCTOBER), f"{OCTOBER}-v2")
    rows = list(csv.DictReader(io.StringIO(call(*words, "--csv").out)))
    document = json.loads(call(*words, "--json").out)
    assert len(rows) == len(document["differences"]) == sum(document["changed_rows"].values())
    sales = next(row for row in document["figures"] if row["figure"] == "gross_sales")
    assert (sales["difference"], sales["cause"]) == ("7", "late")


@pytest.mark.thorough
def test_a_page_is_written_whole_or_not_at_all(call, restated):
    """A name that is no page's is refused."""
    words = ("statement-diff", str(OCTOBER), f"{OCTOBER}-v2", "--out")
    assert call(*words, "diff.html").code == 0
    assert Path("diff.html").read_text().startswith("<!doctype html>")
    assert call(*words, "diff.pdf").code == 2 and not Path("diff.pdf").exists()


@pytest.mark.parametrize("why", rings([["--why"]], [[]]))
def test_every_text_of_ours_in_a_persian_comparison_is_translated(why, call, read, tmp_path):
    """What both pages have in common are values; the Persian one runs from right to left.

    The tables of what moved lie beside it, and the English page has their titles.
    """
    words = ("compare", "2026-09", "2026-10", *why, "--out")
    found = {}
    for lang, more in (("en", ["--format", "html"]), ("fa", ["--digits", "fa"])):
        out = tmp_path / lang
        assert call(*words, str(out), "--lang", lang, *more).code == 0
        found[lang] = (out / "comparison.html").read_text("utf-8")
    tables = ("comparison", *(("changes", "parts", "records") if why else ()))
    names = {"comparison.html", "comparison.xlsx", *(f"{name}.csv" for name in tables)}
    assert {path.name for path in out.iterdir()} == names
    for text in ("Refund timing", "The largest records of each part"):
        assert (text in found["en"]) == bool(why)
    english, persian = ({text for text, _ in texts_of(page)} for page in found.values())
    both = {
        re.sub("[0-9a-f]{8}-[0-9a-f-]{27}|(?:order|payout)-[0-9]", "", text)
        for text in english & persian
    }
    left = {text for text in both if re.search("[a-z]{2}", text)}
    assert left <= {"btc", "usdt", "Shop"}, left
    assert '<html lang="fa" dir="rtl">' in found["fa"]
    fonts = [f"font-family: {css_families()}, sans-serif;" in found[lang] for lang in found]
    assert fonts == [False, True]
    assert '<bdi dir="ltr">-۰٫۵۰</bdi>' in found["fa"]
    book = load_workbook(tmp_path / "fa" / "comparison.xlsx")
    assert book.sheetnames[0] == "کنار هم" and "مقایسه" in book.sheetnames
    assert book["مقایسه"].sheet_view.rightToLeft
