"""Platform: the store, clock and shared parts that every resource uses."""

from svc_analytics.sandbox.core.clock import Clock
from svc_analytics.sandbox.past.scenario import Scenario
from svc_analytics.sandbox.state.account import Account, SigningSecrets, account_of
from svc_analytics.sandbox.state.api_keys import ApiKeys, Authorizer
from svc_analytics.sandbox.state.customers import Customers
from svc_analytics.sandbox.state.idempotency import IdempotencyKeys
from svc_analytics.sandbox.state.outbox import Outbox
from svc_analytics.sandbox.state.rates import Rates
from svc_analytics.sandbox.state.settings import MerchantSettings
from svc_analytics.sandbox.state.store import Store
from svc_analytics.sandbox.state.tables import prepare
from svc_analytics.sandbox.state.wallet import Wallet


class Platform:
    """Hold one merchant's store, clock, wallet, keys, settings and event outbox."""

    def __init__(self, store: Store, scenario: Scenario, clock: Clock) -> None:
        prepare(store)
        self.store = store
        self.scenario = scenario
        self.clock = clock
        self.base_url = "http://127.0.0.1"  # until a server sets its own
        first = account_of(scenario)
        self.settings = MerchantSettings(store, scenario.business.coins)
        self.api_keys = ApiKeys(store)
        self.api_keys.open(first, scenario.start)
        self.signing_secrets = SigningSecrets(store, first)
        self.authorizer = Authorizer(self.api_keys, self.settings)
        self.rates = Rates(scenario, self.settings)
        self.idempotency_keys = IdempotencyKeys(store)
        self.outbox = Outbox(store)
        self.wallet = Wallet(store)
        self.customers = Customers(store, self.wallet, first.merchant_id)

    @property
    def account(self) -> Account:
        """The merchant with its current secrets."""
        return self.signing_secrets.account

    def now(self) -> int:
        """Return the current instant of the sandbox's clock."""
        return self.clock.now()

    def shown_until(self) -> int:
        """Return up to when records are shown: now, or the newest movement of money.

        A clock that is set back makes nothing undone: a repeated request finds its record.
        """
        return max(self.now(), self.wallet.newest_movement())

    def open_wallets(self) -> None:
        """Book the past and fund the customers once, before money first moves."""
        with self.store.transaction():
            self.wallet.open(self.scenario.start)
            self.customers.open(self.scenario.start)
