"""The roll-forward of each coin, for the notes to the accounts: units, and their worth.

Movements are worth what they were at the time of payment. What a position is worth at the end of
the period rests on the newest price of a record, in another currency also on the external rate of
the last day; what it was worth at the beginning is what the month before ended with. No cost basis
and no tax lots: which unit was sold is not known.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from svc_analytics.books.movements import (
    PAYMENT_FEES,
    PAYOUT_FEES,
    PAYOUTS,
    REFUNDS,
    SALES,
    UNEXPLAINED,
    WALLET,
    Movements,
)
from svc_analytics.external_rates import ExternalRates
from svc_analytics.money import as_decimal, format_amount

# Each step of the wallet, and the figures whose other side it is.
STEPS = {
    "additions": (SALES,),
    "dispositions": (REFUNDS, PAYOUTS),
    "fees": (PAYMENT_FEES, PAYOUT_FEES),
    "unexplained": (UNEXPLAINED,),
}
COLUMNS = (
    *("coin", "currency", "opening_units", *(f"{name}_units" for name in STEPS), "closing_units"),
    *(f"{name}_value" for name in STEPS),
    *("unpriced_count", "closing_rate", "closing_rate_at", "closing_value"),
    *("unrealised_difference_of_movements", "opening_value", "unrealised_difference_of_position"),
    "rates",  # external, or those that the service recorded
)
_ZERO = Fraction(0)


def roll_forward(
    movements: Movements,
    summary: Iterable[Mapping[str, Any]],
    last_day: date,
    rates: ExternalRates | None,
) -> list[dict[str, str]]:
    """Return a row for each coin; what is unknown is empty.

    A row of `summary` may have `opening_value`, what its opening position was worth.
    `unrealised_difference_of_movements` is what the units that the period added net would be worth
    at its end, less what they were worth when they moved. That `of_position` is the worth of the
    closing position, less that of the opening one and of what moved: other prices alone made it.
    """
    return [_row(movements, each, last_day, rates) for each in summary]


def _row(
    movements: Movements, figures: Mapping[str, Any], last_day: date, rates: ExternalRates | None
) -> dict[str, str]:
    coin = figures["currency"]
    units = {name: _units(movements, names, coin) for name, names in STEPS.items()}
    values = {name: _value(movements, names, coin, rates) for name, names in STEPS.items()}
    price, unpriced = _end_price(figures, last_day, rates), _unpriced(movements, coin)
    closing = figures["closing_position"]
    moved = movements.units(WALLET, coin)
    all_moved = sum(values.values(), _ZERO)
    gained = None if price is None or unpriced else Fraction(moved) * price - all_moved
    closing_value = None if price is None or closing is None else Fraction(closing) * price
    opened = figures.get("opening_value")
    of_position = (
        None
        if closing_value is None or opened is None or unpriced
        else closing_value - opened - all_moved
    )
    at = figures["implied_rate_at"]
    cells = [
        *(figures["opening_position"], *units.values(), closing, *values.values()),
        *(unpriced, price, None, closing_value, gained, opened, of_position),
    ]
    texts = ["" if cell is None else format_amount(as_decimal(Fraction(cell))) for cell in cells]
    texts[COLUMNS.index("closing_rate_at") - 2] = at.isoformat() if at and price else ""
    currency, source = (rates.currency, "external") if rates else ("USD", "recorded")
    return dict(zip(COLUMNS, [coin, currency, *texts, source], strict=True))


def _units(movements: Movements, figures: Iterable[str], coin: str) -> Fraction:
    """Return the units that the wallet gained by some figures."""
    return -sum((Fraction(movements.units(figure, coin)) for figure in figures), _ZERO)


def _value(
    movements: Movements, figures: Iterable[str], coin: str, rates: ExternalRates | None
) -> Fraction:
    worths = (
        rates.on(day).convert(each.usd) if rates else Fraction(each.usd)
        for (day, figure, of), each in movements.sums.items()
        if of == coin and figure in figures
    )
    return -sum(worths, _ZERO)


def _unpriced(movements: Movements, coin: str) -> int:
    return sum(1 for each in movements.unpriced if each.coin == coin)


def _end_price(
    figures: Mapping[str, Any], last_day: date, rates: ExternalRates | None
) -> Fraction | None:
    """Return the worth of one unit at the end; None where no record or no rate says."""
    usd: Decimal | None = figures["implied_rate"]
    if usd is None or rates is None:
        return None if usd is None else Fraction(usd)
    rate = rates.find(last_day)
    return rate.convert(usd) if rate else None
