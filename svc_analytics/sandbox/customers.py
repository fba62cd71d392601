"""Customers of the platform, and the wallet that moves their money; a tester signs in as one."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import NamedTuple

from svc_analytics.sandbox.coins import CENT, ENABLED, Coin, stored_units, units_for
from svc_analytics.sandbox.store import Store
from svc_analytics.sandbox.validation import Refusal, not_found

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


# Wallets in double entry: the entries of every movement sum to zero per coin.
#
# The seeded past is booked as opening entries when money first moves. They include the
# whole current month, its coming days too; what these bring and take is left out of every
# balance until it has happened. A seeded payout or refund that no longer fits when its day
# comes is dropped as soon as money moves: what was listed before stays as it is.
BUSINESS = "business"
FEES = "fees"
PAST_CUSTOMERS = "customers of the seeded past"
OUTSIDE = "outside the platform"

Units = dict[str, int]  # into each account, or out of it if negative

# No sum or comparison of money happens in SQL: its integers end at 64 bits.
_PAST_FLOWS = """
    select currency, charged_amount, net_amount, fee_amount, 1 from payments
    union all
    select currency, amount, debited_amount, fee_amount, -1 from payout_records
"""
_COMING_FLOWS = """
    select id, paid_at as at, currency, charged_amount, net_amount, fee_amount, 1, null
    from payments
    where paid_at > :now and (:coin is null or currency = :coin)
    union all
    select id, settled_at, currency, amount, debited_amount, fee_amount, -1, payment_id
    from payout_records
    where settled_at > :now and created_at > :now - 60000000
        and (:coin is null or currency = :coin)
    order by at
"""


class Flow(NamedTuple):
    """Hold a seeded record of a day to come: what it will move."""

    record_id: str
    at: int
    currency: str
    units: Units
    payment_id: str | None  # of a refund


def customer(payer_id: str) -> str:
    """Return the name of a customer's wallet account."""
    return f"customer {payer_id}"


class Wallet:
    """Move money between the accounts that this merchant's money touches."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self, at: int) -> None:
        """Book the seeded past once. Call inside the transaction that first moves money."""
        if self._store.fetch("select 1 from entries limit 1"):
            return
        for slug, flows in self._past().items():
            self.move("opening", at, slug, flows)

    def move(self, movement: str, at: int, currency: str, units: Mapping[str, int]) -> None:
        """Book one movement: units into each account, or out of it if negative."""
        if sum(units.values()):
            raise AssertionError(f"{movement} in {currency} does not sum to zero")
        for account, moved in units.items():
            self._store.insert("entries", None, movement, at, account, currency, str(moved))
            balance = str(self.balance(account, currency) + moved)
            sql = "insert or replace into balances values (?, ?, ?)"
            self._store.fetch(sql, (account, currency, balance))

    def newest_movement(self) -> int:
        """Return the instant of the newest movement, seeded ones left out; 0 before any."""
        [(at,)] = self._store.fetch("select max(at) from entries")
        return at or 0

    def balance(self, account: str, currency: str) -> int:
        """Return the balance of an account, in units of a coin: the coming days included."""
        sql = "select units from balances where account = ? and currency = ?"
        row = self._store.first(sql, account, currency)
        return int(row[0]) if row else 0

    def available(self, coin: Coin, now: int) -> int:
        """Return the balance of the business now: of the seeded days, those that have come."""
        coming = sum(flow.units[BUSINESS] for flow in self._coming(now, coin.slug))
        return self.balance(BUSINESS, coin.slug) - coming

    def balances(self, now: int) -> Iterator[tuple[str, str, int]]:
        """Yield every balance of now as (account, currency, units)."""
        coming: defaultdict[tuple[str, str], int] = defaultdict(int)
        for flow in self._coming(now):
            for account, units in flow.units.items():
                coming[account, flow.currency] += units
        for account, currency, booked in self._store.fetch("select * from balances"):
            yield account, currency, int(booked) - coming[account, currency]

    def drop_what_no_longer_fits(self, coin: Coin, now: int) -> None:
        """Drop the seeded payouts and refunds to come that the wallet or their payment lacks."""
        held = self.available(coin, now)
        for flow in self._coming(now, coin.slug):
            if held + flow.units[BUSINESS] < 0 or self._is_over_refunded(flow, coin):
                self._drop(flow, now)
            else:
                held += flow.units[BUSINESS]

    def refunded(self, payment_id: str, coin: Coin, until: int) -> int:
        """Return the units of a payment that were refunded until an instant."""
        sql = "select amount from payout_records where payment_id = ? and settled_at <= ?"
        refunds = self._store.fetch(sql, (payment_id, until))
        return sum(stored_units(amount, coin.decimals) for (amount,) in refunds)

    def _is_over_refunded(self, flow: Flow, coin: Coin) -> bool:
        """Whether a refund to come would exceed its payment, with those that come before it."""
        if flow.payment_id is None:
            return False
        sql = "select charged_amount from payments where id = ?"
        [(charged,)] = self._store.fetch(sql, (flow.payment_id,))
        return self.refunded(flow.payment_id, coin, flow.at) > stored_units(charged, coin.decimals)

    def _drop(self, flow: Flow, now: int) -> None:
        """Take a record to come out of its list and its entries out of the balances."""
        self._store.fetch("delete from payout_records where id = ?", (flow.record_id,))
        undone = {account: -units for account, units in flow.units.items()}
        self.move(f"dropped {flow.record_id}", now, flow.currency, undone)

    def _coming(self, now: int, currency: str | None = None) -> Iterator[Flow]:
        """Yield the seeded records that are settled after now, oldest first."""
        for row in self._store.fetch(_COMING_FLOWS, {"now": now, "coin": currency}):
            record_id, at, slug, *amounts, sign, payment_id = row
            yield Flow(record_id, at, slug, _units(slug, amounts, sign), payment_id)

    def _past(self) -> dict[str, Units]:
        movements: dict[str, Units] = defaultdict(lambda: defaultdict(int))
        for slug, *amounts, sign in self._store.fetch(_PAST_FLOWS):
            for account, units in _units(slug, amounts, sign).items():
                movements[slug][account] += units
        return movements


def _units(slug: str, amounts: list[str], sign: int) -> Units:
    """Return the movements of a seeded record; its customers are one account."""
    customers, business, fee = (stored_units(text, ENABLED[slug].decimals) for text in amounts)
    return {PAST_CUSTOMERS: -sign * customers, BUSINESS: sign * business, FEES: fee}
