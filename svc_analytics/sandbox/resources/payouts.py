"""Payouts: coin from the business wallet to a customer.

Not shown by the contract, our choices: Toman, a disabled coin and an unknown coin are
PAY_CURRENCY_NOT_ACCEPTED. The limits are 5,000 USD for one payout and 20,000 USD in 24
hours, counted since the seeding and including console payouts. A `payer_id` can be paid
once it has paid this merchant, while its account is in order.
"""

from typing import Any

from svc_analytics.instants import DAY
from svc_analytics.sandbox.core import validation
from svc_analytics.sandbox.core.amounts import is_plain, units_of
from svc_analytics.sandbox.core.coins import Coin
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.past.outflows import Transfer
from svc_analytics.sandbox.resources.recipient_lookup import RecipientLookup
from svc_analytics.sandbox.resources.transfers import Transfers, dollars, microdollars
from svc_analytics.sandbox.state.api_keys import Key
from svc_analytics.sandbox.state.platform import Platform
from svc_analytics.sandbox.state.rates import ENABLED

_MONEY = {"currency": validation.text(32), "amount": is_plain}
_REQUIRED = {"reference_id": validation.text(128), **_MONEY}
_OPTIONAL = {
    "payer_id": validation.uuid_text,
    "recipient_token": validation.text(2048, minimum=0),
    "recipient_confirm": validation.text(128, minimum=0),
    "comment": validation.text(512, minimum=0),
}
_PATHS = ({"payer_id"}, {"recipient_token", "recipient_confirm"})


class Payouts:
    """Make payouts, each at most once."""

    def __init__(self, platform: Platform, transfers: Transfers, lookups: RecipientLookup) -> None:
        self._platform = platform
        self._transfers = transfers
        self._lookups = lookups

    def create(self, key: Key, body: object) -> str:
        """Pay out and return the record id; a repeated request pays nothing more."""
        self._platform.authorizer.authorize(key, "payout")
        request = validation.read_body(body, _REQUIRED, _OPTIONAL)
        return self._transfers.once(request["reference_id"], request, lambda: self._pay(request))

    def create_in_console(self, body: object) -> str:
        """Pay out without a reference and return the record id."""
        request = validation.read_body(body, _MONEY, _OPTIONAL)
        self._platform.open_wallets()
        with self._platform.store.transaction():
            return self._pay(request)

    def _pay(self, request: dict[str, Any]) -> str:
        platform, now = self._platform, self._platform.now()
        platform.authorizer.require_payouts()
        coin = ENABLED.get(request["currency"])
        if coin is None:
            raise Refusal(422, "PAY_CURRENCY_NOT_ACCEPTED")
        units = units_of(request["amount"], coin.decimals)
        if units is None:
            raise Refusal(422, "PAY_AMOUNT_INVALID")
        payer_id = self._recipient(request)
        self._count_volume(coin, units)
        transfer = Transfer(coin, units, platform.scenario.fee_tier(now), payer_id)
        comment = request.get("comment", "")
        return self._transfers.settle(transfer, request.get("reference_id"), comment)

    def _recipient(self, request: dict[str, Any]) -> str:
        """Return the `payer_id` to pay, given directly or by a recipient token."""
        named = request.keys() & set.union(*_PATHS)
        if named not in _PATHS:
            raise Refusal(422, "PAY_RECIPIENT_INVALID")
        if "payer_id" in named:
            payer_id: str = validation.uuid_form(request["payer_id"])
            if not self._platform.customers.is_payable(payer_id):
                raise Refusal(422, "PAY_RECIPIENT_INVALID")
            return payer_id
        self._platform.authorizer.require_any_scope()
        return self._lookups.resolve(request["recipient_token"], request["recipient_confirm"])

    def _count_volume(self, coin: Coin, units: int) -> None:
        """Check a payout against both limits and count it; this needs a rate."""
        platform, now = self._platform, self._platform.now()
        price = platform.rates.price(coin, now)
        if price is None:
            raise Refusal(503, "PAY_RATE_UNAVAILABLE")
        value = microdollars(coin, units, price)
        past = "select microdollars from payout_volume where at > ?"
        spent = sum(row[0] for row in platform.store.fetch(past, (now - DAY,)))
        is_over = value > dollars(platform.settings["payout_max_usd"])
        if is_over or spent + value > dollars(platform.settings["payout_day_usd"]):
            raise Refusal(422, "PAY_PAYOUT_LIMIT")
        platform.store.fetch("insert into payout_volume values (?, ?)", (now, value))
