"""The face of a statement: its main figures in the order of a statement, and all coins in USD.

Sales, fees, refunds, what they leave; payouts, the movement; opening and closing position. What
leaves the wallet has a minus, so that a reader can add the rows up. Every other figure is a detail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from svc_analytics.render.bridge import TREND, month_before
from svc_analytics.render.document import Document
from svc_analytics.render.face.all_coins import PRICED, AllCoins, unpriced_of
from svc_analytics.warehouse.figures import read_figures

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


_FACE = {
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
_ROWS = {row.name: row for rows in _FACE.values() for row in rows}
_OPENING = "opening_position"
TOTALS = frozenset(row.name for row in _ROWS.values() if row.weight == "sum")
# The figures in USD of all coins beside those of a coin, in the order of a statement.
IN_USD = {
    row.name: row.usd for row in _ROWS.values() if row.usd and row.name not in (_OPENING, row.usd)
}
_COUNTS = ("payments_count", "refunds_count", "payouts_count", UNPRICED)


@dataclass(frozen=True)
class FaceRow:
    """A row of the face: a value for each coin, signed, and that of all coins together."""

    name: str
    weight: Weight
    values: list[Value]
    total: Value  # in USD, or a count
    has_total: bool  # without one, all coins have no common unit
    usd: str = ""  # the figure that the total in USD is of
    external: Value = None  # that total in another currency, where it was asked for


@dataclass(frozen=True)
class Face:
    """The rows of a statement's face, in its groups."""

    statement: Document
    coins: AllCoins = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "coins", AllCoins.of(self.statement))  # the class is frozen

    @cached_property
    def groups(self) -> dict[str, list[FaceRow]]:
        """The rows by group; none where the statement has no coin."""
        if not self.coins.rows:
            return {}
        return {title: list(self._rows(rows)) for title, rows in _FACE.items()}

    @property
    def names(self) -> list[str]:
        """The figures of the face, in its order."""
        return [row.name for rows in self.groups.values() for row in rows]

    def _rows(self, rows: Sequence[_Row]) -> Iterator[FaceRow]:
        for row in rows:
            if _is_left_out(row, self.coins.rows):
                continue
            by_coin = [_value(coin, row.name) for coin in self.coins.rows]
            sign = _sign(row.name)
            values = [_signed(value, sign) for value in by_coin]
            total = _signed(self._total(row), sign)
            has_total = bool(self.usd_name(row.name)) or _is_count(row)
            external = _signed(self._external(row), sign)
            yield FaceRow(row.name, row.weight, values, total, has_total, row.usd, external)

    def usd_name(self, name: str) -> str:
        """Return the figure in USD of all coins beside a figure: of one in USD, itself."""
        usd = _ROWS[name].usd if name in _ROWS else name
        is_known = usd.startswith("usd_") and self.coins.has(usd)
        return usd if is_known and (name != _OPENING or self.opened) else ""

    def usd(self, name: str) -> Decimal | None:
        """Return that figure of all coins; None where it is unknown."""
        coins = self.opened if name == _OPENING else self.coins
        return coins.usd(self.usd_name(name)) if coins else None

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

    def _external(self, row: _Row) -> Value:
        """Return the total in the other currency that stands beside one in USD."""
        external, coins = self.statement.external, self.in_currency
        if external and row.name == _OPENING:
            coins = AllCoins(external.opening_rows(self.opened.rows)) if self.opened else None
        return coins.usd(row.usd) if coins and row.usd else None

    def _total(self, row: _Row) -> Value:
        if row.name == UNPRICED:
            return self.coins.unpriced()
        if _is_count(row):
            return self.coins.count(row.name)
        return self.usd(row.name) if self.usd_name(row.name) else None


def face_names(coins: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the figures of the face by group, in its order, as these rows of coins have them."""
    return {
        title: [row.name for row in rows if row.name != UNPRICED and not _is_left_out(row, coins)]
        for title, rows in _FACE.items()
    }


def _is_left_out(row: _Row, coins: Sequence[Mapping[str, Any]]) -> bool:
    values = [_value(coin, row.name) for coin in coins]
    return bool(row.unless) and values == [_other(coin, row.unless) for coin in coins]


def _value(coin: Mapping[str, Any], name: str) -> Value:
    value: Value = unpriced_of(coin, *PRICED) if name == UNPRICED else coin.get(name)
    return value


def _other(coin: Mapping[str, Any], unless: str) -> Value:
    value: Value = Decimal() if unless == "0" else coin.get(unless)
    return value


def _is_count(row: _Row) -> bool:
    return row.name in _COUNTS


def _sign(name: str) -> int:
    figure = read_figures().get(name)
    return -1 if figure and figure.sign == "out" else 1


def _signed(value: Value, sign: int) -> Value:
    """Return an amount with a minus if it leaves the wallet; nothing has no sign."""
    # The minus operator would round to the 28 digits of the default context.
    return value.copy_negate() if sign < 0 and isinstance(value, Decimal) and value else value
