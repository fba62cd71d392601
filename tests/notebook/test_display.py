"""What shows itself: the same figures as HTML and as text, exact, escaped, with reasons."""

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from html import escape
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from IPython.lib.pretty import pretty

import svc_analytics as svc
from svc_analytics import charts
from svc_analytics.coverage import Coverage
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.status_line import StatusLine
from svc_analytics.instants import parse_bound
from svc_analytics.notebook.pictures import NOTHING
from svc_analytics.receipts.verify_lake import VerificationResult
from svc_analytics.render.figures import figures_table
from svc_analytics.render.tables import StatementTables
from svc_analytics.signing.receipt_tokens import verify_receipt
from tests.support.desks import Desk
from tests.support.fake_service import payment
from tests.support.prepared import extracted
from tests.support.receipt_material import FACTS, RING, signed

TABLE = pa.table(
    {
        "currency": ["btc", "<b>usdt</b>"],
        "amount": pa.array([Decimal("1234567.000000000000000001"), None], pa.decimal128(38, 18)),
    }
)
HTML = svc.show(TABLE, why="never read")._repr_html_()


def test_amounts_are_whole_and_their_thousands_are_apart():
    """Every digit that a coin has, in both forms; the column of coins is the unit."""
    assert ">1,234,567.000000000000000001</td>" in HTML
    assert "btc          1,234,567.000000000000000001" in repr(svc.show(TABLE))


def test_days_stand_in_line_as_people_say_them():
    """As text and as HTML; files and SQL keep `2026-10-01`."""
    days = pa.table({"day": [date(2026, 10, 1), date(2026, 9, 30)]})
    assert repr(svc.show(days)).splitlines()[2:] == [" 1 Oct 2026", "30 Sep 2026"]
    assert ">\N{FIGURE SPACE}1 Oct 2026</td>" in svc.show(days)._repr_html_()
    paid = pa.table({"paid_at": [datetime(2026, 10, 1, 9, 5, 7, 120000, tzinfo=UTC)]})
    assert "1 Oct 2026 09:05:07Z" in repr(svc.show(paid))
    assert parse_bound("1 Oct 2026") == parse_bound("2026-10-01")  # what stands there can be typed


def test_a_unit_stands_once_in_the_head():
    """Not again in every cell of the column."""
    rates = pa.array([Decimal("1.000690000000000000")], pa.decimal128(38, 18))
    shown = repr(svc.show(pa.table({"currency": ["usdt"], "usd_value": rates, "rate": rates})))
    assert shown.count("USD per coin") == 1 and "rounded, so a sum" in shown
    assert shown.splitlines()[2].split() == ["usdt", "1.00", "1.00069000"]


@pytest.mark.parametrize("keys", [["coin"], ["coin", "kind"], [None]])
def test_the_keys_of_groups_are_shown(keys):
    """A frame has them as its index; without them, no row says what it is of."""
    frame = pd.DataFrame({"net": [1, 2]})
    frame.index = pd.MultiIndex.from_arrays([["btc", "eth"]] * len(keys), names=keys)
    if len(keys) == 1:
        frame.index = frame.index.get_level_values(0)
    rows = [line.split() for line in repr(svc.show(frame)).splitlines()[2:]]
    assert rows == [["btc"] * len(keys) + ["1"], ["eth"] * len(keys) + ["2"]]


def test_the_numbers_of_rows_are_no_keys():
    """They stay out of sight, also where rows were left out."""
    frame = pd.DataFrame({"net": [5, 6, 7]})
    assert repr(svc.show(frame[frame["net"] > 5])).splitlines()[0].split() == ["Net"]


def test_numbers_stand_to_the_right():
    """Text does not."""
    assert '<th style="text-align:right' in HTML and '<th style="text-align:start' in HTML


def test_what_is_unknown_is_a_dash_with_its_reason():
    """Seen in print as well as when pointed at."""
    assert 'title="never read"' in HTML and "never read</small>" in HTML
    assert repr(svc.show(TABLE, why="never read")).endswith("never read")


def test_text_of_payers_is_escaped():
    """A coin's name cannot become markup, and no text turns the line around."""
    assert "<b>usdt" not in HTML and "&lt;b&gt;usdt&lt;/b&gt;" in HTML
    turned = svc.show(pa.table({"comment": ["a\u202eb\nc"]}))
    assert "a[U+202E]b c" in turned._repr_html_() and "a[U+202E]b c" in repr(turned)


def test_long_tables_say_how_much_is_not_shown():
    """Cut openly, in both forms."""
    cut = svc.show(pa.table({"n": list(range(60))}))
    assert "the first 50 of 60 rows" in cut._repr_html_() and "50 of 60 rows" in repr(cut)


def test_outside_a_notebook_a_search_is_a_plain_table():
    """Nothing runs scripts there."""
    assert svc.search(TABLE)._repr_html_() == svc.show(TABLE)._repr_html_()


def test_frames_are_shown_as_tables_are():
    """Arrow-backed, as `lake.sql` returns them."""
    frame = TABLE.to_pandas(types_mapper=pd.ArrowDtype)
    assert svc.show(frame, why="never read")._repr_html_() == HTML
    with pytest.raises(ConfigError, match="the table is the number 5: give a frame"):
        svc.show(5)
    assert "no row" in repr(svc.show(pd.DataFrame(), most=10**30))


def test_an_empty_lake_says_what_to_do(lake):
    """The one call that fills it with a made-up merchant can be copied as it stands."""
    call = f"lake = svc.demo_lake({str(lake.path)!r})"
    assert escape(call) in lake._repr_html_() and call in str(lake)


def test_coverage_and_runs_show_themselves():
    """An interval in words, counts with their thousands apart."""
    assert "1970-01-01T00:00:00Z .. 1970-01-01T00:00:01Z" in str(Coverage(((0, 1_000_000),)))
    assert "nothing was read" in Coverage()._repr_html_()
    assert ">12,345</td>" in VerificationResult(12_345, 0)._repr_html_()
    assert pretty(Coverage()) == str(Coverage())  # in IPython, and beside the HTML in Jupyter


def test_each_coin_gets_a_picture_of_its_own():
    """Named for those who cannot see it, and in the plain twin."""
    columns = {"currency": ["btc", "eth"], "payment_month": ["2026-09"] * 2}
    table = pa.table(columns | {"refund_month": ["2026-10"] * 2, "ratio": [Decimal("0.1")] * 2})
    drawn = svc.draw(charts.refund_cohorts, table)
    assert repr(drawn) == "refund cohorts, btc, eth"
    assert drawn._repr_html_().count("<svg") == 2
    assert 'aria-label="refund cohorts, eth"' in drawn._repr_html_()


def test_many_coins_get_a_higher_picture():
    """0.9 inches and a quarter for each of 40 coins, of 72 points: names do not overlap."""
    worth = {"currency": [f"c{n}" for n in range(40)], "usd_exposure": [Decimal(1)] * 40}
    assert 'height="784.8pt"' in svc.draw(charts.usd_exposure, pa.table(worth))._repr_html_()


def test_where_there_is_no_coin_a_picture_says_so():
    """An empty cell would look like a mistake."""
    nothing = svc.draw(charts.position, pa.table({"currency": pa.array([], pa.string())}))
    assert repr(nothing) == "position: nothing to draw: the table has no rows"
    assert "nothing to draw" in nothing._repr_html_()


@pytest.fixture
def in_a_notebook(monkeypatch) -> None:
    """As far as tables care: there is a shell to ask."""
    monkeypatch.setattr("IPython.get_ipython", lambda: object())


def searched(html: str) -> dict[str, list[Any]]:
    """The columns and rows that a searchable table holds."""
    text = re.search(r'application/json">(.*?)</script>', html)
    assert text
    held: dict[str, list[Any]] = json.loads(text[1])
    return held


@pytest.mark.usefixtures("in_a_notebook")
def test_a_long_table_is_searched_whole():
    """Every one of 5,000 rows is in it; past the limit it says how many are not."""
    table = pa.table({"reference_id": [f"order-{n:06} {'x' * 60}" for n in range(5_000)]})
    found = svc.search(table)
    assert (
        len(searched(found._repr_html_())["rows"]) == 5_000 and "<small>the first" not in found.html
    )
    cut = svc.search(table, most=10)
    assert len(searched(cut.html)["rows"]) == 10 and "first 10 of 5,000 rows" in cut.html


@pytest.mark.usefixtures("in_a_notebook")
def test_a_searched_table_is_sorted_by_value_and_escaped():
    """9 stands before 10.000000000000000001, which text would not know; markup stays text."""
    amounts = [Decimal("10.000000000000000001"), Decimal(9), None]
    columns = {"currency": ["<img src=x>", "btc", "btc"]}
    kind = pa.decimal128(38, 18)
    html = svc.search(pa.table(columns | {"net": pa.array(amounts, kind)}))._repr_html_()
    assert searched(html)["columns"][1]["ranks"] == [2, 1, 0]
    assert "<img src=x>" not in html and searched(html)["rows"][0][0] == "<img src=x>"


@pytest.mark.usefixtures("in_a_notebook")
def test_every_digit_of_a_searched_number_is_one_step_away():
    """Pointing at the rounded number in the second row says the whole one."""
    usd = pa.array([Decimal("0.25"), Decimal("1234.5678")], pa.decimal128(38, 18))
    html = svc.search(pa.table({"usd_value": usd}))._repr_html_()
    assert [row[0][1:] for row in searched(html)["rows"][1:]] == [["1,234.5678"]]


@pytest.mark.usefixtures("in_a_notebook")
def test_paper_says_how_many_rows_are_printed():
    """All of 1,000; of 1,001 the first thousand, and where the others are."""
    assert "printed:" not in svc.search(pa.table({"n": list(range(1_000))}))._repr_html_()
    said = "printed: the first 1,000 of 1,001 rows; on a screen this page has all"
    assert said in svc.search(pa.table({"n": list(range(1_001))}))._repr_html_()


def test_a_table_says_how_wide_it_is():
    """15 letters of the number, 8 of the name, two behind each: paper shrinks to them."""
    table = pa.table({"currency": ["btc"], "n": [123_456_789_012]})
    assert "--letters:27" in svc.show(table)._repr_html_()


@pytest.fixture
def tehran(desk) -> svc.Statement:
    desk.service.payments = [payment(1, "2026-10-01T00:00:00Z")]
    return svc.statement(extracted(desk).lake, "2026-10", zone="Asia/Tehran")


def test_a_picture_of_a_statement_says_its_status(tehran):
    """To those who see it in the caption, to others in its name."""
    drawn = svc.draw(charts.net_settlement_daily, tehran)
    label = 'aria-label="net settlement daily, usdt, 2026-10, Asia/Tehran · not closed"'
    assert label in drawn._repr_html_() and repr(drawn).endswith(
        "2026-10, Asia/Tehran · not closed"
    )


@pytest.mark.thorough
def test_a_comparison_draws_the_year_and_the_bridge_in_usd(desk):
    """One picture of all coins; the opening is worth what the month before closed with."""
    desk.service.payments = [payment(n, f"2026-{8 + n:02}-01T00:00:00Z") for n in (1, 2)]
    desk.extract()
    compared = svc.compare(desk.lake, "2026-09", "2026-10")
    [year] = svc.draw(charts.usd_year, compared).drawings
    assert "October 2026 is the highest of 2 months." in year
    [bridge] = svc.draw(charts.usd_bridge, compared).drawings
    worth = compared.old.tables["summary"]["usd_exposure"][0].as_py()
    assert f">{worth:,.2f}</text>" in bridge
    with pytest.raises(ConfigError, match="usd_bridge; give position a table"):
        svc.draw(charts.position, compared)


def test_a_quarter_draws_its_months_and_its_bridge(desk):
    """Its months are in it, and what it opened with."""
    desk.service.payments = [payment(n, f"2026-{6 + n:02}-01T00:00:00Z") for n in (1, 2, 3)]
    desk.extract()
    quarter = svc.statement(desk.lake, "2026-Q3")
    [year] = svc.draw(charts.usd_year, quarter).drawings
    assert "September 2026 is the highest of 3 months." in year
    assert len(svc.draw(charts.usd_bridge, quarter).drawings) == 1


def test_a_picture_of_what_was_not_read_is_unknown_not_empty(desk):
    """Without a payout key nobody knows whether there were refunds."""
    desk.service.payments = [payment(1, "2026-10-01T00:00:00Z")]
    Desk(desk.service, replace(desk.settings, payout_key=None), desk.lake).extract()
    drawn = svc.draw(charts.refund_cohorts, svc.statement(desk.lake, "2026-10"))
    assert "refund cohorts: unknown, because payout records were never extracted" in repr(drawn)
    assert NOTHING not in drawn._repr_html_()


def test_a_display_tells_an_error_in_one_line(desk):
    """A torn month file shows itself as such, not as fifty lines of traceback."""
    desk.service.payments = [payment(1, "2026-10-01T00:00:00Z")]
    desk.extract()
    (desk.lake.path / "payments" / "2026-10.parquet").write_bytes(b"PAR1 torn")
    assert '<p dir="auto">LakeError: ' in desk.lake._repr_html_()
    assert "2026-10.parquet" in str(desk.lake).splitlines()[1]


def test_a_chart_of_another_table_names_the_column_it_lacks():
    """One line that says what is there."""
    with pytest.raises(ConfigError, match="position needs a column 'day'; the table has"):
        svc.draw(charts.position, TABLE, "btc")


def test_a_verdict_says_what_differs_and_what_the_receipt_states():
    """The reason first; then the facts that differ, in both; then all facts of the receipt."""
    changed = {**FACTS, "amount": "99"}
    verdict = verify_receipt(signed(changed), RING, FACTS | {"reference_id": None})
    lines = str(verdict).splitlines()
    assert lines[0] == "Receipt: not as the record" and lines[1].startswith("not proven: ")
    cells = [tuple(line.split()) for line in lines]
    assert ("amount", "99", "12.50") in cells and ("reference_id", "order-42", "nothing") in cells
    assert cells[-len(FACTS) :] == [*changed.items()] and ">99</td>" in verdict._repr_html_()
    text = "Receipt: malformed\nnot proven: not of the form v1.<payload>.<signature>"
    assert str(verify_receipt("nonsense", RING, None)) == text


def test_an_extraction_says_what_it_read(desk):
    """Counts of each stream, and up to when."""
    desk.service.payments = [payment(1, "2026-10-01T00:00:00Z")]
    done = desk.extract()
    assert re.search(r"payments +1\n", str(done)) and "read up to 20 Nov 2026" in str(done)


def test_figures_of_a_statement_stand_a_coin_a_column(tehran):
    """In groups unless some are named; each says its meaning when pointed at."""
    made = tehran
    assert "Settlement\n" in str(made) and "<th colspan=" in made._repr_html_()
    only = svc.show(made, only=["net_settlement"])
    assert "Settlement\n" not in str(only) and "<tr title=" in only._repr_html_()
    assert str(svc.show(made, only="net_settlement")) == str(only)  # one name needs no list
    with pytest.raises(ConfigError, match="there is no 'profit' to show; there are payments_count"):
        svc.show(made, only=["profit"])
    coin = made.summary["currency"][0]
    assert str(svc.show(made, coins=coin)) == str(svc.show(made, coins=[coin]))
    with pytest.raises(ConfigError, match=f"there is no '{coin[:2]}' to show"):  # a part of a name
        svc.show(made, coins=coin[:2])
    with pytest.raises(ConfigError, match=r"a statement draws .+; give coverage_calendar a table"):
        svc.draw(charts.coverage_calendar, made)


def test_figures_stand_in_the_order_of_the_page(tehran):
    """Sales come first, opening before closing position; figures that the page details, behind."""
    shown = [cells[0].text for cells in figures_table(tehran).rows]
    page = [cells[0].text for cells in StatementTables(tehran, StatusLine()).main().rows]
    *summary_page, _ = page  # records without a USD value are no figure of the summary
    assert shown[: len(summary_page)] == summary_page and summary_page[-4:-2] == [
        "Opening position",
        "Closing position",
    ]


def test_a_long_name_leaves_the_period_on_the_picture():
    """Each of the merchant's names is cut, so that all of the line below a picture is seen."""
    merchant = {"display_name": "A" * 90, "display_name_fa": "ب" * 90}
    assert names_of(merchant, 32) == f"{'A' * 31}… · {'ب' * 31}…"
    assert names_of(merchant) == f"{'A' * 90} · {'ب' * 90}"


def test_each_medium_says_its_own_way_to_every_digit():
    """A notebook's cell can be pointed at; a terminal has an option."""
    table = svc.show(pa.table({"usd_gross": pa.array([Decimal("1.005")], pa.decimal128(38, 18))}))
    assert "every digit: --exact, in Python exact=True" in str(table)
    assert "every digit: point at it, or exact=True" in table._repr_html_()
    assert "point at it" not in str(table)
