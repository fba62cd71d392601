"""Online verification: which answers of the service are verdicts, and which are none."""

from typing import Any

import pytest

from svc_analytics.errors import ApiError, KeyRefused, NotFound, Unavailable
from svc_analytics.receipts.online import OnlineVerifier
from svc_analytics.signing.receipts import Verdict
from tests.support.receipt_material import FACTS, RING, signed

UNSURE = Verdict("bad_signature", "unsure")
RECORD = FACTS | {"id": FACTS["payment_id"], "status": "completed"}


class Service:
    """Says what it is told to say, and remembers what it was asked for."""

    def __init__(self, verified: Any, payment: Any = None) -> None:
        self.answers = {"verify": verified, "payment": payment or NotFound("gone")}
        self.asked: list[str] = []

    def _say(self, name: str, asked: str) -> Any:
        self.asked.append(asked)
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def me(self) -> list[dict[str, Any]]:
        return [{"id": FACTS["merchant_id"]}]

    def verify_receipt(self, token: str) -> Any:
        return self._say("verify", token)

    def payment(self, payment_id: str) -> Any:
        return self._say("payment", payment_id)


def opinion(token: str, service: Service) -> Verdict:
    return OnlineVerifier(service, RING).verify(token, UNSURE)  # type: ignore[arg-type]


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
    service = Service(answer, RECORD)
    found = opinion(FORGED, service)
    assert service.asked == [FORGED, FACTS["payment_id"]]
    assert found.verdict == "bad_signature"
    assert "the record holds the same facts (the service does not verify it)" in found.reason


def test_a_verified_token_is_valid_though_no_secret_of_ours_signed_it():
    """Then the ring lacks a secret, and the reason says so."""
    found = opinion(FORGED, Service({"valid": True, "payment": RECORD}))
    assert found.verdict == "valid" and "lacks a secret that is in force" in found.reason


def test_verified_facts_are_still_compared():
    """The service's word for a token is no word for facts that its record does not hold."""
    found = opinion(signed(FACTS), Service({"valid": True, "payment": RECORD | {"amount": "1"}}))
    assert found.verdict == "facts_mismatch"


def test_a_payment_that_the_service_does_not_have_is_unknown():
    """Rightly signed, refused, and not found."""
    assert opinion(signed(FACTS), Service(REFUSALS["invalid"])).verdict == "unknown_payment"


def test_no_other_than_an_id_of_the_service_is_asked_for():
    """The id in a token is whatever its maker wrote."""
    service = Service(REFUSALS["invalid"], RECORD)
    token = signed(FACTS | {"payment_id": "../payouts"})
    assert opinion(token, service).verdict == "unknown_payment" and service.asked == [token]


@pytest.mark.parametrize("error", [KeyRefused("401", status=401), Unavailable("away", status=503)])
def test_a_refused_key_or_an_absent_service_is_no_verdict(error):
    """401 and 503 say nothing of a token: the command ends with them."""
    with pytest.raises(type(error)):
        opinion(FORGED, Service(error))
