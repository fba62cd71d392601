"""A merchant's past, day by day, as rows ready for the store."""

from collections.abc import Iterator
from typing import NamedTuple

from svc_analytics.sandbox.core.coins import daily_prices
from svc_analytics.sandbox.past import fake_texts
from svc_analytics.sandbox.past.outflows import Outflows
from svc_analytics.sandbox.past.sales import Row, Sales
from svc_analytics.sandbox.past.scenario import Scenario
from svc_analytics.sandbox.past.timing import days


class DayOfRows(NamedTuple):
    """The rows of one day, each list oldest first."""

    payments: list[Row]
    payout_records: list[Row]


class History:
    """Lives through a scenario; the same scenario always lives the same life."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._days = list(days(scenario))

    @property
    def payments_count(self) -> int:
        """How many payments all days together hold."""
        return sum(day.sales for day in self._days)

    def __iter__(self) -> Iterator[DayOfRows]:
        dice = self._scenario.dice()
        prices = daily_prices(dice, len(self._days))
        payers = [fake_texts.uuid_text(dice) for _ in range(12 + self._scenario.payments // 8)]
        business = self._scenario.business
        shop = Sales(dice, prices, payers, business.sold_for)
        wallet = Outflows(dice, prices, payers, business)
        for day in self._days:
            sales = shop.of(day)
            yield DayOfRows([sale.row for sale in sales], wallet.of(day, sales))
