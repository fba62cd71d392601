"""The tables of a match, as a terminal, a notebook and the desk show them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from textwrap import shorten
from typing import Any

from svc_analytics.closing.verification.matches import SIDES
from svc_analytics.formatting.cells import COIN, USD, Cell, number_cell
from svc_analytics.formatting.display import DisplayTable, lined_up
from svc_analytics.messages import Message
from svc_analytics.money import EXACT, format_amount

_MEANINGS = (
    *("match.agreed", "match.within", "match.ambiguous", "match.no_payment", "match.no_order"),
    *("match.paid_twice", "match.short", "match.over", "match.refunded", "match.refunded_in_part"),
    *("match.refunded_over", "match.cancelled_but_paid", "match.expired_but_paid"),
    *("match.other_currency", "match.other_period", "match.not_arrived", "match.not_sent"),
    *("match.arrived_twice", "match.arrived_less_fee", "match.other_amount"),
    *("match.entry_missing", "match.entry_doubled", "match.entry_edited", "match.entry_foreign"),
    "match.other_account",
)
MEANING = {code.partition(".")[2]: Message(code) for code in _MEANINGS}  # by code, in their order
OPEN_HEADS = ["what it is", "theirs", "their amount", "ours", "our amount"]
_HEADS = ["what it is", "count", "coin", "theirs", "ours", "difference", "ours, USD"]
_MOST_LETTERS = 60  # of what an ambiguous row could be
_UNPRICED = "one of them has no USD value"


def summary_table(sums: Iterable[Mapping[str, Any]]) -> DisplayTable:
    """Return the sums of both sides by code and coin; a code and its count stand once."""
    rows, before = [], ""
    for row in sums:
        code = row["code"]
        theirs, ours = (row[side] or 0 for side in SIDES)
        meaning, count = ("", "") if code == before else (MEANING[code], f"{row['count']:,}")
        amounts = (theirs, ours, EXACT.subtract(theirs, ours))
        cells = [number_cell(amount, COIN, is_exact=True) for amount in amounts]
        usd = Decimal() if row["ours"] is None else row["ours_usd"]
        cells.append(replace(number_cell(usd, USD, why=_UNPRICED), exact=""))  # the rows have it
        rows.append([Cell(meaning), Cell(count, is_number=True), Cell(row["coin"]), *cells])
        before = code
    return DisplayTable("", _HEADS, lined_up(rows))


def open_cells(row: Mapping[str, Any]) -> Iterator[Cell]:
    """Yield the cells of an open row: what it is or could be, and each side with its amount."""
    names = shorten(row["candidates"] or "", _MOST_LETTERS, placeholder=" …")
    yield Cell(Message("it could be {names}", names=names) if names else MEANING[row["code"]])
    for side in SIDES:
        amount, coin = row[f"{side}_amount"], row[f"{side}_currency"]
        yield Cell(row[f"{side}_key"] or "")
        yield Cell("" if amount is None else f"{format_amount(amount)} {coin}", is_fixed=True)


def open_table(rows: Iterable[Mapping[str, Any]], title: str, count: int) -> DisplayTable:
    """Return the first open rows as a table, each with its lines of their list."""
    cells = [[*open_cells(row), Cell(row["lines"] or "")] for row in rows]
    return DisplayTable(title, [*OPEN_HEADS, "lines"], cells, count=count)
