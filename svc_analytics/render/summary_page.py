"""The face of a statement: its main figures in their order, and all coins together in USD.

A record without a USD value is counted as unpriced and adds nothing, nor does a position without a
rate: the head names such a coin. A coin that was not read leaves the sum unknown.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, reduce
from typing import Any, Literal

from svc_analytics.messages import Message
from svc_analytics.money import EXACT
from svc_analytics.render.bridge import TREND, month_before, stated_rows
from svc_analytics.render.document import Document
from svc_analytics.warehouse.figures import PRICED, as_moved, read_figures

ALL_COINS = Message("All coins, USD")
_MOST_NAMED = 3
Row = Mapping[str, Any]
_PAYMENTS, _REFUNDS, _PAYOUTS = PRICED
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


@dataclass(frozen=True)
class AllCoins:
    """The rows of all coins for one period, added up exactly."""

    rows: Sequence[Row]

    @property
    def head(self) -> Message:
        """The head of their sums in USD: which coins these leave out."""
        return head_of_sum(self.left_out)

    @property
    def left_out(self) -> list[str]:
        """The coins whose records have no USD value at all, or whose position has no rate."""
        lacking = set().union(*map(self._lacking, (*_MADE_OF, _WORTH)))
        return [coin for row in self.rows if (coin := str(row["currency"])) in lacking]

    def _lacking(self, name: str) -> set[str]:
        """Return the coins that a sum in USD leaves out."""
        return {str(row["currency"]) for row in self.rows if _is_unpriced(row, name)}

    def opens(self, closing: AllCoins) -> bool:
        """Whether no coin that these positions leave out is in those of the end of the period."""
        return self._lacking(_WORTH) <= closing._lacking(_WORTH)

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
        worth = {
            coin: {name: closing.get(coin, {}).get(name) for name in ("closing_position", _WORTH)}
            for coin in coins
        }
        return cls([_added(coin, moved) | worth[coin] for coin in coins])

    def count(self, name: str) -> int | None:
        """Return how many there are of all coins; None if one is unknown."""
        known = [int(each) for row in self.rows if (each := value_of(row, name)) is not None]
        return sum(known) if known and len(known) == len(self.rows) else None

    def usd(self, name: str) -> Decimal | None:
        """Return the sum in USD of the records that have a USD value; None if it is unknown."""
        if name in _NET:
            parts = [part for part in map(self.usd, parts_of(name)) if part is not None]
            return reduce(EXACT.subtract, parts) if len(parts) == len(parts_of(name)) else None
        values = [self._value(row, name) for row in self.rows if not _is_unpriced(row, name)]
        known = [value for value in values if value is not None]
        return reduce(EXACT.add, known) if known and len(known) == len(values) else None

    def unpriced(self, *counted: str) -> int | None:
        """Return how many records have no USD value; None if that is unknown."""
        counts = [unpriced_of(row, *counted) for row in self.rows]
        return None if not counts or None in counts else sum(filter(None, counts))

    def is_alike(self, other: AllCoins, name: str) -> bool:
        """Whether both sums in USD are of the same coins, and of every record of these.

        >>> whole, some = (
        ...     AllCoins([{"currency": "btc", "payments_count": 2, "usd_gross_priced_count": n}])
        ...     for n in (2, 1)
        ... )
        >>> whole.is_alike(whole, "usd_fees"), whole.is_alike(some, "usd_fees")
        (True, False)
        """
        if name == _WORTH:
            return self._lacking(name) == other._lacking(name)
        if name in _NET:
            return all(self.is_alike(other, part) for part in parts_of(name))
        rows = [row for row in (*self.rows, *other.rows) if row.get(_MADE_OF[name]) != 0]
        kinds: dict[str, set[bool | None]] = {str(row["currency"]): set() for row in rows}
        for row in rows:
            is_priced = unpriced_of(row, _MADE_OF[name]) == 0
            whole = True if is_priced else False if _is_unpriced(row, name) else None
            kinds[str(row["currency"])].add(whole)
        return all(each in ({True}, {False}) for each in kinds.values())

    def unpriced_behind(self, name: str) -> int | None:
        """Return how many records add nothing to a sum in USD; None if that is unknown."""
        return 0 if name == _WORTH else self.unpriced(_MADE_OF[name])

    @staticmethod
    def _value(row: Row, name: str) -> Decimal | None:
        if name == _WORTH and row.get(name) is None and row.get("closing_position") == 0:
            return Decimal()  # nothing is worth nothing at any rate
        value: Decimal | None = row.get(name)
        return value


def head_of_sum(left_out: Sequence[str]) -> Message:
    """Return the head of a sum in USD: of all coins, or which of them it leaves out.

    >>> head_of_sum(["pepe"]), head_of_sum([*"abcd"])
    ('All coins but pepe, USD', 'All coins but a, b and 2 more, USD')
    """
    if not left_out:
        return ALL_COINS
    if len(left_out) <= _MOST_NAMED:
        return Message("All coins but {coins}, USD", coins=", ".join(left_out))
    named = left_out[: _MOST_NAMED - 1]
    text = "All coins but {coins} and {count} more, USD"
    return Message(text, coins=", ".join(named), count=len(left_out) - len(named))


def _added(coin: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the movements of a coin in all these rows; a sum with an unknown one is unknown."""
    own = [row for row in rows if row["currency"] == coin]
    counts = {name: [row.get(name) for row in own] for pair in PRICED.items() for name in pair}
    sums = {
        name: [row.get(name) for row in own if not _is_unpriced(row, name)]
        for name in _MADE_OF
        if read_figures()[name].column
    }
    added = {name: _sum(values, operator.add) for name, values in counts.items()}
    return {"currency": coin} | added | {name: _sum(sums[name], EXACT.add) for name in sums}


def _sum(values: Sequence[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Add up; what is unknown, or of no record with a USD value, has no sum."""
    return None if None in values or not values else reduce(add, values)


def unpriced_of(row: Row, *counted: str) -> int | None:
    """Return how many records of a coin have no USD value; None if that is unknown.

    All of them, or those that are `counted` so.

    >>> unpriced_of({"payments_count": 3, "usd_gross_priced_count": 1}, _PAYMENTS)
    2
    """
    counts = [(row.get(name), row.get(PRICED[name])) for name in counted or PRICED]
    if any(None in pair for pair in counts):
        return None
    return sum(int(count or 0) - int(priced or 0) for count, priced in counts)


def parts_of(name: str) -> tuple[str, ...]:
    """Return the figures in USD that one is made of: itself, where it is counted of records."""
    return read_figures()[name].operands if name in _NET else (name,)


def _is_unpriced(row: Row, name: str) -> bool:
    """Whether a coin has records, and none has a USD value; or a position without a rate."""
    if row.get(name) is not None:
        return False
    if name == _WORTH:
        return row.get("closing_position") not in (None, 0)
    if name in _REFUND_PARTS and row.get("usd_refunds") is not None:
        return name in row and row.get(name.removeprefix("usd_")) is not None
    if name not in _MADE_OF:
        return False
    count = _MADE_OF[name]
    return bool(row.get(count)) and row.get(PRICED[count]) == 0


# ---------- The face
# Sales, fees, refunds, what they leave; payouts, the movement; opening and closing position. What
# leaves the wallet has a minus, so that a reader can add the rows up. Every other figure is a
# detail.


UNPRICED = "unpriced_count"
UNPRICED_LABEL = "Records without a USD value"
EXTERNAL = "All coins, {CURRENCY}, external rates"
Value = Decimal | int | None
Weight = Literal["", "sub", "sum"]


@dataclass(frozen=True)
class _Row:
    """A figure of the face: how heavy it is, and which sum in USD stands beside it."""

    name: str
    weight: Weight = ""
    usd: str = ""
    unless: str = ""  # it is left out where every coin's is the same as this one, or zero


_SUMMARY = {
    "Sales": (
        _Row("payments_count"),
        _Row("gross_sales", usd="usd_gross"),
        _Row("charged_total", unless="gross_sales"),
        _Row("payment_fees", usd="usd_fees"),
        _Row("net_sales", "sub", "usd_net_sales"),
    ),
    "Refunds": (
        _Row("refunds_count"),
        _Row("refunds_same_period", usd="usd_refunds_same_period"),
        _Row("refunds_prior_period", usd="usd_refunds_prior_period"),
        _Row("refunds_unresolved", usd="usd_refunds_unresolved", unless="0"),
        _Row("refunds_paid", unless="refunds_debited"),
        _Row("refunds_debited", "sub", "usd_refunds"),
        _Row("net_settlement", "sum", "usd_net_settlement"),
    ),
    "Payouts": (
        _Row("payouts_count"),
        _Row("payouts_sent", usd="usd_payouts"),
        _Row("payout_fees", usd="usd_payout_fees"),
        _Row("payouts_debited", "sub", "usd_payouts_debited"),
        _Row("rail_movement", "sum", "usd_rail_movement"),
    ),
    "Position": (
        _Row("opening_position", usd="usd_exposure"),  # that of the month before
        _Row("closing_position", "sum", "usd_exposure"),
        _Row("implied_rate"),
        _Row("usd_exposure", usd="usd_exposure"),
        _Row(UNPRICED),
    ),
}
_ROWS = {row.name: row for rows in _SUMMARY.values() for row in rows}
_OPENING = "opening_position"
TOTALS, SUBTOTALS = (
    frozenset(row.name for row in _ROWS.values() if row.weight == weight)
    for weight in ("sum", "sub")
)
# The figures in USD of all coins beside those of a coin, in the order of a statement.
IN_USD = {
    row.name: row.usd for row in _ROWS.values() if row.usd and row.name not in (_OPENING, row.usd)
}
COUNTS = ("payments_count", "refunds_count", "payouts_count", UNPRICED)


@dataclass(frozen=True)
class SummaryPage:
    """The rows of a statement's face, in its groups."""

    statement: Document

    @cached_property
    def coins(self) -> AllCoins:
        """All its coins."""
        return AllCoins(stated_rows(self.statement.tables))

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The figures of the face by group; none where the statement has no coin."""
        return summary_names(self.coins.rows) if self.coins.rows else {}

    @property
    def names(self) -> list[str]:
        """The figures of the face, in its order."""
        return [name for names in self.groups.values() for name in names]

    def usd_name(self, name: str) -> str:
        """Return the figure in USD of all coins beside a figure: of one in USD, itself."""
        usd = _ROWS[name].usd if name in _ROWS else name
        is_known = usd.startswith("usd_") and self.coins.has(usd)
        return usd if is_known and (name != _OPENING or self.opened) else ""

    def usd(self, name: str) -> Decimal | None:
        """Return that figure of all coins; None where it is unknown."""
        if name != _OPENING:
            return self.coins.usd(self.usd_name(name))
        is_alike = self.opened and self.opened.opens(self.coins)
        return self.opened.usd(self.usd_name(name)) if self.opened and is_alike else None

    @cached_property
    def months(self) -> Mapping[str, AllCoins]:
        """The months of the statement's trend, oldest first; none where it has no such table."""
        table = self.statement.tables.get(TREND)
        rows = table.to_pylist() if table is not None else []
        labels = dict.fromkeys(str(row["month"]) for row in rows)
        return {label: AllCoins([row for row in rows if row["month"] == label]) for label in labels}

    @property
    def before(self) -> AllCoins | None:
        """The period before, where the trend has each of its months."""
        labels = [month.label for month in self.statement.period.shift(-1).months]
        months = [self.months[label] for label in labels if label in self.months]
        return AllCoins.of_months(months) if len(months) == len(labels) else None

    @property
    def opened(self) -> AllCoins | None:
        """The month that closed with what the period opens with, where the trend has it."""
        return self.months.get(month_before(self.statement.period))

    @cached_property
    def in_currency(self) -> AllCoins | None:
        """The coins with another currency in the place of USD, where it was asked for."""
        external = self.statement.external
        return AllCoins(external.rows(self.coins.rows)) if external else None

    def external(self, name: str) -> Value:
        """Return a figure of all coins in the other currency, signed, where one in USD has it."""
        external, coins = self.statement.external, self.in_currency
        if external and name == _OPENING:
            opened = self.opened if self.usd(_OPENING) is not None else None
            coins = AllCoins(external.opening_rows(opened.rows)) if opened else None
        usd = _ROWS[name].usd if name in _ROWS else name
        return as_moved(name, coins.usd(usd)) if coins and usd else None


def summary_names(coins: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the figures of the face by group, in its order, as these rows of coins have them."""
    return {
        title: [row.name for row in rows if not _is_left_out(row, coins)]
        for title, rows in _SUMMARY.items()
    }


def _is_left_out(row: _Row, coins: Sequence[Mapping[str, Any]]) -> bool:
    values = [value_of(coin, row.name) for coin in coins]
    others = [Decimal() if row.unless == "0" else coin.get(row.unless) for coin in coins]
    return bool(row.unless) and values == others


def value_of(coin: Mapping[str, Any], name: str) -> Value:
    """Return a figure of the face of a coin, as its row states it."""
    value: Value = unpriced_of(coin) if name == UNPRICED else coin.get(name)
    return value
