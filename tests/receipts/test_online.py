"""Online verification: which answers of the service are verdicts, and which are none."""

from typing import Any
from unittest.mock import create_autospec

import pytest

from svc_analytics.api.client import Client
from svc_analytics.errors import ApiError, KeyRefused, NotFound, Unavailable
from svc_analytics.receipts.online import OnlineVerifier
from svc_analytics.signing.receipts import Verdict
from tests.support.receipt_material import FACTS, RING, signed

UNSURE = Verdict("bad_signature", "unsure")
RECORD = FACTS | {"id": FACTS["payment_id"], "status": "completed"}


def opinion(token: str, verified: Any, payment: Any = None) -> tuple[Verdict, list[str]]:
    """Ask a service that answers so; return the verdict, and what it was asked for."""
    client = create_autospec(Client, instance=True)
    client.me.return_value = [{"id": FACTS["merchant_id"]}]
    client.verify_receipt.side_effect = [verified]
    client.payment.side_effect = [payment or NotFound("gone")]
    found = OnlineVerifier(client, RING).verify(token, UNSURE)
    return found, [call.args[0] for call in client.method_calls[1:]]


FORGED = signed(FACTS, "forged")
REFUSALS: dict[str, Any] = {
    "invalid": ApiError("no", status=422, codes=("PAY_RECEIPT_INVALID",)),
    "valid is false": {"valid": False, "payment": RECORD},
    "too large": ApiError("no", status=413),
    "validation": ApiError("no", status=400, codes=("VALIDATION_FAILED",)),
}


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refused_token_is_held_against_the_payment(answer):
    """The durable proof is the record (contract, Events 8); no refusal stops the run."""
    found, asked = opinion(FORGED, answer, RECORD)
    assert asked == [FORGED, FACTS["payment_id"]]
    assert found.verdict == "bad_signature"
    assert "the record holds the same facts (the service does not verify it)" in found.reason


def test_a_verified_token_is_valid_though_no_secret_of_ours_signed_it():
    """Then the ring lacks a secret, and the reason says so."""
    found, _ = opinion(FORGED, {"valid": True, "payment": RECORD})
    assert found.verdict == "valid" and "lacks a secret that is in force" in found.reason


def test_verified_facts_are_still_compared():
    """The service's word for a token is no word for facts that its record does not hold."""
    found, _ = opinion(signed(FACTS), {"valid": True, "payment": RECORD | {"amount": "1"}})
    assert found.verdict == "facts_mismatch"


def test_a_payment_that_the_service_does_not_have_is_unknown():
    """Rightly signed, refused, and not found."""
    assert opinion(signed(FACTS), REFUSALS["invalid"])[0].verdict == "unknown_payment"


def test_no_other_than_an_id_of_the_service_is_asked_for():
    """The id in a token is whatever its maker wrote."""
    token = signed(FACTS | {"payment_id": "../payouts"})
    found, asked = opinion(token, REFUSALS["invalid"], RECORD)
    assert found.verdict == "unknown_payment" and asked == [token]


@pytest.mark.parametrize("error", [KeyRefused("401", status=401), Unavailable("away", status=503)])
def test_a_refused_key_or_an_absent_service_is_no_verdict(error):
    """401 and 503 say nothing of a token: the command ends with them."""
    with pytest.raises(type(error)):
        opinion(FORGED, error)
