"""Why a restatement differs from the version before: the causes of its records and figures."""

from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from functools import cache

import pyarrow as pa

from svc_analytics.money import EXACT, format_amount, is_plain
from svc_analytics.warehouse.figures import read_figures

# The columns that say what a row is counted as; all others come from the record itself.
_CLASS = {
    *("entry_id", "kind", "parent_payment_id", "parent_receipt_no", "parent_reference_id"),
    *("parent_paid_at", "parent_period", "days_to_refund"),
}
_ASSERTED = ("asserted_balance", "outside_movement")  # what a balance of the console moves
_OPENING, _MOVEMENT = "opening_position", "rail_movement"
# What rests on the position that the period opens with.
_ON_OPENING = {
    *(_OPENING, "closing_position", "usd_exposure", "asserted_position", "outside_movement"),
    *("opening", "closing", "position"),
}
_EARLIER_MONTH = "earlier_month"  # it moved the position that the period opens with
_VERDICT, _VERIFIED = {"receipt_verdict"}, "verified"  # a verdict moves no amount

Row = dict[str, str]
Tables = Mapping[str, pa.Table]


def cause_of_record(
    before: Row | None, after: Row | None, columns: list[str], changed_ids: Collection[str] | None
) -> str:
    """Return why a row differs: `late`, `changed`, `verified`, or `reclassified`.

    What is reclassified counts differently; of what is verified only the verdict is another one.
    """
    if before is None and after is not None:
        return "changed" if after["record_id"] in (changed_ids or ()) else "late"
    if columns and _VERDICT.issuperset(columns):
        return _VERIFIED
    return "reclassified" if columns and _CLASS.issuperset(columns) else "changed"


class Causes:
    """Why the figures of two statements of a period differ, coin by coin.

    `rows` are the lines that differ, with their causes; `old` and `new` the tables of the two.
    """

    def __init__(self, rows: Iterable[Row], old: Tables, new: Tables) -> None:
        self._of_rows: dict[str, set[str]] = {}
        for row in rows:
            self._of_rows.setdefault(row["currency"], set()).add(row["cause"])
        self._openings, self._movements = (_moved(name, old, new) for name in (_OPENING, _MOVEMENT))
        self._asserted = _newly_asserted(old, new)

    def of_figure(self, entry: Row) -> str:
        """Return why a figure differs; `entry` has its name, coin, change and difference."""
        name, coin = entry["name"], entry.get("currency", "")
        if name in _ASSERTED and coin in self._asserted:
            return "asserted"
        causes = self._of_rows.get(coin, set())
        if name not in _verdict_names():
            causes = causes - {_VERIFIED}
        if coin in self._openings and name in _ON_OPENING:
            is_all = name == _OPENING or entry.get("delta") == self._openings[coin]
            has_other = coin in self._movements and not is_all
            causes = {_EARLIER_MONTH} | (causes if has_other else set())
        elif coin in self._openings and entry["change"] != "changed":
            causes = causes or {_EARLIER_MONTH}  # the coin has a row because it has a position
        return ", ".join(sorted(causes)) or "elsewhere"


@cache
def _verdict_names() -> frozenset[str]:
    """Return the names of the figures, and of the columns of receipts, that verdicts move."""
    figures = (each.name for each in read_figures().values() if "verdicts" in each.needs)
    return frozenset((*figures, "verdict", "reason"))


def _moved(column: str, old: Tables, new: Tables) -> dict[str, str | None]:
    """Return by how much a figure moved, by coin; None where it is unknown on one side.

    A coin that a summary does not have is zero there.
    """
    rows = (tables["summary"].to_pylist() if "summary" in tables else [] for tables in (old, new))
    before, after = ({row["currency"]: row.get(column, "") for row in side} for side in rows)
    values = {
        coin: (before.get(coin, "0"), after.get(coin, "0")) for coin in before.keys() | after.keys()
    }
    return {coin: difference(*pair) for coin, pair in values.items() if pair[0] != pair[1]}


def _newly_asserted(old: Tables, new: Tables) -> set[str]:
    """Return the coins whose asserted balance is another one, or is new."""
    rows = (tables["figures"].to_pylist() if "figures" in tables else [] for tables in (old, new))
    before, after = (
        {(row["currency"], row["value"]) for row in each if row["name"] == "asserted_balance"}
        for each in rows
    )
    return {coin for coin, _ in before ^ after}


def difference(old: str, new: str) -> str | None:
    """Return the difference of two texts as a text; None where one of them is no number."""
    if not (is_plain(old) and is_plain(new)):
        return None
    return format_amount(EXACT.subtract(Decimal(new), Decimal(old)))
