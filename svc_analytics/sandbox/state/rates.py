"""USD rates of the platform's coins; any rate can be absent."""

from functools import cached_property

from svc_analytics.instants import DAY
from svc_analytics.sandbox.core.coins import Coin, Prices, daily_prices
from svc_analytics.sandbox.past.scenario import Scenario
from svc_analytics.sandbox.past.timing import days
from svc_analytics.sandbox.state.settings import MerchantSettings


class Rates:
    """Look up prices in microdollars of one whole coin, as the seeded past used them."""

    def __init__(self, scenario: Scenario, settings: MerchantSettings) -> None:
        self._scenario = scenario
        self._settings = settings

    def price(self, coin: Coin, now: int) -> int | None:
        """Return a coin's rate now, or None if it is absent."""
        if coin.slug in self._settings["absent_rates"]:
            return None
        path = self._prices.get(coin.slug, [coin.opening_price])
        day = (now - self._scenario.start) // DAY
        return path[max(0, min(day, len(path) - 1))]

    @cached_property
    def _prices(self) -> Prices:
        return daily_prices(self._scenario.rng(), sum(1 for _ in days(self._scenario)))
