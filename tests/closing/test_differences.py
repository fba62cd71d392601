"""Two statements in folders beside each other: months by figure, versions by record."""

import json
import re
from html import unescape
from pathlib import Path

import pyarrow as pa
import pytest

from svc_analytics import diff_statements, statement, verify_statement
from svc_analytics.closing.seals import read_manifest, version_before
from svc_analytics.closing.table_diff import compare
from svc_analytics.money import format_amount
from tests.support.closings import figure, row_causes, table
from tests.support.fake_service import payment
from tests.support.prepared import prepared

LATE = payment(99, "2026-10-20T10:00:00Z", "7", "0.5", reference_id="<script>alert(1)</script>")


@pytest.fixture
def versions(closer) -> tuple[Path, Path]:
    """October as it was sealed, and its restatement with a late payment of 7 usdt."""

    def make() -> None:
        sealed = closer.close()
        closer.desk.service.payments.append(LATE)
        closer.confirm("2026-10")
        restated = closer.close()
        assert (restated.state, restated.needs_attention) == ("restated", True)
        assert restated.restatement is not None
        assert len(restated.restatement) == len(table(restated.folder, "restatement"))
        assert read_manifest(restated.folder)["supersedes"] == sealed.seal
        assert closer.close().state == "unchanged"

    prepared(closer.desk, "two versions of October", make)
    folder = closer.desk.lake.path / "statements"
    return folder / "2026-10", folder / "2026-10-v2"


def test_a_late_record_restates_the_month_beside_its_seal(versions):
    """Version 2 names what came late and every figure it moved; version 1 stays as it was."""
    found = verify_statement(versions[0])
    assert found.broken == () and not found.holds and verify_statement(versions[1]).holds
    for rows in (table(versions[1], "restatement"), found.table.to_pylist()):
        assert row_causes(rows) == [(LATE["id"], "added", "late")]
        assert figure(rows, "gross_sales") == ("100", "107", "7", "late")
        assert figure(rows, "usd_exposure")[3] == "late"


def test_a_version_follows_the_one_whose_seal_it_names(versions):
    """The folder beside it that has the number before; one with another seal is somebody else's."""
    first, second = versions
    manifest = read_manifest(second)
    assert version_before(second, manifest) == first
    assert version_before(second, manifest | {"supersedes": manifest["seal"]}) is None


@pytest.mark.thorough
def test_two_months_are_compared_by_figure(closer):
    """Every figure of every coin, with its percentage: btc's closing position fell by 0.5."""
    september, october = (one.folder for one in closer.closed("2026-09", "2026-10"))
    found = diff_statements(september, october)
    rows = {(row["figure"], row["currency"]): row for row in found.comparison.to_pylist()}
    closing = rows["closing_position", "btc"]
    values = [closing[name] for name in ("old", "new", "difference", "percent")]
    assert list(map(format_amount, values)) == ["4.95", "4.45", "-0.5", "-10.1010101"]
    assert rows["payments_count", "usdt"]["old"] == 0
    assert {row["cause"] for row in found.table.to_pylist()} == {None}
    assert not found.is_of_versions and "cause" not in found.comparison.column_names
    # They have no record in common, which are shown only if wanted.
    assert not found.display().folded and "<details>" not in found.to_html()
    told = f"lines: {found.counts['lines']} records differ"
    assert found.display(has_rows=True).folded[0].title == told


def test_two_versions_are_side_by_side_with_the_cause(versions):
    """Only the figures that differ: one more payment, of 7."""
    found = diff_statements(*versions)
    rows = {row["figure"]: row for row in found.comparison.to_pylist()}
    sales = rows["gross_sales"]
    amounts = [format_amount(sales[name]) for name in ("old", "new", "difference")]
    assert amounts == ["100", "107", "7"]
    assert sales["cause"] == "late" and "payouts_sent" not in rows
    text = repr(found.display())
    line = next(line for line in text.splitlines() if line.startswith("Gross sales"))
    assert line.split() == ["Gross", "sales", "100.0", "107.0", "+7.0", "late"]
    assert "version 1" in text and "version 2" in text
    assert "lines: 1 record" not in text  # no heading without its table


@pytest.mark.thorough
def test_changed_rows_open_below_the_figures(versions):
    """A table each, which names the record, in a notebook and on a page."""
    found = diff_statements(*versions)
    for shown in (found._repr_html_(), found.to_html()):
        details = re.findall(r"(?s)<details[^>]*>(.*?)</details>", shown)
        assert details[0].startswith("<summary>lines: 1 record differs</summary>")
        for text in ("&lt;script&gt;", "20 Oct 2026 10:00", ">late<"):
            assert text in details[0]
        assert any(part.startswith("<summary>daily: ") for part in details)


def test_the_page_stands_alone_and_shows_both_standings(versions):
    """Nothing is loaded, nothing runs; period, zone and seal of either."""
    found = diff_statements(*versions)
    page = found.to_html()
    assert "default-src 'none'" in page and "<script" not in page and "://" not in page
    assert "size: A4" in page
    for manifest in (found.old, found.new):
        version, seal = manifest["version"], manifest["seal"]
        assert f"2026-10, UTC, version {version} · sealed as {seal}" in unescape(page)


@pytest.mark.thorough
def test_a_running_month_is_marked_in_a_comparison_of_folders(closer, tmp_path):
    """By what its manifest says; in other words than ours, by its instants."""
    october, lake = closer.sealed(), closer.desk.lake
    november = statement(lake, "2026-11").save(tmp_path / "november")
    text = str(diff_statements(october, november))
    assert "2026-11 (running)" in text and "the month is not over" in text
    manifest = json.loads((november / "manifest.json").read_text())
    del manifest["reason_messages"]
    (november / "manifest.json").write_text(json.dumps(manifest | {"reasons": ["in other words"]}))
    old, new = diff_statements(october, november).sides
    assert (old.is_running, new.is_running) == (False, True)


@pytest.mark.thorough
def test_a_hostile_name_of_a_merchant_is_text(versions):
    """Whatever a manifest or a table says is escaped."""
    folder = versions[1]
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["merchant"]["display_name"] = "<script>alert(1)</script>"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "<script>" not in diff_statements(*versions).to_html()


# ---------- why a figure of a restatement differs


SUMMARY_NAMES = ("currency", "gross_sales", "rail_movement", "opening_position", "closing_position")


def tables(*coins: str, lines: str = "", days: str = "") -> dict[str, pa.Table]:
    """A statement of small tables: `lines` are ids, `days` opening and closing of one day.

    An unknown figure is written as a dash.
    """
    cells = ([cell.strip("-") for cell in coin.split()] for coin in coins)
    summary = [dict(zip(SUMMARY_NAMES, row, strict=True)) for row in cells]
    names = ("opening", "closing")
    position = [{"day": "1", "currency": "btc"} | dict(zip(names, days.split(), strict=True))]
    rows = [{"record_id": name, "currency": "btc", "net": "1"} for name in lines.split()]
    text = [(name, pa.string()) for name in ("record_id", "currency", "net")]
    return {
        "summary": pa.Table.from_pylist(summary),
        "lines": pa.Table.from_pylist(rows, pa.schema(text)),
        "position": pa.Table.from_pylist(position),
    }


def causes(old: dict[str, pa.Table], new: dict[str, pa.Table]) -> dict[tuple[str, str], str]:
    found = compare(old, new, changed_ids=()).to_pylist()
    return {(row["currency"], row["name"]): row["cause"] for row in found}


def test_a_closing_that_an_earlier_month_and_a_late_record_moved_names_both():
    """The opening has the first cause alone, the sales the second; so have the day's two."""
    old = tables("btc 5 5 10 15", lines="a", days="10 15")
    new = tables("btc 6 6 12 18", lines="a b", days="12 18")
    assert causes(old, new) == {
        ("btc", "gross_sales"): "late",
        ("btc", "rail_movement"): "late",
        ("btc", "opening_position"): "earlier_month",
        ("btc", "closing_position"): "earlier_month, late",
        ("btc", "opening"): "earlier_month",
        ("btc", "closing"): "earlier_month, late",
        ("btc", "b"): "late",
    }


MOVED = {
    "other": ["btc 5 5 12 17"],
    "unknown": ["btc 5 5 - -"],
    "a coin that is new": ["btc 5 5 10 15", "eth 0 0 7 7"],
}


@pytest.mark.parametrize("coins", MOVED.values(), ids=MOVED.keys())
def test_a_closing_that_moved_with_the_opening_names_the_earlier_month(coins):
    """The month's own records are the same; a coin is there for its position alone."""
    old, new = tables("btc 5 5 10 15", days="10 15"), tables(*coins, days="10 15")
    assert set(causes(old, new).values()) == {"earlier_month"}


def test_what_neither_explains_is_elsewhere():
    """No row differs, and the opening is the same."""
    old, new = tables("btc 5 5 10 15", days="10 15"), tables("btc 4 5 10 15", days="10 15")
    assert causes(old, new) == {("btc", "gross_sales"): "elsewhere"}
