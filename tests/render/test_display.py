"""What shows itself: the same figures as HTML and as text, exact, escaped, with reasons."""

import sys
from decimal import Decimal
from html import escape

import pandas as pd
import pyarrow as pa
import pytest

import svc_analytics as svc
from svc_analytics import charts
from svc_analytics.coverage import Coverage
from svc_analytics.errors import ConfigError
from svc_analytics.verdicts import VerificationRun
from svc_analytics.warehouse import AnalyticLake

TABLE = pa.table(
    {
        "currency": ["btc", "<b>usdt</b>"],
        "amount": pa.array([Decimal("1234567.000000000000000001"), None], pa.decimal128(38, 18)),
    }
)
HTML = svc.show(TABLE, why="never read")._repr_html_()


def test_amounts_are_exact_apart_and_have_their_coin_beside_them() -> None:
    """Every digit, in both forms."""
    assert "1,234,567.000000000000000001 <small>btc</small>" in HTML
    assert "1,234,567.000000000000000001 btc" in repr(svc.show(TABLE))


def test_numbers_stand_to_the_right() -> None:
    """Text does not."""
    assert '<th style="text-align:right' in HTML and '<th style="text-align:left">currency' in HTML


def test_what_is_unknown_is_a_dash_with_its_reason() -> None:
    """Seen in print as well as when pointed at."""
    assert 'title="never read"' in HTML and "never read</small>" in HTML
    assert repr(svc.show(TABLE, why="never read")).endswith("never read")


def test_text_of_payers_is_escaped() -> None:
    """A coin's name cannot become markup, and no text turns the line around."""
    assert "<b>usdt" not in HTML and "&lt;b&gt;usdt&lt;/b&gt;" in HTML
    turned = svc.show(pa.table({"comment": ["a\u202eb\nc"]}))
    assert "a[U+202E]b c" in turned._repr_html_() and "a[U+202E]b c" in repr(turned)


def test_long_tables_say_how_much_is_not_shown() -> None:
    """Cut openly, in both forms."""
    cut = svc.show(pa.table({"n": list(range(60))}))
    assert "the first 50 of 60 rows" in cut._repr_html_() and "50 of 60 rows" in repr(cut)


def test_outside_a_notebook_a_search_is_a_plain_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """With itables or without it."""
    assert svc.search(TABLE)._repr_html_() == svc.show(TABLE)._repr_html_()
    monkeypatch.setitem(sys.modules, "itables", None)
    assert svc.search(TABLE)._repr_html_() == svc.show(TABLE)._repr_html_()


def test_frames_are_shown_as_tables_are() -> None:
    """Arrow-backed, as `lake.sql` returns them."""
    frame = TABLE.to_pandas(types_mapper=pd.ArrowDtype)
    assert svc.show(frame, why="never read")._repr_html_() == HTML
    with pytest.raises(ConfigError, match="can be shown, not a int"):
        svc.show(5)


def test_an_empty_lake_says_what_to_do(lake: AnalyticLake) -> None:
    """The one call that fills it with a made-up merchant can be copied as it stands."""
    call = f"lake = svc.demo_lake({str(lake.path)!r})"
    assert escape(call) in lake._repr_html_() and call in str(lake)


def test_coverage_and_runs_show_themselves() -> None:
    """An interval in words, counts with their thousands apart."""
    assert "1970-01-01T00:00:00Z .. 1970-01-01T00:00:01Z" in str(Coverage(((0, 1_000_000),)))
    assert "nothing was read" in Coverage()._repr_html_()
    assert ">12,345</td>" in VerificationRun(12_345, 0)._repr_html_()


def test_each_coin_gets_a_picture_of_its_own() -> None:
    """Named for those who cannot see it, and in the plain twin."""
    columns = {"currency": ["btc", "eth"], "payment_month": ["2026-09"] * 2}
    table = pa.table(columns | {"refund_month": ["2026-10"] * 2, "ratio": [Decimal("0.1")] * 2})
    drawn = svc.draw(charts.refund_cohorts, table)
    assert repr(drawn) == "refund cohorts, btc, eth"
    assert drawn._repr_html_().count("<svg") == 2
    assert 'aria-label="refund cohorts, eth"' in drawn._repr_html_()
