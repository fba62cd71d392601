"""What nobody should send: kept as it came or refused by its code, and never a 500."""

import json
import random
import re
from urllib.parse import quote, urlencode

import pytest

from svc_analytics.sandbox.console import ControlApi, control_routes

ENDS = (
    *("\n", "\r", "\r\n", "\t", "\x0b", "\x85", "\u2028", "\0", "/", "//", "..", "%", "%2F"),
    *("?", "#", "\\", "&", ";", " ", "é", "چای", "😀"),
)


@pytest.fixture
def site(site, shop):
    """A browser at the site of a shop, and a client of its API."""
    site.headers["authorization"] = f"Bearer {shop.checkout}"
    return site


@pytest.fixture
def api(site):
    """Calls the API."""
    return lambda method, path, **more: site.request(method, f"/api/pay/v1{path}", **more)


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_whatever_id_is_taken_is_found_again(shop, api, end):
    """A session, a payout and a customer by the merchant's own ids, line breaks included."""
    name = f"{end}x{end}"
    path = quote(name, safe="")
    assert api("POST", "/sessions", json=shop.order(name)).status_code == 201
    assert api("GET", f"/sessions/{path}").json()["reference_id"] == name
    assert api("POST", f"/sessions/{path}/cancel").json()["status"] == "cancelled"
    shop.bind(customer_id=name)
    assert api("GET", f"/customers/{path}/binding").json()["state"] == "active"
    revoked = api("DELETE", f"/customers/{path}/binding", json={"reason": "asked"})
    assert revoked.json() == {"customer_id": name, "state": "revoked"}
    shop.paid()
    made = shop.pay_out(name)
    paid = {"authorization": f"Bearer {shop.payout}"}
    assert api("GET", f"/payouts/{path}", headers=paid).json() == made


@pytest.mark.parametrize("path", ["/me%0A", "/sessions%0A", "/%0Ame", "/payments/%0A/refund%0A"])
def test_line_break_makes_another_path(api, path):
    """Only an id may hold one."""
    assert api("GET", path).json()["errors"]["error"] == ["NOT_FOUND"]


NUMBERS = (
    *("0", "-0", "1", "1.0", "1.50", "0.1", "1e5", "1E+5", "1.0e-5", "-0.0", "1e16", "1e400"),
    *("0.12345678901234567890123", "123456789.123456789123456789", "9007199254740993"),
    *("9223372036854775808", "1" + "0" * 40, "7" * 4300, "7" * 5000, f"0.{'3' * 5000}"),
)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:24])
def test_metadata_passes_through_digit_by_digit(shop, api, number):
    """Free-form passthrough: in the session, its replay, its payment and every list."""
    held = f'{{"n":{number},"deep":[{{"n":{number}}}]}}'
    body = json.dumps(shop.order(metadata="here")).replace('"here"', held)
    made = api("POST", "/sessions", content=body)
    assert f'"metadata":{held}' in made.text
    again = api("POST", "/sessions", content=body)
    assert (again.status_code, again.text) == (201, made.text)
    shop.bind()
    session_id = made.text[7:43]  # no reader of JSON in Python takes 5,000 digits
    payment_id = shop.confirm({"id": session_id})
    for path in ("/sessions/order-a", f"/payments/{payment_id}", "/payments?limit=1"):
        assert f'"metadata":{held}' in api("GET", path).text


def test_metadata_in_another_order_is_the_same_request(shop, api):
    """But another digit is not."""
    texts = ['{"a":1.10,"b":{"c":2,"d":3}}', '{ "b":{"d":3,"c":2}, "a":1.10 }', '{"a":1.1}']
    body = json.dumps(shop.order(metadata="here"))
    answers = [api("POST", "/sessions", content=body.replace('"here"', text)) for text in texts]
    assert [answer.status_code for answer in answers] == [201, 201, 409]


@pytest.mark.parametrize(
    "metadata",
    ["NaN", '{"n":NaN}', '{"n":-Infinity}', '{"n":01}', '{"n":1.}', '{"s":"\\ud800"}', "[1]", "7"],
)
def test_metadata_that_is_no_json_object_is_refused(shop, api, metadata):
    """VALIDATION_FAILED, as for every other member."""
    body = json.dumps(shop.order(metadata="here")).replace('"here"', metadata)
    answer = api("POST", "/sessions", content=body)
    assert answer.json() == {"statusCode": 422, "errors": {"error": ["VALIDATION_FAILED"]}}


def test_unknown_members_may_hold_any_number_too(shop, api):
    """Beside the known ones of the request and of its customer, which a binding keeps."""
    order = shop.order(unknown="here")
    order["customer"] |= {"rank": "here"}
    made = api("POST", "/sessions", content=json.dumps(order).replace('"here"', "1e400"))
    shop.service.checkout.link(made.json()["id"], shop.people["sara"].payer_id)
    assert api("GET", "/customers/C-1/binding").json()["state"] == "active"


@pytest.mark.parametrize(
    ("minutes", "status"), [("30.0", 201), ("3e1", 201), ("30.5", 422), ("1e400", 422)]
)
def test_lifetime_is_a_whole_number_however_it_is_written(shop, api, minutes, status):
    """JSON knows no integers, only numbers."""
    body = json.dumps(shop.order(ttl_minutes="here")).replace('"here"', minutes)
    answer = api("POST", "/sessions", content=body)
    assert answer.status_code == status
    if status == 201:
        assert answer.json()["expires_at"] == "2026-11-20T12:30:00Z"


ODD = (
    *(None, True, False, 0, -1, 1, 2.5, 1e300, 10**9, 10**18, 10**30, 10**400, "", "x", "0"),
    *("usdt", "checkout", "any", "é", "☃", "\0", "\n", "x\r\nInjected: 1", "9" * 5000, "x" * 3000),
    *([], [[]], [{}], ["usdt"], ["usdt", "usdt"], [None, 1], [[["x"]]], {}, {"a": {}}, {"": []}),
    *("https://[", "http://[", "http://127.0.0.1:9/☃", "2026-11-20T00:00:60Z", "-", "1e400"),
    *(["10.0.0.0/" + "9" * 5000], ["fe80::1%x"], [1], {"x": 10**400}),
)
NAMES = (
    *("set", "advance_seconds", "run", "email", "session", "currency", "totp", "class"),
    *("allowlist", "url", "content_type", "size", "payer_id", "amount", "comment", "id"),
)


def some_bodies(shop, count):
    """Odd bodies, always the same: each a few known members with values of any type."""
    chance = random.Random(1313)
    state = ControlApi(shop.service).state()
    # Two faults that break or delay answers by themselves are tried below.
    names = (
        *NAMES,
        *state["settings"],
        *sorted(state["quirks"].keys() - {"latency", "fail_every"}),
    )
    for _ in range(count):
        chosen = chance.sample(names, chance.choice((1, 1, 2, 3)))
        yield {name: chance.choice(ODD) for name in chosen}


def fails(answer):
    """Tell whether the service itself failed."""
    return answer.status_code >= 500 and "INTERNAL_SERVER_ERROR" in answer.text


@pytest.mark.parametrize("count", [10, pytest.param(500, marks=pytest.mark.thorough)])
def test_no_input_of_the_control_api_breaks_the_service(shop, site, api, count):
    """Every path takes every body: refused or obeyed, and then the API still answers."""
    paths = [route.path.replace("{id}", "x") for route in control_routes(shop.service)]
    for body in some_bodies(shop, count):
        for path in paths:
            assert not fails(site.post(path, json=body)), (path, body)
        for call in (("GET", "/payments"), ("GET", "/me"), ("GET", "/sessions/order-a")):
            assert not fails(api(*call)), body
        assert not fails(api("POST", "/sessions", json=shop.order())), body
        assert not fails(site.get("/control")), body
        site.post("/control/quirks", json={})
        site.post("/control/settings", json={"is_maintenance": False})


@pytest.mark.parametrize("count", [10, pytest.param(500, marks=pytest.mark.thorough)])
def test_no_input_of_the_console_or_widget_breaks_the_service(shop, site, count):
    """Every form takes every field, in every encoding."""
    checkout = shop.session()["checkout_url"]
    page = site.get("/console").text
    fields = sorted(set(re.findall(r'name="(\w+)"', page)) | {"as", "action", "totp", "code"})
    actions = sorted({checkout, *re.findall(r'action="([^"]+)"', page)})
    assert len(actions) > 5
    chance = random.Random(1313)
    texts = [value if isinstance(value, str) else repr(value)[:9000] for value in ODD if value]
    for _ in range(count):
        given = {name: chance.choice(texts) for name in chance.sample(fields, 3)}
        content = chance.choice((urlencode(given).encode(), b"\xff=%ff&%zz;=&=", b"&" * 500))
        for action in actions:
            answer = site.post(action, content=content)
            assert not fails(answer) and answer.status_code != 500, (action, given)


def test_last_day_of_the_clock_is_a_day_like_any_other(site, shop, api):
    """A session made then expires in the year after, which can still be written."""
    site.post("/control/settings", json={"session_minutes": 1440})
    site.post("/control/clock", json={"set": "9998-12-31T23:59:59Z"})
    made = api("POST", "/sessions", json=shop.order())
    assert made.json()["expires_at"] == "9999-01-01T23:59:59Z"


def test_clock_before_the_first_record_sells_too(site, shop):
    """At the first fee tier: 1.5 % of 20."""
    site.post("/control/clock", json={"set": "1970-01-01T00:00:00Z"})
    assert shop.paid()["fee_amount"] == "0.300000"
