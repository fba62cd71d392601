"""The client: eight calls, each with the right key; what may pass is tried again, and only that."""

import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from svc_analytics.api.client import Client
from svc_analytics.api.rate_limiter import FIRST_CONTACT, LONGEST_HOLD
from svc_analytics.api.routes import ROUTES
from svc_analytics.errors import (
    ApiError,
    ConfigError,
    KeyRefused,
    NotFound,
    ProtocolError,
    Unavailable,
    WrongKeyClass,
)
from tests.support.fake_service import (
    BASE_URL,
    CHECKOUT_KEY,
    MERCHANT_ID,
    PAYOUT_KEY,
    FakeService,
    once,
    payment,
    refusal,
)
from tests.support.hostile_answers import Broken
from tests.support.unit_material import Hours, both_keys, client_of

UUID = "0f4b7d5e-6a1c-4d0e-9b7a-2c3d4e5f6071"
PREFIX = "/api/pay/v1"
Call = Callable[[Client], object]

CALLS: dict[str, tuple[Call, str, str, str]] = {
    "me": (lambda client: client.me(), "GET", "/me", CHECKOUT_KEY),
    "payments": (lambda client: client.page("payments", {}), "GET", "/payments", CHECKOUT_KEY),
    "payment": (lambda client: client.payment(UUID), "GET", f"/payments/{UUID}", CHECKOUT_KEY),
    "payouts": (lambda client: client.page("payouts", {}), "GET", "/payouts", PAYOUT_KEY),
    "payout": (lambda client: client.payout(UUID), "GET", f"/payouts/{UUID}", PAYOUT_KEY),
    "session": (lambda client: client.session(UUID), "GET", f"/sessions/{UUID}", CHECKOUT_KEY),
    "binding": (lambda client: client.binding("c"), "GET", "/customers/c/binding", CHECKOUT_KEY),
    "receipt": (lambda client: client.verify_receipt(""), "POST", "/receipts/verify", CHECKOUT_KEY),
}  # fmt: skip


PROFILE = {"id": MERCHANT_ID, "data": [], "next_cursor": None}


def answering(document: Any = PROFILE) -> FakeService:
    """Make a service that answers everything with one document, even with a bare null."""
    body, headers = json.dumps(document), {"content-type": "application/json"}
    return FakeService(intercept=lambda request: httpx.Response(200, content=body, headers=headers))


def test_client_has_a_call_for_every_route_and_no_more():
    """The public methods of the client are the table's calls."""
    public = {name for name in dir(Client) if not name.startswith("_")} - {"close"}
    others = "session", "binding", "verify_receipt"
    assert public == {"me", "page", "record", "payment", "payout", *others}
    assert set(CALLS) == set(ROUTES)


@pytest.mark.parametrize(("call", "method", "path", "key"), CALLS.values(), ids=CALLS.keys())
def test_call_is_made_with_the_key_of_least_power(call, method, path, key):
    """A8: each call goes to its path, with the class its route needs, checkout before payout."""
    service = answering()
    call(client_of(service))
    (request,) = service.requests
    assert (request.method, str(request.url)) == (method, BASE_URL + PREFIX + path)
    assert request.headers["authorization"] == f"Bearer {key}"


@pytest.mark.parametrize("name", ["me", "payments", "payment", "binding"])
def test_payout_key_serves_where_it_reaches_and_is_alone(name):
    """A merchant with a payout-class key alone can still read payments."""
    service = answering()
    CALLS[name][0](client_of(service, checkout_key=None))
    assert service.requests[0].headers["authorization"] == f"Bearer {PAYOUT_KEY}"


MISSING = [
    *((name, "payout_key", "SVC_PAYOUT_KEY") for name in ("payouts", "payout")),
    *((name, "checkout_key", "SVC_CHECKOUT_KEY") for name in ("session", "receipt")),
]


@pytest.mark.parametrize(("name", "missing", "variable"), MISSING)
def test_call_without_its_key_is_not_made(name, missing, variable):
    """H2: a route whose class is missing is bad usage that names the variable; nothing is sent."""
    service = answering()
    with pytest.raises(ConfigError, match=variable):
        CALLS[name][0](client_of(service, **{missing: None}))
    assert service.requests == []


def test_profile_can_be_asked_with_either_key():
    """H1: the merchants of both keys can be compared before anything is written."""
    service = answering()
    client = client_of(service)
    client.me("payout"), client.me("checkout")
    sent = [request.headers["authorization"] for request in service.requests]
    assert sent == [f"Bearer {PAYOUT_KEY}", f"Bearer {CHECKOUT_KEY}"]


def test_profile_comes_with_the_services_clock():
    """C3: the service's own clock is told, for a local one may be days off."""
    profile, at = client_of(FakeService()).me()
    assert (profile["id"], at) == (MERCHANT_ID, 1_795_176_000_000_000)
    assert client_of(FakeService(now=None)).me()[1] is None


@pytest.mark.parametrize("name", ["me", "receipt", "sessions", "payment", "../payouts", ""])
def test_only_the_two_lists_have_pages(name):
    """What is no list of the service has no pages."""
    service = answering()
    with pytest.raises(ValueError, match=f"^{re.escape(name)}$"):
        client_of(service).page(name, {})
    assert service.requests == []


WRONG_KIND = refusal(403, "PAY_WRONG_KEY_KIND")


def test_binding_falls_back_on_the_other_key():
    """The contract is silent on /customers: the payout class is tried when checkout is wrong."""
    answers = [WRONG_KIND, httpx.Response(200, json={"state": "none"})]
    service = FakeService(intercept=lambda request: answers[len(service.requests) - 1])
    assert client_of(service).binding("c-1") == {"state": "none"}
    sent = [request.headers["authorization"][:15] for request in service.requests]
    assert sent == ["Bearer svc_live", "Bearer svc_payo"]


def test_binding_with_one_key_does_not_ask_twice():
    """Without another key the refusal stands."""
    service = FakeService(intercept=lambda request: WRONG_KIND)
    with pytest.raises(WrongKeyClass):
        client_of(service, payout_key=None).binding("c-1")
    assert len(service.requests) == 1


def test_a_key_that_worked_before_is_refused_not_of_the_wrong_class():
    """A8: at its first use a wrong class is a setting to mend; later the service refused."""
    service = FakeService()
    client = client_of(service)
    client.me()
    service.intercept = lambda request: WRONG_KIND
    with pytest.raises(WrongKeyClass):
        client.page("payouts", {})
    service.intercept = None
    client.page("payouts", {})
    service.intercept = lambda request: WRONG_KIND
    with pytest.raises(KeyRefused, match="this payout-class key was taken before") as told:
        client.page("payouts", {})
    assert (told.value.exit_code, told.value.codes) == (1, ("PAY_WRONG_KEY_KIND",))


def test_a_cursor_that_fits_no_address_breaks_the_contract():
    """B4: one line of ours, not an error of the library."""
    service = FakeService()
    with pytest.raises(ProtocolError, match="a cursor of 70,000 characters does not fit"):
        client_of(service).page("payments", {"cursor": "x" * 70_000})
    assert service.requests == []


CURSORS = ["\0\x1f\x7f", "a&limit=1", "\u202e#?%", "\r\nx: y", "\U0001f600", " "]


@pytest.mark.parametrize("cursor", CURSORS, ids=repr)
def test_a_cursor_of_any_characters_is_sent_back_as_it_came(cursor):
    """A cursor is the service's own text: it stays one parameter."""
    service = FakeService(intercept=lambda request: httpx.Response(200, json={}))
    with pytest.raises(ProtocolError):
        client_of(service).page("payments", {"limit": "100", "cursor": cursor})
    assert dict(service.requests[0].url.params) == {"limit": "100", "cursor": cursor}


@pytest.mark.parametrize("name", ["payment", "payout", "session", "binding"])
def test_id_is_sent_as_one_segment(name):
    """Ids are the merchant's own texts: whatever they hold, they stay one segment of the path."""
    service = answering()
    getattr(client_of(service), name)("../payouts\r\nx: y")
    path = PREFIX + ROUTES[name].path.replace("{id}", "..%2Fpayouts%0D%0Ax%3A%20y")
    assert service.requests[0].url.raw_path == path.encode()


@pytest.mark.parametrize("name", ["payment", "payout", "session", "binding"])
@pytest.mark.parametrize("text", ["", ".", "..", "x" * 70_000], ids=len)
def test_id_that_is_no_segment_is_not_sent(name, text):
    """An id that would name another path is bad usage; nothing is sent."""
    service = answering()
    with pytest.raises(ConfigError):
        getattr(client_of(service), name)(text)
    assert service.requests == []


def test_receipt_is_posted_as_json():
    """The one POST carries the token and nothing else."""
    service = answering({"valid": True})
    client_of(service).verify_receipt('v1.a.b"')
    assert json.loads(service.requests[0].content) == {"receipt": 'v1.a.b"'}
    assert service.requests[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("document", [[], None, "x", 5], ids=json.dumps)
def test_object_of_another_shape_breaks_the_contract(document):
    """A record that is no object is a ProtocolError."""
    with pytest.raises(ProtocolError):
        client_of(answering(document)).payment(UUID)


def test_closed_client_makes_no_call():
    """Leaving the `with` closes the connections."""
    service = answering()
    with client_of(service) as client:
        client.me()
    with pytest.raises(RuntimeError):
        client.me()
    assert len(service.requests) == 1


def test_base_address_may_have_a_path():
    """A service behind a prefix is called behind that prefix."""
    service = answering()
    Client(both_keys(base_url=BASE_URL + "/gate"), transport=service.transport).me()
    assert service.requests[0].url.path == "/gate/api/pay/v1/me"


@pytest.mark.parametrize("changes", [{"base_url": ""}, {"checkout_key": None, "payout_key": None}])
def test_client_needs_an_address_and_a_key(changes):
    """A client that could not make a call is not made."""
    with pytest.raises(ConfigError):
        Client(both_keys(**changes))


# ---------- what may pass is tried again, for as long as the patience lasts


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
