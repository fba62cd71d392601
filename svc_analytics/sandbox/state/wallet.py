"""Wallets in double entry: the entries of every movement sum to zero per coin.

The seeded past is booked as opening entries when money first moves. They include the
whole current month, also its coming days, so the available balance is reduced by what
those days will take.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from svc_analytics.sandbox.core.coins import ENABLED, Coin, stored_units
from svc_analytics.sandbox.state.store import Store

BUSINESS = "business"
FEES = "fees"
PAST_CUSTOMERS = "customers of the seeded past"
OUTSIDE = "outside the platform"

# No sum or comparison of money happens in SQL: its integers end at 64 bits.
_PAST_FLOWS = """
    select currency, charged_amount, net_amount, fee_amount, 1 from payments
    union all
    select currency, amount, debited_amount, fee_amount, -1 from payout_records
"""
_COMING_FLOWS = """
    select paid_at as at, net_amount, 1 from payments where currency = ?1 and paid_at > ?2
    union all
    select settled_at, debited_amount, -1 from payout_records
    where currency = ?1 and settled_at > ?2 and created_at > ?2 - 60000000
    order by at desc
"""


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

    def balance(self, account: str, currency: str) -> int:
        """Return the balance of an account in units of a coin."""
        sql = "select units from balances where account = ? and currency = ?"
        row = self._store.first(sql, account, currency)
        return int(row[0]) if row else 0

    def available(self, coin: Coin, now: int) -> int:
        """Return what the business can spend now without a negative balance later."""
        coming, most = 0, 0
        for _, text, sign in self._store.fetch(_COMING_FLOWS, (coin.slug, now)):
            coming += sign * stored_units(text, coin.decimals)
            most = max(most, coming)
        return self.balance(BUSINESS, coin.slug) - most

    def balances(self) -> Iterator[tuple[str, str, int]]:
        """Yield every balance as (account, currency, units)."""
        for account, currency, units in self._store.fetch("select * from balances"):
            yield account, currency, int(units)

    def _past(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for slug, customers, business, fee, sign in self._store.fetch(_PAST_FLOWS):
            decimals, flows = ENABLED[slug].decimals, found[slug]
            flows[PAST_CUSTOMERS] -= sign * stored_units(customers, decimals)
            flows[BUSINESS] += sign * stored_units(business, decimals)
            flows[FEES] += stored_units(fee, decimals)
        return found
