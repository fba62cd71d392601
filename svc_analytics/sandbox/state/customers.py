"""Customers of the platform, each with a wallet; a tester signs in as one."""

import uuid
from dataclasses import astuple, dataclass

from svc_analytics.sandbox.core.coins import CENT, ENABLED, units_for
from svc_analytics.sandbox.core.errors import Refusal, not_found
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
            self._add(Person(payer_id, email, name, native, state, totp), at)
        owner = "owner@saffron-tile.example"
        self._add(Person(self._merchant_id, owner, "Saffron Tile", "زعفران", "active", None), at)

    def all(self) -> list[Person]:
        """List every customer that a tester can sign in as."""
        return [Person(*row) for row in self._store.fetch("select * from customers order by rowid")]

    def find(self, payer_id: str) -> Person | None:
        """Find a customer by `payer_id`."""
        row = self._store.first("select * from customers where payer_id = ?", payer_id)
        return Person(*row) if row else None

    def by_email(self, email: str) -> Person | None:
        """Find a customer by email address, ignoring case."""
        sql = "select * from customers where email = ?"
        row = self._store.first(sql, email.strip().lower())
        return Person(*row) if row else None

    def require_payer(self, payer_id: str) -> Person:
        """Return a customer who may pay this business, or refuse."""
        person = self.find(payer_id)
        if person is None or person.state == "disabled":
            raise not_found()
        if payer_id == self._merchant_id:
            raise Refusal(422, "PAY_SELF_PAYMENT")
        return person

    def is_payable(self, payer_id: str) -> bool:
        """Tell whether a payer has paid this merchant and has an account in order."""
        if payer_id == self._merchant_id:
            return False
        person = self.find(payer_id)
        paid = self._store.first("select 1 from payments where payer_id = ? limit 1", payer_id)
        return paid is not None and (person is None or person.can_receive)

    def _add(self, person: Person, at: int) -> None:
        """Keep a customer with money in every coin."""
        self._store.insert("customers", *astuple(person))
        for coin in ENABLED.values():
            units = units_for(_OPENING_CENTS, coin, max(coin.opening_price, CENT))
            flows = {OUTSIDE: -units, customer(person.payer_id): units}
            self._wallet.move("funding", at, coin.slug, flows)
