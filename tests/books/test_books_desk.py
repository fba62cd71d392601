"""The books on the close desk: the entries are shown before a file is written."""

from collections.abc import Iterator

import pytest

import svc_analytics as svc
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.notebook.desk.panel import Panel


@pytest.fixture
def panel(books_lake) -> Iterator[Panel]:
    panel = Panel(svc.desk(Lakehouse(books_lake))._months, lambda: None)
    panel.choose("2026-10")
    yield panel
    panel.judging.wait()


def test_entries_are_shown_with_a_balance_of_zero_before_they_are_written(panel, books_lake):
    """Four entries of October; then the file, and what to do before the import."""
    books, file = panel.books, books_lake / "books" / "2026-10.qbo.csv"
    assert books.write.disabled
    books.look.click()
    assert books.entries.value.count("balance 0.00") == 4
    assert "4 entries, 1 records without a price" in books.said.value
    assert not books.write.disabled and not file.exists()
    books.write.click()
    assert str(file) in books.said.value and "turn account numbers off" in books.said.value
    assert file.exists()


def test_a_lake_without_a_chart_of_accounts_says_how_to_begin_one(panel, books_lake):
    """Nothing is written."""
    (books_lake / "books.toml").unlink()
    panel.books.look.click()
    assert "svc-analytics books --init" in panel.books.said.value and panel.books.write.disabled


def test_a_month_that_is_not_sealed_has_no_books_at_the_desk(panel):
    """And what was shown of another month is gone."""
    panel.books.look.click()
    panel.choose(panel._desk.tiles[-1].label)
    shown = panel._desk.tile
    assert shown.is_sealed or panel.books.box.layout.display == "none"
    assert panel.books.entries.value == "" and panel.books.write.disabled
