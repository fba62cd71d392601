"""What every resource of one service stands on."""

from svc_analytics.sandbox.core.clock import Clock
from svc_analytics.sandbox.past.scenario import Scenario
from svc_analytics.sandbox.state.account import Account, account_of
from svc_analytics.sandbox.state.api_keys import Keys
from svc_analytics.sandbox.state.authorization import Gate
from svc_analytics.sandbox.state.customers import Customers
from svc_analytics.sandbox.state.idempotency import References
from svc_analytics.sandbox.state.outbox import Events
from svc_analytics.sandbox.state.rates import Rates
from svc_analytics.sandbox.state.settings import Settings
from svc_analytics.sandbox.state.signing_secrets import SecretRings
from svc_analytics.sandbox.state.store import Store
from svc_analytics.sandbox.state.tables import prepare
from svc_analytics.sandbox.state.wallet import Wallet


class World:
    """One merchant's platform: its store and clock, and what the resources share."""

    def __init__(self, store: Store, scenario: Scenario, clock: Clock) -> None:
        prepare(store)
        self.store = store
        self.scenario = scenario
        self.clock = clock
        self.base_url = "http://127.0.0.1"  # until a server says where it answers
        first = account_of(scenario)
        self.settings = Settings(store, scenario.business.coins)
        self.keys = Keys(store)
        self.keys.open(first, scenario.start)
        self.rings = SecretRings(store, first)
        self.gate = Gate(self.keys, self.settings)
        self.rates = Rates(scenario, self.settings)
        self.references = References(store)
        self.events = Events(store)
        self.wallet = Wallet(store)
        self.customers = Customers(store, self.wallet, first.merchant_id)

    @property
    def account(self) -> Account:
        """The merchant with its secrets of now."""
        return self.rings.account

    def now(self) -> int:
        """Return the present instant of this world."""
        return self.clock.now()

    def open_wallets(self) -> None:
        """Book the past and fund the customers, once, before money moves for the first time."""
        with self.store.transaction():
            self.wallet.open(self.scenario.start)
            self.customers.open(self.scenario.start)
