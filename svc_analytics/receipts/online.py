"""Online verification: ask the service about a receipt that was unsure offline."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from svc_analytics.api.client import Client
from svc_analytics.errors import ApiError, NotFound, ProtocolError
from svc_analytics.formatting.ids import canonical_id
from svc_analytics.messages import Message
from svc_analytics.signing.receipts import MalformedToken, Verdict, parse_receipt, verify_receipt
from svc_analytics.signing.secrets import SigningSecret

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.ASCII)
_INVALID = {"PAY_RECEIPT_INVALID", "VALIDATION_FAILED"}
_NOT_VERIFIED = {400, 413, 422}  # these statuses reject the token, whatever their codes


class OnlineVerifier:
    """Verifies tokens by asking the service; a refused key or an outage is an error."""

    def __init__(self, client: Client, ring: Sequence[SigningSecret]) -> None:
        self._client = client
        self._ring = ring
        self._merchant_id = client.me()[0]["id"]

    def verify(self, token: str, verdict: Verdict) -> Verdict:
        """Return the verdict on a token by the service's record; `verdict` if malformed."""
        try:
            receipt = parse_receipt(token)
        except MalformedToken:
            return verdict
        payment = self._payment_if_verified(token, receipt.facts["payment_id"])
        is_verified = payment is not None
        payment = payment or self._payment(receipt.facts["payment_id"])
        record = payment and {
            **payment,
            "payment_id": payment.get("id"),
            "merchant_id": self._merchant_id,
        }
        verdict = verify_receipt(token, self._ring, record)
        if is_verified and verdict.verdict == "bad_signature" and not verdict.differences:
            return Verdict("valid", Message("receipt.ring_incomplete"), verdict.receipt)
        code = "receipt.service_verifies" if is_verified else "receipt.service_refuses"
        return replace(verdict, reason=Message(code, REASON=verdict.reason))

    def _payment_if_verified(self, token: str, payment_id: str) -> Mapping[str, Any] | None:
        try:
            response = self._client.verify_receipt(token)
        except ApiError as error:
            if error.status in _NOT_VERIFIED or _INVALID.intersection(error.codes):
                return None
            raise
        payment = response.get("payment")
        is_told = isinstance(payment, dict) and _is_of(payment, payment_id)
        return payment if response.get("valid") is True and is_told else None

    def _payment(self, payment_id: str) -> Mapping[str, Any] | None:
        if not _UUID.match(payment_id):
            return None  # the service never issued such an id, so do not ask for it
        try:
            payment = self._client.payment(payment_id)
        except NotFound:
            return None
        if not _is_of(payment, payment_id):
            raise ProtocolError("the service answered with another payment, or with none")
        return payment


def _is_of(payment: Mapping[str, Any], payment_id: str) -> bool:
    """Whether an answer is the payment of an id: any other says nothing of it."""
    return canonical_id(str(payment.get("id"))) == canonical_id(payment_id)
