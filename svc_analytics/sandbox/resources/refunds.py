"""Refunds: return part or all of a payment to its payer, in the same coin.

Not shown by the contract, our choices: `reference_id` (128 characters) and `amount` are
required, `comment` (512) is optional, success is 201, an unknown payment is
PAY_SESSION_NOT_FOUND. Refunds need no armed payouts and no rate, but a business that is not
suspended (MERCHANT_DISABLED).
"""

from svc_analytics.sandbox.core import validation
from svc_analytics.sandbox.core.amounts import is_plain, stored_units, units_of
from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.past.outflows import Transfer
from svc_analytics.sandbox.resources.transfers import Transfers
from svc_analytics.sandbox.state.platform import Platform
from svc_analytics.sandbox.state.rates import ENABLED
from svc_analytics.sandbox.state.store import StoredRecord

_REQUIRED = {"reference_id": validation.text(128), "amount": is_plain}
_OPTIONAL = {"comment": validation.text(512, minimum=0)}


class Refunds:
    """Make refunds; the refunds of a payment never exceed its charged amount."""

    def __init__(self, platform: Platform, transfers: Transfers) -> None:
        self._platform = platform
        self._transfers = transfers

    def create(self, payment: StoredRecord, body: object) -> str:
        """Refund a payment and return the record id; a repeated request moves nothing."""
        request = validation.read_body(body, _REQUIRED, _OPTIONAL)
        reference_id: str = request["reference_id"]

        def refund() -> None:
            transfer = self._transfer(payment, request["amount"])
            self._transfers.settle(transfer, reference_id, request.get("comment", ""))

        # The payment is part of the request: with another payment it is another request.
        return self._transfers.once(reference_id, {**request, "payment_id": payment["id"]}, refund)

    def _transfer(self, payment: StoredRecord, amount: str) -> Transfer:
        self._platform.authorizer.require_sales()
        coin = ENABLED[payment["currency"]]
        units = units_of(amount, coin.decimals)
        if units is None:
            raise Refusal(422, "PAY_AMOUNT_INVALID")
        # Including refunds of the seeded days to come: nothing is refunded twice.
        refunded = sum(
            stored_units(text, coin)
            for (text,) in self._platform.store.fetch(
                "select amount from payout_records where payment_id = ?", (payment["id"],)
            )
        )
        if refunded + units > stored_units(payment["charged_amount"], coin):
            raise Refusal(422, "PAY_REFUND_EXCEEDS_PAYMENT")
        return Transfer(coin, units, 0, payment["payer_id"], payment["id"])
