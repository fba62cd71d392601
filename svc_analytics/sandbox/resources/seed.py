"""Seed: fill a store with the records of a scenario."""

from svc_analytics.errors import ConfigError
from svc_analytics.sandbox.core.clock import Clock
from svc_analytics.sandbox.past.sales import OnProgress, history
from svc_analytics.sandbox.past.scenario import Scenario
from svc_analytics.sandbox.state.platform import Platform
from svc_analytics.sandbox.state.store import Store


def seed(store: Store, scenario: Scenario, on_progress: OnProgress | None = None) -> None:
    """Fill a store with a scenario, unless it holds the same one already."""
    held = store.scenario()
    if held is None:
        store.fill(scenario, history(scenario, on_progress))
        # Summing up a long past takes seconds; do it now, not at the first payment.
        Platform(store, scenario, Clock(scenario.until)).open_wallets()
    elif held.identity != scenario.identity:
        message = f"{store.name} holds another scenario ({held}): use another file for ({scenario})"
        raise ConfigError(message)
