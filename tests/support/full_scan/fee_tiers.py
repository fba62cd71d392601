"""The fee tier of each day, inferred from all payments, and the fees that are not at it."""

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal

from tests.support.full_scan.knowledge import View
from tests.support.full_scan.quotients import is_at_rate, places_used, ratio, round_half_up, total
from tests.support.full_scan.rows import DAY, Row
from tests.support.full_scan.values import moved

Tiers = dict[tuple[str, int], Decimal]  # by coin and UTC day, counted from 1970


def fees_off_tier(view: View) -> Iterator[tuple[Row, Decimal]]:
    """Yield the payments of the period with a fee at another rate than their day."""
    tiers, units = _tiers(view)
    for row in view.books.sales:
        rate = tiers.get((row["currency"], row["paid_at"] // DAY))
        if rate is not None:
            unit = units[row["currency"]]
            if is_at_rate(row["fee_amount"], row["amount"], rate, unit) is False:
                yield row, rate


def fees_off_payments(view: View) -> Iterator[tuple[Row, Decimal]]:
    """Yield the payouts of the period with a fee at another rate than the newest payments."""
    tiers, units = _tiers(view)
    for row in moved(view, "payout"):
        coin, day = row["currency"], row["settled_at"] // DAY
        earlier = [each for each in tiers if each[0] == coin and each[1] <= day]
        if earlier:
            rate = tiers[max(earlier)]
            if is_at_rate(row["fee_amount"], row["amount"], rate, units[coin]) is False:
                yield row, rate


def _tiers(view: View) -> tuple[Tiers, dict[str, Decimal]]:
    """Return the tier of each day of the period and of the last day before, and coins' units."""
    rows = _rows(view)
    places: dict[str, int] = defaultdict(int)
    for row in rows:
        used = max(places_used(row["amount"]), places_used(row["fee_amount"]))
        places[row["currency"]] = max(places[row["currency"]], used)
    units = {coin: Decimal(1).scaleb(-used) for coin, used in places.items()}
    bases: dict[tuple[str, int], dict[Decimal, list[Decimal]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        rate = _explained(row, units[row["currency"]])
        if rate is not None:
            bases[row["currency"], row["paid_at"] // DAY][rate].append(row["amount"])
    tiers = {
        key: min(found, key=lambda rate: (-total(found[rate]), rate))
        for key, found in bases.items()
    }
    return tiers, units


def _rows(view: View) -> list[Row]:
    """Return the payments of the period's UTC days, and of each coin's last day before."""
    first, last = view.start // DAY, (view.end - 1) // DAY
    sales = [row for row in view.books.sales if row["amount"] and row["paid_at"] // DAY <= last]
    before: dict[str, int] = {}
    for row in sales:
        day = row["paid_at"] // DAY
        if day < first:
            before[row["currency"]] = max(before.get(row["currency"], 0), day)
    return [
        row
        for row in sales
        if row["paid_at"] // DAY >= first or row["paid_at"] // DAY == before[row["currency"]]
    ]


def _explained(row: Row, unit: Decimal) -> Decimal | None:
    """Return the rate with the fewest places that explains a fee."""
    exact = ratio(row["fee_amount"], row["amount"])
    if exact is None:
        return None
    for places in (3, 4, 5):
        rate = round_half_up(exact, places)
        if is_at_rate(row["fee_amount"], row["amount"], rate, unit):
            return rate
    return exact
