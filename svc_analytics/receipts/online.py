"""A second opinion: what the service says of a receipt that could not be proven offline.

One request after another at the service's own pace: `POST /receipts/verify`, then
`GET /payments/{id}`, which the contract calls the durable proof.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from svc_analytics.api.client import Client
from svc_analytics.errors import ApiError, NotFound
from svc_analytics.signing.receipts import (
    MalformedToken,
    Verdict,
    parse_receipt,
    verify_receipt,
)
from svc_analytics.signing.secrets import SigningSecret

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.ASCII)
_INVALID = {"PAY_RECEIPT_INVALID", "VALIDATION_FAILED"}
_NOT_VERIFIED = {400, 413, 422}  # answers to the token, whatever their codes


class OnlineVerifier:
    """Asks the service about tokens; a key refused or a service away is raised, never a verdict."""

    def __init__(self, client: Client, ring: Sequence[SigningSecret]) -> None:
        self._client = client
        self._ring = ring
        self._merchant_id = client.me()[0]["id"]

    def confirm(self, token: str, verdict: Verdict) -> Verdict:
        """Return the verdict on a token by the record that the service holds."""
        try:
            receipt = parse_receipt(token)
        except MalformedToken:
            return verdict
        payment = self._verified(token)
        is_verified = payment is not None
        payment = payment or self._payment(receipt.facts["payment_id"])
        found = verify_receipt(token, self._ring, payment and self._record(payment))
        if is_verified and found.verdict == "bad_signature" and not found.differences:
            return Verdict(
                "valid",
                "the service verifies it, no receipt secret does: "
                "add the missing secret to SVC_RECEIPT_SECRETS",
                found.receipt,
            )
        answer = "verifies it" if is_verified else "does not verify it"
        return replace(found, reason=f"{found.reason} (the service {answer})")

    def _verified(self, token: str) -> Mapping[str, Any] | None:
        try:
            answer = self._client.verify_receipt(token)
        except ApiError as error:
            if error.status in _NOT_VERIFIED or _INVALID.intersection(error.codes):
                return None
            raise
        payment = answer.get("payment")
        return payment if answer.get("valid") is True and isinstance(payment, dict) else None

    def _payment(self, payment_id: str) -> Mapping[str, Any] | None:
        if not _UUID.match(payment_id):
            return None  # no id of the service's: nothing to ask for
        try:
            return self._client.payment(payment_id)
        except NotFound:
            return None

    def _record(self, payment: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **payment,
            "payment_id": payment.get("id"),
            "merchant_id": self._merchant_id,
        }
