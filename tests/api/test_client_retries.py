"""The client tries again what may pass, and only that, for as long as the patience lasts."""

import json
from typing import Any

import httpx
import pytest

from svc_analytics.api.rate_limiter import FIRST_CONTACT, LONGEST_HOLD
from svc_analytics.errors import (
    ApiError,
    KeyRefused,
    NotFound,
    ProtocolError,
    Unavailable,
    WrongKeyClass,
)
from tests.simulation.wire import Broken
from tests.support.fake_service import FakeService, once, payment, refusal
from tests.support.unit_material import Hours, client_of

JSON = {"content-type": "application/json"}
PAGE = json.dumps({"data": [payment(1, "2026-10-01T00:00:00Z")], "next_cursor": None}).encode()


def broken_off(body: bytes) -> httpx.Response:
    """Make an answer whose body breaks off after these bytes."""
    return httpx.Response(200, headers=JSON, stream=Broken(body, httpx.ReadError("reset")))


PASSING: dict[str, Any] = {
    "read timeout": lambda: httpx.ReadTimeout("timed out"),
    "no connection": lambda: httpx.ConnectError("[Errno 111] Connection refused"),
    "error without a text": lambda: httpx.ReadError(""),
    "reset within the body": lambda: broken_off(PAGE[:20]),
    "reset after the last byte": lambda: broken_off(PAGE),
    "cut JSON": lambda: httpx.Response(200, headers=JSON, content=PAGE[:-1]),
    "HTML": lambda: httpx.Response(200, html="<html></html>"),
    "429": lambda: refusal(429, "RATE_LIMITED"),
    "503": lambda: refusal(503, "SERVICE_UNAVAILABLE"),
}  # fmt: skip


@pytest.mark.parametrize("failure", PASSING.values(), ids=PASSING.keys())
def test_passing_failure_is_tried_again(failure):
    """A1 to A6: after three failures of any passing kind the same page comes, whole and once.

    What a socket does to an answer is in `test_transport`, what is no page in `test_raw_json`.
    """
    hours, service = Hours(), FakeService()
    service.payments = [payment(1, "2026-10-01T00:00:00Z")]
    service.intercept = once(failure(), failure(), failure())
    page = client_of(service, hours).page("payments", {})
    assert len(page.raw_records()) == 1
    assert len(service.requests) == 4
    assert len({(str(request.url), request.method) for request in service.requests}) == 1
    assert hours.waits and sum(hours.waits) < 4 * LONGEST_HOLD


FINAL = {
    "401": (refusal(401, "UNAUTHORIZED"), KeyRefused, 1),
    "403, wrong class": (refusal(403, "PAY_WRONG_KEY_KIND"), WrongKeyClass, 2),
    "404": (refusal(404, "PAY_SESSION_NOT_FOUND"), NotFound, 1),
    "422": (refusal(422, "VALIDATION_FAILED", "BRAND_NEW"), ApiError, 1),
    "a page without a cursor": (httpx.Response(200, json={"data": []}), ProtocolError, 1),
    "301": (httpx.Response(301, headers={"location": "https://evil.example/"}), ApiError, 1),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "kind", "exit_code"), FINAL.values(), ids=FINAL.keys())
def test_final_refusal_is_not_tried_again(answer, kind, exit_code):
    """A7 to A10: a refusal that time will not change is told at once, and no redirect followed."""
    service = FakeService(intercept=lambda request: answer)
    with pytest.raises(ApiError) as refused:
        client_of(service).page("payments", {})
    assert (type(refused.value), refused.value.exit_code) == (kind, exit_code)
    assert len(service.requests) == 1


@pytest.mark.parametrize("patience", [1.0, 120.0, 3600.0])
def test_patience_ends_in_unavailable(patience):
    """A5: a service that stays away for all of it, and not a moment less, is Unavailable: 75."""
    service = FakeService(intercept=lambda request: refusal(503, "MAINTENANCE_MODE"))
    hours, start = Hours(), Hours().now
    with pytest.raises(Unavailable) as gave_up:
        client_of(service, hours, patience).me()
    assert (gave_up.value.exit_code, gave_up.value.status) == (75, 503)
    assert (gave_up.value.codes, gave_up.value.path) == (("MAINTENANCE_MODE",), "/me")
    assert patience <= hours.now - start <= patience + 0.001


@pytest.mark.parametrize("patience", [5.0, 3600.0])
def test_wrong_address_is_told_soon(patience):
    """A service that never answered is given up within seconds, whatever the patience."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("[Errno -2] Name or service not known")

    hours, start = Hours(), Hours().now
    with pytest.raises(Unavailable, match="Name or service not known"):
        client_of(FakeService(intercept=refuse), hours, patience).me()
    assert hours.now - start <= min(patience, FIRST_CONTACT) + 0.001


def test_client_that_rested_is_as_patient_as_before():
    """Time between two calls is not time without luck: one failure after a rest is tried again."""
    hours, service = Hours(), FakeService()
    client = client_of(service, hours, patience=120)
    client.me()
    hours.now += 600
    service.intercept = once(refusal(503, "SERVICE_UNAVAILABLE"))
    client.me()
    assert len(service.requests) == 3
