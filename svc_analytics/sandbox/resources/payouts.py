"""Payouts: coin from the business wallet to a customer (contract, Payouts and refunds).

Not shown by the contract: we chose. Toman, a disabled and an unknown coin are
PAY_CURRENCY_NOT_ACCEPTED; a payout worth 5,000 USD is the largest and 20,000 USD the
most in 24 hours, counted over what was paid out on the service since it was seeded,
console payouts included; a handle is payable once it has paid this merchant, while
its account is in order.
"""

from typing import Any

from svc_analytics.periods import DAY
from svc_analytics.sandbox.core import validation
from svc_analytics.sandbox.core.amounts import is_plain, units_of
from svc_analytics.sandbox.core.coins import Coin
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.past.outflows import Movement
from svc_analytics.sandbox.resources.recipient_lookup import Lookups
from svc_analytics.sandbox.resources.transfers import Disbursements, dollars, microdollars
from svc_analytics.sandbox.state.api_keys import Key
from svc_analytics.sandbox.state.platform import World
from svc_analytics.sandbox.state.rates import ENABLED

_REQUIRED = {
    "reference_id": validation.text(128),
    "currency": validation.text(32),
    "amount": is_plain,
}
_OPTIONAL = {
    "payer_id": validation.uuid_text,
    "recipient_token": validation.text(2048, least=0),
    "recipient_confirm": validation.text(128, least=0),
    "comment": validation.text(512, least=0),
}
_PATHS = ({"payer_id"}, {"recipient_token", "recipient_confirm"})


class Payouts:
    """Makes payouts, each at most once."""

    def __init__(self, world: World, disbursements: Disbursements, lookups: Lookups) -> None:
        self._world = world
        self._disbursements = disbursements
        self._lookups = lookups

    def create(self, key: Key, body: object) -> str:
        """Pay out and return the id of the record; a replay pays nothing more."""
        self._world.gate.admit(key, "payout")
        request = validation.as_object(body)
        validation.require(request, _REQUIRED, _OPTIONAL)
        self._world.open_wallets()
        reference_id: str = request["reference_id"]
        with self._world.store.transaction():
            if not self._disbursements.is_replay(reference_id, request):
                self._pay(request)
                self._disbursements.keep(reference_id, request)
            return self._disbursements.id_of(reference_id)

    def pay_from_console(self, request: dict[str, Any]) -> str:
        """Pay out as a person in the console does: without a reference; return the id."""
        validation.require(
            request, {"currency": validation.text(32), "amount": is_plain}, _OPTIONAL
        )
        self._world.open_wallets()
        with self._world.store.transaction():
            return self._pay(request)

    def _pay(self, request: dict[str, Any]) -> str:
        world, now = self._world, self._world.now()
        world.gate.require_payouts()
        coin = ENABLED.get(request["currency"])
        if coin is None:
            raise Refusal(422, "PAY_CURRENCY_NOT_ACCEPTED")
        units = units_of(request["amount"], coin.decimals)
        if units is None:
            raise Refusal(422, "PAY_AMOUNT_INVALID")
        payer_id = self._recipient(request)
        self._meter(coin, units)
        movement = Movement(coin, units, world.scenario.fee_tier(now), payer_id)
        comment = request.get("comment", "")
        return self._disbursements.settle(movement, request.get("reference_id"), comment)

    def _recipient(self, request: dict[str, Any]) -> str:
        """Return the handle to pay, by exactly one of the two paths."""
        named = request.keys() & set.union(*_PATHS)
        if named not in _PATHS:
            raise Refusal(422, "PAY_RECIPIENT_INVALID")
        if "payer_id" in named:
            payer_id: str = validation.uuid_form(request["payer_id"])
            if not self._world.customers.is_payable(payer_id):
                raise Refusal(422, "PAY_RECIPIENT_INVALID")
            return payer_id
        self._world.gate.require_any_scope()
        return self._lookups.resolve(request["recipient_token"], request["recipient_confirm"])

    def _meter(self, coin: Coin, units: int) -> None:
        """Hold a payout to both limits, and count it; without a rate neither can be held."""
        world, now = self._world, self._world.now()
        price = world.rates.price(coin, now)
        if price is None:
            raise Refusal(503, "PAY_RATE_UNAVAILABLE")
        value = microdollars(coin, units, price)
        past = "select microdollars from payout_volume where at > ?"
        spent = sum(row[0] for row in world.store.fetch(past, (now - DAY,)))
        is_over = value > dollars(world.settings["payout_max_usd"])
        if is_over or spent + value > dollars(world.settings["payout_day_usd"]):
            raise Refusal(422, "PAY_PAYOUT_LIMIT")
        world.store.fetch("insert into payout_volume values (?, ?)", (now, value))
