"""All coins of a statement together: counts, and what the service valued in USD.

A record without a USD value is counted as unpriced and adds nothing. A coin that was not read, or
whose position has no rate, leaves the sum unknown.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa

from svc_analytics.messages import Message
from svc_analytics.money import EXACT
from svc_analytics.render.document import Document
from svc_analytics.warehouse.figures import label_of, read_figures

ALL_COINS = Message("All coins, USD")
Row = Mapping[str, Any]
_PAYMENTS = ("payments_count", "usd_gross_priced_count")
_REFUNDS = ("refunds_count", "usd_refunds_priced_count")
_PAYOUTS = ("payouts_count", "usd_payouts_priced_count")
PRICED = (_PAYMENTS, _REFUNDS, _PAYOUTS)  # how many records there are, and have a USD value
# What in USD is made of which records; the parts of refunds of some of them.
_REFUND_PARTS = ("usd_refunds_same_period", "usd_refunds_prior_period", "usd_refunds_unresolved")
_MADE_OF = {
    "usd_gross": _PAYMENTS,
    "usd_net_sales": _PAYMENTS,
    "usd_fees": _PAYMENTS,
    "usd_refunds": _REFUNDS,
    **dict.fromkeys(_REFUND_PARTS, _REFUNDS),
    "usd_payouts": _PAYOUTS,
    "usd_payout_fees": _PAYOUTS,
    "usd_payouts_debited": _PAYOUTS,
}
_WORTH = "usd_exposure"
_NET = ("usd_net_settlement", "usd_rail_movement")  # the first of its parts, less the others
_OF_TRENDS = tuple(name for name in _MADE_OF if read_figures()[name].column)


@dataclass(frozen=True)
class AllCoins:
    """The rows of all coins for one period, added up exactly."""

    rows: Sequence[Row]

    @classmethod
    def of(cls, statement: Document) -> AllCoins:
        """Return the coins of a statement, with the counts that its table `figures` has."""
        rows: dict[str, dict[str, Any]] = {
            str(row["currency"]): row for row in statement.tables["summary"].to_pylist()
        }
        counts = {priced for _, priced in PRICED}
        for row in statement.tables["figures"].to_pylist():
            name, value = row["name"], row["value"]
            if row["currency"] in rows and (name in counts or name.startswith("usd_")):
                is_count = name in counts and value is not None
                rows[row["currency"]][name] = int(value) if is_count else value
        return cls(list(rows.values()))

    def has(self, name: str) -> bool:
        """Whether a figure in USD is stated: an older release did not state them all."""
        return all(each in row for each in parts_of(name) for row in self.rows)

    @classmethod
    def of_months(cls, months: Sequence[AllCoins]) -> AllCoins:
        """Return the coins of months in a row as those of one period: it closes with the last."""
        if len(months) == 1:
            return months[0]
        closing = {str(row["currency"]): row for row in months[-1].rows}
        moved = [row for month in months for row in month.rows]
        coins = dict.fromkeys(str(row["currency"]) for row in moved)
        return cls([_added(coin, moved) | _position(closing.get(coin, {})) for coin in coins])

    def count(self, name: str) -> int | None:
        """Return how many there are of all coins; None if one is unknown."""
        counts = [row.get(name) for row in self.rows]
        return None if not counts or None in counts else sum(map(int, filter(None, counts)))

    def usd(self, name: str) -> Decimal | None:
        """Return the sum in USD of the records that have a USD value; None if it is unknown."""
        if name in _NET:
            parts = [part for part in map(self.usd, parts_of(name)) if part is not None]
            return reduce(EXACT.subtract, parts) if len(parts) == len(parts_of(name)) else None
        values = [self._value(row, name) for row in self.rows if not _is_unpriced(row, name)]
        known = [value for value in values if value is not None]
        return reduce(EXACT.add, known) if known and len(known) == len(values) else None

    def unpriced(self, *records: tuple[str, str]) -> int | None:
        """Return how many records have no USD value; None if that is unknown."""
        counts = [unpriced_of(row, *records) for row in self.rows]
        return None if not counts or None in counts else sum(filter(None, counts))

    def is_whole(self, name: str) -> bool:
        """Whether every record behind a sum in USD has a USD value."""
        return self.unpriced_behind(name) == 0

    def unpriced_behind(self, name: str) -> int | None:
        """Return how many records add nothing to a sum in USD; None if that is unknown."""
        return 0 if name == _WORTH else self.unpriced(_MADE_OF[name])

    @staticmethod
    def _value(row: Row, name: str) -> Decimal | None:
        if name == _WORTH and row.get(name) is None and row.get("closing_position") == 0:
            return Decimal()  # nothing is worth nothing at any rate
        value: Decimal | None = row.get(name)
        return value


def _added(coin: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the movements of a coin in all these rows; a sum with an unknown one is unknown."""
    own = [row for row in rows if row["currency"] == coin]
    counts = {name: [row.get(name) for row in own] for pair in PRICED for name in pair}
    sums = {
        name: [row.get(name) for row in own if not _is_unpriced(row, name)] for name in _OF_TRENDS
    }
    added = {name: _sum(values, operator.add) for name, values in counts.items()}
    return {"currency": coin} | added | {name: _sum(sums[name], EXACT.add) for name in sums}


def _sum(values: Sequence[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Add up; what is unknown, or of no record with a USD value, has no sum."""
    return None if None in values or not values else reduce(add, values)


def _position(row: Row) -> dict[str, Any]:
    return {name: row.get(name) for name in ("closing_position", _WORTH)}


def unpriced_of(row: Row, *records: tuple[str, str]) -> int | None:
    """Return how many records of a coin have no USD value; None if that is unknown.

    >>> unpriced_of({"payments_count": 3, "usd_gross_priced_count": 1}, _PAYMENTS)
    2
    """
    counts = [(row.get(name), row.get(priced)) for name, priced in records or PRICED]
    if any(None in pair for pair in counts):
        return None
    return sum(int(count or 0) - int(priced or 0) for count, priced in counts)


def parts_of(name: str) -> tuple[str, ...]:
    """Return the figures in USD that one is made of: itself, where it is counted of records."""
    return read_figures()[name].operands if name in _NET else (name,)


def _is_unpriced(row: Row, name: str) -> bool:
    """Whether a coin has records, and none of them has a USD value."""
    if name not in _MADE_OF or row.get(name) is not None:
        return False
    if name in _REFUND_PARTS and row.get("usd_refunds") is not None:
        return name in row and row.get(name.removeprefix("usd_")) is not None
    count, priced = (row.get(each) for each in _MADE_OF[name])
    return bool(count) and priced == 0


# ---------- How far figures in USD rest on values that the service recorded, in lines of text


_COUNTS = {
    "usd_gross": "payments_count",
    "usd_refunds": "refunds_count",
    "usd_payouts": "payouts_count",
}


def describe_pricing(tables: Mapping[str, pa.Table]) -> list[Message]:
    """Say of which coins only some records have a value in USD."""
    values = {(row["name"], row["currency"]): row["value"] for row in tables["figures"].to_pylist()}
    return [
        Message(
            "{FIGURE} of {coin}: {count} of {total} records have a USD value, and the others add "
            "nothing",
            FIGURE=label_of(name),
            coin=row["currency"],
            count=f"{int(priced):,}",
            total=f"{row[count]:,}",
        )
        for row in tables["summary"].to_pylist()
        for name, count in _COUNTS.items()
        if (priced := values.get((f"{name}_priced_count", row["currency"]))) and priced < row[count]
    ]
