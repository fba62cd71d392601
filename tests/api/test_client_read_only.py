"""No request but the eight can leave, whoever builds it and with whatever skill."""

import re
from contextlib import suppress
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import given, strategies as st

from svc_analytics.api.client import Client
from svc_analytics.api.routes import MAX_LIMIT, PREFIX, ROUTES, quote_id
from svc_analytics.errors import ConfigError
from tests.support.fake_service import BASE_URL, FakeService
from tests.support.unit_material import client_of, examples

API = BASE_URL + "/api/pay/v1"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "get", "post", "POST ", "X"]


def inside(client: Client) -> httpx.Client:
    """An HTTP client that can ask for anything, where our client's requests go out."""
    return httpx.Client(transport=client._transport)


def sent(method: str, url: str) -> list[httpx.Request]:
    """What reaches the network of a request that is put straight to the inner transport."""
    service = FakeService(intercept=lambda request: httpx.Response(200, json={}))
    with suppress(ConfigError, httpx.InvalidURL, httpx.HTTPError):
        inside(client_of(service)).request(method, url)
    return service.requests


WRITES = [
    *(("POST", "/payouts"), ("POST", "/payouts/"), ("POST", "/payouts?x=/receipts/verify")),
    *(("POST", "/payouts#/api/pay/v1/receipts/verify"), ("POST", "/payouts/recipients/lookup")),
    *(("POST", "/payments/x/refund"), ("POST", "/payments/x%2Frefund")),
    *(("POST", "/payments/../payouts"), ("POST", "/receipts/verify/../../payouts")),
    *(("POST", "/receipts/../payouts"), ("POST", "/receipts/verify/%2e%2e/%2e%2e/payouts")),
    *(("POST", "/receipts/verify%2f..%2f..%2fpayouts"), ("POST", "/receipts%2Fverify")),
    *(("POST", "/receipts/verify;x"), ("POST", "/receipts/verify/"), ("POST", "//payouts")),
    *(("POST", "/sessions"), ("POST", "/sessions/x/cancel")),
    *(("POST", "/customers/x/binding/review"), ("DELETE", "/customers/x/binding")),
    *(("PUT", "/customers/x/binding"), ("GET", "/payments/x/refund")),
    *(("GET", "/payouts/recipients/lookup"), ("GET", "/receipts/verify"), ("GET", "/customers/x")),
    *(("GET", "/sessions"), ("GET", "/"), ("GET", ""), ("GET", "/payments/"), ("HEAD", "/me")),
    *(("OPTIONS", "/payouts"), ("PATCH", "/payments/x")),
]


@pytest.mark.parametrize(("method", "path"), WRITES, ids=[" ".join(pair) for pair in WRITES])
def test_no_other_call_of_the_service_leaves(method, path):
    """Trap 3: nothing that moves money, opens a session or changes a binding can be sent."""
    assert not sent(method, API + path)


ELSEWHERE = [
    *("https://evil.example/api/pay/v1/me", "https://pay.example.evil.example/api/pay/v1/me"),
    *("https://evilpay.example/api/pay/v1/me", "http://pay.example/api/pay/v1/me"),
    *("https://pay.example:8443/api/pay/v1/me", "https://pay.example@evil.example/api/pay/v1/me"),
    *("https://pay.example/api/pay/v2/me", "https://pay.example/me"),
    *("https://pay.example/x/api/pay/v1/me", "https://pay.example/openapi.json"),
    "https://127.0.0.1/api/pay/v1/me",
]


@pytest.mark.parametrize("url", ELSEWHERE)
def test_nothing_leaves_for_another_place(url):
    """A10: another host, port, scheme or path is not called, and so gets no key."""
    assert not sent("GET", url)


@pytest.mark.parametrize("name", ROUTES)
def test_the_eight_calls_do_leave(name):
    """The guard lets the table's own calls through; else the other tests would prove nothing."""
    route = ROUTES[name]
    assert sent(route.method, API + route.path.replace("{id}", "a%2Fb"))


PARTS = (
    *("payouts", "payments", "refund", "receipts", "verify", "x"),
    *(".", "..", "%2e%2e", "%2F", "", "?", "#", ";"),
)
paths = st.lists(st.sampled_from(PARTS), max_size=7).map("/".join)


@examples
@given(st.sampled_from(METHODS), paths)
def test_nothing_but_the_receipt_question_is_ever_posted(method, path):
    """Of all paths that can be put together, only /receipts/verify leaves without GET."""
    for request in sent(method, f"{API}/{path}"):
        posted = (request.method, request.url.raw_path.partition(b"?")[0])
        assert request.method == "GET" or posted == ("POST", b"/api/pay/v1/receipts/verify")


def test_refusal_of_a_call_names_it():
    """Who tries is told which call this client does not make."""
    with pytest.raises(ConfigError, match="POST /api/pay/v1/payouts is not a call"):
        inside(client_of(FakeService())).post(API + "/payouts", json={"amount": "1"})


def test_redirect_is_not_let_out_even_when_followed():
    """A10: even asked to follow redirects, the guard underneath lets none go elsewhere."""
    away = httpx.Response(307, headers={"location": "https://evil.example/api/pay/v1/me"})
    service = FakeService(intercept=lambda request: away)
    with pytest.raises(ConfigError):
        inside(client_of(service)).get(API + "/me", follow_redirects=True)
    assert [request.url.host for request in service.requests] == ["pay.example"]


# ---------- the table of calls: eight, of which none can move money


# Contract, Endpoints: what this package may call, and with which class (Authentication 4).
TABLE = {
    ("GET", "/me", ("checkout", "payout")),
    ("GET", "/payments", ("checkout", "payout")),
    ("GET", "/payments/{id}", ("checkout", "payout")),
    ("GET", "/payouts", ("payout",)),
    ("GET", "/payouts/{id}", ("payout",)),
    ("GET", "/sessions/{id}", ("checkout",)),
    ("GET", "/customers/{id}/binding", ("checkout", "payout")),
    ("POST", "/receipts/verify", ("checkout",)),
}


def test_table_is_exactly_the_eight_calls():
    """No call is added to the table by chance: a ninth one needs this test changed."""
    assert {(route.method, route.path, route.key_classes) for route in ROUTES.values()} == TABLE
    assert len(ROUTES) == 8
    assert (PREFIX, MAX_LIMIT) == ("/api/pay/v1", 100)


def test_id_with_half_a_surrogate_pair_is_refused():
    """A text that has no bytes cannot be an id; it is bad usage, not a crash."""
    with pytest.raises(ConfigError):
        quote_id("a\ud800")


ODD = st.text(st.sampled_from("/.%?#&;:@+\\ \r\n\0x2Fش😀"), min_size=1, max_size=12)


@examples
@given(ODD | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=128))
def test_an_id_of_any_characters_is_one_segment_of_its_path(text):
    """Whatever it holds, the path fits its own route and no other, and says the id exactly."""
    if set(text) == {"."}:  # is refused
        return
    quoted = quote_id(text)
    path = f"{PREFIX}/payments/{quoted}"
    fitting = [name for name, route in ROUTES.items() if route.pattern.fullmatch(path)]
    assert fitting == ["payment"]
    assert re.fullmatch(r"([A-Za-z0-9_.~-]|%[0-9A-F]{2})+", quoted) and unquote(quoted) == text
