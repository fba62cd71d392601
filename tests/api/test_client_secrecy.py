"""No key comes out of the client: not in messages, tracebacks, reprs or logs (H5)."""

import traceback
from typing import Any

import httpx
import pytest

from svc_analytics.errors import SvcError
from tests.support.fake_service import CHECKOUT_KEY, PAYOUT_KEY, FakeService, refusal
from tests.support.unit_material import client_of, raised_by

NEVER = (CHECKOUT_KEY[9:25], PAYOUT_KEY[11:27])
HEADER = f"Bearer {PAYOUT_KEY}"


def told(error: BaseException, *, has_locals: bool = False) -> str:
    """What a person, a log or a tracker of errors could see of an error and its causes."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=has_locals)
    return "".join([*shown.format(), repr(error), str(error), repr(vars(error))])


FAILURES: dict[str, Any] = {
    "401": refusal(401, "UNAUTHORIZED"),
    "403": refusal(403, "PAY_WRONG_KEY_KIND"),
    "422": refusal(422, "VALIDATION_FAILED"),
    "500": refusal(500, "INTERNAL_SERVER_ERROR"),
    "timeout": httpx.ReadTimeout("timed out"),
    "illegal header": httpx.LocalProtocolError(f"Illegal header value b'{HEADER}'"),
    "no connection": httpx.ConnectError("[Errno 111] Connection refused"),
    "certificate": httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate"),
    "page without a cursor": httpx.Response(200, json={"data": []}),
    "damaged page": httpx.Response(200, text="x", headers={"content-type": "application/json"}),
}


def failing(answer: Any) -> FakeService:
    def intercept(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, httpx.Response)
        return answer

    return FakeService(intercept=intercept)


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES.keys())
def test_no_error_tells_a_key(answer):
    """Message, repr, attributes, causes and local variables of a failure are free of keys.

    An answer that repeats them is in `test_echoed_keys`.
    """
    error = raised_by(lambda: client_of(failing(answer)).page("payouts", {}))
    assert isinstance(error, SvcError)
    assert not [secret for secret in NEVER if secret in told(error, has_locals=True)]


def test_client_shows_its_address_and_no_key():
    """A client in a notebook cell shows where it calls, not with what."""
    client = client_of(FakeService())
    shown = f"{client!r} {client} {vars(client)} {vars(client.limiter)} {client._settings}"
    assert "https://pay.example" in repr(client)
    assert not [secret for secret in NEVER if secret in shown]
