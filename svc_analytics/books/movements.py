"""What a month's records move, by day, figure and coin: in the coin, and in US dollars.

A record's `usd_value` is the worth of its `amount`. What it moves besides, its fee, is worth its
share of that: multiplied first, divided once, half up at 18 places. The wallet takes what
remains, so each record sums to zero in dollars too. A record that has no price is listed, and
worth nothing stated: it counts in coins alone.
"""

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa

from svc_analytics.money import EXACT, SCALE
from svc_analytics.schema import MONEY

SALES, REFUNDS, PAYOUTS = "sales", "refunds", "payouts"
PAYMENT_FEES, PAYOUT_FEES = "payment_fees", "payout_fees"
WALLET, UNEXPLAINED, ROUNDING = "wallet", "unexplained", "rounding"
# In the order of an entry's lines.
FIGURES = (SALES, PAYMENT_FEES, REFUNDS, PAYOUTS, PAYOUT_FEES, UNEXPLAINED, WALLET)
NOUNS = {SALES: "payment", PAYMENT_FEES: "payment", REFUNDS: "refund", UNEXPLAINED: "record"}
NOUNS |= {PAYOUTS: "payout", PAYOUT_FEES: "payout", WALLET: "movement"}
# Each step of the wallet, and the figures whose other side it is.
STEPS = {
    "additions": (SALES,),
    "dispositions": (REFUNDS, PAYOUTS),
    "fees": (PAYMENT_FEES, PAYOUT_FEES),
    "unexplained": (UNEXPLAINED,),
}

Key = tuple[date, str, str]  # day, figure, coin
_TEXTS = ("entry_id", "kind", "currency", "fee_bearer")
_AMOUNTS = ("gross", "fee", "net", "usd_value")
_WIDTH = 16  # bytes of an amount


@dataclass
class Sum:
    """The sum of the records of a key; plus is a debit. Amounts are whole 10^-18."""

    whole_units: int = 0
    whole_usd: int = 0
    count: int = 0

    @property
    def units(self) -> Decimal:
        """The amount in the coin."""
        return amount_of(self.whole_units)

    @property
    def usd(self) -> Decimal:
        """Its worth in US dollars when it moved."""
        return amount_of(self.whole_usd)


def amount_of(whole: int) -> Decimal:
    """Return an amount that is given in whole 10^-18.

    >>> amount_of(1_500_000_000_000_000_000)
    Decimal('1.500000000000000000')
    """
    return Decimal(whole).scaleb(-SCALE, EXACT)


@dataclass(frozen=True)
class Unpriced:
    """A record that no entry can hold, and why."""

    day: date
    entry_id: str
    kind: str
    coin: str
    units: Decimal  # what the wallet gained or lost
    why: str


@dataclass(frozen=True)
class Movements:
    """The sums of a month, what has no price, and the units of both, by figure and coin."""

    sums: dict[Key, Sum] = field(default_factory=dict)
    unpriced: list[Unpriced] = field(default_factory=list)
    unpriced_units: dict[tuple[str, str], int] = field(default_factory=dict)

    def units(self, figure: str, coin: str) -> Decimal:
        """Return the amount of a figure in a coin, with the records that have no price."""
        whole = self.unpriced_units.get((figure, coin), 0)
        for (_, named, of), each in self.sums.items():
            whole += each.whole_units if (named, of) == (figure, coin) else 0
        return amount_of(whole)


class _StatementLine(NamedTuple):
    """A line of a statement; amounts are whole 10^-18, plus is into the wallet."""

    day: date
    entry_id: str
    kind: str
    coin: str
    bearer: str | None
    gross: int
    fee: int
    net: int
    usd: int | None


def read_movements(lines: pa.Table) -> Movements:
    """Add up the lines of a statement."""
    movements = Movements()
    for batch in lines.select([*_TEXTS, "occurred_at_local", *_AMOUNTS]).to_batches():
        days = batch.column("occurred_at_local").cast(pa.date32(), safe=False).to_pylist()
        texts = (batch.column(name).to_pylist() for name in _TEXTS)
        amounts = (_wholes(batch.column(name)) for name in _AMOUNTS)
        for record in map(_StatementLine, days, *texts, *amounts):
            _add(movements, record)
    return movements


def _wholes(column: pa.Array) -> list[int | None]:
    """Return amounts in whole 10^-18, None for NULL: as decimals they take ten times as long."""
    column = column.cast(MONEY)
    data, first = memoryview(column.buffers()[1]), column.offset * _WIDTH
    wholes = [
        int.from_bytes(data[at : at + _WIDTH], "little", signed=True)
        for at in range(first, first + len(column) * _WIDTH, _WIDTH)
    ]
    if not column.null_count:
        return list(wholes)
    known = column.is_valid().to_pylist()
    return [whole if is_known else None for whole, is_known in zip(wholes, known, strict=True)]


def _add(movements: Movements, record: _StatementLine) -> None:
    legs, coin, usd = _legs(record), record.coin, record.usd
    if usd is None or (why := _why_unpriced(record)):
        why = "the record has no usd_value" if usd is None else why
        _leave_out(movements, record, legs, why)
        return
    day, rest, amount = record.day, 0, abs(record.gross)
    for figure, units in legs:
        # The wallet comes last and takes what remains, so that all sum to zero.
        value = -rest if figure == WALLET else _share(units, amount, usd)
        rest += value
        key = (day, figure, coin)
        sums = movements.sums.get(key) or movements.sums.setdefault(key, Sum())
        sums.whole_units += units
        sums.whole_usd += value
        sums.count += 1


def _leave_out(
    movements: Movements, record: _StatementLine, legs: list[tuple[str, int]], why: str
) -> None:
    net, coin = amount_of(record.net), record.coin
    movements.unpriced.append(Unpriced(record.day, record.entry_id, record.kind, coin, net, why))
    for figure, units in legs:
        place = (figure, coin)
        movements.unpriced_units[place] = movements.unpriced_units.get(place, 0) + units


def _legs(record: _StatementLine) -> list[tuple[str, int]]:
    """Return the legs of a record in its coin, plus is a debit; the wallet comes last."""
    gross, fee, net = record.gross, record.fee, record.net
    if record.kind == "payment":
        explained = [(SALES, -gross)]
        explained += [(PAYMENT_FEES, -fee)] if record.bearer == "merchant" and fee else []
    elif record.kind == "refund":
        explained = [(REFUNDS, -gross)]
    else:
        explained = [(PAYOUTS, -gross), (PAYOUT_FEES, -fee)] if fee else [(PAYOUTS, -gross)]
    if rest := net + sum(units for _, units in explained):
        explained.append((UNEXPLAINED, -rest))
    return [*explained, (WALLET, net)]


def _why_unpriced(record: _StatementLine) -> str:
    """Say why a record whose value is stated has no price; empty where it has one."""
    if not record.gross:
        return "the record has no amount that its usd_value could be of"
    is_right = (record.gross > 0) == (record.kind == "payment")
    return "" if is_right else "the amount is below zero"


def _share(units: int, amount: int, usd: int) -> int:
    """Return the worth of some units of an amount, half up at 18 places."""
    if units in (amount, -amount):
        return usd if units > 0 else -usd
    product = units * usd
    share = (2 * abs(product) + amount) // (2 * amount)
    return share if product > 0 else -share
