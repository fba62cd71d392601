"""Why a figure of a restatement differs: the month's own records, or an earlier month."""

import pyarrow as pa
import pytest

from svc_analytics.closing.diff import compare

NAMES = ("currency", "gross_sales", "rail_movement", "opening_position", "closing_position")


def tables(*coins: str, lines: str = "", days: str = "") -> dict[str, pa.Table]:
    """A statement of small tables: `lines` are ids, `days` opening and closing of one day.

    An unknown figure is written as a dash.
    """
    cells = ([cell.strip("-") for cell in coin.split()] for coin in coins)
    summary = [dict(zip(NAMES, row, strict=True)) for row in cells]
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


def test_a_closing_that_an_earlier_month_and_a_late_record_moved_names_both() -> None:
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


@pytest.mark.parametrize("ends", ["12 17", "- -"], ids=["other", "unknown"])
def test_a_closing_that_moved_with_the_opening_names_the_earlier_month(ends: str) -> None:
    """The month's own records are the same."""
    old, new = (tables(f"btc 5 5 {each}", days="10 15") for each in ("10 15", ends))
    assert set(causes(old, new).values()) == {"earlier_month"}


def test_a_coin_that_is_new_in_the_statement_is_there_for_its_position() -> None:
    """An earlier month left it; the month itself has no movement of it."""
    old, new = (
        tables("btc 5 5 10 15", days="10 15"),
        tables("btc 5 5 10 15", "eth 0 0 7 7", days="10 15"),
    )
    assert set(causes(old, new).values()) == {"earlier_month"}


def test_what_neither_explains_is_elsewhere() -> None:
    """No row differs, and the opening is the same."""
    old, new = tables("btc 5 5 10 15", days="10 15"), tables("btc 4 5 10 15", days="10 15")
    assert causes(old, new) == {("btc", "gross_sales"): "elsewhere"}
