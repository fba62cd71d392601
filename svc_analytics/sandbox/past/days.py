"""Days of the past: the rows of each day, ready for the store."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from svc_analytics.sandbox.core.coins import daily_prices
from svc_analytics.sandbox.past import fake_texts
from svc_analytics.sandbox.past.outflows import Outflows
from svc_analytics.sandbox.past.sales import Row, Sales
from svc_analytics.sandbox.past.scenario import Scenario
from svc_analytics.sandbox.past.timing import days

OnProgress = Callable[[int, int], object]  # called with payments done and payments in all


class DayOfRows(NamedTuple):
    """Hold the rows of one day, oldest first."""

    payments: list[Row]
    payout_records: list[Row]


def history(scenario: Scenario, on_progress: OnProgress | None = None) -> Iterator[DayOfRows]:
    """Generate a scenario's rows day by day; the same scenario gives the same rows."""
    rng, calendar = scenario.rng(), list(days(scenario))
    prices = daily_prices(rng, len(calendar))
    payers = [fake_texts.uuid_text(rng) for _ in range(12 + scenario.payments // 8)]
    shop = Sales(rng, prices, payers, scenario.business.sold_for)
    wallet = Outflows(rng, prices, payers, scenario.business)
    done, total = 0, sum(day.sales for day in calendar)
    for day in calendar:
        sales = shop.of(day)
        yield DayOfRows([sale.row for sale in sales], wallet.of(day, sales))
        done += len(sales)
        if on_progress:
            on_progress(done, total)
