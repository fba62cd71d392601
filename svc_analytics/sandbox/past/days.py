"""Days of the past: the rows of each day, ready for the store."""

from collections.abc import Iterator
from typing import NamedTuple

from svc_analytics.sandbox.core.coins import daily_prices
from svc_analytics.sandbox.past import fake_texts
from svc_analytics.sandbox.past.outflows import Outflows
from svc_analytics.sandbox.past.sales import Row, Sales
from svc_analytics.sandbox.past.scenario import Scenario
from svc_analytics.sandbox.past.timing import days


class DayOfRows(NamedTuple):
    """Hold the rows of one day, oldest first."""

    payments: list[Row]
    payout_records: list[Row]


class History:
    """Generate a scenario's rows day by day; the same scenario gives the same rows."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._days = list(days(scenario))

    @property
    def payments_count(self) -> int:
        """The number of payments on all days."""
        return sum(day.sales for day in self._days)

    def __iter__(self) -> Iterator[DayOfRows]:
        rng = self._scenario.rng()
        prices = daily_prices(rng, len(self._days))
        payers = [fake_texts.uuid_text(rng) for _ in range(12 + self._scenario.payments // 8)]
        business = self._scenario.business
        shop = Sales(rng, prices, payers, business.sold_for)
        wallet = Outflows(rng, prices, payers, business)
        for day in self._days:
            sales = shop.of(day)
            yield DayOfRows([sale.row for sale in sales], wallet.of(day, sales))
