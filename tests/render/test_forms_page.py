"""A statement as a page: safe, whole, and honest about what is unknown."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from svc_analytics.closing.seals import seal_of
from svc_analytics.config import Settings
from svc_analytics.formatting.cells import DASH
from svc_analytics.formatting.display import DisplayTable
from svc_analytics.formatting.status_line import StatusLine
from svc_analytics.language.catalogue import ENGLISH
from svc_analytics.render import front, tables as page_tables
from svc_analytics.render.folder import Output, write_folder
from svc_analytics.render.page import load_template
from svc_analytics.render.tables import SHOWN, StatementTables
from svc_analytics.render.words import PageWords
from svc_analytics.warehouse.figures import definitions_table
from tests.render.test_forms_journal import bean_check, postings
from tests.support.browsers import Markup
from tests.support.ledgers import PERSIAN
from tests.support.prepared import once


def html(folder: Path) -> str:
    return (folder / "statement.html").read_text(encoding="utf-8")


@pytest.fixture
def text(save) -> str:
    """The page of the whole ledger."""
    return once("page of the whole ledger", lambda: html(save("html")))


def test_persian_names_are_set_apart(text):
    """A name that runs from right to left keeps its own direction."""
    assert f'<bdi dir="auto" lang="fa">{PERSIAN}</bdi>' in text


def test_the_page_needs_nothing_from_elsewhere(text):
    """No image, no font, no script, no link but within itself, and a policy that forbids them."""
    outline = Markup(text)
    assert outline.open == []
    for tag, attributes in outline.seen:
        assert tag not in ("script", "link", "img", "iframe", "object")
        links = [attributes.get(name) for name in ("src", "href", "xlink:href")]
        assert all(link is None or link.startswith("#") for link in links)
    assert not re.search(r"@import|url\((?!#)", text) and "default-src 'none'" in text


def test_ids_do_not_meet(text):
    """Every id of the page is its own, and every reference leads to one."""
    ids = Counter(re.findall(r'\bid="([^"]+)"', text))
    assert max(ids.values()) == 1
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', text)) <= set(ids)


def test_a_headline_says_how_each_sum_changed(save):
    """September sold 30,000 less a fee of 300, October 40,000 less 400: a third more."""
    text = html(save("html", ledger=TWO_MONTHS))
    band = text.partition('<section class="band"')[2].partition("</section>")[0]
    assert "39,600.00" in band and "+33.3% on September 2026" in band
    assert '<polyline points="0,20 100,0"' in band and band.count('<p class="k">') == 5
    opening = text.partition('id="row-opening_position"')[2].partition("</tr>")[0]
    assert ">29,700.00</td>" in opening  # what September closed with, at its own rate


TWO_MONTHS = """
 kind     currency  amount  fee    at                usd_value
 payment  btc       1       0.01   2026-09-02T09:00  30000
 payment  btc       1       0.01   2026-10-02T09:00  40000
"""


def test_totals_stand_under_a_rule(text):
    """What sales left in the wallet is one; golden/page.txt holds their order and their signs."""
    assert '<tr id="row-net_settlement" class="sum">' in text


def test_each_sheet_says_whose_and_which_month_it_is(text):
    """In the style sheet, where no name of a merchant ends the text or the sheet."""
    foot = text.partition("@bottom-left { content: ")[2].partition(";")[0]
    assert "October 2026" in foot and "final" in foot and "digest " in foot
    assert "\\3c script\\3e alert" in foot and "<script" not in foot


def test_what_is_unknown_is_a_dash_with_its_reason(make, desk, tmp_path):
    """Without payout records: no zero, and why; the journal has what was read, and no balance."""
    desk.settings = Settings(desk.settings.base_url, desk.settings.checkout_key)
    folder = make().save(tmp_path / "out", ("html", "journal"))
    text, journal = html(folder), (folder / "journal.beancount").read_text(encoding="utf-8")
    reason = "unknown: payout records were never extracted"
    assert re.search(rf'<td class="n unknown" title="{reason}[^"]*">{DASH}</td>', text)
    assert re.search(rf'<p class="note">{DASH} {reason}', text)
    instant = text.partition("Implied rate taken at")[2].partition("</tr>")[0]
    assert f'title="{reason}' in instant  # and not that a record has no value
    assert "No refund of a known payment. This covers only what was read; the rest is" in text
    assert '<div class="badge provisional">provisional</div>' in text
    assert "no part of the period was read" in text
    words = (" balance ", "opening:", "complete", "month")
    assert "; because " in journal and not any(word in journal for word in words)
    assert bean_check(folder / "journal.beancount").returncode == 0


def test_a_ratio_over_nothing_says_so(text):
    """sol was only paid out: its fee rate is undefined, not unread."""
    assert re.search(rf'title="undefined: gross sales is zero"[^>]*>{DASH}</td>', text)


def test_long_tables_say_where_the_rest_is(save, monkeypatch):
    """A page shows the first lines and counts the others."""
    monkeypatch.setattr(page_tables, "MOST_ROWS", 2)
    text = html(save("html"))
    assert "The first 2 of 7 rows." in text and "csv, parquet, xlsx and json" in text


def test_the_year_and_the_bridge_are_drawn_of_the_statements_own_months(make, tmp_path):
    """Sealed tables alone make them: all coins in one chart, and what the opening was worth."""
    made = make()
    own = made.tables["summary"].select(
        ["period", "currency", "usd_net_sales", "usd_refunds", "usd_exposure"]
    )
    own = own.rename_columns(["month", *own.column_names[1:]])
    before = own.set_column(0, "month", pa.array(["2026-09"] * len(own)))
    tables = made.tables | {"trend": pa.concat_tables([before, own])}
    page = html(replace(made, tables=tables).save(tmp_path / "out", ("html",)))
    for title in ("Sales less fees and refunds by month, USD", "From opening to closing, USD"):
        assert page.count(f"{title}</text>") == 1


def test_a_restatement_is_told_in_words_its_records_first(make, tmp_path):
    """A figure has its name, and numbers end below each other, every digit of them."""
    figure = dict.fromkeys(SHOWN, "") | {"table_name": "summary", "name": "gross_sales"}
    figure |= {"change": "changed", "cause": "late", "old_value": "100", "new_value": "12345.1"}
    record = figure | {"table_name": "lines", "name": "8f0e", "change": "added", "old_value": None}
    made, table = make(), pa.Table.from_pylist([figure, record])
    out = replace(made, tables=made.tables | {"restatement": table})
    section = html(out.save(tmp_path / "out", ("html",))).partition(">Restatement</h2>")[2]
    first, second = re.findall("<tr><td.*?</tr>", section)[:2]
    assert "Lines" in first and "8f0e" in first
    assert "Gross sales" in second and '<td class="n">12,345.1</td>' in second


def test_refunds_stand_where_the_months_of_payment_and_refund_cross(text):
    """0.5 of September's 1.5 btc came back in October: a third, and the most of all."""
    assert "<h2>Refunds by month of payment, btc</h2>" in text
    third = '<span class="rounded">33.33%</span><span class="exact">33.333333%</span>'
    row = '<th scope="row"><span>2026-09</span></th><td class="n">1.50</td>'
    crossing = f'<td class="n shade5" title="33.333333%, 0.50">{third}<br>'
    assert f'{row}{crossing}<span class="unit">0.50</span></td>' in text


@pytest.fixture
def crossings(make) -> Callable[..., tuple[DisplayTable, bool]]:
    """The refunds of one coin in months of payment and refund, and whether some are left out."""

    def show(
        status_line: StatusLine, *months: tuple[str, str], **more: Any
    ) -> tuple[DisplayTable, bool]:
        row = {"currency": "btc", "refunds_paid": Decimal(1), "charged_total": Decimal(10)}
        rows = [
            row | {"payment_month": paid, "refund_month": back, "ratio": Decimal("0.1")} | more
            for paid, back in months
        ]
        made = make()
        own = replace(made, tables=made.tables | {"cohorts": pa.Table.from_pylist(rows)})
        [shown] = StatementTables(own, status_line).cohorts()
        return shown

    return show


def test_a_long_history_shows_its_newest_months(crossings, monkeypatch):
    """What does not fit the paper is left to the other forms, and the page says so."""
    monkeypatch.setattr(page_tables, "MOST_MONTHS", 2)
    months = [f"2026-0{number}" for number in range(1, 5)]
    table, is_cut = crossings(StatusLine(), *zip(months, months, strict=True))
    assert is_cut and table.header[2:] == months[-2:]
    assert [row[0].text for row in table.rows] == months[-2:] and not table.rows[0][3].text


def test_twelve_months_of_long_amounts_fit_the_paper(crossings):
    """Below a share, an amount has at most 8 places; pointing at it shows all of them."""
    paid = {"refunds_paid": Decimal("0.043748660314204616"), "ratio": Decimal("0.5")}
    status_line = StatusLine(scales={"btc": 18})
    table, _ = crossings(status_line, ("2026-10", "2026-10"), **paid)
    crossing = table.rows[0][2]
    assert crossing.below and crossing.below.text == "0.04374866"
    assert crossing.hover == "50.00%, 0.043748660314204616"


def test_a_running_month_is_marked_wherever_it_stands(crossings):
    """Among the months of payment and among those of refund."""
    table, _ = crossings(StatusLine(first_open_month="2026-11"), ("2026-11", "2026-11"))
    assert table.header[2] == table.rows[0][0].text == "2026-11 (running)"


def test_days_are_told_in_the_calendar_of_the_statement(save):
    """The first of October in Tehran is the 9th of Mehr; the Gregorian day stands beside it.

    It had begun at 23:59 UTC on 30 September, so of that day the journal has no entry.
    """
    folder = save("html", "journal", month="1405-07", zone="Asia/Tehran")
    text, days = html(folder), {row["day"] for row in postings(folder)}
    assert "2026-10-01" in days and "2026-09-30" not in days
    assert "<h1>Statement of Mehr 1405</h1>" in text
    assert "1 Mehr 1405 00:00 to 1 Aban 1405 00:00, Asia/Tehran" in text
    assert ">1405-07-09 (1 Oct 2026 03:30:00)</td>" in text
    assert ">1405-07-09 (1 Oct 2026)</td>" in text and ">Day, Jalali (Gregorian)</span>" in text


def test_each_figure_leads_to_what_it_means_and_back(text):
    """Without a mouse: the label is a link to the glossary on the page, which has a link back."""
    for row in definitions_table().to_pylist():
        name, meant = row["name"], text.index(f'id="figure-{row["name"]}"')
        assert row["formula"] in unescape(text[meant : meant + 2_000]), name
        if f'id="row-{name}"' in text:
            assert f'href="#figure-{name}"' in text and f'href="#row-{name}"' in text, name


def test_a_sealed_statement_says_so(make, tmp_path, text):
    """The page of a seal is known for one, with its version and what it replaces."""
    chain = {"version": 2, "previous_seal": "a" * 64, "supersedes": "b" * 64}
    output, out = Output(("html",)), tmp_path / "out"
    page = html(write_folder(make(), out, output, chain, lambda _, facts: seal_of(facts)))
    assert '<div class="badge sealed">sealed, version 2</div>' in page
    assert "Version 2 replaces the version with the seal" in page and "b" * 64 in page
    assert "2026-10, UTC · sealed" in page and "· final" not in page
    assert '<div class="badge provisional">final</div>' in text
    assert "late records can still change it" in text


def test_a_merchant_of_few_words_has_a_page(make, tmp_path):
    """Without any name, its id stands in its place."""
    made = replace(make(), merchant={"id": "m-1"})
    assert '<bdi dir="auto">m-1</bdi>' in html(made.save(tmp_path / "out", ("html",)))


def test_a_month_without_movement_is_a_page_and_a_document_too(save):
    """They say that nothing happened: no rows are empty arrays, not missing ones."""
    folder = save("html", "json", month="2026-08")
    text = html(folder)
    assert "No finding is open." in text
    assert "No movement and no position in any currency." in text and Markup(text).open == []
    tables = json.loads((folder / "statement.json").read_text(encoding="utf-8"))["tables"]
    assert [row["read_count"] for row in tables.pop("reading")] == [0, 0]
    assert "lines" in tables and not any(tables.values())


def test_an_unknown_count_of_receipts_is_no_zero():
    """Of usdt nothing is known, so the page counts the receipts of btc alone."""
    rows = [
        {"currency": "btc", "receipts_checked": 3, "receipts_valid": 2},
        {"currency": "usdt", "receipts_checked": 4, "receipts_valid": None},
    ]
    summary = pa.Table.from_pylist(rows)
    assert front.receipts_of(summary) == (3, 2)
    assert front.receipts_of(summary.slice(1)) is None


@pytest.mark.parametrize(
    ("heads", "is_shaded"), [(["btc", "All coins, USD"], True), (["All coins, USD", "btc"], False)]
)
def test_no_coin_is_shaded_as_all_coins(heads, is_shaded):
    """Parts of a change have them first: the last coin behind them was shaded in their place."""
    use = '{% from "tables.html" import show_figures with context %}{{ show_figures(table) }}'
    template = load_template("comparison.html").environment.from_string(use)
    table = DisplayTable("", ["", *heads], [])
    page = template.render(PageWords(ENGLISH).functions, definitions={}, table=table)
    assert ("totalled" in page) == is_shaded
