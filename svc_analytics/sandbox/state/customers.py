"""Customers of the platform, each with a wallet; a tester signs in as one."""

import uuid
from dataclasses import dataclass

from svc_analytics.sandbox.core.coins import CENT, units_for
from svc_analytics.sandbox.state.rates import ENABLED
from svc_analytics.sandbox.state.store import Store
from svc_analytics.sandbox.state.wallet import OUTSIDE, Wallet, customer

_PEOPLE = (
    ("sara", "Sara Rahimi", "سارا رحیمی", "active", None),
    ("omid", "Omid Karimi", "امید کریمی", "active", None),
    ("leila", "Leila Moradi", "لیلا مرادی", "active", "246810"),
    ("navid", "Navid Sadeghi", "نوید صادقی", "active", None),
    ("disabled", "Dara Disabled", "دارا", "disabled", None),
    ("unverified", "Una Unverified", "اونا", "unverified", None),
)
_OPENING_CENTS = 1_000_000  # of each coin


@dataclass(frozen=True)
class Person:
    """Hold a customer of the platform; `totp` is the code of the second factor."""

    payer_id: str
    email: str
    name: str
    native_name: str
    state: str
    totp: str | None

    @property
    def masked_name(self) -> str:
        """The masked name: the only form that a merchant sees."""
        return " ".join(f"{part[0]}***" for part in self.name.split())

    @property
    def can_receive(self) -> bool:
        """Whether the account is enabled and its identity verified."""
        return self.state == "active"


class Customers:
    """Find and create the platform's accounts; the business has one too."""

    def __init__(self, store: Store, wallet: Wallet, merchant_id: str) -> None:
        self._store = store
        self._wallet = wallet
        self._merchant_id = merchant_id

    def open(self, at: int) -> None:
        """Create the customers with their money, once. Call inside a transaction."""
        if self._store.fetch("select 1 from customers limit 1"):
            return
        for first, name, native, state, totp in _PEOPLE:
            email = f"{first}@customers.example"
            payer_id = str(uuid.uuid5(uuid.UUID(self._merchant_id), email))
            self._add(Person(payer_id, email, name, native, state, totp))
            self._fund(payer_id, at)
        owner = "owner@saffron-tile.example"
        self._add(Person(self._merchant_id, owner, "Saffron Tile", "زعفران", "active", None))
        self._fund(self._merchant_id, at)

    def all(self) -> list[Person]:
        """List every customer that a tester can sign in as."""
        return [Person(*row) for row in self._store.fetch("select * from customers order by rowid")]

    def find(self, payer_id: str) -> Person | None:
        """Find a customer by `payer_id`."""
        sql = "select * from customers where payer_id = ?"
        return next((Person(*row) for row in self._store.fetch(sql, (payer_id,))), None)

    def by_email(self, email: str) -> Person | None:
        """Find a customer by email address, ignoring case."""
        sql = "select * from customers where email = ?"
        wanted = email.strip().lower()
        return next((Person(*row) for row in self._store.fetch(sql, (wanted,))), None)

    def is_payable(self, payer_id: str) -> bool:
        """Tell whether a payer has paid this merchant and has an account in order."""
        if payer_id == self._merchant_id:
            return False
        person = self.find(payer_id)
        sql = "select 1 from payments where payer_id = ? limit 1"
        has_paid = bool(self._store.fetch(sql, (payer_id,)))
        return has_paid and (person is None or person.can_receive)

    def _add(self, person: Person) -> None:
        values = (person.payer_id, person.email, person.name, person.native_name)
        self._store.fetch(
            "insert into customers values (?, ?, ?, ?, ?, ?)",
            (*values, person.state, person.totp),
        )

    def _fund(self, payer_id: str, at: int) -> None:
        for coin in ENABLED.values():
            units = units_for(_OPENING_CENTS, coin, max(coin.opening_price, CENT))
            flows = {OUTSIDE: -units, customer(payer_id): units}
            self._wallet.move("funding", at, coin.slug, flows)
