"""Refunds: part or all of a payment back to who paid it, in the coin it was paid in.

Not shown by the contract: we chose. `reference_id` (128 characters) and `amount` are
required, `comment` (512) is not; success is 201; an unknown payment is
PAY_SESSION_NOT_FOUND; refunds need no armed payouts, but a business that is not
suspended (MERCHANT_DISABLED); a coin without a rate is refunded all the same.
"""

from svc_analytics.sandbox.core import validation
from svc_analytics.sandbox.core.amounts import is_plain, stored_units, units_of
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.past.outflows import Movement
from svc_analytics.sandbox.resources.transfers import Disbursements
from svc_analytics.sandbox.state.platform import World
from svc_analytics.sandbox.state.rates import ENABLED
from svc_analytics.sandbox.state.store import StoredRecord

_REQUIRED = {"reference_id": validation.text(128), "amount": is_plain}
_OPTIONAL = {"comment": validation.text(512, least=0)}


class Refunds:
    """Makes refunds; all refunds of a payment together never exceed what was charged."""

    def __init__(self, world: World, disbursements: Disbursements) -> None:
        self._world = world
        self._disbursements = disbursements

    def create(self, payment: StoredRecord, body: object) -> str:
        """Refund a payment and return the record's id; a replay moves nothing."""
        request = validation.as_object(body)
        validation.require(request, _REQUIRED, _OPTIONAL)
        self._world.open_wallets()
        reference_id: str = request["reference_id"]
        # The payment belongs to the payload: another payment is another request.
        payload = {**request, "payment_id": payment["id"]}
        with self._world.store.transaction():
            if not self._disbursements.is_replay(reference_id, payload):
                comment = request.get("comment", "")
                movement = self._movement(payment, request["amount"])
                self._disbursements.settle(movement, reference_id, comment)
                self._disbursements.keep(reference_id, payload)
            return self._disbursements.id_of(reference_id)

    def _movement(self, payment: StoredRecord, amount: str) -> Movement:
        self._world.gate.require_sales()
        coin = ENABLED[payment["currency"]]
        units = units_of(amount, coin.decimals)
        if units is None:
            raise Refusal(422, "PAY_AMOUNT_INVALID")
        # Also what the seeded past will refund in days to come: nothing is refunded twice.
        refunded = sum(
            stored_units(text, coin)
            for (text,) in self._world.store.fetch(
                "select amount from payout_records where payment_id = ?", (payment["id"],)
            )
        )
        if refunded + units > stored_units(payment["charged_amount"], coin):
            raise Refusal(422, "PAY_REFUND_EXCEEDS_PAYMENT")
        return Movement(coin, units, 0, payment["payer_id"], payment["id"])
