"""A statement's figures in USD, in another currency by the rates that a person gave.

What moved is taken at the rate of its day, and what a position is worth at the rate of the day
that it closes. Each amount is exact: it is rounded once, where it is shown.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import pyarrow as pa

from svc_analytics.errors import DataError
from svc_analytics.external_rates import ExternalRate, ExternalRates
from svc_analytics.instants import from_micros
from svc_analytics.money import EXACT, HALF_UP, SCALE, as_decimal, format_amount
from svc_analytics.periods import Period
from svc_analytics.render.bridge import opening_worth, stated_rows

WORTH = "usd_exposure"  # of a position; every other figure in USD is of what moved
# In the order in which they are shown.
FIGURES = ("usd_gross", "usd_fees", "usd_net_sales", "usd_refunds", "usd_payouts", WORTH)
# What stands in no column of a summary; it is shown of all coins together.
_PARTS = {
    True: "usd_refunds_same_period",
    False: "usd_refunds_prior_period",
    None: "usd_refunds_unresolved",
}
# All that is of what moved, in a column of the summary or not.
MOVED = (*FIGURES[:-1], *_PARTS.values(), "usd_payout_fees", "usd_payouts_debited")
_OF_KINDS = {
    "payment": ("usd_gross", "usd_net_sales", "usd_fees"),
    "payout": ("usd_payouts", "usd_payouts_debited", "usd_payout_fees"),
}
_OF_LINES = (
    *("kind", "currency", "gross", "fee", "net", "usd_value", "occurred_at_local"),
    "parent_paid_at",
)
_STEP = Decimal(1).scaleb(-SCALE)
_BATCH = 50_000  # lines that are read at a time

Key = tuple[str, str]  # a coin, and the name of a figure
ByDay = dict[Key, dict[date, Decimal]]


@dataclass(frozen=True)
class ExternalFigures:
    """A statement's figures in USD, in another currency: of each coin, as they follow from rates.

    `rates` are those that were used, and no other. An amount is missing where its USD is unknown.
    """

    rates: ExternalRates
    amounts: Mapping[Key, Decimal]
    opening: Mapping[str, Decimal] = field(default_factory=dict)  # by coin, what it opened with

    def rows(self, coins: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return rows of a summary with these amounts in the place of those in USD."""
        return [
            {
                **row,
                **{name: self.amounts.get((row["currency"], name)) for name in (*MOVED, WORTH)},
            }
            for row in coins
        ]

    def opening_rows(self, coins: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return rows of the period before with what its positions were worth in the currency."""
        return [{**row, WORTH: self.opening.get(row["currency"])} for row in coins]


def convert(
    tables: Mapping[str, pa.Table], period: Period, as_of: int, rates: ExternalRates
) -> ExternalFigures:
    """Return the figures of a statement's tables in the currency of the rates.

    Raises `ConfigError` naming the days that have no rate, and `DataError` where the lines do not
    add up to the summary.
    """
    # While the period is running, it closes when it was last read.
    ends = (max(min(period.end, as_of), period.start + 1), period.start)
    closing, opening = (period.clock.local(end - 1).date() for end in ends)
    coins = stated_rows(tables)
    moved = dict(_known(coins, usd_by_day(tables["lines"], from_micros(period.start))))
    worth = {(row["currency"], WORTH): row.get(WORTH) for row in coins}
    amounts = moved | {key: {closing: usd} for key, usd in worth.items() if usd is not None}
    before = opening_worth(tables, period)
    opened = {coin: {opening: usd} for coin, usd in before.items() if usd is not None}
    every = [*amounts.values(), *opened.values()]
    used = rates.only(day for parts in every for day, usd in parts.items() if usd)
    return ExternalFigures(
        used,
        {key: _sum(parts, used.by_day) for key, parts in amounts.items()},
        {coin: _sum(parts, used.by_day) for coin, parts in opened.items()},
    )


def usd_by_day(lines: pa.Table, starts_at: datetime) -> ByDay:
    """Add up the USD of lines by coin, figure and local day, each line as its figure counts it."""
    sums: ByDay = defaultdict(lambda: defaultdict(Decimal))
    for rows in lines.select(_OF_LINES).to_batches(max_chunksize=_BATCH):
        for row in rows.to_pylist():
            day, coin = row["occurred_at_local"].date(), row["currency"]
            for name, usd in _usd_of(row, starts_at):
                own = sums[coin, name]
                own[day] = EXACT.add(own[day], usd)
    return sums


def _usd_of(row: Mapping[str, Any], starts_at: datetime) -> Iterator[tuple[str, Decimal]]:
    """Yield the part of a line in each figure in USD; none without a USD value."""
    usd, gross = row["usd_value"], row["gross"]
    if usd is None:
        return
    if row["kind"] == "refund":
        paid_at = row["parent_paid_at"]
        yield "usd_refunds", usd
        yield _PARTS[None if paid_at is None else paid_at >= starts_at], usd
        return
    whole, net, fee = _OF_KINDS[row["kind"]]
    yield whole, usd
    if gross:
        yield net, _divided(usd, row["net"], gross)
        amount = row["fee"] if row["kind"] == "payout" else row["fee"].copy_negate()
        yield fee, _divided(usd, amount, gross)


def _divided(usd: Decimal, part: Decimal, whole: Decimal) -> Decimal:
    """Return the USD of a part: multiplied first, divided once, rounded half up at 18 places.

    The quotient has so many digits that rounding them first changes no other digit.
    """
    return HALF_UP.divide(EXACT.multiply(usd, part), whole).quantize(_STEP, context=HALF_UP)


def _known(
    coins: Iterable[Mapping[str, Any]], by_day: ByDay
) -> Iterator[tuple[Key, dict[date, Decimal]]]:
    """Yield the days of each figure that the summary knows; refuse those that do not add up."""
    for row in coins:
        for name in MOVED:
            if row.get(name) is None:
                continue
            parts = by_day.get((row["currency"], name), {})
            if (total := reduce(EXACT.add, parts.values(), Decimal())) != row[name]:
                shown = format_amount(total), format_amount(row[name])
                message = "the lines of {} add up to {} {}, and its summary says {}"
                raise DataError(message.format(row["currency"], shown[0], name, shown[1]))
            yield (row["currency"], name), parts


def _sum(parts: Mapping[date, Decimal], by_day: Mapping[date, ExternalRate]) -> Decimal:
    """Convert the USD of each day at the rate of that day, and add up."""
    amounts = (by_day[day].convert(usd) for day, usd in parts.items() if usd)
    return as_decimal(sum(amounts, Fraction(0)))
