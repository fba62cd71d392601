"""Platform: the store, clock and shared parts that every resource uses, and its seeding."""

import hashlib
import uuid
from functools import cached_property
from typing import Any

import msgspec

from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY
from svc_analytics.sandbox.account import (
    Account,
    ApiKeys,
    Authorizer,
    MerchantSettings,
    SigningSecrets,
    account_of,
)
from svc_analytics.sandbox.clock import Clock
from svc_analytics.sandbox.coins import Coin, Prices, daily_prices
from svc_analytics.sandbox.customers import Customers, Wallet
from svc_analytics.sandbox.sales import OnProgress, history
from svc_analytics.sandbox.scenario import Scenario, days
from svc_analytics.sandbox.store import Store, prepare
from svc_analytics.sandbox.validation import duplicate_reference


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

    def price(self, coin: Coin, now: int) -> int | None:
        """Return a coin's rate now, in microdollars of a whole one; None if it is absent."""
        if coin.slug in self.settings["absent_rates"]:
            return None
        path = self._prices.get(coin.slug, [coin.opening_price])
        day = (now - self.scenario.start) // DAY
        return path[max(0, min(day, len(path) - 1))]

    @cached_property
    def _prices(self) -> Prices:
        """The prices of each day, as the seeded past used them."""
        return daily_prices(self.scenario.rng(), sum(1 for _ in days(self.scenario)))

    def open_wallets(self) -> None:
        """Book the past and fund the customers once, before money first moves."""
        with self.store.transaction():
            self.wallet.open(self.scenario.start)
            self.customers.open(self.scenario.start)


# Events, Event types: the fields of each type, in order, after event_id and type.
FIELDS: dict[str, tuple[str, ...]] = {
    "payment.completed": ("session_id", "reference_id", "payment_id", "status"),
    "session.expired": ("session_id", "reference_id", "status"),
    "payout.completed": ("payout_id", "reference_id", "kind", "status"),
    "binding.completed": ("binding_id", "customer_id", "status"),
    "binding.review": ("binding_id", "customer_id", "status"),
    "binding.revoked": ("binding_id", "customer_id", "status"),
    "test.ping": ("source",),
}


class Outbox:
    """Queue webhook events; they carry ids and a status, never an amount."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def emit(self, type_: str, at: int, **fields: str | None) -> str:
        """Queue an event and return its id, which every delivery attempt carries."""
        if tuple(fields) != FIELDS[type_]:
            raise AssertionError(f"{type_} has the fields {FIELDS[type_]}, not {tuple(fields)}")
        event_id = str(uuid.uuid4())
        body: dict[str, Any] = {"event_id": event_id, "type": type_, **fields}
        text = msgspec.json.encode(body).decode()
        self._store.insert("events", event_id, type_, text, at, "pending", 0, at)
        return event_id


class IdempotencyKeys:
    """Remember the requests made so far, by kind and reference."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def is_replay(self, kind: str, reference_id: str, payload: object) -> bool:
        """Tell whether the same request was made before; refuse a different one."""
        sql = "select fingerprint from requests where kind = ? and reference_id = ?"
        row = self._store.first(sql, kind, reference_id)
        if row and row[0] != _fingerprint(payload):
            raise duplicate_reference()
        return row is not None

    def keep(self, kind: str, reference_id: str, payload: object) -> None:
        """Remember a request; call inside the transaction that carries it out."""
        self._store.insert("requests", kind, reference_id, _fingerprint(payload))


def _fingerprint(payload: object) -> str:
    canonical = msgspec.json.encode(payload, order="sorted")
    return hashlib.sha256(canonical).hexdigest()


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
